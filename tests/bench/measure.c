#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 4096, WORKERS_MAX = 2 };

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "bench: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(2);
}

/* ---- keys ---- */

void key_write(char out[KEY_BYTES], uint64_t number)
{
    memcpy(out, "tenant-0/user:000000000", KEY_BYTES);
    out[7] = (char)('0' + number % 10);
    uint64_t rest = number;
    for (int i = KEY_LEN - 1; i >= 14; i--, rest /= 10)
        out[i] = (char)('0' + rest % 10);
    /* Above 10^8 the tenant's number goes on. */
    for (int i = 5; rest; i--, rest /= 10)
        out[i] = (char)('0' + rest % 10);
    out[KEY_LEN] = out[KEY_LEN + 1] = 0;
}

struct keys keys_new(uint64_t count)
{
    struct keys keys = { malloc(count * KEY_BYTES), count };
    if (!keys.at)
        bench_fail("no memory for %llu keys", (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++)
        key_write(keys.at + i * KEY_BYTES, i);
    return keys;
}

/* ---- workers ---- */

void pin_to(unsigned number)
{
    static cpu_set_t allowed;
    static bool known;
    cpu_set_t one;
    if (!known && sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    known = true;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || number-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

struct result {
    _Alignas(64) uint64_t decisions;
    int64_t took_ns;
    uint64_t next;
};

/* Between processes, too. */
static struct {
    atomic_uint waiting;
    struct result results[WORKERS_MAX];
} * shared;

struct worker {
    const struct side *side;
    int64_t span_ns;
    unsigned number;
    unsigned of;
    uint64_t at;
};

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* One alone is timed by its own time; two by the wall, because waiting for each other
 * counts. */
static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct result *result = &shared->results[worker->number];
    uint64_t at = worker->at, decisions = 0;
    pin_to(worker->number);
    atomic_fetch_sub(&shared->waiting, 1);
    while (atomic_load(&shared->waiting) > 0)
        sched_yield();
    clockid_t clock = worker->of == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    int64_t started_ns = read_ns(clock), took_ns = 0;
    for (; took_ns < worker->span_ns; decisions += CHUNK) {
        at = worker->side->run(worker->side, at, CHUNK);
        took_ns = read_ns(clock) - started_ns;
    }
    result->decisions = decisions;
    result->took_ns = took_ns;
    result->next = at;
    return NULL;
}

static void run_threads(struct worker *workers, unsigned count)
{
    pthread_t threads[WORKERS_MAX];
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            bench_fail("no thread");
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void run_processes(struct worker *workers, unsigned count)
{
    pid_t children[WORKERS_MAX];
    fflush(NULL);
    for (unsigned i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] < 0)
            bench_fail("no process");
        if (children[i] == 0) {
            work(&workers[i]);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        int ended = 0;
        if (waitpid(children[i], &ended, 0) < 0 || ended != 0)
            bench_fail("a process died");
    }
}

/* The whole machine's ns per decision. */
static double run_side(const struct side *side, int64_t span_ns, uint64_t next[WORKERS_MAX])
{
    unsigned count = (side->threads ? side->threads : 1) * (side->processes ? side->processes : 1);
    struct worker workers[WORKERS_MAX];
    double per_ns = 0;
    atomic_store(&shared->waiting, count);
    for (unsigned i = 0; i < count; i++)
        workers[i] = (struct worker){ side, span_ns, i, count, next[i] };
    if (side->processes > 1)
        run_processes(workers, count);
    else if (side->threads > 1)
        run_threads(workers, count);
    else
        work(workers);
    for (unsigned i = 0; i < count; i++) {
        per_ns += (double)shared->results[i].decisions / (double)shared->results[i].took_ns;
        next[i] = shared->results[i].next;
    }
    return 1 / per_ns;
}

void measure(struct side *sides, size_t count, struct plan plan)
{
    static uint64_t next[SIDES_MAX][WORKERS_MAX];
    if (!shared) {
        shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
            bench_fail("no memory");
    }
    for (size_t i = 0; i < count; i++)
        for (unsigned w = 0; w < WORKERS_MAX; w++)
            next[i][w] = sides[i].keys->count * w / WORKERS_MAX;
    for (unsigned round = 0; round <= plan.rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            if (sides[i].before)
                sides[i].before(&sides[i]);
            double ns = run_side(&sides[i], plan.span_ns, next[i]);
            if (round > 0) /* the first one warms up */
                sides[i].ns[round - 1] = ns;
        }
    }
    pin_to(0);
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double median_ns(const struct side *side, struct plan plan)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, side->ns, plan.rounds * sizeof *sorted);
    qsort(sorted, plan.rounds, sizeof *sorted, by_size);
    return sorted[plan.rounds / 2];
}

struct ratio ratio_of(const struct side *side, const struct side *base, struct plan plan)
{
    double sorted[ROUNDS_MAX];
    for (unsigned i = 0; i < plan.rounds; i++)
        sorted[i] = side->ns[i] / base->ns[i];
    qsort(sorted, plan.rounds, sizeof *sorted, by_size);
    return (struct ratio){ sorted[plan.rounds / 4], sorted[plan.rounds / 2],
                           sorted[plan.rounds - 1 - plan.rounds / 4] };
}

void print_row(const char *section, const struct side *side, const struct side *base,
               struct plan plan, bool higher)
{
    struct ratio ratio = higher ? ratio_of(base, side, plan) : ratio_of(side, base, plan);
    printf("{\"section\": \"%s\", \"name\": \"%s\", \"ns\": %.2f, \"base\": \"%s\", "
           "\"base_ns\": %.2f, \"ratio\": %.3f, \"low\": %.3f, \"high\": %.3f}\n",
           section, side->name, median_ns(side, plan), base->name, median_ns(base, plan),
           ratio.median, ratio.low, ratio.high);
    fflush(stdout);
}
