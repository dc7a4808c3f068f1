/* Prints statistics as JSON (see stats_json.h). */
#include "server/admin/stats_json.h"

#include "base/text/time.h"
#include "server/control/admin_json.h"

enum { BILLION = 1000000000, THOUSANDTH = 1000000 };

void sl_stats_print_time(struct sl_buffer *out, const char *name, int64_t at_us)
{
    sl_print_name(out, name);
    sl_buffer_add(out, SL_TEXT("\""));
    sl_time_print(out, at_us);
    sl_buffer_add(out, SL_TEXT("\""));
}

static void open_object(struct sl_buffer *out, const char *name)
{
    sl_print_name(out, name);
    sl_buffer_add(out, SL_TEXT("{"));
}

static void print_ratio(struct sl_buffer *out, const char *name, uint64_t part, uint64_t whole)
{
    if (whole == 0)
        sl_print_text(out, name, NULL);
    else
        sl_print_billionths(out, name, (int64_t)((unsigned __int128)part * BILLION / whole));
}

/* Prints null if it was never measured. */
static void print_known(struct sl_buffer *out, const char *name, uint64_t number, bool is_known)
{
    if (is_known)
        sl_print_i64(out, name, (int64_t)number);
    else
        sl_print_text(out, name, NULL);
}

/* ---- measures ---- */

static void print_latency(struct sl_buffer *out, const struct sl_histogram *latency)
{
    static const struct {
        const char *name;
        uint32_t share;
    } rows[] = { { "p50", 500000 }, { "p95", 950000 }, { "p99", 990000 }, { "p999", 999000 } };
    if (latency->count == 0) {
        sl_print_text(out, "latency_us", NULL);
        return;
    }
    open_object(out, "latency_us");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        sl_print_billionths(out, rows[i].name,
                            (int64_t)sl_histogram_at(latency, rows[i].share) * THOUSANDTH);
    sl_print_i64(out, "samples", (int64_t)latency->count);
    sl_buffer_add(out, SL_TEXT("}"));
}

static void print_callers(struct sl_buffer *out, const struct sl_measures *measures,
                          bool has_callers)
{
    uint64_t callers = sl_distinct_count(&measures->callers);
    uint64_t limited = sl_distinct_count(&measures->limited);
    print_known(out, "callers", callers, has_callers);
    print_known(out, "callers_limited", limited < callers ? limited : callers, has_callers);
}

/* ---- series ---- */

static void print_steps(const struct sl_stats_print *print, const struct sl_figure *figure,
                        enum sl_period period, enum sl_outcome outcome)
{
    uint32_t steps = sl_period_forms[period].steps;
    sl_buffer_add(print->out, SL_TEXT("["));
    for (uint32_t back = steps; back-- > 0;) {
        const struct sl_sums *tally = sl_figure_step(figure, period, print->now_s, back);
        sl_buffer_add_i64(print->out, tally ? (int64_t)tally->outcomes[outcome] : 0);
        if (back)
            sl_buffer_add(print->out, SL_TEXT(", "));
    }
    sl_buffer_add(print->out, SL_TEXT("]"));
}

static void print_series(const struct sl_stats_print *print, const struct sl_figure *figure,
                         enum sl_period period, bool is_rule)
{
    struct sl_buffer *out = print->out;
    if (!print->has_series)
        return;
    open_object(out, "series");
    sl_print_i64(out, "step_s", sl_period_forms[period].step_s);
    sl_print_i64(out, "end_us", print->wall_us);
    sl_print_name(out, "allowed");
    print_steps(print, figure, period, SL_OUTCOME_ALLOWED);
    sl_print_name(out, "denied");
    print_steps(print, figure, period, SL_OUTCOME_DENIED);
    if (is_rule) {
        sl_print_name(out, "shadow_denied");
        print_steps(print, figure, period, SL_OUTCOME_SHADOW_DENIED);
    }
    sl_buffer_add(out, SL_TEXT("}"));
}

/* ---- a period ---- */

static void print_counts(struct sl_buffer *out, const struct sl_sums *sum)
{
    const uint64_t *outcomes = sum->outcomes;
    uint64_t checks = 0;
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        checks += outcomes[i];
    sl_print_i64(out, "checks", (int64_t)checks);
    sl_print_i64(out, "allowed", (int64_t)outcomes[SL_OUTCOME_ALLOWED]);
    sl_print_i64(out, "denied", (int64_t)outcomes[SL_OUTCOME_DENIED]);
    print_ratio(out, "hit_rate", outcomes[SL_OUTCOME_DENIED] + outcomes[SL_OUTCOME_SHADOW_DENIED],
                checks);
}

