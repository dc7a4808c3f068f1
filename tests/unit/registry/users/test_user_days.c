#include "registry/users/user_days.h"

#include "unit/base/unit.h"

enum { TODAY = 20500, MINUTES = 1440 };

static void assert_sum(const char *row, const struct sl_days *days, int64_t today, uint64_t calls,
                       uint64_t successes, uint64_t violations)
{
    struct sl_days_sum sum = sl_days_sum(days, today);
    SAME(row, sum.calls, calls);
    SAME(row, sum.successes, successes);
    SAME(row, sum.violations, violations);
}

TEST(zero_is_a_user_without_days)
{
    struct sl_days days = { 0 };
    assert_sum("zero", &days, TODAY, 0, 0, 0);
    assert_sum("1970", &days, 0, 0, 0, 0);
    assert_int_equal(sl_days_newest(&days), -1);
    assert_true(sl_days_is_news(&days, 0));
}

TEST(outcomes_count_today_and_six_days_after)
{
    struct sl_days days = { 0 };
    sl_days_add_outcomes(&days, TODAY, 3, 2);
    sl_days_add_outcomes(&days, TODAY, 1, 1);
    for (int64_t day = TODAY - 3; day < TODAY + 12; day++)
        assert_sum("day", &days, day, day >= TODAY && day < TODAY + 7 ? 4 : 0,
                   day >= TODAY && day < TODAY + 7 ? 3 : 0, 0);
    assert_int_equal(sl_days_newest(&days), TODAY);
}

TEST(violations_count_today_and_29_days_after)
{
    struct sl_days days = { 0 };
    sl_days_add_violation(&days, TODAY * MINUTES);
    sl_days_add_violation(&days, TODAY * MINUTES + MINUTES - 1);
    for (int64_t day = TODAY - 3; day < TODAY + 40; day++)
        assert_sum("day", &days, day, 0, 0, day >= TODAY && day < TODAY + 30 ? 2 : 0);
    assert_int_equal(sl_days_newest(&days), TODAY);
}

/* Against sums over a long list of days. */
TEST(any_history_is_summed_exactly)
{
    enum { SPAN = 400 };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t random = seed, calls[SPAN] = { 0 }, violations[SPAN] = { 0 };
        struct sl_days days = { 0 };
        int64_t day = 0;
        while (day < SPAN) {
            if (unit_up_to(&random, 1)) {
                sl_days_add_outcomes(&days, TODAY + day, 5, 3);
                calls[day] += 5;
            }
            if (unit_up_to(&random, 1)) {
                sl_days_add_violation(&days, (TODAY + day) * MINUTES);
                violations[day]++;
            }
            uint64_t called = 0, violated = 0;
            for (int64_t i = day; i >= 0 && i > day - 30; i--) {
                called += i > day - 7 ? calls[i] : 0;
                violated += violations[i];
            }
            assert_sum("history", &days, TODAY + day, called, called / 5 * 3, violated);
            day += unit_up_to(&random, 3) ? unit_up_to(&random, 2) : unit_up_to(&random, 45);
        }
    }
}

TEST(a_clock_that_steps_back_finds_its_window)
{
    struct sl_days days = { 0 };
    for (int64_t day = TODAY - 40; day <= TODAY + 1; day++) {
        sl_days_add_outcomes(&days, day, 1, 0);
        sl_days_add_violation(&days, day * MINUTES);
    }
    assert_sum("tomorrow", &days, TODAY + 1, 7, 0, 30);
    assert_sum("today", &days, TODAY, 7, 0, 30); /* tomorrow does not count */
    sl_days_add_outcomes(&days, TODAY, 10, 10);
    assert_sum("today", &days, TODAY, 17, 10, 30);
    assert_sum("tomorrow", &days, TODAY + 1, 17, 10, 30);
    assert_sum("last week", &days, TODAY - 8, 0, 0, 23);
}

TEST(a_clock_that_leapt_ahead_loses_nothing_for_long)
{
    struct sl_days days = { 0 };
    sl_days_add_outcomes(&days, TODAY + 30000, 9, 9);
    sl_days_add_violation(&days, (TODAY + 30000) * MINUTES);
    assert_sum("now", &days, TODAY, 0, 0, 0);
    assert_true(sl_days_is_news(&days, TODAY * MINUTES));
    sl_days_add_outcomes(&days, TODAY, 1, 1);
    sl_days_add_violation(&days, TODAY * MINUTES);
    assert_sum("now", &days, TODAY, 1, 1, 1);
    assert_int_equal(sl_days_newest(&days), TODAY);
    assert_false(sl_days_is_news(&days, TODAY * MINUTES));
}

