#include "telemetry/rule_stats.h"

#include <stdlib.h>

#include "algo/algo.h"
#include "base/clock.h"

enum { TERM_S = 1800 };

/* ---- the whole ---- */

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

bool sl_rule_stats_init(struct sl_rule_stats *record, size_t workers)
{
    int64_t now_s = sl_boottime_us() / 1000000;
    *record = (struct sl_rule_stats){ .ids.forget = free_detail,
                                      .terms[0].since_us = sl_walltime_us(),
                                      .term_s = now_s,
                                      .started_s = now_s };
    pthread_mutex_init(&record->lock, NULL);
    record->denials = sl_denials_new();
    record->observers = calloc(workers + 1, sizeof *record->observers);
    if (!record->observers || !record->denials)
        return false;
    for (; record->sight_count < workers; record->sight_count++) {
        record->observers[record->sight_count] = sl_observer_new();
        if (!record->observers[record->sight_count])
            return false;
    }
    return true;
}

void sl_rule_stats_release(struct sl_rule_stats *record)
{
    for (size_t i = 0; i < record->sight_count; i++)
        sl_observer_free(record->observers[i]);
    free(record->observers);
    sl_denials_free(record->denials);
    sl_rule_ids_release(&record->ids);
    free(record->sums);
    sl_figure_release(&record->all);
    for (size_t i = 0; i < SL_ALGO_COUNT; i++)
        sl_figure_release(&record->algos[i]);
    pthread_mutex_destroy(&record->lock);
}

uint32_t *sl_rule_stats_enrol(struct sl_rule_stats *record, const struct sl_ruleset *rules)
{
    pthread_mutex_lock(&record->lock);
    uint32_t *numbers = sl_rule_ids_enrol(&record->ids, rules, sl_boottime_us());
    pthread_mutex_unlock(&record->lock);
    return numbers;
}

void sl_rule_stats_settle(struct sl_rule_stats *record, const struct sl_ruleset *rules,
                          const uint32_t *numbers)
{
    pthread_mutex_lock(&record->lock);
    sl_rule_ids_settle(&record->ids, rules, numbers, sl_boottime_us());
    pthread_mutex_unlock(&record->lock);
}

size_t sl_algo_place(const char *name)
{
    size_t place = 0;
    while (sl_algos[place] && strcmp(sl_algos[place]->name, name) != 0)
        place++;
    return place;
}

/* NULL: there is no such rule any more, or no memory. */
static struct sl_detail *detail_of(struct sl_rule_stats *record, uint32_t number)
{
    struct sl_enrolled *rule = number < record->ids.count ? &record->ids.rules[number] : NULL;
    if (!rule || !rule->name)
        return NULL;
    if (!rule->detail)
        rule->detail = calloc(1, sizeof *rule->detail);
    return rule->detail;
}

/* ---- whom ---- */

static void add_top(struct sl_top *top, const struct sl_noted *noted, uint64_t weight)
{
    if (!weight)
        return;
    struct sl_top_entry *entry = sl_top_add(top, noted->key, weight);
    if (!entry->name)
        sl_top_name(entry, noted->tenant, noted->identifier);
}

static void absorb_noted(struct sl_rule_stats *record, const struct sl_noted *noted)
{
    struct sl_detail *detail = detail_of(record, noted->rule);
    if (!detail)
        return;
    sl_denials_add(record->denials, noted);
    if (noted->rule >= SL_CALLERS_RULES || !noted->has_identifier)
        return;
    if (!detail->tops[0])
        detail->tops[0] = calloc(1, sizeof *detail->tops[0]);
    if (!detail->tops[0])
        return;
    add_top(&detail->tops[0]->denied, noted, noted->denied);
    add_top(&detail->tops[0]->met, noted, noted->met);
}

static void absorb_bursts(struct sl_rule_stats *record, const struct sl_bursts *bursts,
                          int64_t now_s)
{
    struct sl_detail *detail = detail_of(record, bursts->rule);
    struct sl_sums sums = { .warned = bursts->warned, .blocked = bursts->blocked };
    if (!detail)
        return;
    sl_figure_count(&detail->figure, &sums, now_s);
    sl_figure_count(&record->all, &sums, now_s);
    detail->warned += bursts->warned;
    detail->blocked += bursts->blocked;
}

/* ---- how long ---- */

static void measure(struct sl_figure *figure, const struct sl_sample *sample, int64_t now_s)
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

static void absorb_sample(struct sl_rule_stats *record, const struct sl_sample *sample,
                          int64_t now_s)
{
    if (sample->rule == SL_ALL_RULES) {
        measure(&record->all, sample, now_s);
        return;
    }
    struct sl_detail *detail = detail_of(record, sample->rule);
    if (!detail)
        return;
    size_t algo = sl_algo_place(record->ids.rules[sample->rule].algorithm);
    if (sample->rule < SL_CALLERS_RULES)
        measure(&detail->figure, sample, now_s);
    measure(&record->algos[algo], sample, now_s);
    add_latency(&record->latencies[algo], sample);
}

