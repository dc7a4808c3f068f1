/* What limiters count and see is summed up. */
#include "base/clock.h"
#include "unit/telemetry/recorded.h"

static const char two_rules[] =
    "rules: [{ name: a, per: user, algorithm: fixed_window, limit: 3/h },\n"
    "        { name: b, per: user, algorithm: token_bucket, capacity: 2, refill_rate: 0.001,\n"
    "          shadow: true }]\n";

TEST(counts_of_all_workers_are_in_all_periods)
{
    recorded_open(two_rules);
    ask_as(0, "u", 2);
    ask_as(1, "u", 4);
    sum_up(NOW_S);
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        struct sl_sums all = sums_in(&recorded.record.all, period, NOW_S);
        assert_int_equal(all.outcomes[SL_OUTCOME_ALLOWED], 3);
        assert_int_equal(all.outcomes[SL_OUTCOME_DENIED], 3);
        struct sl_sums a = sums_in(&detail_of(0)->figure, period, NOW_S);
        assert_int_equal(a.outcomes[SL_OUTCOME_ALLOWED], 3);
        assert_int_equal(a.outcomes[SL_OUTCOME_DENIED], 3);
        struct sl_sums b = sums_in(&detail_of(1)->figure, period, NOW_S);
        assert_int_equal(b.outcomes[SL_OUTCOME_ALLOWED], 2);
        assert_int_equal(b.outcomes[SL_OUTCOME_SHADOW_DENIED], 4);
        size_t fixed = sl_algo_place("fixed_window"), bucket = sl_algo_place("token_bucket");
        a = sums_in(&recorded.record.algos[fixed], period, NOW_S);
        b = sums_in(&recorded.record.algos[bucket], period, NOW_S);
        assert_int_equal(a.outcomes[SL_OUTCOME_DENIED], 3);
        assert_int_equal(b.outcomes[SL_OUTCOME_SHADOW_DENIED], 4);
    }
    recorded_close();
}

TEST(each_second_has_what_came_in_it)
{
    recorded_open(two_rules);
    ask_as(0, "u", 2);
    sum_up(NOW_S);
    sum_up(NOW_S + 1);
    ask_as(0, "u", 3);
    sum_up(NOW_S + 2);
    const struct sl_figure *all = &recorded.record.all;
    static const uint64_t wanted[][2] = { { 1, 2 }, { 0, 0 }, { 2, 0 } };
    for (uint32_t back = 0; back < COUNT(wanted); back++) {
        const struct sl_sums *step = sl_figure_step(all, SL_PERIOD_MINUTE, NOW_S + 2, back);
        assert_int_equal(step->outcomes[SL_OUTCOME_ALLOWED], wanted[back][0]);
        assert_int_equal(step->outcomes[SL_OUTCOME_DENIED], wanted[back][1]);
    }
    recorded_close();
}

TEST(a_rule_that_was_not_checked_takes_no_memory)
{
    recorded_open("rules: [{ name: asked, per: user, limit: 9/m },\n"
                  "        { name: not, per: ip, limit: 9/m }]\n");
    ask_as(0, "u", 1);
    sum_up(NOW_S);
    assert_non_null(detail_of(0));
    assert_null(detail_of(1));
    recorded_close();
}

/* ---- reloads ---- */

TEST(figures_stay_with_the_name_through_reloads)
{
    recorded_open(two_rules);
    ask_as(0, "u", 5);
    sum_up(NOW_S);
    recorded_load("rules: [{ name: new, per: user, limit: 9/m },\n"
                  "        { name: a, per: user, algorithm: fixed_window, limit: 3/h }]\n");
    ask_as(1, "u", 1);
    sum_up(NOW_S + 1);
    struct sl_sums a = sums_in(&detail_of(1)->figure, SL_PERIOD_MINUTE, NOW_S + 1);
    assert_int_equal(a.outcomes[SL_OUTCOME_ALLOWED], 3);
    assert_int_equal(a.outcomes[SL_OUTCOME_DENIED], 3);
    struct sl_sums new = sums_in(&detail_of(0)->figure, SL_PERIOD_MINUTE, NOW_S + 1);
    assert_int_equal(new.outcomes[SL_OUTCOME_ALLOWED], 1);
    struct sl_sums all = sums_in(&recorded.record.all, SL_PERIOD_MINUTE, NOW_S + 1);
    assert_int_equal(all.outcomes[SL_OUTCOME_ALLOWED] + all.outcomes[SL_OUTCOME_DENIED], 6);
    assert_int_equal(top_count(&detail_of(1)->tops[0]->denied, "u"), 3);
    recorded_close();
}

