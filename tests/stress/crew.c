/* Processes of threads, started together, waited for with patience of a bound. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress/stress.h"

enum { HANDS_MAX = 64, TIMEOUT_S = 120 };

struct crew {
    const struct table *table;
    void (*work)(struct worker *);
    void *context;
    pthread_barrier_t *barrier;
};

struct hand {
    struct worker worker;
    void (*work)(struct worker *);
};

unsigned crew_size(void)
{
    return options.processes * options.threads;
}

static void *thread_main(void *argument)
{
    struct hand *hand = argument;
    hand->work(&hand->worker);
    return NULL;
}

/* One process: the first opens nothing of its own, the others each their table. */
static void process_main(const struct crew *crew, unsigned process)
{
    pthread_t threads[HANDS_MAX];
    struct hand hands[HANDS_MAX];
    struct sl_store *store = table_join(crew->table, process % 2);
    for (unsigned i = 0; i < options.threads; i++) {
        unsigned index = process * options.threads + i;
        hands[i] = (struct hand){
            .work = crew->work,
            .worker = { .index = index,
                        .process = process,
                        .dice = { options.seed * 1000 + index },
                        .store = store,
                        .barrier = crew->barrier,
                        .context = crew->context },
        };
        if (pthread_create(&threads[i], NULL, thread_main, &hands[i]) != 0) {
            perror("pthread_create");
            exit(2);
        }
    }
    for (unsigned i = 0; i < options.threads; i++)
        pthread_join(threads[i], NULL);
    if (store != crew->table->store)
        sl_store_close(store);
}

/* ---- children ------------------------------------------------------------------ */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void kill_all(pid_t *pids, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
}

/* Waits in small steps: a hang must not hang the suite, and once one has died the
 * others may wait for it at a barrier. */
static bool all_end(pid_t *pids, unsigned count, unsigned timeout_s)
{
    int64_t deadline_ms = now_ms() + timeout_s * INT64_C(1000);
    bool good = true;
    for (unsigned left = count; left > 0;) {
        for (unsigned i = 0; i < count; i++) {
            int status = 0;
            if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
                continue;
            pids[i] = 0;
            left--;
            if (status != 0 && good) {
                complain("a process ended with status %#x", (unsigned)status);
                good = false;
                kill_all(pids, count);
            }
        }
        if (now_ms() > deadline_ms && good) {
            complain("a process did not end within %u s", timeout_s);
            good = false;
            kill_all(pids, count);
        }
        if (left > 0)
            nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    }
    return good;
}

bool child_ends(int pid, unsigned timeout_s)
{
    pid_t pids[] = { pid };
    return all_end(pids, 1, timeout_s);
}

static pthread_barrier_t *barrier_new(void)
{
    pthread_barrier_t *barrier = shared_new(sizeof *barrier);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier, &attributes, crew_size());
    pthread_barrierattr_destroy(&attributes);
    return barrier;
}

const char *crew_run(const struct table *table, void (*work)(struct worker *), void *context)
{
    struct crew crew = { table, work, context, barrier_new() };
    pid_t pids[HANDS_MAX];
    unsigned started = 0;
    fflush(stdout);
    for (; started < options.processes; started++) {
        pids[started] = fork();
        if (pids[started] < 0)
            break;
        if (pids[started] == 0) {
            process_main(&crew, started);
            exit(0);
        }
    }
    if (started < options.processes) {
        complain("fork: %s", strerror(errno));
        kill_all(pids, started); /* they wait at the barrier for the others */
    }
    all_end(pids, started, TIMEOUT_S);
    shared_free(crew.barrier, sizeof *crew.barrier);
    return complaint();
}
