/* Summing up what the workers counted and sampled, by rule, algorithm and period. */
#include "telemetry/rule_stats.h"

#include <stdlib.h>

#include "algo/algo.h"
#include "base/clock.h"

enum { TERM_S = 1800 };

/* ---- opening and closing ---- */

static void free_tops(struct sl_tops *tops)
{
    if (!tops)
        return;
    sl_top_release(&tops->denied);
    sl_top_release(&tops->met);
    free(tops);
}

static void free_detail(struct sl_detail *detail)
{
    sl_figure_release(&detail->figure);
    for (size_t i = 0; i < SL_TOP_TERMS; i++)
        free_tops(detail->tops[i]);
    free(detail);
}

bool sl_rule_stats_init(struct sl_rule_stats *stats, size_t workers)
{
    int64_t now_s = sl_boottime_us() / 1000000;
    *stats = (struct sl_rule_stats){ .ids.forget = free_detail,
                                     .terms[0].since_us = sl_walltime_us(),
                                     .term_s = now_s,
                                     .started_s = now_s };
    pthread_mutex_init(&stats->lock, NULL);
    stats->denials = sl_denials_new();
    stats->observers = calloc(workers + 1, sizeof *stats->observers);
    if (!stats->observers || !stats->denials)
        return false;
    for (; stats->observer_count < workers; stats->observer_count++) {
        stats->observers[stats->observer_count] = sl_observer_new();
        if (!stats->observers[stats->observer_count])
            return false;
    }
    return true;
}

void sl_rule_stats_release(struct sl_rule_stats *stats)
{
    for (size_t i = 0; i < stats->observer_count; i++)
        sl_observer_free(stats->observers[i]);
    free(stats->observers);
    sl_denials_free(stats->denials);
    sl_rule_ids_release(&stats->ids);
    free(stats->sums);
    sl_figure_release(&stats->all);
    for (size_t i = 0; i < SL_ALGO_COUNT; i++)
        sl_figure_release(&stats->algos[i]);
    pthread_mutex_destroy(&stats->lock);
}

uint32_t *sl_rule_stats_enrol(struct sl_rule_stats *stats, const struct sl_ruleset *rules)
{
    pthread_mutex_lock(&stats->lock);
    uint32_t *numbers = sl_rule_ids_enrol(&stats->ids, rules, sl_boottime_us());
    pthread_mutex_unlock(&stats->lock);
    return numbers;
}

void sl_rule_stats_settle(struct sl_rule_stats *stats, const struct sl_ruleset *rules,
                          const uint32_t *numbers)
{
    pthread_mutex_lock(&stats->lock);
    sl_rule_ids_settle(&stats->ids, rules, numbers, sl_boottime_us());
    pthread_mutex_unlock(&stats->lock);
}

size_t sl_algo_place(const char *name)
{
    size_t place = 0;
    while (sl_algos[place] && strcmp(sl_algos[place]->name, name) != 0)
        place++;
    return place;
}

/* Returns NULL if there is no such rule any more, or no memory. */
static struct sl_detail *find_detail(struct sl_rule_stats *stats, uint32_t number)
{
    struct sl_enrolled *rule = number < stats->ids.count ? &stats->ids.rules[number] : NULL;
    if (!rule || !rule->name)
        return NULL;
    if (!rule->detail)
        rule->detail = calloc(1, sizeof *rule->detail);
    return rule->detail;
}

/* ---- identifiers that are denied and met most ---- */

static void add_top(struct sl_top *top, const struct sl_noted *noted, uint64_t weight)
{
    if (!weight)
        return;
    struct sl_top_entry *entry = sl_top_add(top, noted->key, weight);
    if (!entry->name)
        sl_top_name(entry, noted->tenant, noted->identifier);
}

