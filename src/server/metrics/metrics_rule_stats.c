/* Metrics that are measured rather than counted, of the rule statistics that the main thread
 * keeps. */
#include "base/clock.h"
#include "server/metrics/metrics_internal.h"
#include "telemetry/rule_stats.h"

static const char *const bound_texts[] = {
    "2.5e-07", "5e-07",  "1e-06",   "2.5e-06", "5e-06", "1e-05",  "2.5e-05",
    "5e-05",   "0.0001", "0.00025", "0.0005",  "0.001", "0.0025", "0.005",
    "0.01",    "0.025",  "0.05",    "0.1",     "0.25",  "1",
};
_Static_assert(SL_COUNT_OF(bound_texts) == SL_LATENCY_BOUNDS, "a text for each");

static void print_latency(struct sl_metrics_page *page, const char *algorithm,
                          const struct sl_latencies *latencies)
{
    sl_page_histogram(page, &(struct sl_page_buckets){ .label = "algorithm",
                                                       .value = algorithm,
                                                       .bounds = bound_texts,
                                                       .counts = latencies->counts,
                                                       .bound_count = SL_LATENCY_BOUNDS,
                                                       .sum = latencies->sum_ns,
                                                       .sum_places = 9 });
}

/* ---- rules ---- */

/* One rule's measurements at one moment. */
struct rule_reading {
    const struct sl_rule *rule;
    bool has_measures;
    uint64_t warned, blocked;  /* since the start */
    uint64_t callers, limited; /* in the last hour */
    uint64_t in_use_sum, in_use_times;
    uint32_t in_use_max; /* in the last minute */
};

static void read_rule(struct rule_reading *seen, const struct sl_detail *detail, int64_t now_s)
{
    struct sl_measures hour, minute;
    seen->warned = detail->warned;
    seen->blocked = detail->blocked;
    if (!seen->has_measures)
        return;
    if (sl_figure_measure(&detail->figure, SL_PERIOD_HOUR, now_s, &hour)) {
        seen->callers = sl_distinct_count(&hour.callers);
        seen->limited = sl_distinct_count(&hour.limited);
        sl_measures_release(&hour);
    }
    if (sl_figure_measure(&detail->figure, SL_PERIOD_MINUTE, now_s, &minute)) {
        seen->in_use_sum = minute.in_use_sum;
        seen->in_use_times = minute.in_use_times;
        seen->in_use_max = minute.in_use_max;
        sl_measures_release(&minute);
    }
}

static void label_rule(struct sl_metrics_page *page, const struct rule_reading *seen)
{
    sl_page_label(page, "rule", sl_text(seen->rule->name));
}

static void print_callers(struct sl_metrics_page *page, const struct rule_reading *seen)
{
    if (!seen->has_measures)
        return;
    label_rule(page, seen);
    sl_page_label(page, "span", SL_TEXT("hour"));
    sl_page_number(page, seen->callers);
}

static void print_limited(struct sl_metrics_page *page, const struct rule_reading *seen)
{
    if (!seen->has_measures)
        return;
    label_rule(page, seen);
    sl_page_label(page, "span", SL_TEXT("hour"));
    sl_page_number(page, seen->limited < seen->callers ? seen->limited : seen->callers);
}

static void print_in_use(struct sl_metrics_page *page, const struct rule_reading *seen)
{
    if (!seen->in_use_times)
        return;
    label_rule(page, seen);
    sl_page_label(page, "stat", SL_TEXT("mean"));
    sl_page_decimal(page, seen->in_use_sum * 1000 / seen->in_use_times, 6);
    label_rule(page, seen);
    sl_page_label(page, "stat", SL_TEXT("max"));
    sl_page_decimal(page, seen->in_use_max, 3);
}

static void print_warnings(struct sl_metrics_page *page, const struct rule_reading *seen)
{
    if (!seen->rule->guard.window_us)
        return;
    label_rule(page, seen);
    sl_page_number(page, seen->warned);
}

