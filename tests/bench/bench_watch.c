/* The cost of an observer: the same decisions by a limiter with an observer and by one
 * without, in turn, on the same table: two tables would lie differently in memory, which makes
 * a larger difference than the one to be measured.
 *
 *   bench-watch              every shape, a JSON object a line: ns off and on, and their ratio
 *   bench-watch on|off SHAPE ROUNDS     only that, to count instructions by
 *
 * A round is as long as the samples of a busy server live, a quarter of a second; at its end they
 * are handed over and summed up, which the main thread does in a server: that is part of the
 * figure. Counts are on both sides: they always are. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "limiter/limiter.h"
#include "telemetry/rule_stats.h"

enum { ROUNDS = 15, ROUND_NS = 250000000, KEYS = 100000, BATCH = 16, NAME_BYTES = 16 };

static const char yaml[] = "rules:\n"
                           "  - { name: api, resource: /api/*, per: user, algorithm: token_bucket, "
                           "capacity: 1000000000, refill_rate: 1000000 }\n"
                           "  - { name: login, resource: /login, per: user, limit: 1/1h }\n"
                           "  - { name: shadowed, resource: /shadowed, per: ip, limit: 5/1m, "
                           "shadow: true }\n";

static const struct shape {
    const char *name, *text, *resource;
    uint32_t keys, batch;
} shapes[] = {
    { "hot", "one key, allowed", "/api/things", 1, 1 },
    { "hot-batch", "one key, allowed, batches of 16", "/api/things", 1, BATCH },
    { "denied", "one key, denied", "/login", 1, 1 },
    { "denied-batch", "one key, denied, batches of 16", "/login", 1, BATCH },
    { "many", "100,000 keys, allowed", "/api/things", KEYS, 1 },
    { "many-batch", "100,000 keys, allowed, batches of 16", "/api/things", KEYS, BATCH },
    { "flood", "100,000 keys, denied", "/login", KEYS, 1 },
    { "flood-batch", "100,000 keys, denied, batches of 16", "/login", KEYS, BATCH },
};

static char names[KEYS][NAME_BYTES];

struct side {
    struct sl_limiter *limiter;
    struct sl_rule_stats *record; /* NULL: without an observer */
    uint32_t at;
};

static void give_up(const char *why)
{
    fprintf(stderr, "bench-watch: %s\n", why);
    exit(2);
}

static struct sl_store *open_store(void)
{
    struct sluice_error error = { 0 };
    struct sl_store *store =
        sl_memory_open(&(struct sl_memory_config){ .sync_us = SL_SYNC_OFF }, &error);
    if (!store)
        give_up(error.text);
    return store;
}

static struct side open_side(struct sl_store *store, const struct sl_ruleset *rules, bool watches)
{
    struct side side = { .limiter = sl_limiter_new(rules, store) };
    if (!side.limiter)
        give_up("no memory");
    if (!watches)
        return side;
    side.record = calloc(1, sizeof *side.record);
    uint32_t *numbers = NULL;
    if (side.record && sl_rule_stats_init(side.record, 1))
        numbers = sl_rule_stats_enrol(side.record, rules);
    if (!numbers || !sl_limiter_set_observer(side.limiter, side.record->observers[0], numbers))
        give_up("no memory");
    return side;
}

static void decide(struct side *side, const struct shape *shape, uint64_t count)
{
    struct sluice_request requests[BATCH];
    struct sluice_decision decisions[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        requests[i] = sluice_request();
        requests[i].resource = sl_text(shape->resource);
    }
    for (uint64_t done = 0; done < count; done += shape->batch) {
        for (size_t i = 0; i < shape->batch; i++) {
            requests[i].user = (struct sluice_text){ names[side->at], NAME_BYTES - 1 };
            side->at = (side->at + 7919) % shape->keys;
        }
        if (shape->batch == 1)
            sl_limiter_decide(side->limiter, requests, decisions);
        else
            sl_limiter_decide_batch(side->limiter, requests, shape->batch, decisions);
    }
    if (side->record) {
        sl_observer_hand_over(side->record->observers[0]);
        sl_rule_stats_absorb(side->record, 0, sl_boottime_us() / 1000000);
    }
}

static double time_round(struct side *side, const struct shape *shape, uint64_t count)
{
    int64_t started_ns = sl_monotonic_ns();
    decide(side, shape, count);
    return (double)(sl_monotonic_ns() - started_ns) / (double)count;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_size);
    return values[ROUNDS / 2];
}

static void compare(const struct sl_ruleset *rules, const struct shape *shape)
{
    struct sl_store *store = open_store();
    struct side off = open_side(store, rules, false), on = open_side(store, rules, true);
    double off_ns[ROUNDS], on_ns[ROUNDS], ratios[ROUNDS];
    uint64_t count = BATCH * 1000;
    while (time_round(&off, shape, count) * (double)count < ROUND_NS / 2.0)
        count *= 2;
    decide(&on, shape, count);
    for (size_t i = 0; i < ROUNDS; i++) {
        bool on_first = i % 2;
        if (on_first)
            on_ns[i] = time_round(&on, shape, count);
        off_ns[i] = time_round(&off, shape, count);
        if (!on_first)
            on_ns[i] = time_round(&on, shape, count);
        ratios[i] = on_ns[i] / off_ns[i];
    }
    printf("{\"shape\": \"%s\", \"text\": \"%s\", \"off_ns\": %.2f, \"on_ns\": %.2f, "
           "\"ratio\": %.4f}\n",
           shape->name, shape->text, median(off_ns), median(on_ns), median(ratios));
    fflush(stdout);
}

static const struct shape *shape_named(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    give_up("no such shape");
    return NULL;
}

int main(int argc, char **argv)
{
    struct sl_report report = { .file = "bench" };
    struct sl_ruleset *rules = sl_ruleset_parse("bench", sl_text(yaml), &report);
    if (!rules)
        give_up("the rules are wrong");
    for (size_t i = 0; i < KEYS; i++)
        snprintf(names[i], NAME_BYTES, "user-%010zu", i);
    if (argc == 4) {
        struct side side = open_side(open_store(), rules, strcmp(argv[1], "on") == 0);
        decide(&side, shape_named(argv[2]), strtoull(argv[3], NULL, 10));
        return 0;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        compare(rules, &shapes[i]);
    return 0;
}
