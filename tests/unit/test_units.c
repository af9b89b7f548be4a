/* test_units.c -- sizes and durations as people write them, both ways. */
#include "support/check.h"

#include <memsnap/text.h>

static void bytes_are_short_and_exact_below_a_kibibyte(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } table[] = {
        {0, "0 B"}, {1, "1 B"}, {512, "512 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {1536, "1.5 KiB"}, {1048576, "1.0 MiB"},
        {1048575, "1.0 MiB"}, {20971520, "20.0 MiB"}, {24653070336, "22.96 GiB"}, {UINT64_C(1) << 40, "1.00 TiB"},
    };
    char out[24];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *text = msnap_format_bytes(out, table[i].bytes);
        assert_ptr_equal(text, out);
        assert_string_equal(text, table[i].text);
    }
    for (uint64_t v = 1; v; v <<= 1)
        assert_true(strlen(msnap_format_bytes(out, v - 1)) <= 10);
    assert_true(strlen(msnap_format_bytes(out, UINT64_MAX)) <= 10);
}

static void printed_sizes_read_back_close_to_what_they_were(void **state)
{
    (void)state;
    char out[24];
    for (uint64_t v = 1; v < UINT64_C(1) << 44; v = v * 3 / 2 + 1) {
        uint64_t back;
        assert_true(msnap_parse_size(msnap_format_bytes(out, v), &back));
        const double off = (double)back - (double)v, unit = v < 1024 ? 0 : v < 1 << 20 ? 1024 : v < 1 << 30 ? 1 << 20 : (double)v;
        assert_true(off <= 0.051 * unit && off >= -0.051 * unit);
    }
}

static void durations(void **state)
{
    (void)state;
    char out[32];
    assert_string_equal(msnap_format_duration(out, 0), "0 us");
    assert_string_equal(msnap_format_duration(out, 850), "850 us");
    assert_string_equal(msnap_format_duration(out, 12300), "12.3 ms");
    assert_string_equal(msnap_format_duration(out, 4560000), "4.56 s");
    assert_string_equal(msnap_format_duration(out, 723000000), "12 min 3 s");
    assert_true(strlen(msnap_format_duration(out, UINT64_MAX)) < sizeof out);
}

static void sizes_that_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } table[] = {
        {"0", 0}, {"12", 12}, {"12B", 12}, {"12 B", 12}, {"1.5KiB", 1536}, {"1.5 KiB", 1536}, {"80 GiB", UINT64_C(80) << 30}, {"3m", 3 << 20},
        {"3M", 3 << 20}, {"3MB", 3 << 20}, {"3mb", 3 << 20}, {"3mib", 3 << 20}, {"1k", 1024}, {"2T", UINT64_C(2) << 40}, {"2TiB", UINT64_C(2) << 40},
        {"0.5G", UINT64_C(1) << 29}, {"18446744073709551615", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t bytes = 77;
        if (!msnap_parse_size(table[i].text, &bytes) || bytes != table[i].bytes)
            fail_msg("%s: %llu", table[i].text, (unsigned long long)bytes);
    }
}

static void sizes_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"", " ", "B", "MiB", "-1", "+-1", "1.2.3", "1x", "1 MiBs", "1MM", "0x10", "1e400", "nan", "inf", "infinity",
        "18446744073709551616", "99999999999T", "16777216T", "1 2", ".", "1,5M", "--", "12 \n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t bytes = 77;
        if (msnap_parse_size(bad[i], &bytes))
            fail_msg("\"%s\" was read as %llu", bad[i], (unsigned long long)bytes);
        assert_int_equal(bytes, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_short_and_exact_below_a_kibibyte), TEST(printed_sizes_read_back_close_to_what_they_were), TEST(durations),
        TEST(sizes_that_are_read), TEST(sizes_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
