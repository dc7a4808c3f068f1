/* Runs one row of `sluice bench`: workers that decide until their time is over.
 *
 * A worker is a thread or a forked process, pinned to a processor of its own if
 * there are enough. It counts into memory that all workers share, so threads and
 * processes are gathered alike.
 *
 * Every 127th decision (or batch) is timed by itself, with a reading of the clock
 * before it and one after, so that a percentile is the latency of a decision
 * and not of a mean of several. 127 is prime: no lap of keys and no rhythm of
 * the rules falls in step with it. The second reading also says whether the
 * time is over. Both cost less than a hundredth of what they measure. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats/histogram.h"
#include "cmd/bench/bench.h"

enum { SAMPLE_EVERY = 127 };

static const int64_t patience_ns = INT64_C(5000000000);

/* ---- workers ---- */

struct thread_tally {
    _Alignas(64) uint64_t decisions;
    uint64_t admitted;
    uint64_t errors;
    int64_t took_ns;
    struct sl_histogram latencies; /* in ns; over `steps`, where all processes see them */
    uint32_t steps[SL_HISTOGRAM_STEPS];
};

enum { WAIT, GO, GIVE_UP };

/* What all workers of a row share, across processes. */
struct shared {
    atomic_int signal;
    atomic_uint warm; /* how many have warmed up */
    struct thread_tally tallies[SL_BENCH_WORKERS];
};

struct worker {
    _Alignas(64) const struct sl_bench *bench;
    struct shared *shared;
    struct thread_tally *tally;
    unsigned number;
    unsigned of;
    unsigned batch;
    int64_t span_ns;
    uint64_t at; /* the next key */
    struct sluice_decision decisions[SL_BENCH_BATCH];
    struct sluice_text keys[SL_BENCH_BATCH];
};

static inline struct sluice_text key_at(const struct sl_bench *bench, uint64_t at)
{
    return (struct sluice_text){ bench->key_bytes + at * SL_BENCH_KEY_BYTES,
                                 SL_BENCH_KEY_BYTES - 2 };
}

static inline uint64_t next_key(struct worker *worker)
{
    uint64_t at = worker->at;
    worker->at = at + 1 < worker->bench->keys ? at + 1 : 0;
    return at;
}

/* The four ways to decide: a limit or rules, one by one or in batches. */
static inline int ask_limit(struct worker *worker)
{
    const struct sl_bench *bench = worker->bench;
    return sluice_limit_decide(bench->limit, key_at(bench, next_key(worker)), 1, worker->decisions);
}

static inline int ask_limit_batch(struct worker *worker)
{
    for (unsigned i = 0; i < SL_BENCH_BATCH; i++)
        worker->keys[i] = key_at(worker->bench, next_key(worker));
    return sluice_limit_decide_batch(worker->bench->limit, worker->keys, SL_BENCH_BATCH, 1,
                                     worker->decisions);
}

static inline int ask_rules(struct worker *worker)
{
    const struct sl_bench *bench = worker->bench;
    return sluice_decide(bench->limiter, &bench->requests[next_key(worker)], worker->decisions);
}

static inline int ask_rules_batch(struct worker *worker)
{
    const struct sl_bench *bench = worker->bench;
    uint64_t at = worker->at + SL_BENCH_BATCH <= bench->keys ? worker->at : 0;
    worker->at = at + SL_BENCH_BATCH;
    return sluice_decide_batch(bench->limiter, bench->requests + at, SL_BENCH_BATCH,
                               worker->decisions);
}

static inline uint64_t admitted_of(const struct worker *worker)
{
    uint64_t admitted = 0;
    for (unsigned i = 0; i < worker->batch; i++)
        admitted += worker->decisions[i].allowed;
    return admitted;
}

/* Inlined into each of its four callers, so that each decides by a direct call. */
__attribute__((always_inline)) static inline void work(struct worker *worker,
                                                       int (*ask)(struct worker *))
{
    uint64_t asked = 0, admitted = 0, errors = 0;
    int64_t started_ns = sl_monotonic_ns(), now_ns = started_ns;
    while (now_ns - started_ns < worker->span_ns) {
        for (unsigned i = 1; i < SAMPLE_EVERY; i++) {
            errors += ask(worker) != SLUICE_OK;
            admitted += admitted_of(worker);
        }
        int64_t before_ns = sl_monotonic_ns();
        errors += ask(worker) != SLUICE_OK;
        now_ns = sl_monotonic_ns();
        admitted += admitted_of(worker);
        asked += SAMPLE_EVERY;
        sl_histogram_add(&worker->tally->latencies, (uint64_t)(now_ns - before_ns), 1);
    }
    worker->tally->decisions = asked * worker->batch;
    worker->tally->admitted = admitted;
    worker->tally->errors = errors;
    worker->tally->took_ns = now_ns - started_ns;
}

/* Pins the thread to the n-th of the processors it may use, if there is one. */
static void pin_to_processor(unsigned number)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || number-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

/* A forked process maps the table anew, page by page, as it meets them. Keys lie at
 * random, so that four decisions a page meet nearly all of them. */
static void warm_up(struct worker *worker)
{
    uint64_t decisions = worker->bench->table_bytes / 1024;
    for (uint64_t i = 0; i < decisions && i < worker->bench->keys; i++)
        (void)(worker->bench->limiter ? ask_rules(worker) : ask_limit(worker));
}

