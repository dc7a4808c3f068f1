/* Commands are no part of the library, so the file itself is taken in. */
#include "cmd/screen.c"

#include "unit/base/unit.h"

#define S INT64_C(1000000)

static void a_duration_is_written_for_people(void **unused)
{
    (void)unused;
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

int main(void)
{
    static const struct CMUnitTest tests[] = { CLAIM(a_duration_is_written_for_people) };
    return RUN(tests);
}