static void print_blocks(struct sl_metrics_page *page, const struct rule_reading *seen)
{
    if (!seen->rule->guard.window_us)
        return;
    label_rule(page, seen);
    sl_page_number(page, seen->blocked);
}

static const struct {
    const char *name, *type, *help;
    void (*print)(struct sl_metrics_page *page, const struct rule_reading *seen);
} families[] = {
    { "sluice_rule_callers", "gauge",
      "Different identifiers that the rule met, about (a standard error of 6.5 %).",
      print_callers },
    { "sluice_rule_callers_limited", "gauge",
      "Of these, how many it denied, or would have, were it enforced; about.", print_limited },
    { "sluice_rule_in_use_ratio", "gauge",
      "How much of the limit decisions of the last minute found in use; sampled.", print_in_use },
    { "sluice_burst_warnings_total", "counter", "Warnings of the rule's burst guard.",
      print_warnings },
    { "sluice_burst_blocks_total", "counter", "Blocks by the rule's burst guard.", print_blocks },
};

/* What the page prints of the statistics, copied out of them. */
struct copy {
    struct sl_latencies latencies[SL_ALGO_COUNT];
    struct rule_reading *rules;
};

/* Copies under the lock, which the main thread waits for meanwhile. */
static void copy_record(struct copy *copy, const struct sl_metrics *metrics, int64_t now_s)
{
    const struct sl_rule_stats *record = metrics->record;
    memcpy(copy->latencies, record->latencies, sizeof copy->latencies);
    for (size_t i = 0; i < metrics->ruleset->rule_count; i++) {
        uint32_t number = metrics->numbers[i];
        const struct sl_detail *detail = record->ids.rules[number].detail;
        copy->rules[i] = (struct rule_reading){ .rule = &metrics->ruleset->rules[i],
                                                .has_measures = number < SL_CALLERS_RULES };
        if (detail)
            read_rule(&copy->rules[i], detail, now_s);
    }
}

static void print_rules(struct sl_metrics_page *page, const struct rule_reading *rules,
                        size_t count)
{
    for (size_t k = 0; k < SL_COUNT_OF(families); k++) {
        sl_page_family(page, families[k].name, families[k].type, families[k].help);
        for (size_t i = 0; i < count; i++)
            families[k].print(page, &rules[i]);
    }
}

/* ---- the audit log ---- */

static void print_audit(struct sl_metrics_page *page, const struct sl_audit_counts *audit)
{
    sl_page_family(page, "sluice_audit_events_total", "counter",
                   "Lines of the audit log, by what became of them.");
    sl_page_label(page, "result", SL_TEXT("written"));
    sl_page_number(page, audit->written);
    sl_page_label(page, "result", SL_TEXT("dropped"));
    sl_page_number(page, audit->dropped);
    sl_page_label(page, "result", SL_TEXT("failed"));
    sl_page_number(page, audit->failed);
}

void sl_metrics_print_rule_stats(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    struct sl_rule_stats *record = metrics->record;
    struct sl_arena arena = { 0 };
    struct copy copy;
    size_t count = metrics->ruleset->rule_count;
    print_audit(page, &metrics->audit);
    if (!record || !metrics->is_watched)
        return; /* no sample is better than a wrong one */
    copy.rules = sl_arena_take(&arena, (count + 1) * sizeof *copy.rules);
    pthread_mutex_lock(&record->lock);
    copy_record(&copy, metrics, sl_boottime_us() / 1000000);
    pthread_mutex_unlock(&record->lock);
    sl_page_family(
        page, "sluice_decision_duration_seconds", "histogram",
        "How long requests waited for their decisions, the store included; of a sample.");
    for (size_t i = 0; sl_algos[i]; i++)
        print_latency(page, sl_algos[i]->name, &copy.latencies[i]);
    print_rules(page, copy.rules, count);
    sl_arena_release(&arena);
}
