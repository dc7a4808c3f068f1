/* A table for N million keys: filled, asked, and then given more keys than it is
 * meant for. "What happens on key 101 million?"
 *
 * Keys are made in blocks, outside of what is timed; nothing is written down. A
 * charge weighs for two hours, so every key that was put in is live to the end, and one
 * that must make room for another is an eviction. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench_table.h"
#include "ours.h"
#include "store/table/slot.h"

enum { BLOCK = 4096, BATCH = 16, ASKED = 1000 * BLOCK };

#define BYTES_PER_KEY 34
#define PATIENCE_NS   (INT64_C(900) * 1000000000)
#define LOG_PART      20 /* of the table, as by default */

static char block[BLOCK][KEY_BYTES];

struct tally {
    uint64_t full;
    uint64_t denied;
    int64_t took_ns;
};

static void count(struct tally *tally, int status, const struct sluice_decision *decision)
{
    if (status == SLUICE_STORE_FULL)
        tally->full++;
    else if (status != SLUICE_OK)
        bench_fail("a decision failed: %s", sluice_status_text(status));
    else
        tally->denied += !decision->allowed;
}

static void decide_block(struct sluice_limit *limit, size_t keys, struct tally *tally)
{
    struct sluice_decision decision;
    int64_t started_ns = thread_ns();
    for (size_t i = 0; i < keys; i++)
        count(tally,
              sluice_limit_decide(limit, (struct sluice_text){ block[i], KEY_LEN }, 1, &decision),
              &decision);
    tally->took_ns += thread_ns() - started_ns;
}

static void decide_batches(struct sluice_limit *limit, struct tally *tally)
{
    struct sluice_decision decisions[BATCH];
    struct sluice_text keys[BATCH];
    int64_t started_ns = thread_ns();
    for (size_t i = 0; i < BLOCK; i += BATCH) {
        for (size_t k = 0; k < BATCH; k++)
            keys[k] = (struct sluice_text){ block[i + k], KEY_LEN };
        int status = sluice_limit_decide_batch(limit, keys, BATCH, 1, decisions);
        for (size_t k = 0; k < BATCH; k++)
            count(tally, decisions[k].reason == SLUICE_REASON_STORE ? status : SLUICE_OK,
                  &decisions[k]);
    }
    tally->took_ns += thread_ns() - started_ns;
}

static void progress(uint64_t done, uint64_t total)
{
    static int64_t drawn_ns;
    int64_t now_ns = sl_monotonic_ns();
    if (!isatty(STDERR_FILENO) || (now_ns - drawn_ns < 100000000 && done < total))
        return;
    drawn_ns = now_ns;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " million keys%s", done / 1000000, total / 1000000,
            done < total ? "" : "\r\033[K");
}

/* The keys from..to, each once. False: it takes too long. */
static bool insert(struct sluice_limit *limit, uint64_t from, uint64_t to, struct tally *tally)
{
    *tally = (struct tally){ 0 };
    for (uint64_t at = from; at < to; at += BLOCK) {
        size_t keys = to - at < BLOCK ? to - at : BLOCK;
        for (size_t i = 0; i < keys; i++)
            key_write(block[i], at + i);
        decide_block(limit, keys, tally);
        progress(at + keys, to);
        if (tally->took_ns > PATIENCE_NS)
            return false;
    }
    return true;
}

/* Keys at random of those that are there. */
static double ask(struct sluice_limit *limit, uint64_t keys, bool batches)
{
    struct tally tally = { 0 };
    uint64_t random = 88172645463325252u;
    for (uint64_t done = 0; done < ASKED; done += BLOCK) {
        for (size_t i = 0; i < BLOCK; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            key_write(block[i], random % keys);
        }
        if (batches)
            decide_batches(limit, &tally);
        else
            decide_block(limit, BLOCK, &tally);
    }
    return (double)tally.took_ns / ASKED;
}

