/* Short windows by the real clock: no admission above the bound.
 *
 * All workers ask on the same few keys for a moment, then on others, and comes
 * back to old ones; windows of milliseconds expire behind them and their slots
 * are taken by the next keys. Each admission is written down with two times:
 *
 *   decided   the table's time it was decided at
 *   after     the table's time at which the answer was there
 *
 * It took effect somewhere between. A caller that was put to sleep in between
 * may be counted as of a later time than its own (time never goes back for a
 * key), so what can be held against a bound is every set of admissions that
 * lies in a span as a whole, from the first `decided` to the last `after`. */
#include "stress/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { GROUP_KEYS = 24, ENTRIES_PER_S = 400000 };

struct world {
    const struct variant *variant;
    struct entry *entries; /* crew_size() × room, shared */
    size_t room;
    int64_t start_us, end_us; /* boot time */
    _Atomic uint64_t asked;
    _Atomic uint64_t refused_full;
    _Atomic size_t used[64 * 64];
};

static struct world *world; /* shared */

/* Which key: of the group of this moment, or of one of the groups before. */
static uint32_t pick_key(struct dice *dice, const struct variant *variant, int64_t boot_us)
{
    uint64_t group = (uint64_t)(boot_us - world->start_us) / (uint64_t)variant->group_us;
    uint64_t back = dice_below(dice, 4) ? 0 : dice_below(dice, variant->groups_back + 1);
    group = group > back ? group - back : 0;
    return (uint32_t)(group * GROUP_KEYS + dice_below(dice, GROUP_KEYS));
}

static void write_down(struct worker *worker, const struct entry *entry)
{
    size_t at = world->used[worker->index];
    if (at == world->room)
        return; /* what is not in the ledger breaks no bound */
    world->entries[worker->index * world->room + at] = *entry;
    world->used[worker->index] = at + 1;
}

/* Some charges are given back: those do not count. */
static int64_t gives_back(struct worker *worker, const struct sl_bundle *bundle)
{
    struct sl_store *store = worker->store;
    struct sl_charge charge = { bundle->cost, bundle->claims->answer.as_of_us };
    uint64_t id = 0;
    switch (dice_below(&worker->dice, 32)) {
    case 0:
        store->ops->refund(store, bundle->claims, charge);
        return sl_boottime_us();
    case 1:
        if (store->ops->hold(store, bundle, 500, &id) == SLUICE_OK && dice_below(&worker->dice, 2))
            store->ops->settle(store, id, 0);
        return -1; /* then, or when it expires */
    default:
        return 0;
    }
}

static void ask_one(struct worker *worker)
{
    struct entry entry = { .before_us = sl_boottime_us() };
    entry.key = pick_key(&worker->dice, world->variant, entry.before_us);
    struct sl_claim claim = ledger_claim(world->variant, entry.key);
    entry.cost = dice_below(&worker->dice, 4) ? 1 : 2;
    struct sl_bundle bundle = bundle_of(&claim, 1, entry.cost, -1);
    bool once = dice_below(&worker->dice, 2) && ask_once(worker->store, &claim, &bundle);
    int status = once ? bundle.status : sl_store_decide(worker->store, &bundle);
    entry.after_us = sl_boottime_us();
    entry.decided_us = bundle.now_us;
    world->asked++;
    if (status == SLUICE_STORE_FULL)
        world->refused_full++;
    else if (status != SLUICE_OK)
        complain("status %d", status);
    else if (bundle.allowed) {
        entry.returned_us = gives_back(worker, &bundle);
        write_down(worker, &entry);
    }
}

static void work(struct worker *worker)
{
    pthread_barrier_wait(worker->barrier);
    while (sl_boottime_us() < world->end_us)
        ask_one(worker);
}

/* ---- afterwards ------------------------------------------------------------------ */

/* All entries in one row, in the table's time. Table time is boot time plus a
 * constant (T10): every entry narrows down which. */
static size_t gather(struct entry **out)
{
    size_t count = 0, at = 0;
    for (unsigned i = 0; i < crew_size(); i++)
        count += world->used[i];
    struct entry *all = calloc(count + 1, sizeof *all);
    int64_t least = INT64_MIN, most = INT64_MAX;
    for (unsigned i = 0; i < crew_size(); i++) {
        for (size_t n = 0; n < world->used[i]; n++) {
            struct entry entry = world->entries[i * world->room + n];
            int64_t low = entry.decided_us - entry.after_us;
            int64_t high = entry.decided_us - entry.before_us;
            least = low > least ? low : least;
            most = high < most ? high : most;
            all[at++] = entry;
        }
    }
    if (count && least > most)
        complain("the table's clock is off by %" PRId64 " µs from itself", least - most);
    for (size_t i = 0; i < count; i++) {
        all[i].after_us += most;
        all[i].returned_us += all[i].returned_us > 0 ? most : 0;
    }
    *out = all;
    return count;
}

static void open_world(const struct variant *variant)
{
    uint64_t duration_s = options.seconds ? options.seconds : variant->duration_s;
    world = shared_new(sizeof *world);
    world->variant = variant;
    world->room = duration_s * ENTRIES_PER_S;
    world->entries = shared_new(crew_size() * world->room * sizeof *world->entries);
    world->start_us = sl_boottime_us();
    world->end_us = world->start_us + (int64_t)duration_s * 1000000;
}

static void close_world(void)
{
    shared_free(world->entries, crew_size() * world->room * sizeof *world->entries);
    shared_free(world, sizeof *world);
}

static void expect_room(const struct variant *variant, const struct sluice_stats *stats)
{
    bool crowded = stats->evictions + stats->full > 0;
    if (crowded && !variant->crowded)
        complain("%" PRIu64 " evictions and %" PRIu64 " full in a table with room",
                 stats->evictions, stats->full);
    if (!crowded && variant->crowded)
        complain("no eviction: the table was not crowded");
    if ((stats->full > 0) != (world->refused_full > 0))
        complain("%" PRIu64 " full by the table's count, %" PRIu64 " by ours", stats->full,
                 (uint64_t)world->refused_full);
}

static void run_variant(const struct variant *variant)
{
    char name[128];
    snprintf(name, sizeof name, "ledger %s", variant->name);
    if (!claim_wanted(name))
        return;
    struct table table;
    table_open(&table, variant->size_bytes, variant->log_bytes, true);
    open_world(variant);
    struct entry *entries = NULL;
    size_t count = 0;
    struct verdict verdict = { .over = 0 };
    const char *broken = crew_run(&table, work, NULL);
    struct sluice_stats stats = table_stats(table.store);
    if (!broken) {
        expect_room(variant, &stats);
        count = gather(&entries);
        ledger_judge(variant, entries, count, &verdict);
        if (verdict.over > stats.evictions * verdict.limit_most)
            complain("%" PRIu64 " above the bound, %" PRIu64 " evictions; first: %s", verdict.over,
                     stats.evictions, verdict.text);
        broken = complaint();
    }
    tell_claim(name, broken,
               "%" PRIu64 " asked, %zu admitted, %" PRIu64 " too slow to judge, %" PRIu64
               " insertions, %" PRIu64 " evictions, %" PRIu64 " full",
               (uint64_t)world->asked, count, verdict.slow, stats.insertions, stats.evictions,
               stats.full);
    if (broken)
        ledger_print(&verdict);
    free(entries);
    close_world();
    table_close(&table);
}

void stress_ledger(void)
{
    for (size_t i = 0; ledger_variants[i].name; i++)
        run_variant(&ledger_variants[i]);
}
