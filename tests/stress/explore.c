/* Every interleaving of a few operations, up to some number of switches.
 *
 * The tasks are coroutines that may be left before each of their atomic
 * accesses (hooks.c). A schedule says before which accesses, counted over all
 * tasks, another one takes over; a task that ends hands over to the next.
 * All schedules with one, two, … switches are played, each on the same memory
 * and the same clock, so that a failure repeats. With `dies`, the task that is
 * left first is never resumed: killed there.
 *
 * This covers what a processor does in order; threads on two processors are the
 * business of the other modes. */
#ifdef SL_EXPLORE

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "stress/explore.h"
#include "stress/step.h"

enum { TASKS = 2, SWITCHES_MAX = 4, STACK_BYTES = 256 << 10, POINTS_MAX = 200000 };

struct task {
    ucontext_t context;
    const struct act *act;
    struct sl_store *store;
    bool ended, dead;
};

static struct {
    struct stage *stage;
    struct task tasks[TASKS];
    ucontext_t home;
    int current; /* -1: no task runs, so no access is a point */
    uint64_t points;
    uint64_t switches[SWITCHES_MAX]; /* before which points */
    unsigned switch_count, switches_done;
    bool dies, stuck;
    int64_t now_us, start_us;
} play = { .current = -1 };

static char stacks[TASKS][STACK_BYTES] __attribute__((aligned(64)));

/* ---- the scheduler ------------------------------------------------------------------- */

static int64_t next_us(void)
{
    return play.now_us++;
}

/* Another task that can go on, or -1. */
static int other_task(void)
{
    for (int i = 1; i < TASKS; i++) {
        int task = (play.current + i) % TASKS;
        if (!play.tasks[task].ended && !play.tasks[task].dead)
            return task;
    }
    return -1;
}

static void switch_to(int task)
{
    struct task *from = &play.tasks[play.current];
    play.current = task;
    swapcontext(&from->context, &play.tasks[task].context);
}

void explore_yield(void)
{
    if (play.current >= 0 && other_task() >= 0)
        switch_to(other_task());
}

void explore_point(void)
{
    if (play.current < 0)
        return;
    if (play.points == POINTS_MAX) { /* no task makes progress */
        play.stuck = true;
        setcontext(&play.home);
    }
    uint64_t point = play.points++;
    if (play.switches_done == play.switch_count || play.switches[play.switches_done] != point)
        return;
    int task = other_task();
    play.tasks[play.current].dead = play.dies && play.switches_done == 0;
    play.switches_done++;
    if (task >= 0)
        switch_to(task);
    else if (play.tasks[play.current].dead)
        setcontext(&play.home);
}

static void task_main(void)
{
    struct task *task = &play.tasks[play.current];
    task->act->run(play.stage, task->store);
    task->ended = true;
    int next = other_task();
    if (next >= 0) {
        play.current = next;
        setcontext(&play.tasks[next].context);
    }
    setcontext(&play.home);
}

static void run_tasks(void)
{
    play.points = 0;
    play.switches_done = 0;
    play.stuck = false;
    for (int i = 0; i < TASKS; i++) {
        struct task *task = &play.tasks[i];
        task->ended = task->dead = false;
        getcontext(&task->context);
        task->context.uc_stack.ss_sp = stacks[i];
        task->context.uc_stack.ss_size = STACK_BYTES;
        task->context.uc_link = NULL;
        makecontext(&task->context, task_main, 0);
    }
    play.current = 0;
    volatile bool started = false;
    getcontext(&play.home);
    if (!started) {
        started = true;
        setcontext(&play.tasks[0].context);
    }
    play.current = -1;
}

/* ---- one schedule, and what must hold after it --------------------------------------- */

static bool is_reset(const struct act *act)
{
    return act->given == ALL;
}

/* Of one reservation: T13 lets only one of them. */
static bool both_settle(void)
{
    for (int i = 0; i < TASKS; i++)
        if (!play.tasks[i].act->settles)
            return false;
    return true;
}

struct range {
    int64_t low, high;
};

static struct range after_settling(struct range range, unsigned n)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int i = 0; i < TASKS; i++) {
        const struct act *act = play.tasks[i].act;
        int64_t change = n < act->keys ? act->taken - act->given : 0;
        low = change < low ? change : low;
        high = change > high ? change : high;
    }
    if (play.dies) { /* it may have died with the reservation in its hands */
        low = low < 0 ? low : 0;
        high = high > 0 ? high : 0;
    }
    return (struct range){ range.low + low, range.high + high };
}

/* What the counts may be, each act having happened, or (dead) perhaps. */
static struct range after_acts(const struct stage *stage, unsigned n)
{
    struct range range = { stage->low[n], stage->high[n] };
    bool full = stage->low[0] >= stage->subject->capacity, reset = false, reset_died = false;
    int64_t taken_by_all = 0;
    if (both_settle())
        return after_settling(range, n);
    for (int i = 0; i < TASKS; i++) {
        const struct act *act = play.tasks[i].act;
        bool died = play.tasks[i].dead;
        if (n >= act->keys)
            continue;
        int64_t taken = full ? 0 : act->taken;
        taken_by_all += taken;
        range.high += taken - (died ? 0 : act->given);
        range.low += (died ? 0 : taken) - act->given;
        reset |= is_reset(act);
        reset_died |= is_reset(act) && died;
    }
    if (reset)
        range = (struct range){ 0, (reset_died ? stage->high[n] : 0) + taken_by_all };
    range.low = range.low > 0 ? range.low : 0;
    range.high = range.high > 0 ? range.high : 0;
    return range;
}

