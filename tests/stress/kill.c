/* Processes killed anywhere: nothing lost, nothing counted twice, nothing stuck.
 *
 * Workers go through a row of keys, all at the same few at a time, while the
 * parent kills one after the other and starts new ones. Two numbers per key, in
 * memory that outlives them, enclose what the table must say:
 *
 *   sure    charged and not given back, as the answers said: added after a charge
 *           was answered, taken off before a refund is asked for
 *   maybe   added before a charge is asked for, taken off after a refund, or a
 *           denial, was answered
 *
 * sure ≤ counted ≤ maybe, and they differ only by the requests that the killed
 * processes had under way. At the end a fresh process looks at every key, takes what is left
 * of it, and resets some. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/stress.h"

enum { KEYS = 1 << 16, HOT = 12, CREW = 3, RING_MOST = 60, EXPIRY_S = 60, RESETS_EVERY = 5 };

enum play { ONES, COSTS, RAISED, REFUNDED, RESERVED, PAIRED, PLAYS };

struct account {
    _Atomic int64_t sure, maybe;
};

struct scene {
    struct account accounts[KEYS];
    _Atomic uint32_t current;
    _Atomic bool over;
    uint64_t id;
    int64_t now_us;
};

static struct scene *scene; /* shared */
static struct subject subjects[SUBJECTS_MAX];
static size_t subject_count;

static const struct sl_guard guard = { .window_us = SL_WINDOW_MAX_US,
                                       .penalty_us = 60000000,
                                       .threshold = 1 << 20 };

/* ---- the keys --------------------------------------------------------------------- */

static const struct subject *subject_of(uint32_t key)
{
    return &subjects[key % subject_count];
}

static enum play play_of(uint32_t key)
{
    return (enum play)(key / subject_count % PLAYS);
}

static int64_t capacity_of(uint32_t key)
{
    return subject_of(key)->capacity << (play_of(key) == RAISED ? 2 : 0);
}

static struct sl_claim claim_at(uint32_t key, int64_t capacity)
{
    struct sl_claim claim =
        claim_on(subject_of(key), key_of(scene->id, key, 0), capacity, scene->now_us);
    if (play_of(key) == PAIRED) {
        claim.guard = &guard;
        claim.guard_key = key_of(scene->id, key, 1);
    }
    return claim;
}

/* ---- a worker ---------------------------------------------------------------------- */

static void expect_status(const char *what, int status)
{
    if (status != SLUICE_OK)
        complain("%s: status %d", what, status);
}

static void give_back(struct worker *worker, uint32_t key, const struct sl_bundle *bundle)
{
    struct sl_charge charge = { bundle->cost, bundle->claims->answer.as_of_us };
    scene->accounts[key].sure -= bundle->cost;
    expect_status("refund", worker->store->ops->refund(worker->store, bundle->claims, charge));
    scene->accounts[key].maybe -= bundle->cost;
}

/* Held, and then settled, or forgotten until it expires. */
static void reserve(struct worker *worker, uint32_t key, const struct sl_bundle *bundle)
{
    struct sl_store *store = worker->store;
    uint64_t id = 0;
    uint32_t real = (uint32_t)dice_below(&worker->dice, bundle->cost + UINT64_C(1));
    int status = store->ops->hold(store, bundle, EXPIRY_S * INT64_C(1000000), &id);
    if (status == SLUICE_STORE_FULL) /* then it was refunded */
        scene->accounts[key].maybe -= bundle->cost;
    if (status == SLUICE_STORE_FULL || dice_below(&worker->dice, 16) == 0)
        return;
    expect_status("hold", status);
    expect_status("settle", store->ops->settle(store, id, real));
    scene->accounts[key].sure += real;
    scene->accounts[key].maybe -= bundle->cost - real;
}

