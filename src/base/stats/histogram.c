/* A histogram that holds memory for the steps in use only. */
#include "base/stats/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/text/number.h"

enum {
    STEP_BITS = 6,
    TO_A_POWER = 1 << STEP_BITS,
    EXACT = 2 * TO_A_POWER,
    SLACK = 32, /* memory begins and ends at multiples: it grows at most 70 times */
};

static uint32_t step_of(uint64_t value)
{
    if (value < EXACT)
        return (uint32_t)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - STEP_BITS;
    uint64_t step = (uint64_t)shift * TO_A_POWER + (value >> shift);
    return step < SL_HISTOGRAM_STEPS ? (uint32_t)step : SL_HISTOGRAM_STEPS - 1;
}

/* The smallest value of a step, and how many different ones fall into it. */
static uint64_t step_start(uint32_t step, uint64_t *width)
{
    unsigned shift = step < EXACT ? 0 : step / TO_A_POWER - 1;
    *width = UINT64_C(1) << shift;
    return step < EXACT ? step : (uint64_t)(step % TO_A_POWER + TO_A_POWER) << shift;
}

static uint64_t step_middle(uint32_t step)
{
    uint64_t width, start = step_start(step, &width);
    return start + (width - 1) / 2;
}

/* The largest value that falls into it. */
static uint64_t step_end(uint32_t step)
{
    uint64_t width, start = step_start(step, &width);
    return step < SL_HISTOGRAM_STEPS - 1 ? start + width - 1 : UINT64_MAX;
}

/* Makes room for the steps [first, end) too. */
static bool cover(struct sl_histogram *histogram, uint32_t first, uint32_t end)
{
    if (histogram->end > 0 && histogram->first <= first && end <= histogram->end)
        return true;
    first = first / SLACK * SLACK;
    end = (end + SLACK - 1) / SLACK * SLACK;
    if (histogram->end > 0) {
        first = first < histogram->first ? first : histogram->first;
        end = end > histogram->end ? end : histogram->end;
    }
    uint32_t *larger = calloc(end - first, sizeof *larger);
    if (!larger)
        return false;
    if (histogram->end > 0)
        memcpy(larger + (histogram->first - first), histogram->buckets,
               sl_histogram_bytes(histogram));
    free(histogram->buckets);
    histogram->buckets = larger;
    histogram->first = first;
    histogram->end = end;
    return true;
}

/* Into a step that is covered. Returns how many there was still room for. */
static uint32_t add_to_step(struct sl_histogram *histogram, uint32_t step, uint32_t times)
{
    uint32_t *bucket = &histogram->buckets[step - histogram->first];
    times = times < UINT32_MAX - *bucket ? times : UINT32_MAX - *bucket;
    *bucket += times;
    histogram->count += times;
    return times;
}

bool sl_histogram_add(struct sl_histogram *histogram, uint64_t value, uint32_t times)
{
    uint32_t step = step_of(value);
    if (times == 0)
        return true;
    if (!cover(histogram, step, step + 1))
        return false;
    histogram->sum += value * add_to_step(histogram, step, times);
    if (value > histogram->max)
        histogram->max = value;
    return true;
}

bool sl_histogram_merge(struct sl_histogram *to, const struct sl_histogram *from)
{
    if (from->count == 0)
        return true;
    uint32_t first = from->first, end = from->end;
    while (from->buckets[first - from->first] == 0)
        first++;
    while (from->buckets[end - 1 - from->first] == 0)
        end--;
    if (!cover(to, first, end))
        return false;
    for (uint32_t step = first; step < end; step++)
        add_to_step(to, step, from->buckets[step - from->first]);
    to->sum += from->sum;
    if (from->max > to->max)
        to->max = from->max;
    return true;
}

uint64_t sl_histogram_at(const struct sl_histogram *histogram, uint32_t share_millionths)
{
    SL_CHECK(share_millionths <= 1000000);
    uint64_t rank = (uint64_t)sl_mul_div_ceil((int64_t)histogram->count, share_millionths, 1000000);
    uint64_t seen = 0;
    for (uint32_t step = histogram->first; step < histogram->end; step++) {
        seen += histogram->buckets[step - histogram->first];
        if (seen > 0 && seen >= rank)
            return step_middle(step) < histogram->max ? step_middle(step) : histogram->max;
    }
    return 0;
}

uint64_t sl_histogram_up_to(const struct sl_histogram *histogram, uint64_t bound)
{
    uint64_t seen = 0;
    for (uint32_t step = histogram->first; step < histogram->end && step_end(step) <= bound; step++)
        seen += histogram->buckets[step - histogram->first];
    return seen;
}

void sl_histogram_clear(struct sl_histogram *histogram)
{
    if (histogram->end > 0)
        memset(histogram->buckets, 0, sl_histogram_bytes(histogram));
    histogram->count = histogram->sum = histogram->max = 0;
}

void sl_histogram_release(struct sl_histogram *histogram)
{
    free(histogram->buckets);
    *histogram = (struct sl_histogram){ 0 };
}

size_t sl_histogram_bytes(const struct sl_histogram *histogram)
{
    return (histogram->end - histogram->first) * sizeof *histogram->buckets;
}
