/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/terminal/screen.h"

#include "unit/base/unit.h"

#define S INT64_C(1000000)

TEST(a_duration_is_written_for_people)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        { -1, "never" },
        { 0, "-" },
        { 1, "1us" },
        { 999, "999us" },
        { 1000, "1ms" },
        { 1001, "2ms" }, /* rounded up */
        { 98000, "98ms" },
        { 999000, "999ms" },
        { 999001, "1.000s" },
        { S, "1.000s" },
        { 14998000, "14.998s" },
        { 14998001, "14.999s" },
        { 59999000, "59.999s" },
        { 59999001, "1m 00s" },
        { 60 * S, "1m 00s" },
        { 60 * S + 1, "1m 01s" },
        { 3599 * S, "59m 59s" },
        { 3599 * S + 1, "1h 00m" },
        { 12300 * S, "3h 25m" },
        { 86400 * S, "1d 00h" },
        { 90 * 86400 * S, "90d 00h" },
        { INT64_C(4400000000) * S, "50925d 22h" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[SL_DURATION_MAX];
        SAME_TEXT(rows[i].text, sl_text(sl_screen_duration(rows[i].us, out)), rows[i].text);
    }
}

TEST(an_age_has_whole_seconds)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        { -5, "0s" },
        { 0, "0s" },
        { 999999, "0s" },
        { 14998000, "14s" },
        { 59999999, "59s" },
        { 60 * S, "1m 00s" },
        { 61 * S - 1, "1m 00s" },
        { 3 * 3600 * S, "3h 00m" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[SL_DURATION_MAX];
        SAME_TEXT(rows[i].text, sl_text(sl_screen_age(rows[i].us, text)), rows[i].text);
    }
}

struct row {
    double number;
    const char *text;
};

static void each_is_written(const struct row *rows, size_t count,
                            const char *(*write)(double, char[SL_FIGURE_MAX]))
{
    char text[SL_FIGURE_MAX];
    for (size_t i = 0; i < count; i++) {
        SAME_TEXT(rows[i].text, sl_text(write(rows[i].number, text)), rows[i].text);
        assert_true(strlen(text) <= 6);
    }
}

TEST(a_count_takes_six_columns)
{
    static const struct row rows[] = {
        { -1, "-" },
        { 0, "0" },
        { 0.01, "<0.1" },
        { 0.05, "0.1" },
        { 1, "1" },
        { 7.26, "7.3" },
        { 9.94, "9.9" },
        { 9.96, "10" },
        { 166.7, "167" },
        { 99999, "99999" },
        { 99999.4, "99999" },
        { 99999.6, "100k" },
        { 123456, "123k" },
        { 999499, "999k" },
        { 999500, "1.00M" },
        { 1234567, "1.23M" },
        { 12345678, "12.3M" },
        { 1e9, "1.00G" },
        { 9.2e18, "9.20E" },
        { 1e21, "1000E" },
    };
    each_is_written(rows, COUNT(rows), sl_screen_count);
}

TEST(a_share_is_never_rounded_to_all_or_nothing)
{
    static const struct row rows[] = {
        { -1, "-" },      { 0, "0%" },         { 1e-9, "<0.1%" },    { 0.001, "0.1%" },
        { 0.2, "20.0%" }, { 0.9994, "99.9%" }, { 0.99999, "99.9%" }, { 1, "100%" },
    };
    each_is_written(rows, COUNT(rows), sl_screen_share);
}

TEST(a_latency_has_its_unit)
{
    static const struct row rows[] = {
        { -1, "-" },         { 0, "0.0us" },     { 1.23, "1.2us" }, { 9.96, "10us" },
        { 999.4, "999us" },  { 999.6, "1.0ms" }, { 45000, "45ms" }, { 999600, "1.0s" },
        { 12345678, "12s" }, { 3.6e9, "3600s" },
    };
    each_is_written(rows, COUNT(rows), sl_screen_latency);
}
