/* A record with one limiter on the model store for each of its workers. */
#ifndef TEST_TELEMETRY_RECORDED_H
#define TEST_TELEMETRY_RECORDED_H

#include "limiter/limiter.h"
#include "telemetry/rule_stats.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

enum { RECORDED_WORKERS = 2, NOW_S = 500000 };

struct recorded {
    struct sl_rule_stats record;
    struct model model;
    struct sl_ruleset *rules;
    struct sl_limiter *limiters[RECORDED_WORKERS];
    uint32_t *numbers;
};

static struct recorded recorded;

/* New rules in force; limiters go on with what they have counted. */
static inline void recorded_load(const char *yaml)
{
    struct sl_ruleset *old = recorded.rules;
    free(recorded.numbers);
    recorded.rules = rules_of(yaml);
    recorded.numbers = sl_rule_stats_enrol(&recorded.record, recorded.rules);
    assert_non_null(recorded.numbers);
    sl_rule_stats_settle(&recorded.record, recorded.rules, recorded.numbers);
    for (size_t i = 0; i < RECORDED_WORKERS; i++) {
        struct sl_limiter *limiter = sl_limiter_new(recorded.rules, &recorded.model.store);
        assert_true(
            sl_limiter_set_observer(limiter, recorded.record.observers[i], recorded.numbers));
        if (recorded.limiters[i])
            sl_limiter_inherit(limiter, recorded.limiters[i]);
        sl_limiter_free(recorded.limiters[i]);
        recorded.limiters[i] = limiter;
    }
    sl_ruleset_free(old);
}

static inline void recorded_open(const char *yaml)
{
    memset(&recorded, 0, sizeof recorded);
    model_open(&recorded.model);
    assert_true(sl_rule_stats_init(&recorded.record, RECORDED_WORKERS));
    recorded.record.term_s = NOW_S; /* whatever the machine's clock says */
    recorded_load(yaml);
}

static inline void recorded_close(void)
{
    for (size_t i = 0; i < RECORDED_WORKERS; i++)
        sl_limiter_free(recorded.limiters[i]);
    sl_ruleset_free(recorded.rules);
    free(recorded.numbers);
    sl_rule_stats_release(&recorded.record);
    model_close(&recorded.model.store);
}

/* So often, as this user. */
static inline void ask_as(size_t worker, const char *user, int times)
{
    struct sluice_decision decision;
    struct sluice_request request = sluice_request();
    request.user = sl_text(user);
    while (times-- > 0)
        sl_limiter_decide(recorded.limiters[worker], &request, &decision);
}

static inline void add_counts(struct sl_counted *to, const struct sl_counts *counts)
{
    for (size_t i = 0; i < SL_REASON_COUNT; i++)
        for (size_t k = 0; k < 2; k++)
            to->decisions[k] += sl_count_read(&counts->decisions[i][k]);
    for (size_t i = 0; i < recorded.rules->rule_count; i++)
        for (size_t k = 0; k < SL_OUTCOME_COUNT; k++)
            to->by_rule[recorded.numbers[i]][k] += sl_count_read(&counts->by_rule[i][k]);
}

/* What the main thread does once a second. */
static inline void sum_up(int64_t now_s)
{
    struct sl_rule_stats *record = &recorded.record;
    struct sl_counted counted;
    assert_true(sl_rule_stats_begin_count(record, &counted));
    for (size_t i = 0; i < RECORDED_WORKERS; i++) {
        sl_observer_hand_over(record->observers[i]);
        sl_rule_stats_absorb(record, i, now_s);
        add_counts(&counted, sl_limiter_counts(recorded.limiters[i]));
    }
    sl_rule_stats_count(record, &counted, now_s);
    sl_rule_stats_take_callers(record, now_s);
}

/* What is known of the rule of this place in the file. */
static inline struct sl_detail *detail_of(size_t rule)
{
    return recorded.record.ids.rules[recorded.numbers[rule]].detail;
}

static inline struct sl_sums sums_in(const struct sl_figure *figure, enum sl_period period,
                                     int64_t now_s)
{
    struct sl_sums sums;
    sl_figure_sum(figure, period, now_s, &sums);
    return sums;
}

/* How often this identifier is in a list; 0: it is not. */
static inline uint64_t top_count(const struct sl_top *top, const char *name)
{
    for (uint32_t i = 0; i < top->count; i++)
        if (top->entries[i].name && strcmp(top->entries[i].name, name) == 0)
            return top->entries[i].count;
    return 0;
}

#endif