/* Of a rule that is gone, some workers still have their counts and some do not any more. */
TEST(a_sum_that_falls_adds_nothing)
{
    recorded_open(two_rules);
    uint64_t now[][SL_OUTCOME_COUNT] = { { 1000 }, { 0 } };
    struct sl_counted counted = { .by_rule = now, .rule_count = COUNT(now) };
    sl_rule_stats_count(&recorded.record, &counted, NOW_S);
    now[0][SL_OUTCOME_ALLOWED] = 500;
    sl_rule_stats_count(&recorded.record, &counted, NOW_S + 1);
    now[0][SL_OUTCOME_ALLOWED] = 503;
    sl_rule_stats_count(&recorded.record, &counted, NOW_S + 2);
    struct sl_sums sums = sums_in(&detail_of(0)->figure, SL_PERIOD_MINUTE, NOW_S + 2);
    assert_int_equal(sums.outcomes[SL_OUTCOME_ALLOWED], 1003);
    recorded_close();
}

/* Its counters begin at zero again, and nothing is counted twice or less than nothing. */
TEST(a_rule_that_goes_and_comes_back_goes_on)
{
    recorded_open(two_rules);
    ask_as(0, "u", 5);
    sum_up(NOW_S);
    recorded_load("rules: [{ name: other, per: user, limit: 9/m }]\n");
    sum_up(NOW_S + 1);
    recorded_load(two_rules);
    ask_as(0, "u", 1);
    sum_up(NOW_S + 2);
    struct sl_sums a = sums_in(&detail_of(0)->figure, SL_PERIOD_MINUTE, NOW_S + 2);
    assert_int_equal(a.outcomes[SL_OUTCOME_ALLOWED], 3);
    assert_int_equal(a.outcomes[SL_OUTCOME_DENIED], 3);
    recorded_close();
}

/* Notes that were written by the old rules arrive when the new ones are in force. */
TEST(samples_of_a_removed_rule_still_find_it)
{
    recorded_open(two_rules);
    uint32_t old = recorded.numbers[0];
    ask_as(0, "u", 5);
    recorded_load("rules: [{ name: other, per: user, limit: 9/m }]\n");
    sum_up(NOW_S);
    const struct sl_enrolled *gone = &recorded.record.ids.rules[old];
    assert_string_equal(gone->name, "a");
    assert_int_equal(top_count(&gone->detail->tops[0]->denied, "u"), 2);
    recorded_close();
}

/* ---- top callers ---- */

TEST(most_denied_and_most_frequent_callers_are_listed)
{
    recorded_open("rules: [{ name: a, per: user, limit: 3/h }]\n");
    ask_as(0, "heavy", 20);
    ask_as(1, "heavy", 10);
    ask_as(1, "light", 2);
    ask_as(0, "over", 5);
    sum_up(NOW_S);
    const struct sl_tops *tops = detail_of(0)->tops[0];
    assert_int_equal(top_count(&tops->denied, "heavy"), 27);
    assert_int_equal(top_count(&tops->denied, "over"), 2);
    assert_int_equal(top_count(&tops->denied, "light"), 0);
    assert_int_equal(tops->denied.count, 2);
    assert_int_equal(top_count(&tops->met, "heavy"), 30);
    assert_int_equal(top_count(&tops->met, "light"), 2);
    assert_int_equal(tops->met.total, 37);
    recorded_close();
}

