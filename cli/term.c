/* term.c -- colour, width, and progress that never gets in the way. */
#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

bool term_color(const struct cli *cli, int fd)
{
    enum { AUTO, ALWAYS, NEVER };
    const size_t wish = cli_choice(cli, "color", AUTO);

    if (wish != AUTO)
        return wish == ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no_color && *no_color) && term && *term && strcmp(term, "dumb") && isatty(fd);
}

unsigned term_width(int fd)
{
    enum { USUAL = 80, NARROWEST = 60, WIDEST = 160 };
    struct winsize size;

    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
        return USUAL;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col > WIDEST ? WIDEST : size.ws_col;
}

void term_put(struct msnap_sink *out, bool color, enum style style, const char *text)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "",        [STYLE_HEAD] = "\033[1m",  [STYLE_DIM] = "\033[2m",
        [STYLE_GOOD] = "\033[32m", [STYLE_WARN] = "\033[33m", [STYLE_BAD] = "\033[1;31m"};

    if (color && style != STYLE_PLAIN) {
        msnap_puts(out, codes[style]);
        msnap_puts(out, text);
        msnap_puts(out, "\033[0m");
    } else {
        msnap_puts(out, text);
    }
}

/* ---- progress ---- */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void progress_start(struct progress *p, const struct cli *cli, const char *what)
{
    const char *term = getenv("TERM");

    *p = (struct progress){.what = what,
                           .on = !cli->quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb")};
    if (p->on)
        p->start_ms = p->last_ms = now_ms();
}

int progress_step(void *progress, uint64_t done_bytes, uint64_t total_bytes)
{
    enum { QUIET_MS = 1000, BETWEEN_MS = 167 };
    struct progress *p = progress;

    if (!p->on)
        return 0;
    const int64_t now = now_ms();
    if (now - p->start_ms < QUIET_MS || now - p->last_ms < BETWEEN_MS)
        return 0;
    p->last_ms = now;
    p->shown = true;

    struct msnap_sink sink;
    char done[24], total[24];
    cli_stderr(&sink);
    msnap_putf(&sink, "\r%s %s", p->what, msnap_format_bytes(done, done_bytes));
    if (total_bytes) {
        const double share = 100.0 * (double)done_bytes / (double)total_bytes;
        msnap_putf(&sink, " of %s (%.0f%%)", msnap_format_bytes(total, total_bytes),
                   share > 100 ? 100 : share);
    }
    msnap_puts(&sink, "\033[K");
    msnap_sink_flush(&sink);
    return 0;
}

void progress_end(struct progress *p)
{
    struct msnap_sink sink;

    if (!p->shown)
        return;
    cli_stderr(&sink);
    msnap_puts(&sink, "\r\033[K");
    msnap_sink_flush(&sink);
}
