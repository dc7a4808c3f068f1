/* Statistics of the last minute, hour and day, summed up by the main thread from what the workers'
 * limiters count and sample.
 *
 *   samples (identifiers, latency, callers)     each time they are read, every quarter of a second
 *   counts                                      every second, as differences
 *   denials, folded, to the audit log           every second
 *
 * Owned by the main thread; other threads read it under its lock. Memory: some kilobytes for each
 * rule that ever met a request, and a few tens of them for the first SL_CALLERS_RULES. */
#ifndef SL_TELEMETRY_RULE_STATS_H
#define SL_TELEMETRY_RULE_STATS_H

#include <pthread.h>

#include "algo/algo.h"
#include "base/stats/top.h"
#include "limiter/observe/observer.h"
#include "telemetry/denials.h"
#include "telemetry/period.h"

enum { SL_TOP_TERMS = 2, SL_LATENCY_BOUNDS = 20 };

/* Since the start, which may be years ago: in few steps of 64 bits, unlike a period's. */
struct sl_latencies {
    uint64_t counts[SL_LATENCY_BOUNDS +
                    1]; /* up to each bound, without those below; the last: beyond all */
    uint64_t sum_ns;
};
extern const uint64_t sl_latency_bounds_ns[SL_LATENCY_BOUNDS];

/* The identifiers a rule denied and met most, in this period or the one before it. */
struct sl_tops {
    struct sl_top denied;
    struct sl_top met;
};

/* The statistics of a rule, from its first request on. */
struct sl_detail {
    struct sl_figure figure;
    uint64_t last[SL_OUTCOME_COUNT];    /* its counts when they were last read */
    uint64_t warned, blocked;           /* since the start */
    struct sl_tops *tops[SL_TOP_TERMS]; /* the newer first; NULL: empty */
};

/* When a period began, and what its tops have missed. */
struct sl_top_term {
    int64_t since_us; /* wall time */
    uint64_t missed_denied, missed_met;
};

struct sl_rule_stats {
    pthread_mutex_t lock;
    struct sl_rule_ids ids;
    struct sl_observer **observers; /* by worker */
    size_t observer_count;
    struct sl_denials *denials;

    struct sl_figure all; /* all decisions, allowed and denied, whatever rules they met */
    struct sl_figure algos[SL_ALGO_COUNT];        /* by place in sl_algos */
    struct sl_latencies latencies[SL_ALGO_COUNT]; /* since the start */
    uint64_t (*sums)[SL_OUTCOME_COUNT];           /* room for the counts, by rule number */
    size_t sums_room;
    uint64_t last[2]; /* decisions when last read: denied, allowed */

    struct sl_top_term terms[SL_TOP_TERMS];
    int64_t term_s;    /* monotonic: when the newer term began, */
    int64_t started_s; /* when all of this began, */
    int64_t counted_s; /* when counts were last read */
};

/* Returns false if there is no memory. */
bool sl_rule_stats_init(struct sl_rule_stats *stats, size_t workers);
void sl_rule_stats_release(struct sl_rule_stats *stats);

/* Numbers for these rules, which the caller frees; NULL: no memory. Takes the lock. */
uint32_t *sl_rule_stats_enrol(struct sl_rule_stats *stats, const struct sl_ruleset *rules);

/* Notes that these rules are in force. Takes the lock. */
void sl_rule_stats_settle(struct sl_rule_stats *stats, const struct sl_ruleset *rules,
                          const uint32_t *numbers);

/* Adds the samples that one worker has handed over. The caller holds the lock, here and below. */
void sl_rule_stats_absorb(struct sl_rule_stats *stats, size_t worker, int64_t now_s);

/* The counts of all limiters since the start. */
struct sl_counted {
    uint64_t decisions[2];                 /* [allowed] */
    uint64_t (*by_rule)[SL_OUTCOME_COUNT]; /* by number */
    size_t rule_count;
};

/* Gives zeroed counts with room for all numbers; good until the next call. Returns false if there
 * is no memory. */
bool sl_rule_stats_begin_count(struct sl_rule_stats *stats, struct sl_counted *out);

/* Takes the counts as they are now: the difference to the last call belongs to this second. */
void sl_rule_stats_count(struct sl_rule_stats *stats, const struct sl_counted *counted,
                         int64_t now_s);

/* Takes the registers of distinct callers from the observers, for busy rules. */
void sl_rule_stats_take_callers(struct sl_rule_stats *stats, int64_t now_s);

/* Every half hour, starts a new term of tops: the older one is forgotten. */
void sl_rule_stats_turn(struct sl_rule_stats *stats, int64_t now_s, int64_t wall_us);

/* The place in sl_algos of the algorithm of that name. */
size_t sl_algo_place(const char *name);

#endif