TEST(a_violation_is_news_once_a_minute)
{
    struct sl_days days = { 0 };
    int64_t minute = TODAY * MINUTES + 700;
    assert_true(sl_days_is_news(&days, minute));
    sl_days_add_violation(&days, minute);
    assert_false(sl_days_is_news(&days, minute));
    assert_true(sl_days_is_news(&days, minute + 1));
    assert_false(sl_days_is_news(&days, minute - 1)); /* of a thread that was late */
    assert_false(sl_days_is_news(&days, minute - MINUTES));
    assert_true(sl_days_is_news(&days, minute - MINUTES - 1)); /* of a clock set right */
}

TEST(a_day_of_the_registry_replaces_outcomes)
{
    struct sl_days days = { 0 };
    sl_days_put_outcomes(&days, TODAY, 9, 8);
    sl_days_put_outcomes(&days, TODAY - 1, 5, 5);
    sl_days_put_outcomes(&days, TODAY, 2, 1);
    assert_sum("put", &days, TODAY, 7, 6, 0);
    sl_days_put_outcomes(&days, TODAY - 8, 100, 100); /* out of reach */
    assert_sum("put", &days, TODAY, 7, 6, 0);
    sl_days_put_outcomes(&days, TODAY, 0, 0);
    assert_sum("put", &days, TODAY, 5, 5, 0);
    sl_days_put_outcomes(&days, TODAY + 3, 0, 0); /* is nothing, and turns nothing over */
    assert_int_equal(sl_days_newest(&days), TODAY);
}

TEST(violations_of_the_registry_take_none_away)
{
    struct sl_days days = { 0 };
    int64_t minute = TODAY * MINUTES;
    sl_days_put_violations(&days, TODAY, 3, minute + 10);
    assert_sum("put", &days, TODAY, 0, 0, 3);
    assert_false(sl_days_is_news(&days, minute + 10));
    sl_days_add_violation(&days, minute + 11);
    sl_days_put_violations(&days, TODAY, 3, minute + 10); /* it has not heard of the last */
    assert_sum("put", &days, TODAY, 0, 0, 4);
    assert_false(sl_days_is_news(&days, minute + 11));
    sl_days_put_violations(&days, TODAY, 6, minute + 15);
    assert_sum("put", &days, TODAY, 0, 0, 6);
    assert_false(sl_days_is_news(&days, minute + 15));
    sl_days_put_violations(&days, TODAY - 29, 2, -1);
    sl_days_put_violations(&days, TODAY - 30, 7, -1);
    sl_days_put_violations(&days, TODAY - 40, 9, (TODAY - 40) * MINUTES);
    assert_sum("put", &days, TODAY, 0, 0, 8);
    assert_false(sl_days_is_news(&days, minute + 15));
    assert_true(sl_days_is_news(&days, minute + 16));
    sl_days_put_violations(&days, TODAY + 5, 0, -1);
    assert_int_equal(sl_days_newest(&days), TODAY);
}

TEST(counts_stop_at_their_most)
{
    struct sl_days days = { 0 };
    sl_days_add_outcomes(&days, TODAY, UINT64_MAX, 5);
    sl_days_add_outcomes(&days, TODAY, 1, UINT64_MAX);
    assert_sum("most", &days, TODAY, UINT32_MAX, UINT32_MAX, 0);
    sl_days_put_violations(&days, TODAY, UINT64_MAX, TODAY * MINUTES);
    sl_days_add_violation(&days, TODAY * MINUTES + 1);
    assert_sum("most", &days, TODAY, UINT32_MAX, UINT32_MAX, UINT16_MAX);
}

TEST(days_before_1970_and_after_2149_are_none)
{
    struct sl_days days = { 0 };
    static const int64_t none[] = { -1, INT64_MIN, UINT16_MAX, INT64_MAX / MINUTES };
    for (size_t i = 0; i < COUNT(none); i++) {
        sl_days_add_outcomes(&days, none[i], 1, 1);
        sl_days_put_outcomes(&days, none[i], 1, 1);
        sl_days_put_violations(&days, none[i], 1, -1);
        sl_days_add_violation(&days, none[i] < 0 ? none[i] : none[i] * MINUTES);
    }
    assert_int_equal(sl_days_newest(&days), -1);
    assert_memory_equal(&days, &(struct sl_days){ 0 }, sizeof days);
    sl_days_add_outcomes(&days, 0, 1, 1);
    sl_days_add_violation(&days, 0);
    assert_sum("the first", &days, 0, 1, 1, 1);
    sl_days_add_outcomes(&days, UINT16_MAX - 1, 2, 2);
    assert_sum("the last", &days, UINT16_MAX - 1, 2, 2, 0);
    assert_sum("at any time", &days, INT64_MAX, 0, 0, 0);
    assert_sum("at any time", &days, INT64_MIN / 2, 0, 0, 0);
}
