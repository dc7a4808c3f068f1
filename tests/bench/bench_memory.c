/* Bytes per key and per log entry, by putting them in: a table is filled to what it is
 * meant for, and nothing may have been given up. */
#include <inttypes.h>
#include <stdio.h>

#include "bench_table.h"
#include "ours.h"

#define MILLION INT64_C(1000000)

enum { TABLE_BYTES = 32 << 20, LOG_BYTES = 16 << 20 };

static struct sluice_stats stats_of(struct sluice_store *store)
{
    struct sluice_stats stats;
    if (sluice_store_stats(store, &stats) != SLUICE_OK)
        bench_fail("no statistics");
    return stats;
}

static void print_bytes(const char *section, const char *name, double bytes,
                        const struct sluice_stats *stats)
{
    printf("{\"section\": \"%s\", \"name\": \"%s\", \"bytes\": %.2f, \"live\": %" PRIu64
           ", \"evictions\": %" PRIu64 ", \"full\": %" PRIu64 "}\n",
           section, name, bytes, stats->live + stats->log_live, stats->evictions, stats->full);
    fflush(stdout);
}

static void decide(const struct ours *ours, uint64_t number)
{
    char key[KEY_BYTES];
    struct sluice_decision decision;
    key_write(key, number);
    int status =
        sluice_limit_decide(ours->limit, (struct sluice_text){ key, KEY_LEN }, 1, &decision);
    if (status != SLUICE_OK)
        bench_fail("a decision failed: %s", sluice_status_text(status));
}

/* A table of the default layout, a twentieth of it for logs; keys in half its slots. */
static void fill_slots(const struct ours_limit *limit)
{
    struct sluice_store *store = table_open(NULL, TABLE_BYTES, TABLE_BYTES / 20);
    struct ours ours = ours_open(store, limit);
    uint64_t keys = stats_of(store).slots / 2;
    for (uint64_t i = 0; i < keys; i++)
        decide(&ours, i);
    struct sluice_stats stats = stats_of(store);
    print_bytes("memory", limit->algorithm, (double)stats.size_bytes / (double)keys, &stats);
    sluice_limit_free(ours.limit);
    sluice_close(store);
}

/* A log area with as many full logs as four fifths of it hold. */
static void fill_logs(uint64_t entries)
{
    struct ours_limit limit = { "sliding_window_log", (int64_t)entries, 3600 * MILLION };
    struct sluice_store *store = table_open(NULL, TABLE_BYTES, LOG_BYTES);
    struct ours ours = ours_open(store, &limit);
    uint64_t area_bytes = stats_of(store).log_bytes;
    uint64_t keys = area_bytes / (16 + 8 * entries) * 4 / 5;
    char name[64];
    for (uint64_t lap = 0; lap < entries; lap++)
        for (uint64_t i = 0; i < keys; i++)
            decide(&ours, i);
    struct sluice_stats stats = stats_of(store);
    snprintf(name, sizeof name, "log of %" PRIu64 " entries", entries);
    print_bytes("memory-log", name, (double)area_bytes / (double)(keys * entries), &stats);
    sluice_limit_free(ours.limit);
    sluice_close(store);
}

void run_memory(void)
{
    static const struct ours_limit limits[] = {
        { "token_bucket", 1000, 80 * 86400 * MILLION },
        { "leaky_bucket", 1000, 80 * 86400 * MILLION },
        { "fixed_window", 1000, 86400 * MILLION },
        { "sliding_window_counter", 1000, 86400 * MILLION },
    };
    for (int i = 0; i < 4; i++)
        fill_slots(&limits[i]);
    fill_logs(64);
    fill_logs(100);
    fill_logs(1000);
}