/* Waits until all workers are ready. Returns false if not all could be started; it does not wait
 * long for one that died. */
static bool start_together(struct worker *worker)
{
    int signal;
    while ((signal = atomic_load(&worker->shared->signal)) == WAIT)
        sched_yield();
    if (signal == GIVE_UP)
        return false;
    warm_up(worker);
    atomic_fetch_add(&worker->shared->warm, 1);
    int64_t started_ns = sl_monotonic_ns();
    while (atomic_load(&worker->shared->warm) < worker->of &&
           sl_monotonic_ns() - started_ns < patience_ns)
        sched_yield();
    return true;
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    bool rules = worker->bench->limiter != NULL, batch = worker->batch > 1;
    pin_to_processor(worker->number);
    if (!start_together(worker))
        return NULL;
    if (rules && batch)
        work(worker, ask_rules_batch);
    else if (rules)
        work(worker, ask_rules);
    else if (batch)
        work(worker, ask_limit_batch);
    else
        work(worker, ask_limit);
    return NULL;
}

/* ---- gathering ---- */

static void gather_latencies(const struct sl_histogram *all, struct sl_bench_figures *out)
{
    out->samples = all->count;
    out->p50_ns = (int64_t)sl_histogram_at(all, 500000);
    out->p95_ns = (int64_t)sl_histogram_at(all, 950000);
    out->p99_ns = (int64_t)sl_histogram_at(all, 990000);
    out->p999_ns = (int64_t)sl_histogram_at(all, 999000);
    out->max_ns = (int64_t)all->max;
}

static void gather_figures(const struct shared *shared, unsigned workers,
                           struct sl_bench_figures *out)
{
    uint32_t steps[SL_HISTOGRAM_STEPS] = { 0 };
    struct sl_histogram all = { .end = SL_HISTOGRAM_STEPS, .buckets = steps };
    int64_t took_ns = 0;
    *out = (struct sl_bench_figures){ 0 };
    for (unsigned i = 0; i < workers; i++) {
        const struct thread_tally *tally = &shared->tallies[i];
        out->decisions += tally->decisions;
        out->admitted += tally->admitted;
        out->errors += tally->errors;
        out->per_second += (double)tally->decisions * 1e9 / (double)tally->took_ns;
        took_ns += tally->took_ns;
        sl_histogram_merge(&all, &tally->latencies);
    }
    out->ns = (double)took_ns / (double)out->decisions;
    gather_latencies(&all, out);
}

static bool run_threads(struct worker *workers, unsigned number, struct shared *shared)
{
    pthread_t threads[SL_BENCH_WORKERS];
    unsigned started = 0;
    while (started < number &&
           pthread_create(&threads[started], NULL, run_worker, &workers[started]) == 0)
        started++;
    atomic_store(&shared->signal, started == number ? GO : GIVE_UP);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started == number;
}

static bool run_processes(struct worker *workers, unsigned number, struct shared *shared)
{
    pid_t children[SL_BENCH_WORKERS];
    unsigned started = 0;
    bool good = true;
    fflush(NULL); /* or the children would have it too */
    for (; started < number; started++) {
        children[started] = fork();
        if (children[started] < 0)
            break;
        if (children[started] == 0) {
            run_worker(&workers[started]);
            _exit(0);
        }
    }
    atomic_store(&shared->signal, started == number ? GO : GIVE_UP);
    for (unsigned i = 0; i < started; i++) {
        int ended = 0;
        while (waitpid(children[i], &ended, 0) < 0 && errno == EINTR)
            continue;
        good = good && ended == 0;
    }
    return good && started == number;
}

bool sl_bench_run(const struct sl_bench *bench, struct sl_bench_shape shape, int64_t span_ns,
                  struct sl_bench_figures *out, struct sluice_error *error)
{
    unsigned number = shape.threads * shape.processes;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        snprintf(error->text, sizeof error->text, "out of memory");
        return false;
    }
    struct worker workers[SL_BENCH_WORKERS] = { 0 };
    for (unsigned i = 0; i < number; i++) {
        struct thread_tally *tally = &shared->tallies[i];
        tally->latencies =
            (struct sl_histogram){ .end = SL_HISTOGRAM_STEPS, .buckets = tally->steps };
        workers[i] = (struct worker){
            .bench = bench,
            .shared = shared,
            .tally = tally,
            .number = i,
            .of = number,
            .batch = shape.batch,
            .span_ns = span_ns,
            .at = bench->keys * i / number,
        };
    }
    bool good = shape.processes > 1 ? run_processes(workers, number, shared)
                                    : run_threads(workers, number, shared);
    if (good)
        gather_figures(shared, number, out);
    else
        snprintf(error->text, sizeof error->text, "a worker could not be started, or died");
    munmap(shared, sizeof *shared);
    return good;
}

double sl_bench_clock_ns(void)
{
    enum { READINGS = 1000, TRIES = 9 };
    double best = 1e9;
    for (int i = 0; i < TRIES; i++) {
        int64_t started_ns = sl_monotonic_ns(), now_ns = started_ns;
        for (int j = 0; j < READINGS; j++)
            now_ns = sl_monotonic_ns();
        double each = (double)(now_ns - started_ns) / READINGS;
        best = each < best ? each : best;
    }
    return best;
}
