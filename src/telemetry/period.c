/* Rings of counts and measures, and their sums over a minute, an hour and a day. */
#include "telemetry/period.h"

#include <stdlib.h>

const struct sl_period_form sl_period_forms[SL_PERIOD_COUNT] = {
    [SL_PERIOD_MINUTE] = { "minute", 60, 1 },
    [SL_PERIOD_HOUR] = { "hour", 60, 60 },
    [SL_PERIOD_DAY] = { "day", 24, 3600 },
};

static const int64_t coarse_step_s[SL_PERIOD_COUNT] = { 10, 600, 14400 };

void sl_measures_release(struct sl_measures *measures)
{
    sl_histogram_release(&measures->latency);
}

void sl_figure_release(struct sl_figure *figure)
{
    for (size_t period = 0; period < SL_PERIOD_COUNT; period++)
        for (size_t i = 0; i < SL_PERIOD_COARSE_STEPS; i++) {
            struct sl_measures *measures = figure->coarse[period].measures[i];
            if (measures)
                sl_measures_release(measures);
            free(measures);
        }
    *figure = (struct sl_figure){ 0 };
}

/* ---- counts ---- */

static void add_sums(struct sl_sums *to, const struct sl_sums *more)
{
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        to->outcomes[i] += more->outcomes[i];
    to->warned += more->warned;
    to->blocked += more->blocked;
}

/* The tally of the step of now; empties the steps that time has passed over since the last one. */
static struct sl_sums *sums_of_now(struct sl_figure *figure, enum sl_period period, int64_t now_s)
{
    const struct sl_period_form *form = &sl_period_forms[period];
    int64_t step = now_s / form->step_s, *newest = &figure->counts[period].step;
    int64_t passed = step - *newest < form->steps ? step - *newest : form->steps;
    for (int64_t i = 0; i < passed; i++)
        figure->counts[period].tallies[(step - i) % form->steps] = (struct sl_sums){ 0 };
    if (passed > 0)
        *newest = step;
    return &figure->counts[period].tallies[*newest % form->steps];
}

void sl_figure_count(struct sl_figure *figure, const struct sl_sums *more, int64_t now_s)
{
    for (enum sl_period period = 0; period < SL_PERIOD_COUNT; period++)
        add_sums(sums_of_now(figure, period, now_s), more);
}

bool sl_figure_is_busy(const struct sl_figure *figure, int64_t now_s)
{
    return now_s - figure->counts[SL_PERIOD_MINUTE].step <= 1;
}

const struct sl_sums *sl_figure_step(const struct sl_figure *figure, enum sl_period period,
                                     int64_t now_s, uint32_t back)
{
    const struct sl_period_form *form = &sl_period_forms[period];
    int64_t step = now_s / form->step_s - back, newest = figure->counts[period].step;
    if (step < 0 || step > newest || newest - step >= form->steps)
        return NULL;
    return &figure->counts[period].tallies[step % form->steps];
}

void sl_figure_sum(const struct sl_figure *figure, enum sl_period period, int64_t now_s,
                   struct sl_sums *out)
{
    *out = (struct sl_sums){ 0 };
    for (uint32_t back = 0; back < sl_period_forms[period].steps; back++) {
        const struct sl_sums *tally = sl_figure_step(figure, period, now_s, back);
        if (tally)
            add_sums(out, tally);
    }
}

/* ---- measures ---- */

/* Keeps the memory: the next minute's latencies are like this one's. */
static void empty_measures(struct sl_measures *measures)
{
    if (!measures)
        return;
    struct sl_histogram latency = measures->latency;
    sl_histogram_clear(&latency);
    *measures = (struct sl_measures){ .latency = latency };
}

struct sl_measures *sl_figure_measures(struct sl_figure *figure, enum sl_period period,
                                       int64_t now_s)
{
    int64_t step = now_s / coarse_step_s[period], *newest = &figure->coarse[period].step;
    struct sl_measures **ring = figure->coarse[period].measures;
    int64_t passed =
        step - *newest < SL_PERIOD_COARSE_STEPS ? step - *newest : SL_PERIOD_COARSE_STEPS;
    for (int64_t i = 0; i < passed; i++)
        empty_measures(ring[(step - i) % SL_PERIOD_COARSE_STEPS]);
    if (passed > 0)
        *newest = step;
    struct sl_measures **measures = &ring[*newest % SL_PERIOD_COARSE_STEPS];
    if (!*measures)
        *measures = calloc(1, sizeof **measures);
    return *measures;
}

static bool merge_measures(struct sl_measures *to, const struct sl_measures *from)
{
    sl_distinct_merge(&to->callers, &from->callers);
    sl_distinct_merge(&to->limited, &from->limited);
    to->in_use_sum += from->in_use_sum;
    to->in_use_times += from->in_use_times;
    if (from->in_use_max > to->in_use_max)
        to->in_use_max = from->in_use_max;
    return sl_histogram_merge(&to->latency, &from->latency);
}

bool sl_figure_measure(const struct sl_figure *figure, enum sl_period period, int64_t now_s,
                       struct sl_measures *out)
{
    int64_t now = now_s / coarse_step_s[period], newest = figure->coarse[period].step;
    *out = (struct sl_measures){ 0 };
    for (int64_t step = newest; step > newest - SL_PERIOD_COARSE_STEPS && step >= 0; step--) {
        const struct sl_measures *measures =
            figure->coarse[period].measures[step % SL_PERIOD_COARSE_STEPS];
        if (now - step >= SL_PERIOD_COARSE_STEPS || !measures)
            continue;
        if (!merge_measures(out, measures)) {
            sl_measures_release(out);
            return false;
        }
    }
    return true;
}
