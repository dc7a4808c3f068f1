/* Stopped for ever after each single instruction of an operation: T14.
 *
 * At every such point, the next process must find the keys' counts between what
 * they were and what they would have become, must be able to take exactly the
 * rest, and after a reset all of it. Then the same again with the next process
 * stopped in its turn: two deaths in a row. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stress/step.h"

struct look {
    struct dice dice;
    const struct act *first, *second; /* NULL: there is no second death */
    uint64_t every;                   /* which images are gone into */
    uint64_t images, steps;
};

/* ---- what must hold -------------------------------------------------------------------- */

static void check_counted(struct stage *stage, const struct act *act, unsigned n)
{
    struct sl_store *store = stage->table.store;
    int64_t capacity = stage->subject->capacity;
    int64_t slack = stage->subject->algo->is_bucket ? 1 : 0; /* of a refunded bucket */
    int64_t seen = counted(store, stage_claim(stage, n, 4 * capacity), -1);
    if (seen < stage->low[n] || seen > stage->high[n] + (act->given ? slack : 0))
        complain("%s: key %u: %" PRId64 " counted, should be %" PRId64 " to %" PRId64, act->name, n,
                 seen, stage->low[n], stage->high[n]);
    int64_t left = drain(store, stage_claim(stage, n, capacity), -1, capacity + 1);
    int64_t should = seen < capacity ? capacity - seen : 0;
    if (left > should || left < should - slack)
        complain("%s: key %u: %" PRId64 " could be taken with %" PRId64 " of %" PRId64 " counted",
                 act->name, n, left, seen, capacity);
}

static void check_reset(struct stage *stage, const struct act *act, unsigned n)
{
    struct sl_store *store = stage->table.store;
    int64_t capacity = stage->subject->capacity;
    struct sl_claim claim = stage_claim(stage, n, capacity);
    if (store->ops->reset(store, &claim) != SLUICE_OK)
        complain("%s: key %u cannot be reset", act->name, n);
    int64_t left = drain(store, claim, -1, capacity + 1);
    if (left != capacity)
        complain("%s: key %u: %" PRId64 " of %" PRId64 " after a reset", act->name, n, left,
                 capacity);
}

static void check_all(struct stage *stage, const struct act *act)
{
    uint8_t image[STAGE_BYTES];
    memcpy(image, stage->memory, sizeof image);
    for (unsigned n = 0; n < 2; n++)
        check_counted(stage, act, n);
    memcpy(stage->memory, image, sizeof image);
    for (unsigned n = 0; n < 2; n++)
        check_reset(stage, act, n);
    memcpy(stage->memory, image, sizeof image);
}

/* ---- playing --------------------------------------------------------------------------- */

/* While it runs, it may or may not have happened. */
static void widen_bounds(struct stage *stage, const struct act *act)
{
    for (unsigned n = 0; n < act->keys; n++) {
        stage->high[n] += act->taken;
        stage->low[n] = stage->low[n] > act->given ? stage->low[n] - act->given : 0;
    }
}

static void narrow_bounds(struct stage *stage, const struct act *act)
{
    for (unsigned n = 0; n < act->keys; n++) {
        stage->low[n] += act->taken;
        stage->high[n] = stage->high[n] > act->given ? stage->high[n] - act->given : 0;
    }
}

static void look_at_second(struct stage *stage, void *about)
{
    struct look *look = about;
    check_all(stage, look->second);
}

static void look_at_first(struct stage *stage, void *about)
{
    struct look *look = about;
    check_all(stage, look->first);
    if (!look->second || dice_below(&look->dice, look->every))
        return;
    struct stage before = *stage;
    uint64_t images = 0;
    widen_bounds(stage, look->second);
    look->steps += act_step(stage, look->second, look_at_second, look, &images);
    look->images += images;
    *stage = before;
}

void stage_open(struct stage *stage, const struct subject *subject, uint64_t id)
{
    *stage = (struct stage){ .subject = subject, .id = id };
    table_open(&stage->table, STAGE_BYTES, subject->algo->keeps_ring ? STAGE_BYTES / 2 : 0, true);
    int fd = open(stage->table.path, O_RDWR);
    stage->memory = mmap(NULL, STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    stage->now_us = table_now_us(stage->table.store);
}

void stage_close(struct stage *stage)
{
    munmap(stage->memory, STAGE_BYTES);
    table_close(&stage->table);
}

static void run_act(const struct subject *subject, const struct act *act, struct look look)
{
    char name[128];
    snprintf(name, sizeof name, "step %s%s%s, %s", act->name, look.second ? " and then " : "",
             look.second ? look.second->name : "", subject->name);
    if (!claim_wanted(name) || (act->applies && !act->applies(subject)) ||
        (look.second && look.second->applies && !look.second->applies(subject)))
        return;
    struct stage stage;
    stage_open(&stage, subject, look.dice.state);
    if (act->prepare)
        act->prepare(&stage);
    look.first = act;
    widen_bounds(&stage, act);
    look.steps += act_step(&stage, act, look_at_first, &look, &look.images);
    narrow_bounds(&stage, act);
    check_all(&stage, act); /* and then it is done */
    tell_claim(name, complaint(), "%" PRIu64 " instructions, %" PRIu64 " states of the memory",
               look.steps, look.images);
    stage_close(&stage);
}

/* Returns true if the act can follow a death: it asks on the same key, one way or another. */
static bool can_follow(const struct act *act)
{
    return !act->prepare || strcmp(act->name, "ring moved") == 0 ||
           strcmp(act->name, "refund") == 0 || strcmp(act->name, "reset") == 0;
}

static void run_subject(const struct subject *subject, struct dice *dice)
{
    for (size_t i = 0; acts[i].name; i++)
        run_act(subject, &acts[i], (struct look){ .dice = { dice_u64(dice) } });
    for (size_t i = 0; acts[i].name; i++) {
        for (size_t j = 0; acts[j].name; j++) {
            bool wanted = can_follow(&acts[j]) && dice_below(dice, options.rounds) == 0;
            struct look look = { { dice_u64(dice) }, NULL, &acts[j], options.rounds, 0, 0 };
            if (wanted)
                run_act(subject, &acts[i], look);
        }
    }
}

void stress_step(void)
{
    struct subject subjects[SUBJECTS_MAX];
    size_t count = subjects_list(subjects);
    struct dice dice = { options.seed };
    for (size_t i = 0; i < count; i++) {
        if (subjects[i].passes_time)
            continue;
        /* Enough for what the acts take; draining more at every state takes a while. */
        subjects[i].capacity = subjects[i].capacity > 20 ? 20 : 8;
        run_subject(&subjects[i], &dice);
    }
}
