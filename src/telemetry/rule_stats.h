/* Everything that is known of the last minute, hour and day, summed up by the main thread from what
 * the workers' limiters count and see.
 *
 *   sights (whom, how long, how many callers)   every look, a quarter of a second
 *   counts                                      every second, as differences
 *   denials, folded, to the audit log           every second
 *
 * Owned by the main thread; others read it under its lock. Memory: some kilobytes for each
 * rule that was ever asked, and a few tens of them for the first SL_CALLERS_RULES. */
#ifndef SL_TELEMETRY_RULE_STATS_H
#define SL_TELEMETRY_RULE_STATS_H

#include <pthread.h>

#include "algo/algo.h"
#include "base/stats/top.h"
#include "limiter/observe/observer.h"
#include "telemetry/denials.h"
#include "telemetry/period.h"

enum { SL_TOP_TERMS = 2, SL_LATENCY_BOUNDS = 20 };

/* Since the start, which may be years: in few steps of 64 bits, unlike a period's. */
struct sl_latencies {
    uint64_t counts[SL_LATENCY_BOUNDS + 1]; /* up to each bound alone; the last: beyond all */
    uint64_t sum_ns;
};
extern const uint64_t sl_latency_bounds_ns[SL_LATENCY_BOUNDS];

/* Whom a rule denied and met, in this period or the one before it. */
struct sl_tops {
    struct sl_top denied;
    struct sl_top met;
};

/* What is known of a rule; from the first time on that it was asked. */
struct sl_detail {
    struct sl_figure figure;
    uint64_t last[SL_OUTCOME_COUNT];    /* what its counts were at the last look */
    uint64_t warned, blocked;           /* since the start */
    struct sl_tops *tops[SL_TOP_TERMS]; /* the newer first; NULL: nobody */
};

/* A moment when periods began, and what was missed in them. */
struct sl_top_term {
    int64_t since_us; /* wall time */
    uint64_t missed_denied, missed_met;
};

struct sl_rule_stats {
    pthread_mutex_t lock;
    struct sl_rule_ids ids;
    struct sl_observer **observers; /* by worker */
    size_t sight_count;
    struct sl_denials *denials;

    struct sl_figure all; /* decisions, whichever rules they met; allowed and denied */
    struct sl_figure algos[SL_ALGO_COUNT];        /* by their place in sl_algos */
    struct sl_latencies latencies[SL_ALGO_COUNT]; /* since the start */
    uint64_t (*sums)[SL_OUTCOME_COUNT];           /* room for what is counted, by number */
    size_t sums_room;
    uint64_t last[2]; /* decisions at the last look: denied, allowed */

    struct sl_top_term terms[SL_TOP_TERMS];
    int64_t term_s;    /* when the newer one began, and */
    int64_t started_s; /* all of this, and */
    int64_t counted_s; /* when counts were last read, by the clock that nobody steps */
};

/* False: no memory. */
bool sl_rule_stats_init(struct sl_rule_stats *record, size_t workers);
void sl_rule_stats_release(struct sl_rule_stats *record);

/* Numbers for these rules, to be freed; NULL: no memory. Takes the lock. */
uint32_t *sl_rule_stats_enrol(struct sl_rule_stats *record, const struct sl_ruleset *rules);

/* They are in force. Takes the lock. */
void sl_rule_stats_settle(struct sl_rule_stats *record, const struct sl_ruleset *rules,
                          const uint32_t *numbers);

/* What one worker has handed over. The lock is held, here and below. */
void sl_rule_stats_absorb(struct sl_rule_stats *record, size_t worker, int64_t now_s);

/* What all limiters have counted since the start. */
struct sl_counted {
    uint64_t decisions[2];                 /* [allowed] */
    uint64_t (*by_rule)[SL_OUTCOME_COUNT]; /* by number */
    size_t rule_count;
};

/* Zeroed, and with room for all numbers; good until the next call. False: no memory. */
bool sl_rule_stats_begin_count(struct sl_rule_stats *record, struct sl_counted *out);

/* Counts as they are now: what has been added since the last time is of this second. */
void sl_rule_stats_count(struct sl_rule_stats *record, const struct sl_counted *counted,
                         int64_t now_s);

/* The registers of callers, of rules that have been asked. */
void sl_rule_stats_take_callers(struct sl_rule_stats *record, int64_t now_s);

/* Once half an hour: the older period is forgotten. */
void sl_rule_stats_turn(struct sl_rule_stats *record, int64_t now_s, int64_t wall_us);

/* The place of an algorithm of that name in sl_algos. */
size_t sl_algo_place(const char *name);

#endif
