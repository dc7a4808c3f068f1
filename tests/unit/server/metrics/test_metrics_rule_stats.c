/* What the page says of what was measured. */
#include "base/clock.h"
#include "unit/server/on_page.h"
#include "unit/telemetry/recorded.h"

static const char guarded[] =
    "rules: [{ name: api, per: user, algorithm: fixed_window, limit: 4/m,\n"
    "          burst_guard: { window: 1s, threshold: 5, penalty: 1m } },\n"
    "        { name: all, per: global, limit: 100/m }]\n";

/* Seven of u, three of v; the clock is the machine's, as the page's is. */
static struct sl_metrics filled_metrics(void)
{
    recorded_open(guarded);
    ask_as(0, "u", 7);
    ask_as(1, "v", 3);
    sum_up(sl_boottime_us() / 1000000);
    struct sl_metrics metrics = metrics_of(recorded.rules);
    metrics.record = &recorded.record;
    metrics.numbers = recorded.numbers;
    metrics.is_watched = true;
    metrics.audit = (struct sl_audit_counts){ .written = 5, .dropped = 6, .failed = 7 };
    return metrics;
}

static void empty(struct sl_metrics *metrics, char *page)
{
    free(page);
    sl_metrics_release(metrics);
    recorded_close();
}

TEST(what_was_measured_is_as_written_here)
{
    struct sl_metrics metrics = filled_metrics();
    char *page = print(&metrics);
    assert_line(page, "sluice_rule_callers{rule=\"api\",span=\"hour\"} 2");
    assert_line(page, "sluice_rule_callers_limited{rule=\"api\",span=\"hour\"} 1");
    assert_line(page, "sluice_rule_callers{rule=\"all\",span=\"hour\"} 1");
    assert_line(page, "sluice_rule_callers_limited{rule=\"all\",span=\"hour\"} 0");
    assert_line(page,
                "sluice_rule_in_use_ratio{rule=\"api\",stat=\"max\"} 0.5"); /* two are timed */
    assert_line(page, "sluice_burst_warnings_total{rule=\"api\"} 1");
    assert_line(page, "sluice_burst_blocks_total{rule=\"api\"} 0");
    assert_line(page, "sluice_audit_events_total{result=\"written\"} 5");
    assert_line(page, "sluice_audit_events_total{result=\"dropped\"} 6");
    assert_line(page, "sluice_audit_events_total{result=\"failed\"} 7");
    assert_null(strstr(page, "sluice_burst_warnings_total{rule=\"all\"}")); /* it has no guard */
    empty(&metrics, page);
}

/* Buckets hold what is up to their bound, that included; the sum is in seconds. */
TEST(latencies_fall_into_the_buckets_of_their_algorithm)
{
    struct sl_metrics metrics = filled_metrics();
    struct sl_latencies *latencies = &recorded.record.latencies[sl_algo_place("fixed_window")];
    *latencies = (struct sl_latencies){ .sum_ns = 1500000000 };
    latencies->counts[0] = 1;
    latencies->counts[2] = 3;
    latencies->counts[SL_LATENCY_BOUNDS] = UINT64_C(5000000000); /* years of them */
    char *page = print(&metrics);
#define BUCKET(le)                                                                                 \
    "sluice_decision_duration_seconds_bucket{algorithm=\"fixed_window\",le=\"" le "\"} "
    assert_lines(page, BUCKET("2.5e-07") "1\n" BUCKET("5e-07") "1\n" BUCKET("1e-06") "4\n");
    assert_line(page, BUCKET("1") "4");
    assert_line(page, BUCKET("+Inf") "5000000004");
    assert_line(page, "sluice_decision_duration_seconds_sum{algorithm=\"fixed_window\"} 1.5");
    assert_line(page,
                "sluice_decision_duration_seconds_count{algorithm=\"fixed_window\"} 5000000004");
    empty(&metrics, page);
}

TEST(each_sample_counts_for_its_bucket)
{
    struct sl_metrics metrics = filled_metrics();
    uint64_t sum = 0;
    for (size_t i = 0; i <= SL_LATENCY_BOUNDS; i++)
        sum += recorded.record.latencies[sl_algo_place("fixed_window")].counts[i];
    struct sl_measures measures;
    assert_true(sl_figure_measure(&detail_of(0)->figure, SL_PERIOD_DAY, sl_boottime_us() / 1000000,
                                  &measures));
    assert_true(sum > 0);
    assert_int_equal(sum, measures.latency.count);
    sl_measures_release(&measures);
    empty(&metrics, print(&metrics));
}

TEST(without_an_observer_there_are_no_samples)
{
    struct sl_metrics metrics = filled_metrics();
    metrics.is_watched = false;
    char *page = print(&metrics);
    assert_null(strstr(page, "sluice_decision_duration"));
    assert_null(strstr(page, "sluice_rule_callers"));
    assert_null(strstr(page, "sluice_burst"));
    assert_line(page, "sluice_audit_events_total{result=\"written\"} 5");
    empty(&metrics, page);
}
