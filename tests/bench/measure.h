/* What the benchmarks of the table share: keys, pinned workers, interleaved rounds.
 *
 * A *side* is one way of making decisions. Sides are run in turn, a few
 * hundredths of a second each, for an odd number of rounds; a figure is the median of
 * the rounds, and a ratio the median of the ratios within each round, so that a
 * busy neighbour hits both of its sides alike. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "base/text.h"

enum { KEY_BYTES = 24, KEY_LEN = 22, SIDES_MAX = 24, ROUNDS_MAX = 101 };

/* "tenant-3/user:00012345", one behind the other, each ended by a zero. */
struct keys {
    char *at;
    uint64_t count;
};

void key_write(char out[KEY_BYTES], uint64_t number);
struct keys keys_new(uint64_t count);

static inline struct sluice_text key_at(const struct keys *keys, uint64_t i)
{
    return (struct sluice_text){ keys->at + i * KEY_BYTES, KEY_LEN };
}

/* The key behind key i, in a ring. */
static inline uint64_t key_next(const struct keys *keys, uint64_t i)
{
    return i + 1 < keys->count ? i + 1 : 0;
}

struct side {
    const char *name;
    /* Makes `count` decisions on the keys from `at` on, and returns which is next. */
    uint64_t (*run)(const struct side *side, uint64_t at, uint64_t count);
    const void *context;
    const struct keys *keys;
    unsigned threads;                        /* 0 is 1 */
    unsigned processes;                      /* 0 is 1 */
    void (*before)(const struct side *side); /* each round; may be NULL */

    /* Filled in: */
    double ns[ROUNDS_MAX]; /* the whole machine's time per decision, each round */
};

struct plan {
    unsigned rounds;
    int64_t span_ns; /* of one side in one round */
};

/* Stops the program with a sentence where something cannot be measured. */
__attribute__((format(printf, 1, 2), noreturn)) void bench_fail(const char *format, ...);

/* This thread's own time on the processor: other processes do not lengthen it. */
int64_t thread_ns(void);

void pin_to(unsigned number);
void measure(struct side *sides, size_t count, struct plan plan);

double median_ns(const struct side *side, struct plan plan);

struct ratio {
    double low, median, high; /* quartiles */
};

struct ratio ratio_of(const struct side *side, const struct side *base, struct plan plan);

/* One row as a line of JSON, for tools/bench: `side` beside `base`. `higher` says
 * that the ratio is of speeds, not of times. */
void print_row(const char *section, const struct side *side, const struct side *base,
               struct plan plan, bool higher);

#endif
