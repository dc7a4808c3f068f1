/* Figures of the last minute, hour and day, of one rule, one algorithm or all.
 *
 *   counts    60 steps of a second, 60 of a minute, 24 of an hour
 *   latency, callers, use    6 steps of 10 seconds, of 10 minutes, of 4 hours
 *
 * A step is overwritten when its time comes round again. Time is an argument: seconds of a
 * monotonic clock. All zero is empty.
 *
 * The finer rings are small; a step of the coarse ones takes memory once something is counted in
 * it. */
#ifndef SL_TELEMETRY_PERIOD_H
#define SL_TELEMETRY_PERIOD_H

#include "base/stats/distinct.h"
#include "base/stats/histogram.h"
#include "limiter/observe/counts.h"

enum sl_period { SL_PERIOD_MINUTE, SL_PERIOD_HOUR, SL_PERIOD_DAY, SL_PERIOD_COUNT };
enum { SL_PERIOD_STEPS_MAX = 60, SL_PERIOD_COARSE_STEPS = 6 };

/* A period's name ("minute"), its number of steps and the length of each. */
struct sl_period_form {
    const char *name;
    uint32_t steps;
    int64_t step_s;
};
extern const struct sl_period_form sl_period_forms[SL_PERIOD_COUNT];

struct sl_sums {
    uint64_t outcomes[SL_OUTCOME_COUNT];
    uint64_t warned, blocked; /* by burst guards */
};

/* Measurements: what a sum of counts cannot hold. */
struct sl_measures {
    struct sl_histogram latency; /* ns */
    struct sl_distinct callers, limited;
    uint64_t in_use_sum, in_use_times; /* thousandths of the limit */
    uint32_t in_use_max;
};

struct sl_figure {
    struct {
        int64_t step; /* the newest step, counted from the clock's zero */
        struct sl_sums tallies[SL_PERIOD_STEPS_MAX];
    } counts[SL_PERIOD_COUNT];
    struct {
        int64_t step;
        struct sl_measures *measures[SL_PERIOD_COARSE_STEPS]; /* NULL: nothing yet */
    } coarse[SL_PERIOD_COUNT];
};

void sl_figure_release(struct sl_figure *figure);

/* Adds to all three periods. */
void sl_figure_count(struct sl_figure *figure, const struct sl_sums *more, int64_t now_s);

/* Returns true if it has counted something in this second or the last. */
bool sl_figure_is_busy(const struct sl_figure *figure, int64_t now_s);

/* The measures of the present step of that period, to add to; NULL: no memory. */
struct sl_measures *sl_figure_measures(struct sl_figure *figure, enum sl_period period,
                                       int64_t now_s);

/* Sums up a period, up to now. */
void sl_figure_sum(const struct sl_figure *figure, enum sl_period period, int64_t now_s,
                   struct sl_sums *out);

/* The tally of the step that is `back` before the present one; NULL: nothing was counted then. */
const struct sl_sums *sl_figure_step(const struct sl_figure *figure, enum sl_period period,
                                     int64_t now_s, uint32_t back);

/* Merges a period's measures into *out, which is empty and which the caller releases. Returns
 * false if there is no memory. */
bool sl_figure_measure(const struct sl_figure *figure, enum sl_period period, int64_t now_s,
                       struct sl_measures *out);
void sl_measures_release(struct sl_measures *measures);

#endif
