/* What the modes of the stress test share: randomness, memory that outlives
 * forks, a crew of processes and threads, tables, and asking them.
 *
 * A mode prints one line per claim (tell_claim) and the program counts them. */
#ifndef STRESS_STRESS_H
#define STRESS_STRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

enum { KEYS_MAX = 3, SUBJECTS_MAX = 16, COST_MAX = 7 };

struct options {
    uint64_t seed;
    unsigned threads, processes;
    uint64_t rounds; /* exact: per drill. step: every so many distinct images */
    uint64_t kills;
    uint64_t seconds; /* at least so long; 0: once */
    const char *only; /* claims whose name holds this text */
};

extern struct options options;

/* ---- randomness ---- */

struct dice {
    uint64_t state;
};

uint64_t dice_u64(struct dice *dice);
uint64_t dice_below(struct dice *dice, uint64_t n);

/* ---- telling ---- */

/* One line: ok, or not ok and why. A claim that --only leaves out is not even
 * tried. */
bool claim_wanted(const char *name);
void tell_claim(const char *name, const char *broken, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first thing that went wrong in any process since it was last asked for;
 * NULL: nothing. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *complaint(void);

/* ---- memory and time ---- */

/* Zeroed, shared with every child; for ever if not freed. */
void *shared_new(size_t bytes);
void shared_free(void *at, size_t bytes);

/* Every clock that src/ reads goes on by this much, in every process: nothing
 * sleeps that could pass a time instead. */
void pass_time_us(int64_t us);

/* If set, the time that src/ reads, µs. */
extern int64_t (*explore_clock_us)(void);

/* ---- tables ---- */

struct table {
    char path[64]; /* empty: anonymous */
    struct sl_store *store;
    struct sl_memory_config config;
};

/* Ends the program if it cannot be opened. */
void table_open(struct table *table, uint64_t size_bytes, uint64_t log_bytes, bool in_file);
void table_close(struct table *table);

/* The handle as this process should use it: now and then one of its own. */
struct sl_store *table_join(const struct table *table, bool anew);

int64_t table_now_us(struct sl_store *store);
struct sluice_stats table_stats(struct sl_store *store);

/* ---- what is asked ---- */

/* A row of sl_algos with numbers under which time changes nothing. */
struct subject {
    char name[64];
    const struct sl_algo *algo;
    int64_t capacity;
    int64_t window_us; /* 0: as long as it takes */
    bool first_request;
    bool passes_time; /* asks at one instant of its own, its window being short */
};

size_t subjects_list(struct subject *subjects);

/* `capacity` may be up to four times that of the subject. */
struct sl_claim claim_on(const struct subject *subject, struct sl_hash128 key, int64_t capacity,
                         int64_t now_us);

struct sl_hash128 key_of(uint64_t a, uint64_t b, uint64_t c);

/* Asked on the store's own clock, or at now_us. */
struct sl_bundle bundle_of(struct sl_claim *claims, size_t count, uint32_t cost, int64_t now_us);

/* A decision that must work: complains if the status is bad. */
bool ask(struct sl_store *store, struct sl_bundle *bundle);

/* A claim of cost 1 or more by the short way, where that is open: false: it was not,
 * and nothing happened. Else the claim has its answer. */
bool ask_once(struct sl_store *store, struct sl_claim *claim, struct sl_bundle *bundle);

/* limit − remaining */
int64_t counted(struct sl_store *store, struct sl_claim claim, int64_t now_us);

/* Takes units of 1 until there are none left, at most `most`. */
int64_t drain(struct sl_store *store, struct sl_claim claim, int64_t now_us, int64_t most);

/* ---- a crew ---- */

struct worker {
    unsigned index, process;
    struct dice dice;
    struct sl_store *store;
    pthread_barrier_t *barrier; /* of all workers */
    void *context;
};

/* options.processes × options.threads of them. NULL: all came back. */
const char *crew_run(const struct table *table, void (*work)(struct worker *), void *context);
unsigned crew_size(void);

/* Ends a child that was forked here. False: it did not end well, or in time. */
bool child_ends(int pid, unsigned timeout_s);

/* ---- the modes ---- */

void stress_exact(void);
void stress_ledger(void);
void stress_kill(void);
void stress_step(void);
void stress_explore(void);

#endif
