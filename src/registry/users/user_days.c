/* A user's days: two rings, found by the day's number, and the newest day of each.
 *
 *            newest
 *   | 17 | 18 | 11 | 12 | 13 | 14 | 15 | 16 |     8 slots, newest 18: 11 to 18
 *
 * A later day empties the slots between the newest and itself, so that a gap of any
 * length costs at most one turn of the ring and nothing old is left. An earlier day is in
 * its slot as long as the ring reaches back to it. The rings are a day or two longer than
 * the sums need: a clock that is stepped back over midnight still finds its whole window.
 *
 * A clock that leapt months ahead and came back would leave a newest day that no other
 * reaches for months. So "today" further back than the ring reaches begins it anew,
 * while a day out of the registry, which may really be that old, is passed over.
 *
 * Counts stop at the largest number they can hold. A day has 1440 minutes, so that 16
 * bits are more than enough for its violations. */
#include "registry/users/user_days.h"

#include "base/text/number.h"

enum { DAY_MAX = UINT16_MAX - 1, MINUTES_A_DAY = 1440 };

static bool is_day(int64_t day)
{
    return day >= 0 && day <= DAY_MAX;
}

static uint32_t add_saturating(uint64_t a, uint64_t b, uint64_t most)
{
    uint64_t sum;
    return (uint32_t)(__builtin_add_overflow(a, b, &sum) || sum > most ? most : sum);
}

/* Returns true if the day is in a ring that ends before `until`. */
static bool ring_reaches(uint32_t until, int64_t day, int64_t slots)
{
    return day < until && day >= (int64_t)until - slots;
}

/* The number of slots, from the day's own backwards, to empty before the day can be counted;
 * -1: it is not in the ring. */
static int64_t slots_to_empty(uint32_t until, int64_t day, int64_t slots, bool is_today)
{
    if (ring_reaches(until, day, slots))
        return 0;
    if (day >= until)
        return sl_min_i64(day + 1 - until, slots);
    return is_today ? slots : -1;
}

static bool open_outcomes(struct sl_days *days, int64_t day, bool is_today)
{
    int64_t empty =
        is_day(day) ? slots_to_empty(days->outcomes_until, day, SL_OUTCOME_SLOTS, is_today) : -1;
    for (int64_t i = 0; i < empty; i++) {
        uint64_t slot = (uint64_t)(day + SL_OUTCOME_SLOTS - i) % SL_OUTCOME_SLOTS;
        days->outcomes[slot].calls = days->outcomes[slot].successes = 0;
    }
    if (empty > 0)
        days->outcomes_until = (uint16_t)(day + 1);
    return empty >= 0;
}

static bool open_violations(struct sl_days *days, int64_t day, bool is_today)
{
    int64_t empty = is_day(day)
                        ? slots_to_empty(days->violations_until, day, SL_VIOLATION_SLOTS, is_today)
                        : -1;
    for (int64_t i = 0; i < empty; i++)
        days->violations[(uint64_t)(day + SL_VIOLATION_SLOTS - i) % SL_VIOLATION_SLOTS] = 0;
    if (empty > 0)
        days->violations_until = (uint16_t)(day + 1);
    return empty >= 0;
}

/* ---- outcomes ---- */

void sl_days_add_outcomes(struct sl_days *days, int64_t day, uint64_t calls, uint64_t successes)
{
    if (!open_outcomes(days, day, true))
        return;
    uint64_t slot = (uint64_t)day % SL_OUTCOME_SLOTS;
    days->outcomes[slot].calls = add_saturating(days->outcomes[slot].calls, calls, UINT32_MAX);
    days->outcomes[slot].successes =
        add_saturating(days->outcomes[slot].successes, successes, UINT32_MAX);
}

void sl_days_put_outcomes(struct sl_days *days, int64_t day, uint64_t calls, uint64_t successes)
{
    bool is_nothing = calls == 0 && successes == 0;
    if (is_nothing && !ring_reaches(days->outcomes_until, day, SL_OUTCOME_SLOTS))
        return;
    if (!open_outcomes(days, day, false))
        return;
    uint64_t slot = (uint64_t)day % SL_OUTCOME_SLOTS;
    days->outcomes[slot].calls = add_saturating(0, calls, UINT32_MAX);
    days->outcomes[slot].successes = add_saturating(0, successes, UINT32_MAX);
}

/* ---- violations ---- */

/* News: later than the last minute, or so much earlier that the last cannot be right. */
bool sl_days_is_news(const struct sl_days *days, int64_t minute)
{
    int64_t last = (int64_t)days->violated - 1;
    return minute > last || minute < last - MINUTES_A_DAY;
}

void sl_days_add_violation(struct sl_days *days, int64_t minute)
{
    int64_t day = minute / MINUTES_A_DAY;
    if (minute < 0 || !open_violations(days, day, true))
        return;
    uint16_t *count = &days->violations[(uint64_t)day % SL_VIOLATION_SLOTS];
    *count = (uint16_t)add_saturating(*count, 1, UINT16_MAX);
    days->violated = (uint32_t)(minute + 1);
}

void sl_days_put_violations(struct sl_days *days, int64_t day, uint64_t violations,
                            int64_t last_minute)
{
    if (violations == 0 || !open_violations(days, day, false))
        return;
    uint16_t *count = &days->violations[(uint64_t)day % SL_VIOLATION_SLOTS];
    if (violations > *count)
        *count = (uint16_t)add_saturating(0, violations, UINT16_MAX);
    /* The last minute of another day would be no minute of this one. */
    if (last_minute / MINUTES_A_DAY == day && last_minute >= (int64_t)days->violated)
        days->violated = (uint32_t)(last_minute + 1);
}

/* ---- both ---- */

struct sl_days_sum sl_days_sum(const struct sl_days *days, int64_t today)
{
    struct sl_days_sum sum = { 0 };
    int64_t last = sl_min_i64(today, days->outcomes_until - 1);
    int64_t first = sl_max_i64(today - (SL_OUTCOME_DAYS - 1),
                               sl_max_i64(days->outcomes_until - SL_OUTCOME_SLOTS, 0));
    for (int64_t day = first; day <= last; day++) {
        sum.calls += days->outcomes[(uint64_t)day % SL_OUTCOME_SLOTS].calls;
        sum.successes += days->outcomes[(uint64_t)day % SL_OUTCOME_SLOTS].successes;
    }
    last = sl_min_i64(today, days->violations_until - 1);
    first = sl_max_i64(today - (SL_VIOLATION_DAYS - 1),
                       sl_max_i64(days->violations_until - SL_VIOLATION_SLOTS, 0));
    for (int64_t day = first; day <= last; day++)
        sum.violations += days->violations[(uint64_t)day % SL_VIOLATION_SLOTS];
    return sum;
}

int64_t sl_days_newest(const struct sl_days *days)
{
    return sl_max_i64(days->outcomes_until, days->violations_until) - 1;
}