/* How far from home the keys lie: docs/table.md, "Slot". */
static void print_lines(const struct bare *slots)
{
    uint64_t by_line[SL_WINDOW_LINES] = { 0 }, live = 0, lines = 0;
    for (uint64_t i = 0; i < slots->line_count * SL_LINE_SLOTS; i++) {
        uint64_t hi = slots->lines[i].hi;
        if (sl_slot_kind(hi) == SL_DATED_NOT)
            continue;
        uint64_t line = hi >> SL_SLOT_LINE_SHIFT & (SL_WINDOW_LINES - 1);
        by_line[line]++;
        live++;
        lines += line + 1;
    }
    printf("  in their home line      %10.1f %%\n  lines read per hit      %10.2f\n",
           100 * (double)by_line[0] / (double)live, (double)lines / (double)live);
}

static void print_stats(const char *when, struct sluice_store *store, struct tally tally,
                        uint64_t inserted)
{
    struct sluice_stats stats;
    if (sluice_store_stats(store, &stats) != SLUICE_OK)
        bench_fail("no statistics");
    printf("%-24s %10.1f %14" PRIu64 " %14" PRIu64 " %12" PRIu64 " %9.2f %%\n", when,
           (double)tally.took_ns / (double)inserted, stats.live, stats.evictions, stats.full,
           100 * (double)stats.live / (double)stats.slots);
    fflush(stdout);
}

static bool fits_shm(uint64_t bytes)
{
    struct statvfs shm;
    return statvfs("/dev/shm", &shm) == 0 && shm.f_bavail * shm.f_frsize > bytes + (64 << 20);
}

void run_million(uint64_t million)
{
    static const struct ours_limit limit = { "token_bucket", 1000, INT64_C(80) * 86400 * 1000000 };
    uint64_t keys = million * 1000000, bytes = keys * BYTES_PER_KEY;
    bool shm = fits_shm(bytes);
    const char *path = shm ? shm_path("million") : NULL;
    if (million == 0 || million > 10000)
        bench_fail("from 1 to 10000 million keys");
    struct sluice_store *store = table_open(path, bytes, bytes / LOG_PART);
    struct bare slots = { 0 };
    if (shm) {
        slots = bare_in(path);
        unlink(path);
    }
    struct ours ours = ours_open(store, &limit);
    struct tally tally;
    printf("a table of %.2f GB for %" PRIu64 " million keys, %s\n\n", (double)bytes / 1e9, million,
           shm ? "in /dev/shm" : "in private memory");
    printf("%-24s %10s %14s %14s %12s %11s\n", "", "ns per new", "live", "evictions", "full",
           "of slots");
    bool good = insert(ours.limit, 0, keys, &tally);
    char name[64];
    snprintf(name, sizeof name, "%" PRIu64 " million keys", million);
    print_stats(name, store, tally, keys);
    printf("  bytes per key           %10.2f\n", (double)bytes / (double)keys);
    if (shm)
        print_lines(&slots);
    printf("  ns at random, each      %10.1f\n", ask(ours.limit, keys, false));
    printf("  ns at random, of 16     %10.1f\n", ask(ours.limit, keys, true));
    const uint64_t steps[] = { keys + 1000000, keys * 11 / 10, keys * 3 / 2, keys * 22 / 10 };
    uint64_t there = keys;
    for (int i = 0; i < 4 && good; i++) {
        if (steps[i] <= there)
            continue;
        good = insert(ours.limit, there, steps[i], &tally);
        snprintf(name, sizeof name, "%.1f million keys", (double)steps[i] / 1e6);
        print_stats(name, store, tally, steps[i] - there);
        there = steps[i];
        printf("  ns at random, each      %10.1f\n", ask(ours.limit, there, false));
    }
    if (!good)
        printf("stopped: it takes too long\n");
    sluice_limit_free(ours.limit);
    sluice_close(store);
}
