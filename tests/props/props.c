/* The six properties of a decision, over random traces, for every algorithm of
 * the list, through the store seam: whatever store is behind it.
 *
 *   P1 exact retry     denied with a wait of d: denied at now + d − 1, allowed at now + d
 *   P2 exact reset     remaining is the limit at reset_at, and not 1 µs before
 *   P3 denial is free  neither a denial nor a peek changes what is left
 *   P4 safety          the algorithm's bound, against a ledger of what was admitted
 *   P5 clock           a step back hands out no more and locks no key out for long
 *   P6 rounding        favours the limit: the ledger is held against the exact rate
 *
 * A scenario is one key and a row of requests on it. Times are drawn from where
 * it hurts: the instants that the last answer named, window edges ± 1 µs, no
 * time at all, and (in half of the scenarios) backwards and far ahead. A
 * failing scenario is shrunk and printed as a rules file and a trace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "props/scenario.h"

static uint64_t random_state;

uint64_t random_u64(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_below(uint64_t n)
{
    return n ? random_u64() % n : 0;
}

/* A time that is likely to matter: `world` knows what the last answer said. */
static int64_t next_time(const struct scenario *scenario, const struct world *world)
{
    const struct sl_limit *limit = &scenario->limits[0].limit;
    int64_t span_us = limit_span_us(scenario->algo, limit);
    int64_t now = world->now_us;
    int64_t edge = limit->window_us ? now - now % limit->window_us + limit->window_us : now;
    switch (random_below(scenario->steady_clock ? 9 : 13)) {
    case 0:
    case 1:
        return now;
    case 2:
        return now + 1;
    case 3:
        return now + world->retry_us - 1;
    case 4:
        return now + world->retry_us;
    case 5:
        return world->reset_us - (int64_t)random_below(2);
    case 6:
        return edge - 1 + (int64_t)random_below(3);
    case 7:
        return now + (int64_t)random_below((uint64_t)span_us / 8 + 2);
    case 8:
        return now + (int64_t)random_below((uint64_t)span_us * 2 + 2);
    case 9:
        return now - (int64_t)random_below((uint64_t)span_us + 2);
    case 10:
        return now - 1;
    case 11:
        return now - (int64_t)random_below((uint64_t)span_us * 4 + 2);
    default:
        return now + (int64_t)random_below((uint64_t)span_us * 20 + 2);
    }
}

static uint32_t next_cost(const struct sl_limit *limit)
{
    uint64_t capacity = (uint64_t)limit->capacity;
    uint64_t cost;
    switch (random_below(8)) {
    case 0:
        cost = 0;
        break;
    case 1:
        cost = capacity;
        break;
    case 2:
        cost = capacity + 1;
        break;
    case 3:
        cost = random_below(capacity + 2);
        break;
    default:
        cost = 1;
    }
    return cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
}

static struct op next_op(const struct scenario *scenario, const struct world *world)
{
    struct op op = { .limit = (uint8_t)random_below(scenario->limit_count) };
    op.at_us = next_time(scenario, world);
    if (op.at_us < 0 || (scenario->steady_clock && op.at_us < world->now_us))
        op.at_us = world->now_us;
    if (op.at_us > SL_TIME_MAX_US)
        op.at_us = SL_TIME_MAX_US;
    op.cost = next_cost(&scenario->limits[op.limit].limit);
    op.peek = random_below(8) == 0;
    return op;
}

/* Plays the ops from a fresh key; the broken property, or NULL. */
static const char *replay(const struct scenario *scenario, struct sl_store *store)
{
    struct world world;
    world_init(&world, scenario, store);
    const char *broken = NULL;
    for (size_t i = 0; i < scenario->op_count && !broken; i++)
        broken = world_step(&world, scenario, scenario->ops[i]);
    return broken;
}

/* Drops ops while the scenario still breaks something. */
static void shrink(struct scenario *scenario, struct sl_store *store)
{
    for (size_t chunk = scenario->op_count / 2; chunk >= 1; chunk /= 2) {
        for (size_t at = 0; at + chunk <= scenario->op_count;) {
            struct scenario shorter = *scenario;
            memmove(shorter.ops + at, shorter.ops + at + chunk,
                    (shorter.op_count - at - chunk) * sizeof *shorter.ops);
            shorter.op_count -= chunk;
            if (replay(&shorter, store))
                *scenario = shorter;
            else
                at += chunk;
        }
    }
}

static bool try_scenario(struct scenario *scenario, struct sl_store *store, uint64_t *decisions)
{
    struct world world;
    world_init(&world, scenario, store);
    scenario->op_count = 0;
    world.now_us = scenario->start_us;
    while (scenario->op_count < OPS_MAX) {
        struct op op = next_op(scenario, &world);
        scenario->ops[scenario->op_count++] = op;
        const char *broken = world_step(&world, scenario, op);
        ++*decisions;
        if (!broken)
            continue;
        shrink(scenario, store);
        broken = replay(scenario, store);
        printf("FAILED %s: %s\n", scenario->algo->name, broken ? broken : "(not repeatable)");
        scenario_print(scenario);
        return false;
    }
    return true;
}

/* ---- the stores -------------------------------------------------------------- */

/* With room enough: what is evicted breaks P4. */
static struct sl_store *open_table(void)
{
    struct sl_memory_config config = { .size_bytes = UINT64_C(8) << 20,
                                       .log_bytes = UINT64_C(4) << 20,
                                       .sync_us = SL_SYNC_OFF };
    struct sluice_error error;
    struct sl_store *store = sl_memory_open(&config, &error);
    if (!store)
        fprintf(stderr, "%s\n", error.text);
    return store;
}

static const struct kind {
    const char *name;
    struct sl_store *(*open)(void);
} kinds[] = { { "heap", sl_heap_open }, { "table", open_table }, { "redis", open_redis } };

static const struct kind *kind = kinds;

static bool choose_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        kind = &kinds[i];
        return true;
    }
    fprintf(stderr, "--store heap, table or redis, not `%s`\n", name);
    return false;
}

/* `decisions` random decisions on one algorithm. */
static bool test_algo(const struct sl_algo *algo, bool first_request, uint64_t decisions)
{
    uint64_t done = 0, scenarios = 0;
    struct sl_store *store = kind->open();
    bool good = store != NULL;
    while (good && done < decisions) {
        struct scenario scenario;
        scenario_init(&scenario, algo, first_request);
        good = try_scenario(&scenario, store, &done);
        if (++scenarios % 1000 == 0) { /* keeps the store small */
            sl_store_close(store);
            store = kind->open();
            good &= store != NULL;
        }
    }
    sl_store_close(store);
    printf("%s %s%s: %" PRIu64 " decisions in %" PRIu64 " scenarios\n", good ? "ok" : "not ok",
           algo->name, first_request ? " first_request" : "", done, scenarios);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t decisions = 1000000;
    uint64_t seed = sl_random64();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--decisions") == 0)
            decisions = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--store") == 0 && !choose_kind(argv[i + 1]))
            return 2;
    }
    printf("props: seed %" PRIu64 ", %" PRIu64 " decisions an algorithm on the %s\n", seed,
           decisions, kind->name);
    int passed = 0, failed = 0;
    for (size_t i = 0; sl_algos[i]; i++) {
        for (int first = 0; first <= sl_algos[i]->takes_align; first++) {
            random_state = seed + 2 * i + (uint64_t)first;
            test_algo(sl_algos[i], first, decisions) ? passed++ : failed++;
            fflush(stdout);
        }
    }
    printf("props: %d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
