/* sim_play.h -- the simulated allocator driven by words, answering in words.
 *
 * Played:   "a=3M b=12M -a c=600 ~b ^b !": a request for each letter, -x freed, ~x freed while another stream uses it,
 *           ^x that stream is done, ! empty_cache(). After the size: #7 the stream, %3 the pool (then within a capture).
 * Answered: "seg S0 20M, a S0, b S0+3M, unseg S0, map V0 20M, unmap V0+20M 40M, done b, oom 24M": the entries that a recording
 *           would get, without the frees themselves. S0, S1, ... are segments as the driver gave them, ascending (or
 *           descending), V0, V1, ... reservations.
 */
#ifndef MEMSNAP_TESTS_SIM_PLAY_H
#define MEMSNAP_TESTS_SIM_PLAY_H

#include "support/check.h"

#include "analysis/sim_core.h"

#include <ctype.h>
#include <inttypes.h>

#define M (UINT64_C(1) << 20)
enum { PLAY_SEGMENTS = 200, PLAY_LETTERS = 128 };

struct play {
    struct sim sim;
    uint32_t block[PLAY_LETTERS];
    uint64_t segment[PLAY_SEGMENTS], reservation[PLAY_SEGMENTS];
    size_t n_segments, n_reservations, used;
    bool descending;
    int freeing; /* the letter of a free that completes at once */
    char log[4000];
};

static inline uint64_t play_segment(void *ctx, uint64_t size)
{
    struct play *p = ctx;
    (void)size;
    assert_true(p->n_segments < PLAY_SEGMENTS);
    const uint64_t k = p->descending ? PLAY_SEGMENTS - p->n_segments : p->n_segments;
    return p->segment[p->n_segments++] = UINT64_C(0x7f0000000000) + (k << 32);
}

static inline uint64_t play_reservation(void *ctx, uint64_t size, uint32_t pool, uint32_t stream, bool small)
{
    struct play *p = ctx;
    (void)size, (void)pool, (void)stream, (void)small;
    assert_true(p->n_reservations < PLAY_SEGMENTS);
    p->reservation[p->n_reservations] = UINT64_C(0x302000000) + ((uint64_t)p->n_reservations << 41);
    return p->reservation[p->n_reservations++];
}

static inline bool play_map(void *ctx, uint64_t addr, uint64_t size, uint64_t granule)
{
    (void)ctx, (void)addr;
    assert_int_equal(size % granule, 0);
    return true;
}

static inline void play_unmap(void *ctx, uint64_t addr, uint64_t size) { (void)ctx, (void)addr, (void)size; }
static inline void play_gone(void *ctx, uint64_t addr, uint64_t size, bool reservation) { (void)ctx, (void)addr, (void)size, (void)reservation; }

static inline void play_put(struct play *p, const char *text)
{
    const size_t n = strlen(text);
    assert_true(p->used + n < sizeof p->log);
    memcpy(p->log + p->used, text, n + 1);
    p->used += n;
}

static inline const char *play_size(char text[32], uint64_t v)
{
    snprintf(text, 32, v && v % M == 0 ? "%" PRIu64 "M" : "%" PRIu64, v && v % M == 0 ? v / M : v);
    return text;
}

static inline const char *play_place(const struct play *p, char text[64], uint64_t addr)
{
    char size[32];
    for (size_t k = 0; k < p->n_segments; k++)
        if (addr >= p->segment[k] && addr - p->segment[k] < UINT64_C(1) << 32) {
            snprintf(text, 64, addr == p->segment[k] ? "S%zu" : "S%zu+%s", k, play_size(size, addr - p->segment[k]));
            return text;
        }
    for (size_t k = 0; k < p->n_reservations; k++)
        if (addr >= p->reservation[k] && addr - p->reservation[k] < UINT64_C(1) << 41) {
            snprintf(text, 64, addr == p->reservation[k] ? "V%zu" : "V%zu+%s", k, play_size(size, addr - p->reservation[k]));
            return text;
        }
    fail_msg("an address from nowhere");
    return text;
}

