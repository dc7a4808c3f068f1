/* What the shared table costs, beside what it could cost at the least and what one
 * would have written instead.
 *
 *   bench-table hot           one key: beside clock + hash + swap
 *   bench-table random        10 million keys: beside a bare lookup
 *   bench-table rivals        a million keys: beside maps under a mutex
 *   bench-table contention    one key on two threads, on two processes
 *   bench-table places FILE   private memory, /dev/shm, and FILE on a disk
 *   bench-table memory        bytes per key and per log entry
 *   bench-table count bare|one|batch16 ALGORITHM N [KEYS]    makes N decisions, prints nothing
 *   bench-table million [N]   N million keys (100), and then too many of them
 *
 * A row is a line of JSON; tools/bench prints them with their targets. The keys of a
 * section and its table are made before anything is timed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_table.h"
#include "ours.h"
#include "rivals.h"

static struct plan plan = { .rounds = 9, .span_ns = 30000000 };

const char *shm_path(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/sluice-bench-%d-%s", (int)getpid(), name);
    return path;
}

/* ---- one hot key ---- */

enum { HOT_LOG_BYTES = 16 << 20, HOT_BYTES = 64 << 20 };

static void run_hot(void)
{
    static struct side sides[SIDES_MAX];
    static char names[SIDES_MAX][64];
    struct ours ours[8];
    struct keys keys = keys_new(1);
    struct bare bare = bare_hot();
    struct sluice_store *store = table_open(NULL, HOT_BYTES, HOT_LOG_BYTES);
    size_t count = 0, algorithms = 0;
    sides[count++] =
        (struct side){ "clock + hash + swap", bare_clocked, &bare, &keys, 1, 1, NULL, { 0 } };
    sides[count++] =
        (struct side){ "hash + swap", bare_unclocked, &bare, &keys, 1, 1, NULL, { 0 } };
    static uint64_t (*const runs[])(const struct side *, uint64_t,
                                    uint64_t) = { ours_one, ours_batch16, ours_batch64 };
    static const char *const kinds[] = { "", ", batches of 16", ", batches of 64" };
    for (; ours_hots[algorithms].algorithm; algorithms++) {
        ours[algorithms] = ours_open(store, &ours_hots[algorithms]);
        for (int kind = 0; kind < 3; kind++, count++) {
            snprintf(names[count], sizeof names[count], "%s%s", ours_hots[algorithms].algorithm,
                     kinds[kind]);
            sides[count] = (struct side){
                .name = names[count], .run = runs[kind], .context = &ours[algorithms], .keys = &keys
            };
        }
    }
    measure(sides, count, plan);
    for (size_t i = 2; i < count; i++) {
        bool batch = (i - 2) % 3 > 0;
        print_row(batch ? "hot-batch" : "hot", &sides[i], &sides[batch ? 1 : 0], plan, false);
    }
}

/* For counting instructions and for perf: nothing but the decisions differs with `n`. */
static void run_count(const char *what, const char *algorithm, uint64_t n, uint64_t keys_wanted)
{
    struct keys keys = keys_new(keys_wanted);
    struct side side = { .keys = &keys };
    if (strcmp(what, "bare") == 0) {
        struct bare bare = bare_hot();
        side.context = &bare;
        bare_clocked(&side, 0, n);
        return;
    }
    const struct ours_limit *limit = keys.count > 1 ? &ours_many : ours_hot(algorithm);
    if (!limit)
        bench_fail("no algorithm `%s`", algorithm);
    uint64_t bytes = keys.count > 1 ? table_bytes(keys.count) : HOT_BYTES;
    struct ours ours =
        ours_open(table_open(NULL, bytes, keys.count > 1 ? 0 : HOT_LOG_BYTES), limit);
    ours_fill(&ours, &keys);
    side.context = &ours;
    if (strcmp(what, "batch16") == 0)
        ours_batch16(&side, 0, n);
    else
        ours_one(&side, 0, n);
}

/* ---- many keys ---- */

static void run_random(uint64_t million)
{
    struct keys keys = keys_new(million * 1000000);
    const char *path = shm_path("random");
    struct sluice_store *store = table_open(path, table_bytes(keys.count), 0);
    struct bare bare = bare_in(path);
    unlink(path);
    struct ours ours = ours_open(store, &ours_many);
    ours_fill(&ours, &keys);
    struct side sides[] = {
        { .name = "bare, one by one", .run = bare_clocked, .context = &bare, .keys = &keys },
        { .name = "bare, fetched ahead", .run = bare_ahead, .context = &bare, .keys = &keys },
        { .name = "bare, batches of 16", .run = bare_batch, .context = &bare, .keys = &keys },
        { .name = "one by one", .run = ours_one, .context = &ours, .keys = &keys },
        { .name = "batches of 16", .run = ours_batch16, .context = &ours, .keys = &keys },
    };
    struct plan longer = { plan.rounds, 4 * plan.span_ns };
    measure(sides, 5, longer);
    print_row("random", &sides[3], &sides[0], longer, false);
    print_row("random-ahead", &sides[3], &sides[1], longer, false);
    print_row("random-batch", &sides[4], &sides[2], longer, false);
}

/* ---- beside a mutex ---- */

