/* Figures as they are told, against what was recorded. */
#include "server/admin/stats_json.h"

#include <jansson.h>

#include "unit/telemetry/recorded.h"

static struct sl_buffer out;

static struct sl_stats_print print_of(int64_t now_s)
{
    struct sl_stats_print print = {
        .out = &out, .record = &recorded.record, .now_s = now_s, .wall_us = 77, .top = 10
    };
    for (size_t i = 0; i < SL_PERIOD_COUNT; i++)
        print.periods[i] = true;
    sl_buffer_release(&out);
    out = sl_buffer(1 << 20);
    sl_buffer_add(&out, SL_TEXT("{"));
    return print;
}

/* What was printed since print_of; the caller's. */
static json_t *printed(void)
{
    json_error_t error;
    sl_buffer_add(&out, SL_TEXT("}"));
    assert_false(out.failed);
    json_t *json = json_loadb(out.at, out.len, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        print_error("%s: %.*s\n", error.text, (int)out.len, out.at);
    assert_non_null(json);
    sl_buffer_release(&out);
    return json;
}

static json_t *rule_figure(size_t rule, int64_t now_s)
{
    struct sl_stats_print print = print_of(now_s);
    sl_stats_print_rule_figure(&print, detail_of(rule), true);
    sl_stats_print_use(&print, detail_of(rule));
    sl_stats_print_tops(&print, detail_of(rule));
    return printed();
}

static json_t *figure_of(const struct sl_figure *figure, int64_t now_s)
{
    struct sl_stats_print print = print_of(now_s);
    sl_stats_print_figure(&print, figure);
    return printed();
}

/* "minute.latency_us.p50" */
static const json_t *at(const json_t *json, const char *path)
{
    char name[32];
    while (json && *path) {
        size_t len = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)len, path);
        json = json_object_get(json, name);
        path += len + (path[len] == '.');
    }
    assert_non_null(json);
    return json;
}

static int64_t number(const json_t *json, const char *path)
{
    return json_integer_value(at(json, path));
}

/* ---- latencies, against an exact computation ---- */

enum { ROUNDS = 8000, RECORDED_MAX = 100000 };

/* Every value that was recorded, so many times as it was. */
static uint64_t values[RECORDED_MAX];
static size_t value_count;

static void keep_samples(const struct sl_samples *samples, uint32_t rule)
{
    for (size_t i = 0; i < samples->sample_count; i++)
        for (uint32_t k = 0; samples->samples[i].rule == rule && k < samples->samples[i].times;
             k++) {
            assert_true(value_count < RECORDED_MAX);
            values[value_count++] = samples->samples[i].ns;
        }
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* The nearest rank: the least value that so large a share of all is not above. */
static double exact_us(uint64_t share_thousandths)
{
    size_t rank = (share_thousandths * value_count + 999) / 1000;
    return (double)values[rank - 1] / 1000;
}

static void assert_near_exact(const json_t *figure, const char *period)
{
    static const struct {
        const char *name;
        uint64_t share;
    } rows[] = { { "p50", 500 }, { "p95", 950 }, { "p99", 990 }, { "p999", 999 } };
    char path[64];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(path, sizeof path, "%s.latency_us.%s", period, rows[i].name);
        double told = json_number_value(at(figure, path)), exact = exact_us(rows[i].share);
        if (told < exact * 0.99 || told > exact * 1.01) {
            print_error("%s is %f, not %f\n", path, told, exact);
            fail();
        }
    }
    snprintf(path, sizeof path, "%s.latency_us.samples", period);
    assert_int_equal(number(figure, path), value_count);
}

/* Alone and in batches: what takes long has many in it, or a key that the model finds late. */
static void decide_some(uint64_t *seed)
{
    static struct sluice_request requests[64];
    static struct sluice_decision decisions[64];
    static char users[64][16];
    size_t count = (size_t)(unit_up_to(seed, 3) ? 1 : 1 + unit_up_to(seed, 63));
    for (size_t i = 0; i < count; i++) {
        snprintf(users[i], sizeof users[i], "u%d", (int)unit_up_to(seed, 1500));
        requests[i] = sluice_request();
        requests[i].user = sl_text(users[i]);
    }
    sl_limiter_decide_batch(recorded.limiters[0], requests, count, decisions);
    recorded.model.now_us += unit_up_to(seed, 2 * SL_OBSERVER_EVERY_US);
}

