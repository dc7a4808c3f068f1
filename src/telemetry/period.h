/* Figures of the last minute, hour and day, of one rule, one algorithm or all.
 *
 *   counts    60 steps of a second, 60 of a minute, 24 of an hour
 *   latency, callers, use    6 steps of 10 seconds, of 10 minutes, of 4 hours
 *
 * A step is overwritten when its time comes round again. Time is an argument: seconds of a clock
 * that nobody steps. All zero, since when there was such a clock, is empty.
 *
 * The finer rings are small; a step of the coarse ones takes memory once something falls into
 * it. */
#ifndef SL_TELEMETRY_PERIOD_H
#define SL_TELEMETRY_PERIOD_H

#include "base/stats/distinct.h"
#include "base/stats/histogram.h"
#include "limiter/observe/counts.h"

enum sl_period { SL_PERIOD_MINUTE, SL_PERIOD_HOUR, SL_PERIOD_DAY, SL_PERIOD_COUNT };
enum { SL_PERIOD_STEPS_MAX = 60, SL_PERIOD_COARSE_STEPS = 6 };

/* "minute", its steps and how long each is. */
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

/* What is measured and not counted. */
struct sl_measures {
    struct sl_histogram latency; /* ns */
    struct sl_distinct callers, limited;
    uint64_t in_use_sum, in_use_times; /* thousandths of the limit */
    uint32_t in_use_max;
};

struct sl_figure {
    struct {
        int64_t step; /* the newest, counted from the clock's zero */
        struct sl_sums tallies[SL_PERIOD_STEPS_MAX];
    } counts[SL_PERIOD_COUNT];
    struct {
        int64_t step;
        struct sl_measures *measures[SL_PERIOD_COARSE_STEPS]; /* NULL: nothing yet */
    } coarse[SL_PERIOD_COUNT];
};

void sl_figure_release(struct sl_figure *figure);

/* Adds to all three. */
void sl_figure_count(struct sl_figure *figure, const struct sl_sums *more, int64_t now_s);

/* Has it counted something in this second or the last? */
bool sl_figure_is_busy(const struct sl_figure *figure, int64_t now_s);

/* The measures of now in that period, to add to. NULL: no memory. */
struct sl_measures *sl_figure_measures(struct sl_figure *figure, enum sl_period period,
                                       int64_t now_s);

/* All of a period, up to now. */
void sl_figure_sum(const struct sl_figure *figure, enum sl_period period, int64_t now_s,
                   struct sl_sums *out);

/* The tally of the step that is `back` before the one of now; NULL: nothing was counted then. */
const struct sl_sums *sl_figure_step(const struct sl_figure *figure, enum sl_period period,
                                     int64_t now_s, uint32_t back);

/* Merged, into an empty one that is to be released. False: no memory. */
bool sl_figure_measure(const struct sl_figure *figure, enum sl_period period, int64_t now_s,
                       struct sl_measures *out);
void sl_measures_release(struct sl_measures *measures);

#endif