static void absorb_noted(struct sl_rule_stats *stats, const struct sl_noted *noted)
{
    struct sl_detail *detail = find_detail(stats, noted->rule);
    if (!detail)
        return;
    sl_denials_add(stats->denials, noted);
    if (noted->rule >= SL_CALLERS_RULES || !noted->has_identifier)
        return;
    if (!detail->tops[0])
        detail->tops[0] = calloc(1, sizeof *detail->tops[0]);
    if (!detail->tops[0])
        return;
    add_top(&detail->tops[0]->denied, noted, noted->denied);
    add_top(&detail->tops[0]->met, noted, noted->met);
}

static void absorb_bursts(struct sl_rule_stats *stats, const struct sl_bursts *bursts,
                          int64_t now_s)
{
    struct sl_detail *detail = find_detail(stats, bursts->rule);
    struct sl_sums sums = { .warned = bursts->warned, .blocked = bursts->blocked };
    if (!detail)
        return;
    sl_figure_count(&detail->figure, &sums, now_s);
    sl_figure_count(&stats->all, &sums, now_s);
    detail->warned += bursts->warned;
    detail->blocked += bursts->blocked;
}

/* ---- latency ---- */

static void measure_sample(struct sl_figure *figure, const struct sl_sample *sample, int64_t now_s)
{
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        struct sl_measures *measures = sl_figure_measures(figure, period, now_s);
        if (!measures || !sl_histogram_add(&measures->latency, sample->ns, sample->times))
            continue;
        measures->in_use_sum += sample->in_use_sum;
        measures->in_use_times += sample->times;
        if (sample->in_use_max > measures->in_use_max)
            measures->in_use_max = sample->in_use_max;
    }
}

const uint64_t sl_latency_bounds_ns[SL_LATENCY_BOUNDS] = {
    250,      500,      1000,     2500,      5000,      10000,      25000,
    50000,    100000,   250000,   500000,    1000000,   2500000,    5000000,
    10000000, 25000000, 50000000, 100000000, 250000000, 1000000000,
};

static void add_latency(struct sl_latencies *latencies, const struct sl_sample *sample)
{
    size_t place = 0;
    while (place < SL_LATENCY_BOUNDS && sample->ns > sl_latency_bounds_ns[place])
        place++;
    latencies->counts[place] += sample->times;
    latencies->sum_ns += sample->ns * sample->times;
}

static void absorb_sample(struct sl_rule_stats *stats, const struct sl_sample *sample,
                          int64_t now_s)
{
    if (sample->rule == SL_ALL_RULES) {
        measure_sample(&stats->all, sample, now_s);
        return;
    }
    struct sl_detail *detail = find_detail(stats, sample->rule);
    if (!detail)
        return;
    size_t algo = sl_algo_place(stats->ids.rules[sample->rule].algorithm);
    if (sample->rule < SL_CALLERS_RULES)
        measure_sample(&detail->figure, sample, now_s);
    measure_sample(&stats->algos[algo], sample, now_s);
    add_latency(&stats->latencies[algo], sample);
}

void sl_rule_stats_absorb(struct sl_rule_stats *stats, size_t worker, int64_t now_s)
{
    struct sl_observer *observer = stats->observers[worker];
    struct sl_samples *samples = sl_observer_take(observer);
    if (!samples)
        return;
    for (size_t i = 0; i < samples->count; i++)
        absorb_noted(stats, &samples->noted[i]);
    for (size_t i = 0; i < samples->burst_count; i++)
        absorb_bursts(stats, &samples->bursts[i], now_s);
    for (size_t i = 0; i < samples->sample_count; i++)
        absorb_sample(stats, &samples->samples[i], now_s);
    sl_denials_miss(stats->denials, samples->missed_denials, sl_walltime_us());
    stats->terms[0].missed_denied += samples->missed_denials;
    stats->terms[0].missed_met += samples->missed_met;
    sl_observer_give(observer, samples);
}

/* ---- counts ---- */

/* What was added since *last. The sum of a rule that is gone falls, worker by worker: nothing was
 * added then. */