TEST(latencies_are_within_one_percent_of_the_exact_percentiles)
{
    static const char *const periods[] = { "minute", "hour", "day" };
    recorded_open("rules: [{ name: a, per: user, algorithm: fixed_window, limit: 5/h }]\n");
    struct sl_observer *observer = recorded.record.observers[0];
    uint64_t seed = 5;
    value_count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        decide_some(&seed);
        if (i % 500 != 499)
            continue;
        sl_observer_hand_over(observer);
        keep_samples(atomic_load(&observer->full), recorded.numbers[0]);
        sl_rule_stats_absorb(&recorded.record, 0, NOW_S + i / 500);
    }
    assert_true(value_count > 20000);
    qsort(values, value_count, sizeof *values, by_value);
    assert_true(values[value_count - 1] > 2 * values[0]); /* else it says nothing */
    json_t *of_rule = rule_figure(0, NOW_S + ROUNDS / 500);
    json_t *of_algorithm =
        figure_of(&recorded.record.algos[sl_algo_place("fixed_window")], NOW_S + ROUNDS / 500);
    json_t *of_all = figure_of(&recorded.record.all, NOW_S + ROUNDS / 500);
    for (size_t i = 0; i < COUNT(periods); i++) {
        assert_near_exact(of_rule, periods[i]);
        assert_near_exact(of_algorithm, periods[i]);
        assert_near_exact(of_all, periods[i]);
    }
    json_decref(of_rule);
    json_decref(of_algorithm);
    json_decref(of_all);
    recorded_close();
}

/* Of all decisions, each is one, by however many rules it was met. */
TEST(a_decision_by_three_rules_is_one_latency)
{
    recorded_open(
        "rules: [{ name: a, per: user, limit: 5/h }, { name: b, per: user, limit: 6/h },\n"
        "        { name: c, per: global, limit: 99/h }]\n");
    for (int i = 0; i < 10; i++) {
        ask_as(0, "u", 1);
        recorded.model.now_us += SL_OBSERVER_EVERY_US;
    }
    sum_up(NOW_S);
    json_t *all = figure_of(&recorded.record.all, NOW_S), *rule = rule_figure(1, NOW_S);
    assert_int_equal(number(rule, "minute.latency_us.samples"), 10);
    assert_int_equal(number(all, "minute.latency_us.samples"), 10);
    json_decref(all);
    json_decref(rule);
    recorded_close();
}

/* ---- counts ---- */

TEST(a_rule_that_was_not_checked_has_zeros_and_nulls)
{
    recorded_open("rules: [{ name: a, per: user, limit: 5/h }]\n");
    assert_null(detail_of(0));
    json_t *rule = rule_figure(0, NOW_S);
    for (size_t i = 0; i < SL_PERIOD_COUNT; i++) {
        const json_t *period = at(rule, sl_period_forms[i].name);
        assert_int_equal(number(period, "checks") + number(period, "denied"), 0);
        assert_true(json_is_null(at(period, "hit_rate")));
        assert_true(json_is_null(at(period, "latency_us")));
        assert_int_equal(number(period, "callers"), 0);
    }
    assert_true(json_is_null(at(rule, "in_use")));
    assert_int_equal(json_array_size(at(rule, "top_denied")), 0);
    assert_int_equal(json_array_size(at(rule, "top_traffic")), 0);
    json_decref(rule);
    recorded_close();
}

TEST(counts_rates_and_series_add_up)
{
    recorded_open("rules: [{ name: a, per: user, limit: 3/h },\n"
                  "        { name: s, per: user, limit: 1/h, shadow: true }]\n");
    for (int64_t second = 0; second < 4; second++) {
        ask_as(0, "u", 2);
        sum_up(NOW_S + second);
    }
    struct sl_stats_print print = print_of(NOW_S + 4);
    print.has_series = true;
    print.periods[SL_PERIOD_HOUR] = print.periods[SL_PERIOD_DAY] = false;
    sl_stats_print_rule_figure(&print, detail_of(1), true);
    json_t *shadow = printed();
    assert_null(json_object_get(shadow, "hour"));
    assert_int_equal(number(shadow, "minute.checks"), 8);
    assert_int_equal(number(shadow, "minute.allowed"), 1);
    assert_int_equal(number(shadow, "minute.shadow_denied"), 7);
    assert_int_equal(number(shadow, "minute.denied"), 0);
    assert_true(json_real_value(at(shadow, "minute.hit_rate")) == 0.875);
    const json_t *series = at(shadow, "minute.series");
    assert_int_equal(number(series, "step_s"), 1);
    assert_int_equal(number(series, "end_us"), 77);
    static const int64_t wanted[] = { 0, 2, 2, 2, 1, 0 }; /* from now on back */
    const json_t *steps = at(series, "shadow_denied");
    assert_int_equal(json_array_size(steps), 60);
    for (size_t i = 0; i < 60; i++)
        assert_int_equal(json_integer_value(json_array_get(steps, 59 - i)),
                         i < COUNT(wanted) ? wanted[i] : 0);
    json_decref(shadow);
    json_t *all = figure_of(&recorded.record.all, NOW_S + 4);
    assert_int_equal(number(all, "hour.allowed"), 3);
    assert_int_equal(number(all, "hour.denied"), 5);
    assert_null(json_object_get(at(all, "hour"), "callers"));
    json_decref(all);
    recorded_close();
}

