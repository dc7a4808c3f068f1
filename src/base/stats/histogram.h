/* A histogram of durations in steps of 1/64: exact below 128, then 64 steps to each power
 * of two.
 *
 *   value   0 1 2 … 127 | 128 130 … 254 | 256 260 … 508 | …  2^40
 *   step    0 1 2 … 127 | 128 129 … 191 | 192 193 … 255 | …  2239
 *
 * So a percentile is within 1/128 of the exact one for any distribution, and the sum of
 * two histograms is the histogram of both. Latencies of one kind lie close
 * together: memory is taken for the steps in use and their neighbours, some hundred
 * bytes, and not for all 2,240.
 *
 * Zero is a valid empty one. One thread at a time. */
#ifndef SL_BASE_STATS_HISTOGRAM_H
#define SL_BASE_STATS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last step also counts values above 2^40, which is 18 minutes in nanoseconds. */
enum { SL_HISTOGRAM_STEPS = 2240 };

struct sl_histogram {
    uint64_t count, sum, max;
    uint32_t first, end; /* the steps that `buckets` holds: [first, end) */
    uint32_t *buckets;   /* by step - first; each stops at 2^32 - 1, and `count` with it */
};

/* Adds `times` values of that size. Returns false, and changes nothing, if there is no memory.
 * A histogram that holds all steps from the start never allocates: its `buckets` may lie anywhere.
 */
bool sl_histogram_add(struct sl_histogram *histogram, uint64_t value, uint32_t times);
bool sl_histogram_merge(struct sl_histogram *to, const struct sl_histogram *from);

/* Returns a percentile; the share is in millionths (500000: the median). It is the nearest rank,
 * as the middle of its step. Never above `max`; 0 if the histogram is empty. */
uint64_t sl_histogram_at(const struct sl_histogram *histogram, uint32_t share_millionths);

/* Returns how many values are at most `bound`. Counts whole steps: if the bound lies inside a
 * step, values up to 1/64 below it may be left out. Exact below 128, and never too many. */
uint64_t sl_histogram_up_to(const struct sl_histogram *histogram, uint64_t bound);

/* Keeps the memory. */
void sl_histogram_clear(struct sl_histogram *histogram);
void sl_histogram_release(struct sl_histogram *histogram);

/* Returns the memory it holds besides its struct. */
size_t sl_histogram_bytes(const struct sl_histogram *histogram);

#endif
