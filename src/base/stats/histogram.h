/* Durations, counted in steps of 1/64: exact below 128, then 64 steps to each power
 * of two.
 *
 *   value   0 1 2 … 127 | 128 130 … 254 | 256 260 … 508 | …  2^40
 *   step    0 1 2 … 127 | 128 129 … 191 | 192 193 … 255 | …  2239
 *
 * So a percentile is within 1/128 of the exact one, whatever the distribution, and
 * two of them add up to what one would have counted. Latencies of one kind lie close
 * together: memory is taken for the steps in use and their neighbours, some hundred
 * bytes, and not for all 2,240.
 *
 * Zero is a valid empty one. One thread at a time. */
#ifndef SL_BASE_STATS_HISTOGRAM_H
#define SL_BASE_STATS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last step also takes what is longer than 2^40, 18 minutes of nanoseconds. */
enum { SL_HISTOGRAM_STEPS = 2240 };

struct sl_histogram {
    uint64_t count, sum, max;
    uint32_t first, end; /* the steps that `buckets` holds: [first, end) */
    uint32_t *buckets;   /* by step - first; each stops at 2^32 - 1, and `count` with it */
};

/* `times` values of that size. False: no memory, and nothing changed. One that was given
 * all the steps at the start never takes memory: its `buckets` may lie anywhere. */
bool sl_histogram_add(struct sl_histogram *histogram, uint64_t value, uint32_t times);
bool sl_histogram_merge(struct sl_histogram *to, const struct sl_histogram *from);

/* The value that a share of all, in millionths (500000: the median), is not above: the
 * nearest rank, as the middle of its step. Never above `max`; 0 of an empty one. */
uint64_t sl_histogram_at(const struct sl_histogram *histogram, uint32_t share_millionths);

/* How many are at most `bound`. Counted by whole steps: of values up to 1/64 below a bound
 * that lies inside a step, some are left out. Exact below 128, and never too many. */
uint64_t sl_histogram_up_to(const struct sl_histogram *histogram, uint64_t bound);

/* Keeps the memory. */
void sl_histogram_clear(struct sl_histogram *histogram);
void sl_histogram_release(struct sl_histogram *histogram);

/* What it has taken besides its struct. */
size_t sl_histogram_bytes(const struct sl_histogram *histogram);

#endif
