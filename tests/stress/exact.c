/* All at once on one key: exactly the limit is admitted.
 *
 * A drill is what all workers do to a key; each round has a fresh key (or
 * three), and all start together, so that every round begins with the race to
 * insert it. Limits are such that time changes nothing: what is admitted
 * afterwards, what is counted, and what can still be taken must agree to the
 * unit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "stress/drills.h"

enum { ROUNDS_MAX = 200 };

static struct round *rounds; /* shared */

/* Adjacent rounds share no key, so a crew's rounds need not be in step: only
 * their starts. */
static void work(struct worker *worker)
{
    struct field field = *(struct field *)worker->context;
    for (field.round = 0; field.round < field.round_count; field.round++) {
        pthread_barrier_wait(worker->barrier);
        field.tally = &rounds[field.round];
        for (uint64_t idle = dice_below(&worker->dice, 200); idle > 0; idle--)
            __asm__ volatile("" ::: "memory");
        field.drill->play(worker, &field);
    }
}

static void judge(struct field *field)
{
    for (field->round = 0; field->round < field->round_count; field->round++) {
        field->tally = &rounds[field->round];
        field->drill->judge(field);
    }
    struct sluice_stats stats = table_stats(field->store);
    if (stats.evictions || stats.full)
        complain("%" PRIu64 " evictions, %" PRIu64 " full: the table was too small for the test",
                 stats.evictions, stats.full);
}

/* Fresh keys, or one drill in a table: whatever a stray write does shows there. */
static const char *play_drill(struct field *field, bool in_file)
{
    struct table table;
    table_open(&table, UINT64_C(32) << 20, field->subject->algo->keeps_ring ? 24 << 20 : 0,
               in_file);
    field->store = table.store;
    field->now_us = table_now_us(table.store);
    field->at_us = field->subject->passes_time ? field->now_us / 1000000 * 1000000 : -1;
    memset(rounds, 0, ROUNDS_MAX * sizeof *rounds);
    const char *broken = crew_run(&table, work, field);
    if (!broken) {
        judge(field);
        broken = complaint();
    }
    table_close(&table);
    return broken;
}

static uint64_t run_once(const struct subject *subject, const struct drill *drill, uint64_t id)
{
    struct field field = { .subject = subject, .drill = drill, .id = id };
    char name[128];
    snprintf(name, sizeof name, "exact %.30s, %.64s", drill->name, subject->name);
    if (!claim_wanted(name) || (drill->applies && !drill->applies(subject)))
        return 0;
    const char *broken = NULL;
    uint64_t done = 0;
    while (done < options.rounds && !broken) {
        uint64_t left = options.rounds - done;
        field.round_count = (unsigned)(left < ROUNDS_MAX ? left : ROUNDS_MAX);
        broken = play_drill(&field, done / ROUNDS_MAX % 2 == id % 2);
        done += field.round_count;
        field.id += UINT64_C(1) << 32; /* other keys */
    }
    if (broken)
        tell_claim(name, broken, "round %u of %" PRIu64, field.round, done);
    else
        tell_claim(name, NULL, "%u × %u, %" PRIu64 " rounds", options.processes, options.threads,
                   done);
    return done;
}

void stress_exact(void)
{
    struct subject subjects[SUBJECTS_MAX];
    size_t count = subjects_list(subjects);
    rounds = shared_new(ROUNDS_MAX * sizeof *rounds);
    int64_t started_ns = sl_monotonic_ns();
    uint64_t id = 0, done = 1;
    do {
        done = 0;
        for (size_t d = 0; drills[d].name; d++)
            for (size_t s = 0; s < count; s++)
                done += run_once(&subjects[s], &drills[d], id++);
    } while (done &&
             sl_monotonic_ns() - started_ns < (int64_t)options.seconds * INT64_C(1000000000));
    shared_free(rounds, ROUNDS_MAX * sizeof *rounds);
}
