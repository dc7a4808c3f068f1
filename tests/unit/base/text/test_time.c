/* Moments as text. */
#include "base/text/time.h"

#include "unit/base/unit.h"

#define S INT64_C(1000000)

/* ---- reading ---- */

struct moment {
    const char *text;
    int64_t us;
};

TEST(a_moment_is_seconds_or_rfc_3339)
{
    static const struct moment rows[] = {
        { "0", 0 },
        { "1", S },
        { "1767225600", 1767225600 * S },
        { "1767225600.25", 1767225600 * S + 250000 },
        { "1767225600.0000019", 1767225600 * S + 1 }, /* finer parts are cut off */
        { "0.999999999999999999999", 999999 },
        { "00001.5", 1500000 },
        { "253402300799.999999", 253402300799 * S + 999999 },
        { "1970-01-01T00:00:00Z", 0 },
        { "1970-01-01T00:00:00.000001Z", 1 },
        { "2026-01-31T12:00:00Z", 1769860800 * S },
        { "2026-01-31t12:00:00z", 1769860800 * S },
        { "2026-01-31T12:00:00.123456789Z", 1769860800 * S + 123456 },
        { "2026-01-31T13:00:00+01:00", 1769860800 * S },
        { "2026-01-31T06:30:00-05:30", 1769860800 * S },
        { "2026-01-31T12:00:00-00:00", 1769860800 * S },
        { "2024-02-29T00:00:00Z", 1709164800 * S },
        { "2000-02-29T23:59:59Z", 951868799 * S },
        { "2016-12-31T23:59:60Z", 1483228800 * S }, /* a leap second */
        { "2017-01-01T00:59:60+01:00", 1483228800 * S },
        { "1969-12-31T23:59:59Z", -S },
        { "0000-01-01T00:00:00Z", -62167219200 * S },
        { "9999-12-31T23:59:59Z", 253402300799 * S },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t us = 42;
        SAME(rows[i].text, sl_time_parse(sl_text(rows[i].text), &us), true);
        SAME(rows[i].text, us, rows[i].us);
    }
}

TEST(a_text_that_is_no_moment_leaves_the_output_alone)
{
    static const char *const rows[] = {
        "",
        " ",
        ".",
        "1.",
        ".5",
        "-1",
        "+1",
        "1e9",
        "1 ",
        "0x1",
        "1767225600s",
        "253402300800", /* the year 10000 */
        "9999999999999",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31 12:00:00Z",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00Z ",
        "2026-01-31T12:00:00+1:00",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+01:60",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:61Z",
        "2026-01-31T12:00:60Z", /* no day ends there */
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "26-01-31T12:00:00Z",
        "2026-1-31T12:00:00Z",
        "12026-01-31T12:00:00Z",
        "true",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t us = 42;
        SAME(rows[i], sl_time_parse(sl_text(rows[i]), &us), false);
        SAME(rows[i], us, 42);
    }
    int64_t us = 42;
    assert_false(sl_time_parse((struct sluice_text){ NULL, 0 }, &us));
    assert_false(sl_time_parse((struct sluice_text){ "1\0", 2 }, &us));
}

/* ---- printing ---- */

TEST(a_moment_is_printed_as_rfc_3339)
{
    static const struct moment rows[] = {
        { "1970-01-01T00:00:00.000000Z", 0 },
        { "1970-01-01T00:00:00.000001Z", 1 },
        { "1969-12-31T23:59:59.999999Z", -1 },
        { "1969-12-31T23:59:59.000000Z", -S },
        { "2026-01-31T12:00:00.123456Z", 1769860800 * S + 123456 },
        { "9999-12-31T23:59:59.999999Z", 253402300799 * S + 999999 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_buffer out = sl_buffer(64);
        int64_t us = 42;
        sl_time_print(&out, rows[i].us);
        struct sluice_text text = { out.at, out.len };
        SAME(rows[i].text, sl_text_is(text, rows[i].text), true);
        SAME(rows[i].text, sl_time_parse(text, &us), true);
        SAME(rows[i].text, us, rows[i].us);
        sl_buffer_release(&out);
    }
}

TEST(the_short_form_has_whole_seconds)
{
    char text[SL_TIME_SHORT_MAX];
    assert_true(sl_time_print_short(text, 0));
    assert_string_equal(text, "1970-01-01 00:00:00 UTC");
    assert_true(sl_time_print_short(text, -1));
    assert_string_equal(text, "1969-12-31 23:59:59 UTC");
    assert_true(sl_time_print_short(text, 253402300800));
    assert_string_equal(text, "10000-01-01 00:00:00 UTC");
    assert_false(sl_time_print_short(text, INT64_MAX));
}