/* Half an hour later they are the older ones, and after an hour they are gone. */
TEST(lists_are_turned_every_half_hour)
{
    recorded_open("rules: [{ name: a, per: user, limit: 3/h }]\n");
    struct sl_rule_stats *record = &recorded.record;
    int64_t began_us = record->terms[0].since_us;
    assert_in_range(sl_walltime_us() - began_us, 0, 60000000); /* there is a start at once */
    ask_as(0, "u", 5);
    sum_up(NOW_S + 1);
    record->terms[0].missed_denied = 9;
    sl_rule_stats_turn(record, NOW_S + 1799, 2000);
    assert_non_null(detail_of(0)->tops[0]);
    sl_rule_stats_turn(record, NOW_S + 1800, 3000);
    assert_null(detail_of(0)->tops[0]);
    assert_int_equal(top_count(&detail_of(0)->tops[1]->denied, "u"), 2);
    assert_int_equal(record->terms[0].since_us, 3000);
    assert_int_equal(record->terms[0].missed_denied, 0);
    assert_int_equal(record->terms[1].since_us, began_us);
    assert_int_equal(record->terms[1].missed_denied, 9);
    sl_rule_stats_turn(record, NOW_S + 3600, 4000);
    assert_null(detail_of(0)->tops[1]);
    assert_int_equal(record->terms[1].since_us, 3000);
    recorded_close();
}

TEST(missed_samples_are_counted)
{
    recorded_open("rules: [{ name: a, per: user, limit: 1/h }]\n");
    for (int i = 0; i < 700; i++) {
        char user[16];
        snprintf(user, sizeof user, "u%d", i);
        ask_as(0, user, 2);
    }
    sum_up(NOW_S);
    uint64_t denied = detail_of(0)->tops[0]->denied.total, met = detail_of(0)->tops[0]->met.total;
    assert_true(recorded.record.terms[0].missed_denied > 0);
    assert_int_equal(denied + recorded.record.terms[0].missed_denied, 700);
    assert_in_range(met + recorded.record.terms[0].missed_met, 1400 - 8, 1400 + 8);
    recorded_close();
}

TEST(bursts_are_counted_for_the_rule_and_for_all)
{
    recorded_open("rules: [{ name: a, per: user, limit: 99/h,\n"
                  "          burst_guard: { window: 1s, threshold: 3, penalty: 1m } }]\n");
    ask_as(0, "u", 5);
    recorded.model.now_us += 1000000;
    ask_as(0, "u", 9);
    sum_up(NOW_S);
    struct sl_sums sums = sums_in(&detail_of(0)->figure, SL_PERIOD_MINUTE, NOW_S);
    assert_int_equal(sums.warned, 1);
    assert_int_equal(sums.blocked, 1);
    assert_int_equal(detail_of(0)->warned, 1); /* since the start */
    assert_int_equal(detail_of(0)->blocked, 1);
    sums = sums_in(&recorded.record.all, SL_PERIOD_MINUTE, NOW_S);
    assert_int_equal(sums.warned, 1);
    assert_int_equal(sums.blocked, 1);
    recorded_close();
}

/* ---- how many different ones ---- */

TEST(callers_are_counted_once_whatever_worker_they_come_to)
{
    recorded_open("rules: [{ name: a, per: user, limit: 6/h }]\n");
    for (int64_t second = 0; second < 3; second++) {
        for (int i = 0; i < 20; i++) {
            char user[16];
            snprintf(user, sizeof user, "u%d", i);
            ask_as((size_t)i % 2, user, i < 5 ? 4 : 1);        /* denied by one worker alone, */
            ask_as(1 - (size_t)i % 2, user, i >= 5 && i < 10); /* or met by both */
        }
        sum_up(NOW_S + second);
    }
    struct sl_measures measures;
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        assert_true(sl_figure_measure(&detail_of(0)->figure, period, NOW_S + 2, &measures));
        assert_in_range(sl_distinct_count(&measures.callers), 19, 21);
        assert_in_range(sl_distinct_count(&measures.limited), 4, 6);
        sl_measures_release(&measures);
    }
    recorded_close();
}