static const char *check_key(struct stage *stage, unsigned n)
{
    static char text[160];
    struct sl_store *store = stage->table.store;
    int64_t capacity = stage->subject->capacity;
    int64_t slack = stage->subject->algo->is_bucket ? 1 : 0;
    struct range range = after_acts(stage, n);
    int64_t seen = counted(store, stage_claim(stage, n, 4 * capacity), -1);
    int64_t left = drain(store, stage_claim(stage, n, capacity), -1, capacity + 1);
    int64_t should = seen < capacity ? capacity - seen : 0;
    if (seen >= range.low && seen <= range.high + slack && left <= should + slack &&
        left >= should - slack)
        return NULL;
    snprintf(text, sizeof text,
             "key %u: %" PRId64 " counted, should be %" PRId64 " to %" PRId64 "; %" PRId64
             " could be taken",
             n, seen, range.low, range.high, left);
    return text;
}

static const char *play_schedule(struct stage *stage, const uint8_t *image)
{
    memcpy(stage->memory, image, STAGE_BYTES);
    play.now_us = play.start_us;
    run_tasks();
    if (play.stuck)
        return "no end in sight";
    const char *broken = NULL;
    for (unsigned n = 0; n < 2 && !broken; n++)
        broken = check_key(stage, n);
    return broken;
}

/* ---- all schedules -------------------------------------------------------------------- */

struct search {
    struct stage *stage;
    const uint8_t *image;
    uint64_t played;
    const char *broken;
};

/* Every place for the switches from `level` on. */
static void search_from(struct search *search, unsigned level, uint64_t first)
{
    for (uint64_t at = first; !search->broken; at++) {
        play.switches[level] = at;
        if (level + 1 < play.switch_count) {
            search_from(search, level + 1, at + 1);
            if (play.switches_done <= level)
                return; /* it ended before that */
            continue;
        }
        search->played++;
        search->broken = play_schedule(search->stage, search->image);
        if (play.switches_done <= level)
            return;
    }
}

static void print_schedule(void)
{
    printf("       switches before accesses");
    for (unsigned i = 0; i < play.switch_count; i++)
        printf(" %" PRIu64, play.switches[i]);
    printf("%s\n", play.dies ? ", the first is never resumed" : "");
}

static void run_pair(const struct subject *subject, const struct act *first,
                     const struct act *second, bool dies)
{
    char name[160];
    snprintf(name, sizeof name, "explore %s%s with %s, %.64s", first->name, dies ? " killed" : "",
             second->name, subject->name);
    if (!claim_wanted(name))
        return;
    struct stage stage;
    stage_open(&stage, subject, options.seed);
    if (first->prepare)
        first->prepare(&stage);
    uint8_t *image = malloc(STAGE_BYTES);
    memcpy(image, stage.memory, STAGE_BYTES);
    play.stage = &stage;
    play.start_us = play.now_us;
    play.dies = dies;
    for (int i = 0; i < TASKS; i++) {
        play.tasks[i].act = i ? second : first;
        play.tasks[i].store = table_join(&stage.table, true);
    }
    struct search search = { .stage = &stage, .image = image };
    for (play.switch_count = 1; play.switch_count <= options.rounds && !search.broken;
         play.switch_count++)
        search_from(&search, 0, 0);
    play.switch_count -= search.broken != NULL;
    const char *broken = search.broken ? search.broken : complaint();
    tell_claim(name, broken, "%" PRIu64 " schedules, up to %" PRIu64 " switches", search.played,
               options.rounds);
    play.switch_count += search.broken != NULL;
    if (broken)
        print_schedule();
    for (int i = 0; i < TASKS; i++)
        sl_store_close(play.tasks[i].store);
    free(image);
    stage_close(&stage);
}

/* Acts that can meet on one key, prepared as the first wants it. */
static bool can_meet(const struct subject *subject, const struct act *first,
                     const struct act *second)
{
    bool same_stage = !second->prepare || second->prepare == first->prepare;
    bool refundable = first->given + second->given <= COST || is_reset(first) || is_reset(second) ||
                      first->settles; /* no more than was charged at that time */
    return refundable && (!first->applies || first->applies(subject)) &&
           (!second->applies || second->applies(subject)) && same_stage &&
           strcmp(first->name, "evict") != 0 && strcmp(second->name, "evict") != 0;
}

void stress_explore(void)
{
    struct subject subjects[SUBJECTS_MAX];
    size_t count = subjects_list(subjects);
    explore_clock_us = next_us;
    play.now_us = INT64_C(1800000000000000);
    if (options.rounds > SWITCHES_MAX)
        options.rounds = 2;
    for (size_t s = 0; s < count; s++) {
        if (subjects[s].passes_time || subjects[s].capacity > 100)
            continue;
        subjects[s].capacity = 8; /* nothing is denied */
        for (size_t i = 0; acts[i].name; i++)
            for (size_t j = 0; acts[j].name; j++)
                for (int dies = 0; dies < 2 && can_meet(&subjects[s], &acts[i], &acts[j]); dies++)
                    run_pair(&subjects[s], &acts[i], &acts[j], dies);
    }
}

#else

#include "stress/stress.h"

void stress_explore(void)
{
    tell_claim("explore", "only in build/tsan/explore", "not built for it");
}

#endif