static uint64_t added_since(uint64_t *last, uint64_t now)
{
    uint64_t more = now >= *last ? now - *last : 0;
    *last = now;
    return more;
}

static void count_rule(struct sl_rule_stats *stats, uint32_t number,
                       const uint64_t now[SL_OUTCOME_COUNT], int64_t now_s)
{
    struct sl_enrolled *rule = &stats->ids.rules[number];
    uint64_t any = 0;
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        any |= rule->detail ? now[i] ^ rule->detail->last[i] : now[i];
    struct sl_detail *detail = any ? find_detail(stats, number) : NULL;
    if (!detail)
        return;
    struct sl_sums more = { 0 };
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        more.outcomes[i] = added_since(&detail->last[i], now[i]);
    sl_figure_count(&detail->figure, &more, now_s);
    sl_figure_count(&stats->algos[sl_algo_place(rule->algorithm)], &more, now_s);
}

bool sl_rule_stats_begin_count(struct sl_rule_stats *stats, struct sl_counted *out)
{
    if (stats->sums_room < stats->ids.room) {
        void *larger = realloc(stats->sums, stats->ids.room * sizeof *stats->sums);
        if (!larger)
            return false;
        stats->sums = larger;
        stats->sums_room = stats->ids.room;
    }
    if (stats->sums_room)
        memset(stats->sums, 0, stats->sums_room * sizeof *stats->sums);
    *out = (struct sl_counted){ .by_rule = stats->sums, .rule_count = stats->ids.count };
    return true;
}

void sl_rule_stats_count(struct sl_rule_stats *stats, const struct sl_counted *counted,
                         int64_t now_s)
{
    struct sl_sums more = { 0 };
    more.outcomes[SL_OUTCOME_DENIED] = added_since(&stats->last[0], counted->decisions[0]);
    more.outcomes[SL_OUTCOME_ALLOWED] = added_since(&stats->last[1], counted->decisions[1]);
    sl_figure_count(&stats->all, &more, now_s);
    for (size_t i = 0; i < counted->rule_count; i++)
        count_rule(stats, (uint32_t)i, counted->by_rule[i], now_s);
}

/* ---- distinct callers ---- */

static void take_callers(struct sl_rule_stats *stats, uint32_t number, int64_t now_s)
{
    struct sl_distinct callers = { { 0 } }, limited = { { 0 } };
    for (size_t i = 0; i < stats->observer_count; i++) {
        sl_distinct_take(&callers, stats->observers[i]->callers[number]);
        sl_distinct_take(&limited, stats->observers[i]->limited[number]);
    }
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        struct sl_measures *measures =
            sl_figure_measures(&stats->ids.rules[number].detail->figure, period, now_s);
        if (!measures)
            continue;
        sl_distinct_merge(&measures->callers, &callers);
        sl_distinct_merge(&measures->limited, &limited);
    }
}

void sl_rule_stats_take_callers(struct sl_rule_stats *stats, int64_t now_s)
{
    for (uint32_t i = 0; i < stats->ids.count && i < SL_CALLERS_RULES; i++) {
        const struct sl_enrolled *rule = &stats->ids.rules[i];
        if (rule->name && rule->detail && sl_figure_is_busy(&rule->detail->figure, now_s))
            take_callers(stats, i, now_s);
    }
}

/* ---- periods ---- */

void sl_rule_stats_turn(struct sl_rule_stats *stats, int64_t now_s, int64_t wall_us)
{
    if (now_s - stats->term_s < TERM_S)
        return;
    stats->terms[1] = stats->terms[0];
    stats->terms[0] = (struct sl_top_term){ .since_us = wall_us };
    stats->term_s = now_s;
    for (size_t i = 0; i < stats->ids.count; i++) {
        struct sl_detail *detail = stats->ids.rules[i].detail;
        if (!detail)
            continue;
        free_tops(detail->tops[1]);
        detail->tops[1] = detail->tops[0];
        detail->tops[0] = NULL;
    }
}