/* False: denied. */
static bool ask_on(struct worker *worker, const uint32_t *keys, size_t count)
{
    struct sl_claim claims[2];
    enum play play = play_of(keys[0]);
    unsigned level = play == RAISED ? (unsigned)dice_below(&worker->dice, 3) : 0;
    if (play == RAISED && subject_of(keys[0])->algo->is_bucket)
        level = 2; /* a smaller capacity would cut the debt */
    uint32_t cost =
        play == ONES || play == RAISED ? 1 : 1 + (uint32_t)dice_below(&worker->dice, COST_MAX);
    for (size_t i = 0; i < count; i++) {
        claims[i] = claim_at(keys[i], subject_of(keys[i])->capacity << (i == 0 ? level : 0));
        scene->accounts[keys[i]].maybe += cost;
    }
    struct sl_bundle bundle = bundle_of(claims, count, cost, -1);
    bool passed = ask(worker->store, &bundle);
    for (size_t i = 0; i < count; i++) {
        if (!passed)
            scene->accounts[keys[i]].maybe -= cost;
        else if (play != RESERVED)
            scene->accounts[keys[i]].sure += cost;
    }
    if (passed && play == RESERVED)
        reserve(worker, keys[0], &bundle);
    if (passed && play == REFUNDED && dice_below(&worker->dice, 3))
        give_back(worker, keys[0], &bundle);
    return passed || (play == RAISED && level < 2);
}

static void work_on(struct worker *worker)
{
    uint32_t current = scene->current;
    uint32_t key = current - (uint32_t)dice_below(&worker->dice, HOT);
    uint32_t keys[] = { key, key - 1 };
    bool passed = ask_on(worker, keys, play_of(key) == PAIRED ? 2 : 1);
    bool tired = play_of(key) == REFUNDED && dice_below(&worker->dice, 100) == 0;
    if ((!passed || tired) && key == current && current + 1 < KEYS)
        atomic_compare_exchange_strong(&scene->current, &current, current + 1);
}

static void *thread_main(void *argument)
{
    while (!scene->over && scene->current + 1 < KEYS)
        work_on(argument);
    return NULL;
}

static pid_t worker_start(const struct table *table, struct dice *dice)
{
    uint64_t seed = dice_u64(dice);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct worker workers[64];
    pthread_t threads[64];
    struct sl_store *store = table_join(table, seed % 2);
    for (unsigned i = 0; i < options.threads; i++) {
        workers[i] = (struct worker){ .dice = { seed + i }, .store = store };
        if (i > 0)
            pthread_create(&threads[i], NULL, thread_main, &workers[i]);
    }
    thread_main(&workers[0]);
    for (unsigned i = 1; i < options.threads; i++)
        pthread_join(threads[i], NULL);
    _exit(0);
}

/* ---- the parent: kills, then looks -------------------------------------------------- */

/* Most die young: in the middle of opening the table, or of their first keys. */
static uint64_t kill_some(const struct table *table, struct dice *dice, uint64_t kills)
{
    pid_t pids[CREW];
    uint64_t done = 0;
    for (int i = 0; i < CREW; i++)
        pids[i] = worker_start(table, dice);
    while (done < kills && scene->current + 1 < KEYS) {
        unsigned victim = (unsigned)dice_below(dice, CREW);
        usleep((unsigned)dice_below(dice, dice_below(dice, 4) ? 1000 : 4000));
        int status = 0;
        kill(pids[victim], SIGKILL);
        if (waitpid(pids[victim], &status, 0) != pids[victim])
            complain("waitpid: %s", strerror(errno));
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            done++;
        else if (status != 0)
            complain("a worker ended with status %#x", (unsigned)status);
        pids[victim] = worker_start(table, dice);
    }
    scene->over = true;
    for (int i = 0; i < CREW; i++)
        child_ends(pids[i], 30);
    return done;
}

