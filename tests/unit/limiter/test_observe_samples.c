/* What a limiter with an observer samples: the callers it met, how many different ones, and how
 * long it took. */
#include "unit/limiter/watched.h"

static const char one_rule[] =
    "rules: [{ name: api, per: user, algorithm: fixed_window, limit: 2/m }]\n";

static uint64_t met_in_all(void)
{
    uint64_t sum = samples()->missed_met;
    for (size_t i = 0; i < samples()->count; i++)
        sum += samples()->noted[i].met;
    return sum;
}

/* ---- a sample of all ---- */

TEST(at_first_every_request_is_sampled)
{
    watched_open("rules: [{ name: api, per: user, limit: 1000/m }]\n");
    for (uint64_t i = 0; i < SL_NOTED_SAMPLE; i++) {
        watched_ask_as(i % 8);
        assert_int_equal(met_in_all(), i + 1);
    }
    for (uint64_t i = 0; i < 8; i++) {
        char user[8];
        snprintf(user, sizeof user, "u%" PRIu64, i);
        assert_int_equal(noted_of(0, user)->met, SL_NOTED_SAMPLE / 8);
    }
    watched_close();
}

static void ask_in_batches(size_t total, size_t each)
{
    static struct sluice_decision decisions[1024];
    static struct sluice_request requests[1024];
    char users[16][8];
    uint64_t seed = total;
    assert_true(each <= COUNT(requests));
    for (size_t done = 0; done < total; done += each) {
        size_t count = total - done < each ? total - done : each;
        for (size_t i = 0; i < count; i++) {
            uint64_t draw = (uint64_t)unit_up_to(&seed, 15);
            snprintf(users[draw], sizeof *users, "u%" PRIu64, draw < 8 ? 0 : draw);
            requests[i] = REQUEST(.user = sl_text(users[draw]));
        }
        sl_limiter_decide_batch(watched.limiter, requests, count, decisions);
    }
}

/* Half of it is u0's. However it comes, the weights add up to what there was, but for what has
 * been passed over since the last one. */
TEST(later_ones_stand_for_many)
{
    static const size_t totals[] = { 257, 300, 768, 1000, 5000, 40000, 200000 };
    static const size_t batches[] = { 1, 7, 64, 1000 };
    for (size_t i = 0; i < COUNT(totals); i++)
        for (size_t k = 0; k < COUNT(batches); k++) {
            char row[48];
            snprintf(row, sizeof row, "%zu in batches of %zu", totals[i], batches[k]);
            watched_open("rules: [{ name: api, per: user, limit: 100000000/m }]\n");
            ask_in_batches(totals[i], batches[k]);
            uint64_t stride = samples()->stride, met = met_in_all(), total = totals[i];
            SAME(row, stride > 1 && stride <= total / 128, true);
            SAME(row, met < total + stride && met + stride > total, true);
            uint64_t half = noted_of(0, "u0")->met;
            SAME(row, half > total * 2 / 5 && half < total * 3 / 5, true);
            watched_close();
        }
}

/* Thousands of callers, and one makes half of the requests: it is met all the time, though after
 * a while no other caller is sampled. */
TEST(the_most_frequent_caller_is_sampled_when_the_samples_are_full)
{
    enum { TOTAL = 3000 };
    watched_open("rules: [{ name: api, per: user, limit: 100000000/m }]\n");
    uint64_t seed = 9;
    for (uint64_t i = 0; i < TOTAL; i++)
        watched_ask_as(unit_up_to(&seed, 1) ? 0 : i + 1);
    assert_true(samples()->missed_met > 0);
    assert_in_range(noted_of(0, "u0")->met, TOTAL * 2 / 5, TOTAL * 3 / 5);
    assert_in_range(met_in_all(), TOTAL - samples()->stride, TOTAL + samples()->stride);
    watched_close();
}

TEST(after_handing_over_it_begins_with_every_one_again)
{
    watched_open("rules: [{ name: api, per: user, limit: 100000000/m }]\n");
    ask_in_batches(5000, 64);
    sl_observer_hand_over(watched.observer);
    ask_in_batches(100, 64);
    assert_int_equal(met_in_all(), 100);
    assert_int_equal(samples()->stride, 1);
    watched_close();
}

/* ---- registers of callers ---- */