void sl_rule_stats_absorb(struct sl_rule_stats *record, size_t worker, int64_t now_s)
{
    struct sl_observer *observer = record->observers[worker];
    struct sl_samples *samples = sl_observer_take(observer);
    if (!samples)
        return;
    for (size_t i = 0; i < samples->count; i++)
        absorb_noted(record, &samples->noted[i]);
    for (size_t i = 0; i < samples->burst_count; i++)
        absorb_bursts(record, &samples->bursts[i], now_s);
    for (size_t i = 0; i < samples->sample_count; i++)
        absorb_sample(record, &samples->samples[i], now_s);
    sl_denials_miss(record->denials, samples->missed_denials, sl_walltime_us());
    record->terms[0].missed_denied += samples->missed_denials;
    record->terms[0].missed_met += samples->missed_met;
    sl_observer_give(observer, samples);
}

/* ---- how many ---- */

/* Of a rule that is gone a sum falls, worker by worker: nothing was added then. */
static uint64_t added(uint64_t *last, uint64_t now)
{
    uint64_t more = now >= *last ? now - *last : 0;
    *last = now;
    return more;
}

static void count_rule(struct sl_rule_stats *record, uint32_t number,
                       const uint64_t now[SL_OUTCOME_COUNT], int64_t now_s)
{
    struct sl_enrolled *rule = &record->ids.rules[number];
    uint64_t any = 0;
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        any |= rule->detail ? now[i] ^ rule->detail->last[i] : now[i];
    struct sl_detail *detail = any ? detail_of(record, number) : NULL;
    if (!detail)
        return;
    struct sl_sums more = { 0 };
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        more.outcomes[i] = added(&detail->last[i], now[i]);
    sl_figure_count(&detail->figure, &more, now_s);
    sl_figure_count(&record->algos[sl_algo_place(rule->algorithm)], &more, now_s);
}

bool sl_rule_stats_begin_count(struct sl_rule_stats *record, struct sl_counted *out)
{
    if (record->sums_room < record->ids.room) {
        void *larger = realloc(record->sums, record->ids.room * sizeof *record->sums);
        if (!larger)
            return false;
        record->sums = larger;
        record->sums_room = record->ids.room;
    }
    if (record->sums_room)
        memset(record->sums, 0, record->sums_room * sizeof *record->sums);
    *out = (struct sl_counted){ .by_rule = record->sums, .rule_count = record->ids.count };
    return true;
}

void sl_rule_stats_count(struct sl_rule_stats *record, const struct sl_counted *counted,
                         int64_t now_s)
{
    struct sl_sums more = { 0 };
    more.outcomes[SL_OUTCOME_DENIED] = added(&record->last[0], counted->decisions[0]);
    more.outcomes[SL_OUTCOME_ALLOWED] = added(&record->last[1], counted->decisions[1]);
    sl_figure_count(&record->all, &more, now_s);
    for (size_t i = 0; i < counted->rule_count; i++)
        count_rule(record, (uint32_t)i, counted->by_rule[i], now_s);
}

/* ---- how many different ones ---- */

static void take_callers(struct sl_rule_stats *record, uint32_t number, int64_t now_s)
{
    struct sl_distinct callers = { { 0 } }, limited = { { 0 } };
    for (size_t i = 0; i < record->sight_count; i++) {
        sl_distinct_take(&callers, record->observers[i]->callers[number]);
        sl_distinct_take(&limited, record->observers[i]->limited[number]);
    }
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++) {
        struct sl_measures *measures =
            sl_figure_measures(&record->ids.rules[number].detail->figure, period, now_s);
        if (!measures)
            continue;
        sl_distinct_merge(&measures->callers, &callers);
        sl_distinct_merge(&measures->limited, &limited);
    }
}

void sl_rule_stats_take_callers(struct sl_rule_stats *record, int64_t now_s)
{
    for (uint32_t i = 0; i < record->ids.count && i < SL_CALLERS_RULES; i++) {
        const struct sl_enrolled *rule = &record->ids.rules[i];
        if (rule->name && rule->detail && sl_figure_is_busy(&rule->detail->figure, now_s))
            take_callers(record, i, now_s);
    }
}

/* ---- periods ---- */

void sl_rule_stats_turn(struct sl_rule_stats *record, int64_t now_s, int64_t wall_us)
{
    if (now_s - record->term_s < TERM_S)
        return;
    record->terms[1] = record->terms[0];
    record->terms[0] = (struct sl_top_term){ .since_us = wall_us };
    record->term_s = now_s;
    for (size_t i = 0; i < record->ids.count; i++) {
        struct sl_detail *detail = record->ids.rules[i].detail;
        if (!detail)
            continue;
        free_tops(detail->tops[1]);
        detail->tops[1] = detail->tops[0];
        detail->tops[0] = NULL;
    }
}
