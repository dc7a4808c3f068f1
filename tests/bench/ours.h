/* Sluice's own sides: a limit on a table, asked through the public functions. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <pthread.h>

#include "bare.h"

struct ours {
    struct sluice_store *store;
    struct sluice_limit *limit;
    pthread_mutex_t *mutex; /* for locked_run */
};

/* What a benchmark limits by: everything passes and no state is ever fresh. */
struct ours_limit {
    const char *algorithm;
    int64_t capacity;
    int64_t window_us;
};

extern const struct ours_limit ours_many;  /* token bucket; a charge weighs for 52 s */
extern const struct ours_limit ours_never; /* token bucket; the first passes, no other */

/* For one hot key: 100 million a second and more. NULL: no such algorithm. */
const struct ours_limit *ours_hot(const char *algorithm);
extern const struct ours_limit ours_hots[]; /* ended by one without a name */

/* `path` NULL: private memory. */
struct sluice_store *table_open(const char *path, uint64_t size_bytes, uint64_t log_bytes);

/* For so many keys in half the slots, with no log area. */
uint64_t table_bytes(uint64_t keys);

struct ours ours_open(struct sluice_store *store, const struct ours_limit *limit);
void ours_fill(const struct ours *ours, const struct keys *keys);

/* The slots of the table in this file, mapped a second time. */
struct bare bare_in(const char *path);

uint64_t ours_one(const struct side *side, uint64_t at, uint64_t count);
uint64_t ours_batch16(const struct side *side, uint64_t at, uint64_t count);
uint64_t ours_batch64(const struct side *side, uint64_t at, uint64_t count);
uint64_t ours_locked(const struct side *side, uint64_t at, uint64_t count); /* under a mutex */

#endif
