/* test_axis.c -- ticks are round and cover the range; labels of a strip never meet. */
#include "support/check.h"

#include "axis.h"
#include "text_width.h"

static void bytes_come_in_powers_of_two_and_one_unit(void **state)
{
    struct msnap_ticks t;
    (void)state;
    msnap_ticks_bytes(1000.0 * 1048576, 5, &t);
    assert_int_equal(t.n, 4);
    assert_string_equal(t.tick[0].label, "0");
    assert_string_equal(t.tick[1].label, "256 MiB");
    assert_string_equal(t.tick[3].label, "768 MiB");
    msnap_ticks_bytes(1.3 * 1073741824, 6, &t);
    assert_string_equal(t.tick[1].label, "0.25 GiB");
    assert_string_equal(t.tick[4].label, "1 GiB");
    msnap_ticks_bytes(140.0 * 1073741824, 8, &t);
    assert_string_equal(t.tick[1].label, "32 GiB");
    msnap_ticks_bytes(0, 8, &t); /* nothing at all still has an axis */
    assert_string_equal(t.tick[0].label, "0");
    assert_true(t.n >= 1);
    msnap_ticks_bytes(18446744073709551615.0, 8, &t); /* the largest number a file can hold */
    assert_true(t.n <= 9);
}

static void time_has_one_unit_and_decimal_steps(void **state)
{
    struct msnap_ticks t;
    (void)state;
    msnap_ticks_time(0, 1.3e6, 7, &t);
    assert_string_equal(t.tick[0].label, "0");
    assert_string_equal(t.tick[1].label, "0.2 s");
    msnap_ticks_time(0, 4200, 5, &t);
    assert_string_equal(t.tick[1].label, "1 ms");
    msnap_ticks_time(0, 10, 5, &t);
    assert_string_equal(t.tick[1].label, "2 us");
    msnap_ticks_time(0, 1500e6, 5, &t);
    assert_string_equal(t.tick[1].label, "5 min");
    msnap_ticks_time(0, 8 * 3600e6, 8, &t);
    assert_string_equal(t.tick[1].label, "1 h");
    msnap_ticks_time(0, 30 * 86400e6, 5, &t);
    assert_true(t.n >= 2 && t.n <= 7);
    msnap_ticks_time(12.5e6, 13e6, 5, &t);
    assert_string_equal(t.tick[0].label, "12.5 s");
    assert_string_equal(t.tick[1].label, "12.6 s");
    msnap_ticks_time(5, 5, 5, &t);
    assert_int_equal(t.n, 0);
}

static void counts_are_whole_and_grouped(void **state)
{
    struct msnap_ticks t;
    char text[32];
    (void)state;
    msnap_ticks_count(0, 3600000, 8, &t);
    assert_string_equal(t.tick[1].label, "500,000");
    msnap_ticks_count(0, 3, 8, &t);
    assert_int_equal(t.n, 4);
    msnap_ticks_count(7, 7, 8, &t);
    assert_int_equal(t.n, 1);
    assert_string_equal(t.tick[0].label, "7");
    assert_string_equal(msnap_format_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(msnap_format_count(text, 999), "999");
}

static void there_are_never_more_ticks_than_room(void **state)
{
    struct msnap_ticks t;
    (void)state;
    for (double last = 1; last < 1e19; last *= 1.7) {
        msnap_ticks_count(0, last, 10, &t);
        assert_true(t.n <= 11);
        msnap_ticks_time(0, last, 10, &t);
        assert_true(t.n >= 2 && t.n <= 14);
        msnap_ticks_bytes(last, 10, &t);
        assert_true(t.n >= 2 && t.n <= 11);
        for (size_t i = 1; i < t.n; i++)
            assert_true(t.tick[i].value > t.tick[i - 1].value && t.tick[i].value <= last);
    }
}

static void labels_of_a_strip_never_meet(void **state)
{
    enum { N = 40 };
    struct msnap_strip_label l[N];
    uint32_t seed = 7;
    (void)state;
    for (int round = 0; round < 500; round++) {
        size_t placed = 0;
        for (size_t i = 0; i < N; i++) {
            seed = seed * 1664525u + 1013904223u;
            l[i] = (struct msnap_strip_label){.x = (float)(seed >> 8 & 1023), .width = 20 + (float)(seed >> 20 & 127)};
        }
        msnap_strip_place(l, N, 2, 0, 1023, 8);
        assert_int_equal(l[0].row, 0); /* the first always finds room */
        for (size_t i = 0; i < N; i++) {
            if (l[i].row < 0)
                continue;
            placed++;
            assert_true(l[i].left >= 0 && l[i].left + l[i].width <= 1023);
            for (size_t k = 0; k < N; k++) {
                if (k == i || l[k].row < 0)
                    continue;
                const bool beside = l[i].left + l[i].width + 7.9f < l[k].left || l[k].left + l[k].width + 7.9f < l[i].left;
                assert_true(l[k].row != l[i].row || beside);
                if (l[k].row > l[i].row) /* its line goes down through this row */
                    assert_true(l[k].x < l[i].left || l[k].x > l[i].left + l[i].width);
            }
        }
        assert_true(placed > 4);
    }
}

static void long_texts_lose_their_middle(void **state)
{
    char out[200];
    const char *path = "/home/someone/projects/transformer/models/attention.py:1234 forward";
    (void)state;
    msnap_text_shorten(path, 12, false, 200, out, sizeof out);
    assert_true(msnap_text_width(out, 12, false) <= 200);
    assert_true(msnap_text_width(out, 12, false) > 180);
    assert_non_null(strstr(out, "\xE2\x80\xA6"));
    assert_int_equal(strncmp(out, "/home/", 6), 0);
    assert_non_null(strstr(out, ".py:1234 forward"));
    msnap_text_shorten("short.py:1", 12, false, 200, out, sizeof out);
    assert_string_equal(out, "short.py:1");
    /* Letters of several bytes are never cut in two. */
    const char *greek = "\xCE\xB1\xCE\xB2\xCE\xB3\xCE\xB4\xCE\xB5\xCE\xB6\xCE\xB7\xCE\xB8\xCE\xB9\xCE\xBA";
    for (float w = 0; w < 80; w += 1) {
        msnap_text_shorten(greek, 12, false, w, out, sizeof out);
        size_t n = 0;
        for (const char *p = out; *p; p++)
            n += ((unsigned char)*p & 0xC0) == 0x80;
        assert_true(strlen(out) - n <= n); /* every letter of two bytes has its second one */
    }
    msnap_text_shorten(path, 12, false, 1000, out, 10);
    assert_string_equal(out, "/home/som");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_in_powers_of_two_and_one_unit), cmocka_unit_test(time_has_one_unit_and_decimal_steps),
        cmocka_unit_test(counts_are_whole_and_grouped),             cmocka_unit_test(there_are_never_more_ticks_than_room),
        cmocka_unit_test(labels_of_a_strip_never_meet),             cmocka_unit_test(long_texts_lose_their_middle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