static void run_rivals(void)
{
    static struct side sides[8];
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct keys keys = keys_new(1000000);
    struct ours ours = ours_open(table_open(NULL, table_bytes(keys.count), 0), &ours_many);
    ours.mutex = &mutex;
    ours_fill(&ours, &keys);
    const struct side each[] = {
        { .name = "Sluice", .run = ours_one, .context = &ours },
        { .name = "chained map, mutex", .run = chained_run, .context = chained_new(&keys) },
        { .name = "plain table, mutex", .run = plain_run, .context = plain_new(&keys) },
        { .name = "Sluice, mutex", .run = ours_locked, .context = &ours },
    };
    for (unsigned i = 0; i < 8; i++) {
        sides[i] = each[i % 4];
        sides[i].keys = &keys;
        sides[i].threads = 1 + i / 4;
    }
    struct plan longer = { plan.rounds, 2 * plan.span_ns };
    measure(sides, 8, longer);
    for (unsigned i = 0; i < 8; i++)
        if (i % 4 > 0)
            print_row(i < 4 ? "rivals-1" : "rivals-2", &sides[i / 4 * 4], &sides[i], longer, true);
}

/* ---- two at once on one key ---- */

static void run_contention(void)
{
    static struct side sides[8];
    struct keys keys = keys_new(1);
    struct sluice_store *store = table_open(NULL, HOT_BYTES, 0);
    struct ours passing = ours_open(store, ours_hot("token_bucket"));
    struct ours denied = ours_open(store, &ours_never);
    struct bare bare = bare_hot();
    static const char *const names[] = { "admitted, 1 thread",    "admitted, 2 threads",
                                         "admitted, 2 processes", "denied, 1 thread",
                                         "denied, 2 threads",     "denied, 2 processes",
                                         "bare, 1 thread",        "bare, 2 threads" };
    for (unsigned i = 0; i < 8; i++) {
        sides[i] = (struct side){
            .name = names[i],
            .run = i < 6 ? ours_one : bare_clocked,
            .context = i < 3   ? (void *)&passing
                       : i < 6 ? (void *)&denied
                               : (void *)&bare,
            .keys = &keys,
            .threads = i % 3 == 1 ? 2 : 1,
            .processes = i % 3 == 2 ? 2 : 1,
        };
    }
    measure(sides, 8, plan);
    for (unsigned i = 0; i < 8; i++)
        if (i % 3 > 0)
            print_row("contention", &sides[i], &sides[i / 3 * 3], plan, true);
}

/* ---- where the table lies ---- */

static void write_back(const struct side *side)
{
    const struct ours *ours = side->context;
    if (sluice_sync(ours->store) != SLUICE_OK)
        bench_fail("the file cannot be written back");
}

static void run_places(const char *disk)
{
    struct keys keys = keys_new(1000000);
    const char *paths[] = { NULL, shm_path("place"), disk };
    struct ours ours[3];
    for (int i = 0; i < 3; i++) {
        if (paths[i])
            unlink(paths[i]);
        ours[i] = ours_open(table_open(paths[i], table_bytes(keys.count), 0), &ours_many);
        if (paths[i])
            unlink(paths[i]);
        ours_fill(&ours[i], &keys);
    }
    struct side sides[] = {
        { .name = "private memory", .run = ours_one, .context = &ours[0], .keys = &keys },
        { .name = "/dev/shm", .run = ours_one, .context = &ours[1], .keys = &keys },
        { .name = "disk", .run = ours_one, .context = &ours[2], .keys = &keys },
        { .name = "disk, just written back",
          .run = ours_one,
          .context = &ours[2],
          .keys = &keys,
          .before = write_back },
    };
    struct plan longer = { plan.rounds, 2 * plan.span_ns };
    measure(sides, 4, longer);
    for (int i = 0; i < 4; i++)
        print_row("places", &sides[i], &sides[0], longer, false);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *rounds = getenv("ROUNDS");
    if (rounds)
        plan.rounds = (unsigned)strtoul(rounds, NULL, 10) | 1;
    if (plan.rounds > ROUNDS_MAX)
        bench_fail("at most %d rounds", ROUNDS_MAX);
    pin_to(0);
    if (strcmp(what, "hot") == 0)
        run_hot();
    else if (strcmp(what, "random") == 0)
        run_random(argc > 2 ? strtoull(argv[2], NULL, 10) : 10);
    else if (strcmp(what, "rivals") == 0)
        run_rivals();
    else if (strcmp(what, "contention") == 0)
        run_contention();
    else if (strcmp(what, "places") == 0 && argc > 2)
        run_places(argv[2]);
    else if (strcmp(what, "memory") == 0)
        run_memory();
    else if (strcmp(what, "count") == 0 && argc > 4)
        run_count(argv[2], argv[3], strtoull(argv[4], NULL, 10),
                  argc > 5 ? strtoull(argv[5], NULL, 10) : 1);
    else if (strcmp(what, "million") == 0)
        run_million(argc > 2 ? strtoull(argv[2], NULL, 10) : 100);
    else
        bench_fail("usage: bench-table hot | random [MILLION] | rivals | contention | places FILE\n"
                   "       | memory | count bare|one|batch16 ALGORITHM N [KEYS] | million [N]");
    return 0;
}
