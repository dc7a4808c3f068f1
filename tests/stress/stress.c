/* Threads and processes on one table, against what must hold whatever they do.
 *
 *   stress exact    all at once on one key: exactly the limit is admitted
 *   stress ledger   short windows by the real clock: no admission above the bound
 *   stress kill     processes killed anywhere: nothing lost, nothing stuck
 *   stress step     stopped for ever after each single instruction of an operation
 *   explore explore every interleaving of two operations (build/tsan/explore)
 *
 *   --seed N  --threads T  --processes P  --rounds N  --kills K  --seconds S
 *   --only TEXT       claims whose name holds the text
 *
 * One line per claim. Races do not repeat exactly; with the seed of a failed run
 * the same keys, costs and orders are tried again. */
#include "stress/stress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct options options = { .threads = 2, .processes = 2, .rounds = 40, .kills = 200 };

enum { PATIENCE_S = 200 };

static int passed, failed;

/* ---- randomness ---------------------------------------------------------------- */

uint64_t dice_u64(struct dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t dice_below(struct dice *dice, uint64_t n)
{
    return n ? dice_u64(dice) % n : 0;
}

/* ---- telling ------------------------------------------------------------------- */

struct complaints {
    _Atomic int count;
    char first[512];
    char told[512];
};

static struct complaints *complaints;

void complain(const char *format, ...)
{
    if (atomic_fetch_add(&complaints->count, 1) > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaints->first, sizeof complaints->first, format, arguments);
    va_end(arguments);
}

const char *complaint(void)
{
    int count = atomic_exchange(&complaints->count, 0);
    if (count == 0)
        return NULL;
    snprintf(complaints->told, sizeof complaints->told, "%.480s (%d in all)", complaints->first,
             count);
    return complaints->told;
}

static char attempted[128]; /* the claim that is being tried */

/* A decision that never ends, in this very process. */
static void on_alarm(int signal)
{
    (void)signal;
    dprintf(STDOUT_FILENO,
            "not ok %s\n       no end in sight: somebody waits for ever\n"
            "stress: %d passed, %d failed\n",
            attempted, passed, failed + 1);
    _exit(1);
}

bool claim_wanted(const char *name)
{
    if (options.only && !strstr(name, options.only))
        return false;
    snprintf(attempted, sizeof attempted, "%s", name);
    alarm(PATIENCE_S);
    return true;
}

void tell_claim(const char *name, const char *broken, const char *format, ...)
{
    va_list arguments;
    broken ? failed++ : passed++;
    printf("%s %s: ", broken ? "not ok" : "ok", name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    if (broken)
        printf("\n       %s", broken);
    printf("\n");
    fflush(stdout);
    alarm(0);
}

/* ---- memory and time ----------------------------------------------------------- */

void *shared_new(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return at;
}

void shared_free(void *at, size_t bytes)
{
    munmap(at, bytes);
}

static _Atomic int64_t *passed_us;

void pass_time_us(int64_t us)
{
    atomic_fetch_add(passed_us, us);
}

int64_t (*explore_clock_us)(void);

/* The linker sends the calls of src/base/clock.c here. */
int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    int status = __real_clock_gettime(id, now);
    if (id == CLOCK_MONOTONIC || !passed_us)
        return status; /* our own patience is real */
    int64_t us = atomic_load_explicit(passed_us, memory_order_relaxed);
    if (explore_clock_us) {
        us += explore_clock_us();
        *now = (struct timespec){ 0, 0 };
    }
    int64_t ns = now->tv_nsec + us % 1000000 * 1000;
    now->tv_sec += us / 1000000 + ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return status;
}

/* ---- the program --------------------------------------------------------------- */

static const struct mode {
    const char *name;
    void (*run)(void);
} modes[] = {
    { "exact", stress_exact }, { "ledger", stress_ledger },   { "kill", stress_kill },
    { "step", stress_step },   { "explore", stress_explore },
};

static const struct mode *mode_named(const char *name)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(name, modes[i].name) == 0)
            return &modes[i];
    return NULL;
}

static void usage(void)
{
    fprintf(stderr, "usage: stress exact|ledger|kill|step|explore [--seed N] [--threads T] "
                    "[--processes P]\n"
                    "              [--rounds N] [--kills K] [--seconds S] [--only TEXT]\n");
    exit(2);
}

static void read_option(const char *name, const char *value)
{
    uint64_t number = strtoull(value, NULL, 10);
    if (strcmp(name, "--seed") == 0)
        options.seed = number;
    else if (strcmp(name, "--threads") == 0 && number - 1 < 64)
        options.threads = (unsigned)number;
    else if (strcmp(name, "--processes") == 0 && number - 1 < 64)
        options.processes = (unsigned)number;
    else if (strcmp(name, "--rounds") == 0 && number)
        options.rounds = number;
    else if (strcmp(name, "--kills") == 0)
        options.kills = number;
    else if (strcmp(name, "--seconds") == 0)
        options.seconds = number;
    else if (strcmp(name, "--only") == 0)
        options.only = value;
    else
        usage();
}

static void tell_conditions(const char *format, const char *mode)
{
    printf(format, mode, options.seed);
    printf(" --threads %u --processes %u --rounds %" PRIu64 " --kills %" PRIu64
           " --seconds %" PRIu64 "\n",
           options.threads, options.processes, options.rounds, options.kills, options.seconds);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const struct mode *mode = argc > 1 ? mode_named(argv[1]) : NULL;
    if (!mode || argc % 2)
        usage();
    options.seed = sl_random64() % 1000000000;
    for (int i = 2; i < argc; i += 2)
        read_option(argv[i], argv[i + 1]);
    complaints = shared_new(sizeof *complaints);
    passed_us = shared_new(sizeof *passed_us);

    signal(SIGALRM, on_alarm);
    tell_conditions("stress: %s --seed %" PRIu64, mode->name);
    mode->run();
    if (failed) {
        printf("repeat: %s ", argv[0]);
        tell_conditions("%s --seed %" PRIu64, mode->name);
    }
    printf("stress: %d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