TEST(how_much_is_in_use_is_a_share)
{
    recorded_open("rules: [{ name: a, per: user, algorithm: fixed_window, limit: 4/h }]\n");
    for (int i = 0; i < 2; i++) {
        ask_as(0, "u", 1);
        recorded.model.now_us += SL_OBSERVER_EVERY_US;
    }
    sum_up(NOW_S);
    json_t *rule = rule_figure(0, NOW_S);
    assert_true(json_number_value(at(rule, "in_use.mean")) == 0.375);
    assert_true(json_number_value(at(rule, "in_use.max")) == 0.5);
    json_decref(rule);
    rule = rule_figure(0, NOW_S + 70); /* of the last minute */
    assert_true(json_is_null(at(rule, "in_use")));
    json_decref(rule);
    recorded_close();
}

/* ---- lists ---- */

static const char *identifier_at(const json_t *rule, const char *list, size_t place)
{
    const char *name =
        json_string_value(json_object_get(json_array_get(at(rule, list), place), "identifier"));
    return name ? name : "null";
}

TEST(lists_are_of_the_last_hour_the_largest_first)
{
    recorded_open("rules: [{ name: a, per: user, limit: 1/h }]\n");
    ask_as(0, "u", 5);
    ask_as(0, "v", 9);
    sum_up(NOW_S);
    sl_rule_stats_turn(&recorded.record, NOW_S + 1800, 2);
    ask_as(0, "u", 6);
    ask_as(0, "w", 3);
    sum_up(NOW_S + 1800);
    json_t *rule = rule_figure(0, NOW_S + 1800);
    assert_string_equal(identifier_at(rule, "top_denied", 0), "u");
    assert_string_equal(identifier_at(rule, "top_denied", 1), "v");
    assert_string_equal(identifier_at(rule, "top_denied", 2), "w");
    assert_int_equal(json_array_size(at(rule, "top_denied")), 3);
    assert_int_equal(number(json_array_get(at(rule, "top_denied"), 0), "count"), 10);
    assert_int_equal(number(json_array_get(at(rule, "top_traffic"), 0), "count"), 11);
    json_decref(rule);
    struct sl_stats_print print = print_of(NOW_S + 1800);
    print.top = 1;
    sl_stats_print_tops(&print, detail_of(0));
    rule = printed();
    assert_int_equal(json_array_size(at(rule, "top_denied")), 1);
    json_decref(rule);
    recorded_close();
}

/* Whatever an identifier is made of, it is JSON and ends where it should. */
TEST(hostile_identifiers_are_valid_json)
{
    static const struct sluice_text hostile[] = {
        SL_TEXT("\"},{\"a\":\"\\"),
        SL_TEXT("</script><img src=x onerror=alert(1)>"),
        SL_TEXT("a\nb\r\tc\x01\x7f"),
        SL_TEXT("a\0b"),
        SL_TEXT("\xff\xfe\xc0\x80\xed\xa0\x80"),
        SL_TEXT("\xe2\x80\xa8\xef\xbf\xbf"),
        SL_TEXT("half \xe2\x82"),
    };
    recorded_open("rules: [{ name: a, per: user, limit: 1/h }]\n");
    for (size_t i = 0; i < COUNT(hostile); i++) {
        struct sluice_request request = sluice_request();
        struct sluice_decision decision;
        request.user = request.tenant = request.resource = hostile[i];
        for (int k = 0; k < 3; k++)
            sl_limiter_decide(recorded.limiters[0], &request, &decision);
    }
    sum_up(NOW_S);
    json_t *rule = rule_figure(0, NOW_S);
    assert_int_equal(json_array_size(at(rule, "top_denied")), COUNT(hostile));
    json_decref(rule);
    recorded_close();
}
