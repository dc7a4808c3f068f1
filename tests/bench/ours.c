#include "ours.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define MILLION INT64_C(1000000)

const struct ours_limit ours_many = { "token_bucket", 100000, 60 * 86400 * MILLION };
const struct ours_limit ours_never = { "token_bucket", 1, 3600 * MILLION };

const struct ours_limit ours_hots[] = {
    { "token_bucket", MILLION, 10000 },     { "leaky_bucket", MILLION, 10000 },
    { "fixed_window", MILLION, 10000 },     { "sliding_window_counter", MILLION, 10000 },
    { "sliding_window_log", 100000, 1000 }, { 0 },
};

const struct ours_limit *ours_hot(const char *algorithm)
{
    for (const struct ours_limit *limit = ours_hots; limit->algorithm; limit++)
        if (strcmp(limit->algorithm, algorithm) == 0)
            return limit;
    return NULL;
}

/* ---- opening ---- */

uint64_t table_bytes(uint64_t keys)
{
    uint64_t slot_bytes = keys * 32;
    return slot_bytes + slot_bytes / 128 + (1 << 20);
}

struct sluice_store *table_open(const char *path, uint64_t size_bytes, uint64_t log_bytes)
{
    char url[512];
    struct sluice_store *store;
    struct sluice_error error;
    snprintf(url, sizeof url, "memory:%s?size=%" PRIu64 "&log=%" PRIu64, path ? path : "",
             size_bytes, log_bytes);
    if (sluice_open(url, &store, &error) != SLUICE_OK)
        bench_fail("%s: %s", url, error.text);
    return store;
}

struct ours ours_open(struct sluice_store *store, const struct ours_limit *limit)
{
    struct ours ours = { .store = store };
    struct sluice_limit_config config = {
        .name = "bench",
        .algorithm = limit->algorithm,
        .capacity = limit->capacity,
        .window_us = limit->window_us,
    };
    struct sluice_error error;
    if (sluice_limit_new(store, &config, &ours.limit, &error) != SLUICE_OK)
        bench_fail("%s: %s", limit->algorithm, error.text);
    return ours;
}

struct bare bare_in(const char *path)
{
    struct bare bare = { .seed = sl_random64() };
    struct stat stat;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || fstat(file, &stat) != 0)
        bench_fail("%s cannot be opened again", path);
    size_t size_bytes = (size_t)stat.st_size;
    char *at = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (at == MAP_FAILED)
        bench_fail("%s cannot be mapped again", path);
    close(file);
    /* docs/table.md, "Layout": slots from 4096 on, the number of their lines at 24. */
    memcpy(&bare.line_count, at + 24, sizeof bare.line_count);
    bare.lines = (struct sl_word *)(void *)(at + 4096);
    return bare;
}

/* ---- deciding ---- */

static volatile int64_t sink;

static inline void decided(int status, const struct sluice_decision *decision)
{
    if (__builtin_expect(status != SLUICE_OK, 0))
        bench_fail("a decision failed: %s", sluice_status_text(status));
    sink = decision->remaining;
}

void ours_fill(const struct ours *ours, const struct keys *keys)
{
    struct sluice_decision decision;
    for (uint64_t i = 0; i < keys->count; i++)
        decided(sluice_limit_decide(ours->limit, key_at(keys, i), 1, &decision), &decision);
}

uint64_t ours_one(const struct side *side, uint64_t at, uint64_t count)
{
    const struct ours *ours = side->context;
    struct sluice_decision decision;
    for (; count; count--, at = key_next(side->keys, at))
        decided(sluice_limit_decide(ours->limit, key_at(side->keys, at), 1, &decision), &decision);
    return at;
}

uint64_t ours_locked(const struct side *side, uint64_t at, uint64_t count)
{
    const struct ours *ours = side->context;
    struct sluice_decision decision;
    for (; count; count--, at = key_next(side->keys, at)) {
        pthread_mutex_lock(ours->mutex);
        int status = sluice_limit_decide(ours->limit, key_at(side->keys, at), 1, &decision);
        pthread_mutex_unlock(ours->mutex);
        decided(status, &decision);
    }
    return at;
}

__attribute__((always_inline)) static inline uint64_t
run_batches(const struct side *side, uint64_t at, uint64_t count, uint64_t batch)
{
    const struct ours *ours = side->context;
    struct sluice_text keys[64];
    struct sluice_decision decisions[64];
    for (; count >= batch; count -= batch) {
        for (uint64_t i = 0; i < batch; i++, at = key_next(side->keys, at))
            keys[i] = key_at(side->keys, at);
        decided(sluice_limit_decide_batch(ours->limit, keys, batch, 1, decisions), decisions);
    }
    return at;
}

uint64_t ours_batch16(const struct side *side, uint64_t at, uint64_t count)
{
    return run_batches(side, at, count, 16);
}

uint64_t ours_batch64(const struct side *side, uint64_t at, uint64_t count)
{
    return run_batches(side, at, count, 64);
}