static void look_at(struct sl_store *store, uint32_t key)
{
    const struct account *account = &scene->accounts[key];
    int64_t slack = subject_of(key)->algo->is_bucket ? 1 : 0;
    int64_t capacity = capacity_of(key);
    struct sl_claim claim = claim_at(key, capacity);
    int64_t seen = counted(store, claim_at(key, 4 * subject_of(key)->capacity), -1);
    if (account->sure > capacity)
        complain("key %u (%s): %" PRId64 " admitted of %" PRId64, key, claim.algo->name,
                 account->sure, capacity);
    if (seen < account->sure || seen > account->maybe + slack)
        complain("key %u (%s, play %d): %" PRId64 " counted, %" PRId64 " to %" PRId64 " charged",
                 key, claim.algo->name, play_of(key), seen, account->sure, account->maybe);
    int64_t left = drain(store, claim, -1, capacity + 1);
    if (left > capacity - seen || left < capacity - seen - slack)
        complain("key %u (%s): %" PRId64 " could be taken, %" PRId64 " of %" PRId64 " were counted",
                 key, claim.algo->name, left, seen, capacity);
    if (key % RESETS_EVERY)
        return;
    expect_status("reset", store->ops->reset(store, &claim));
    left = drain(store, claim, -1, capacity + 1);
    if (left != capacity)
        complain("key %u (%s): %" PRId64 " of %" PRId64 " after a reset", key, claim.algo->name,
                 left, capacity);
}

/* In a process of its own, which opens the table anew. */
static void look_at_all(const struct table *table)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct sl_store *store = table_join(table, true);
        for (int i = 0; i < 2000 && table_stats(store).reservations; i++)
            table_now_us(store); /* decisions give back what has expired */
        struct sluice_stats stats = table_stats(store);
        if (stats.reservations)
            complain("%" PRIu64 " reservations are still held", stats.reservations);
        if (stats.evictions || stats.full)
            complain("%" PRIu64 " evictions, %" PRIu64 " full", stats.evictions, stats.full);
        for (uint32_t key = 0; key <= scene->current; key++)
            look_at(store, key);
        sl_store_close(store);
        _exit(0);
    }
    child_ends(pid, 120);
}

/* Checks what the killed threads left unsure: at most two claims each. */
static void expect_little_unsure(uint64_t kills)
{
    int64_t unsure = 0;
    for (uint32_t key = 0; key <= scene->current; key++)
        unsure += scene->accounts[key].maybe - scene->accounts[key].sure;
    int64_t most = (int64_t)(kills * options.threads) * 2 * COST_MAX;
    for (uint32_t key = 0; key <= scene->current; key++)
        if (play_of(key) == RESERVED) /* forgotten ones count as unsure */
            most += scene->accounts[key].maybe;
    if (unsure > most)
        complain("%" PRId64 " units unsure after %" PRIu64 " kills", unsure, kills);
}

static uint64_t run_scene(struct dice *dice, uint64_t kills)
{
    struct table table;
    table_open(&table, UINT64_C(96) << 20, UINT64_C(64) << 20, true);
    scene = shared_new(sizeof *scene);
    scene->id = dice_u64(dice);
    scene->now_us = table_now_us(table.store);
    scene->current = HOT + 1;
    uint64_t done = kill_some(&table, dice, kills);
    pass_time_us(2 * EXPIRY_S * INT64_C(1000000));
    look_at_all(&table);
    expect_little_unsure(done);
    const char *broken = complaint();
    char name[64];
    snprintf(name, sizeof name, "kill, %" PRIu64 " times", done);
    tell_claim(name, broken, "%u keys, a fresh process finds all of them in order",
               (unsigned)scene->current);
    shared_free(scene, sizeof *scene);
    table_close(&table);
    return done;
}

void stress_kill(void)
{
    struct subject all[SUBJECTS_MAX];
    size_t count = subjects_list(all);
    for (size_t i = 0; i < count; i++) {
        if (all[i].passes_time) /* refunds go by the store's clock */
            continue;
        if (all[i].capacity > RING_MOST)
            all[i].capacity = RING_MOST;
        subjects[subject_count++] = all[i];
    }
    struct dice dice = { options.seed };
    for (uint64_t done = 0; done < options.kills;) {
        uint64_t left = options.kills - done;
        done += run_scene(&dice, left < 250 ? left : 250);
    }
}