TEST(callers_are_those_asked_and_those_denied)
{
    watched_open("rules: [{ name: api, per: user, limit: 2/m },\n"
                 "        { name: tried, per: user, limit: 1/m, shadow: true }]\n");
    static const uint64_t wanted[][2] = { { 20, 5 }, { 20, 10 } };
    for (uint64_t i = 0; i < 20; i++)
        for (uint64_t k = 0; k <= (i < 5 ? 2 : i < 10); k++)
            watched_ask_as(i);
    for (uint32_t i = 0; i < 2; i++) {
        struct sl_distinct callers = { { 0 } }, limited = { { 0 } };
        sl_distinct_take(&callers, watched.observer->callers[FIRST_NUMBER + i]);
        sl_distinct_take(&limited, watched.observer->limited[FIRST_NUMBER + i]);
        /* Two may share a register, for which allowance is made. */
        assert_in_range(sl_distinct_count(&callers), wanted[i][0] - 1, wanted[i][0] + 1);
        assert_in_range(sl_distinct_count(&limited), wanted[i][1] - 1, wanted[i][1] + 1);
    }
    watched_close();
}

/* Of rules past the last register, counts and denials alone. */
TEST(a_rule_of_a_high_number_has_no_registers)
{
    watched_open(one_rule);
    watched.numbers[0] = SL_CALLERS_RULES;
    for (int i = 0; i < 3; i++)
        ASK(.user = SL_TEXT("u"));
    assert_int_equal(samples()->noted[0].denied, 1);
    assert_int_equal(samples()->noted[0].rule, SL_CALLERS_RULES);
    watched_close();
}

/* ---- how long, and how much of it ---- */

/* Of the rule of this number, or of all decisions. */
static uint64_t times_of(uint32_t number)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < samples()->sample_count; i++)
        if (samples()->samples[i].rule == number)
            sum += samples()->samples[i].times;
    return sum;
}

/* 1 ms apart by the store's clock. */
TEST(where_it_is_quiet_every_decision_is_timed)
{
    watched_open(one_rule);
    for (uint64_t i = 1; i <= 50; i++) {
        ASK(.user = SL_TEXT("u"));
        watched.model.now_us += SL_OBSERVER_EVERY_US;
        assert_int_equal(times_of(FIRST_NUMBER), i);
        assert_int_equal(times_of(SL_ALL_RULES), i);
    }
    for (size_t i = 0; i < samples()->sample_count; i++)
        assert_in_range(samples()->samples[i].ns, 1, INT64_C(1000000000));
    watched_close();
}

/* 10,000 in 100 ms: at most two for each of these. */
TEST(where_it_is_busy_one_or_two_thousand_a_second_are)
{
    watched_open(one_rule);
    for (uint64_t i = 0; i < 10000; i++) {
        ASK(.user = SL_TEXT("u"));
        watched.model.now_us += 10;
    }
    assert_in_range(times_of(FIRST_NUMBER), 90, 210);
    assert_int_equal(times_of(SL_ALL_RULES), times_of(FIRST_NUMBER));
    watched_close();
}

/* Another Redis after a failover, say. */
TEST(a_clock_that_is_put_back_does_not_stop_it)
{
    watched_open(one_rule);
    ASK(.user = SL_TEXT("u"));
    watched.model.now_us -= INT64_C(600000000);
    for (int i = 0; i < 3; i++)
        ASK(.user = SL_TEXT("u"));
    assert_true(times_of(FIRST_NUMBER) >= 2);
    watched_close();
}

TEST(a_batch_is_timed_once_for_all_in_it)
{
    watched_open("rules: [{ name: api, per: user, limit: 1000/m },\n"
                 "        { name: all, per: global, limit: 1000/m }]\n");
    ask_in_batches(60, 60);
    assert_int_equal(samples()->sample_count, 3); /* each rule's, and that of all */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(samples()->samples[i].times, 60);
        assert_int_equal(samples()->samples[i].ns, samples()->samples[0].ns);
    }
    watched_close();
}

/* Thousandths, of each decision as it left the limit. */
TEST(how_much_of_a_limit_is_in_use_is_sampled)
{
    watched_open("rules: [{ name: api, per: user, algorithm: fixed_window, limit: 4/h }]\n");
    static const uint32_t wanted[] = { 250, 500, 750, 1000, 1000 };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        ASK(.user = SL_TEXT("u"));
        watched.model.now_us += SL_OBSERVER_EVERY_US;
        const struct sl_sample *sample = &samples()->samples[samples()->sample_count - 1];
        assert_int_equal(sample->in_use_max, wanted[i]);
        assert_int_equal(sample->in_use_sum, wanted[i]);
    }
    watched_close();
}