static inline void play_heard(void *ctx, enum msnap_action action, uint64_t addr, uint64_t size, uint32_t row)
{
    struct play *p = ctx;
    char place[64], bytes[32], line[160];
    play_size(bytes, size);
    if (action != MSNAP_OOM)
        play_place(p, place, addr);
    switch ((int)action) {
    case MSNAP_SEGMENT_ALLOC: snprintf(line, sizeof line, "seg %s %s", place, bytes); break;
    case MSNAP_SEGMENT_FREE: snprintf(line, sizeof line, "unseg %s", place); break;
    case MSNAP_SEGMENT_MAP: snprintf(line, sizeof line, "map %s %s", place, bytes); break;
    case MSNAP_SEGMENT_UNMAP: snprintf(line, sizeof line, "unmap %s %s", place, bytes); break;
    case MSNAP_ALLOC: snprintf(line, sizeof line, "%c %s", (char)row, place); break;
    case MSNAP_OOM: snprintf(line, sizeof line, "oom %s", bytes); break;
    case MSNAP_FREE_COMPLETED:
        if (p->freeing == (int)row)
            return;
        snprintf(line, sizeof line, "done %c", (char)row);
        break;
    default: return;
    }
    if (p->used)
        play_put(p, ", ");
    play_put(p, line);
}

static inline void play_start(struct play *p, struct msnap_mem mem, const char *conf)
{
    struct msnap_sim_config c;
    struct msnap_error err = {0};
    memset(p, 0, sizeof *p);
    if (msnap_sim_config_parse(conf, strlen(conf), &c, &err) != MSNAP_OK)
        fail_msg("%s", err.text);
    assert_true(msnap_sim_init(&p->sim, mem, &c, &(struct msnap_sim_driver){p, play_segment, play_reservation, play_map, play_unmap, play_gone}));
    p->sim.on_event = play_heard;
    p->sim.on_event_ctx = p;
}

static inline void play_end(struct play *p) { msnap_sim_release(&p->sim); }

static inline uint64_t play_number(const char **at)
{
    char *end;
    uint64_t v = strtoull(*at, &end, 10);
    if (end == *at)
        fail_msg("a number is missing at \"%s\"", *at);
    if (*end == 'K' || *end == 'M')
        v <<= *end++ == 'K' ? 10 : 20;
    *at = end;
    return v;
}

/* Plays the words; returns what was heard, until the next call. */
static inline const char *play(struct play *p, const char *words)
{
    p->used = 0;
    p->log[0] = '\0';
    for (const char *w = words; *w;) {
        if (isspace((unsigned char)*w)) {
            w++;
            continue;
        }
        const char what = *w;
        p->freeing = 0;
        if (what == '!') {
            w++;
            msnap_sim_empty_cache(&p->sim, *w == '%' ? (w++, (uint32_t)play_number(&w)) : UINT32_MAX);
        } else if (what == '-' || what == '~' || what == '^') {
            const int letter = w[1];
            w += 2;
            assert_true(letter > 0 && p->block[letter]);
            if (what == '^') {
                msnap_sim_ready(&p->sim, p->block[letter]);
            } else {
                p->freeing = what == '-' ? letter : 0;
                msnap_sim_free(&p->sim, p->block[letter], what == '~');
            }
        } else {
            const int letter = what;
            assert_true(isalnum(letter) && w[1] == '=');
            w += 2;
            const uint64_t n = play_number(&w);
            uint64_t stream = 0, pool = 1;
            if (*w == '#')
                w++, stream = play_number(&w);
            if (*w == '%')
                w++, pool = play_number(&w);
            p->block[letter] = msnap_sim_malloc(&p->sim, n, (uint32_t)pool, (uint32_t)stream, stream, pool > 1, (uint32_t)letter);
        }
        assert_false(p->sim.out_of_memory);
    }
    return p->log;
}

static inline uint64_t play_block_size(const struct play *p, char letter)
{
    assert_true(p->block[(unsigned char)letter] != 0);
    return sim_block_at(&p->sim, p->block[(unsigned char)letter])->size;
}

#endif
