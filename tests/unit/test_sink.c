/* test_sink.c -- bytes from a file never break the page, the table or the terminal they are put in. */
#include "support/check.h"

#include <memsnap/text.h>

struct page {
    char text[70000];
    size_t n, writes, fail_at;
};

static int keep(void *ctx, const char *bytes, size_t n)
{
    struct page *p = ctx;
    if (++p->writes == p->fail_at)
        return 1;
    assert_true(p->n + n < sizeof p->text);
    memcpy(p->text + p->n, bytes, n);
    p->n += n;
    p->text[p->n] = 0;
    return 0;
}

static struct page page;
static struct msnap_sink sink;

static void fresh(void)
{
    memset(&page, 0, sizeof page);
    msnap_sink_init(&sink, keep, &page);
}

#define assert_put(put, in, out)                      \
    do {                                              \
        fresh();                                      \
        put(&sink, (in), sizeof(in) - 1);             \
        assert_true(msnap_sink_flush(&sink));         \
        assert_string_equal(page.text, (out));        \
        assert_int_equal(page.n, sizeof(out) - 1);    \
    } while (0)

static void json(void **state)
{
    (void)state;
    assert_put(msnap_put_json, "", "\"\"");
    assert_put(msnap_put_json, "plain", "\"plain\"");
    assert_put(msnap_put_json, "a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    assert_put(msnap_put_json, "\n\r\t", "\"\\n\\r\\t\"");
    assert_put(msnap_put_json, "a\0b", "\"a\\u0000b\"");
    assert_put(msnap_put_json, "\x1b[31m", "\"\\u001b[31m\"");
    assert_put(msnap_put_json, "gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"");
    assert_put(msnap_put_json, "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"");
}

static void json_replaces_what_is_no_utf8(void **state)
{
    (void)state;
    assert_put(msnap_put_json, "\xff", "\"\xef\xbf\xbd\"");
    assert_put(msnap_put_json, "a\xc3", "\"a\xef\xbf\xbd\"");           /* cut at the end */
    assert_put(msnap_put_json, "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""); /* overlong */
    fresh();
    msnap_put_json(&sink, "\xed\xa0\x80", 3); /* a lone surrogate: one or three replacements, never itself */
    assert_true(msnap_sink_flush(&sink));
    assert_null(memchr(page.text, '\xed', page.n));
    fresh();
    msnap_put_json(&sink, "\xf4\x90\x80\x80", 4); /* beyond U+10FFFF */
    assert_true(msnap_sink_flush(&sink));
    assert_null(memchr(page.text, '\xf4', page.n));
}

static void xml(void **state)
{
    (void)state;
    assert_put(msnap_put_xml, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    fresh();
    msnap_put_xml(&sink, "a\0b\x1b" "c\xff", 6); /* XML has no NUL and no escape character, not even as a reference */
    assert_true(msnap_sink_flush(&sink));
    for (size_t i = 0; i < page.n; i++)
        assert_true((unsigned char)page.text[i] >= 0x20);
    assert_null(strstr(page.text, "&#0"));
    assert_null(strstr(page.text, "&#27"));
    assert_null(memchr(page.text, '\xff', page.n));
}

static void csv(void **state)
{
    (void)state;
    assert_put(msnap_put_csv, "plain", "plain");
    assert_put(msnap_put_csv, "a,b", "\"a,b\"");
    assert_put(msnap_put_csv, "say \"hi\"", "\"say \"\"hi\"\"\"");
    assert_put(msnap_put_csv, "two\nlines", "\"two\nlines\"");
}

static void csv_defuses_formulas(void **state)
{
    (void)state;
    static const char *const bad[] = {"=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "=a,\"b\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fresh();
        msnap_put_csv(&sink, bad[i], strlen(bad[i]));
        assert_true(msnap_sink_flush(&sink));
        assert_int_equal(page.text[page.text[0] == '"'], '\'');
    }
}

static void terminal(void **state)
{
    (void)state;
    assert_put(msnap_put_terminal, "plain gr\xc3\xbc\xc3\x9f", "plain gr\xc3\xbc\xc3\x9f");
    assert_put(msnap_put_terminal, "\x1b]0;title\x07", "\\x1b]0;title\\x07");
    assert_put(msnap_put_terminal, "a\0b\x7f\n", "a\\x00b\\x7f\\x0a");
    fresh();
    msnap_put_terminal(&sink, "\xc2\x9b" "31m", 5); /* U+009B is an escape sequence's beginning, too */
    assert_true(msnap_sink_flush(&sink));
    assert_null(strstr(page.text, "\xc2\x9b"));
}

static void numbers(void **state)
{
    (void)state;
    fresh();
    msnap_put_u64(&sink, 0);
    msnap_puts(&sink, " ");
    msnap_put_u64(&sink, UINT64_MAX);
    msnap_puts(&sink, " ");
    msnap_put_i64(&sink, INT64_MIN);
    msnap_puts(&sink, " ");
    msnap_put_i64(&sink, -1);
    msnap_putf(&sink, " %s %d", "x", 7);
    assert_true(msnap_sink_flush(&sink));
    assert_string_equal(page.text, "0 18446744073709551615 -9223372036854775808 -1 x 7");
}

static void long_output_comes_through_whole(void **state)
{
    (void)state;
    static char big[40000];
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)('a' + i % 26);
    fresh();
    msnap_puts(&sink, "head ");
    msnap_put(&sink, big, sizeof big);
    for (int i = 0; i < 2000; i++)
        msnap_puts(&sink, "0123456789");
    assert_true(msnap_sink_flush(&sink));
    assert_int_equal(page.n, 5 + sizeof big + 20000);
    assert_memory_equal(page.text + 5, big, sizeof big);
    assert_memory_equal(page.text + page.n - 10, "0123456789", 10);
}

static void formatted_text_is_never_cut_in_silence(void **state)
{
    (void)state;
    static char big[30001];
    memset(big, 'y', sizeof big - 1);
    for (size_t n = 900; n < sizeof big; n *= 2) {
        fresh();
        msnap_putf(&sink, "<%.*s>", (int)n, big);
        const bool flushed = msnap_sink_flush(&sink);
        if (flushed)
            assert_int_equal(page.n, n + 2);
        else
            assert_true(sink.failed);
    }
}

static void after_a_failed_write_nothing_is_written_and_it_is_remembered(void **state)
{
    (void)state;
    fresh();
    page.fail_at = 1;
    for (int i = 0; i < 5000; i++)
        msnap_puts(&sink, "0123456789");
    assert_true(sink.failed);
    assert_int_equal(page.writes, 1);
    assert_false(msnap_sink_flush(&sink));
    assert_int_equal(page.writes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json), TEST(json_replaces_what_is_no_utf8), TEST(xml), TEST(csv), TEST(csv_defuses_formulas), TEST(terminal),
        TEST(numbers), TEST(long_output_comes_through_whole), TEST(formatted_text_is_never_cut_in_silence),
        TEST(after_a_failed_write_nothing_is_written_and_it_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