static void print_rule_counts(struct sl_buffer *out, const struct sl_sums *sum)
{
    sl_print_i64(out, "shadow_denied", (int64_t)sum->outcomes[SL_OUTCOME_SHADOW_DENIED]);
    sl_print_i64(out, "store_failed", (int64_t)sum->outcomes[SL_OUTCOME_STORE_FAILED]);
}

static void print_period(const struct sl_stats_print *print, const struct sl_figure *figure,
                         enum sl_period period, const bool *has_callers)
{
    struct sl_buffer *out = print->out;
    struct sl_sums sum;
    struct sl_measures measures;
    sl_figure_sum(figure, period, print->now_s, &sum);
    if (!sl_figure_measure(figure, period, print->now_s, &measures))
        out->failed = true;
    open_object(out, sl_period_forms[period].name);
    print_counts(out, &sum);
    if (has_callers)
        print_rule_counts(out, &sum);
    print_known(out, "burst_warnings", sum.warned, print->is_watched);
    print_known(out, "burst_blocks", sum.blocked, print->is_watched);
    if (has_callers)
        print_callers(out, &measures, *has_callers);
    print_latency(out, &measures.latency);
    print_series(print, figure, period, has_callers);
    sl_buffer_add(out, SL_TEXT("}"));
    sl_measures_release(&measures);
}

void sl_stats_print_figure(const struct sl_stats_print *print, const struct sl_figure *figure)
{
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++)
        if (print->periods[period])
            print_period(print, figure, period, NULL);
}

void sl_stats_print_rule_figure(const struct sl_stats_print *print, const struct sl_detail *detail,
                                bool has_callers)
{
    static const struct sl_figure nothing;
    const struct sl_figure *figure = detail ? &detail->figure : &nothing;
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++)
        if (print->periods[period])
            print_period(print, figure, period, &has_callers);
}

/* ---- use, and top lists ---- */

void sl_stats_print_use(const struct sl_stats_print *print, const struct sl_detail *detail)
{
    struct sl_measures measures = { 0 };
    if (detail)
        sl_figure_measure(&detail->figure, SL_PERIOD_MINUTE, print->now_s, &measures);
    if (measures.in_use_times == 0) {
        sl_print_text(print->out, "in_use", NULL);
    } else {
        open_object(print->out, "in_use");
        print_ratio(print->out, "mean", measures.in_use_sum, measures.in_use_times * 1000);
        print_ratio(print->out, "max", measures.in_use_max, 1000);
        sl_buffer_add(print->out, SL_TEXT("}"));
    }
    sl_measures_release(&measures);
}

static void print_top(const struct sl_stats_print *print, const char *name,
                      const struct sl_top *newer, const struct sl_top *older)
{
    struct sl_buffer *out = print->out;
    struct sl_top both = { 0 };
    const struct sl_top_entry *sorted[SL_TOP_ENTRIES];
    if (older)
        sl_top_merge(&both, older);
    if (newer)
        sl_top_merge(&both, newer);
    size_t count = sl_top_sorted(&both, sorted, print->top);
    sl_print_name(out, name);
    sl_buffer_add(out, SL_TEXT("["));
    for (size_t i = 0; i < count; i++) {
        sl_buffer_add(out, i ? SL_TEXT(", {") : SL_TEXT("{"));
        sl_print_text(out, "tenant", sorted[i]->owner);
        sl_print_text(out, "identifier", sorted[i]->name);
        sl_print_i64(out, "count", (int64_t)sorted[i]->count);
        sl_print_i64(out, "error", (int64_t)sorted[i]->error);
        sl_buffer_add(out, SL_TEXT("}"));
    }
    sl_buffer_add(out, SL_TEXT("]"));
    sl_top_release(&both);
}

void sl_stats_print_tops(const struct sl_stats_print *print, const struct sl_detail *detail)
{
    const struct sl_tops *newer = detail ? detail->tops[0] : NULL;
    const struct sl_tops *older = detail ? detail->tops[1] : NULL;
    print_top(print, "top_denied", newer ? &newer->denied : NULL, older ? &older->denied : NULL);
    print_top(print, "top_traffic", newer ? &newer->met : NULL, older ? &older->met : NULL);
}
