#include "props/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct sl_decimal one = { 1, 0 };

static int64_t random_window_us(void)
{
    static const int64_t windows_us[] = {
        1000,     1001,     7919,       999999,      1000000,         1500000,
        59999999, 60000000, 3600000000, 86400000000, SL_WINDOW_MAX_US
    };
    size_t count = sizeof windows_us / sizeof *windows_us;
    if (random_below(4))
        return windows_us[random_below(count)];
    return SL_WINDOW_MIN_US + (int64_t)random_below(UINT64_C(1000000) << random_below(20));
}

static uint64_t random_capacity(const struct sl_algo *algo, int64_t window_us)
{
    static const uint64_t capacities[] = { 1, 2, 3, 4, 5, 7, 10, 32, 100, 1000 };
    uint64_t most = algo->is_bucket ? 1000000000 : (uint64_t)algo->capacity_max(window_us);
    if (algo->keeps_ring)
        most = 64; /* rings of millions would only make this slow */
    uint64_t capacity = capacities[random_below(sizeof capacities / sizeof *capacities)];
    if (random_below(8) == 0)
        capacity = most;
    if (random_below(8) == 0)
        capacity = 1 + random_below(most);
    return capacity < most ? capacity : most;
}

static struct sl_decimal random_rate(void)
{
    static const struct sl_decimal rates[] = { { 1, 0 },  { 10, 0 },         { 83, 3 },
                                               { 33, 3 }, { 100, 0 },        { 3, 0 },
                                               { 7, 0 },  { 1000000, 0 },    { 999999999, 9 },
                                               { 15, 1 }, { 1000000000, 0 }, { 1, 6 } };
    if (random_below(2))
        return rates[random_below(sizeof rates / sizeof *rates)];
    return (struct sl_decimal){ 1 + random_below(1000000), (uint32_t)random_below(6) };
}

/* Composed as the rules file would; draws again what it would refuse. A
 * capacity of 0 is drawn too. */
static void random_limit(struct scenario_limit *out, const struct sl_algo *algo, int64_t window_us,
                         bool first_request, uint64_t capacity)
{
    do {
        out->in = (struct sl_numbers_in){
            .algo = algo,
            .capacity = capacity ? capacity : random_capacity(algo, window_us),
            .capacity_scale = one,
            .rate_scale = one,
            .burst = one,
            .window_us = window_us,
            .has_rate = algo->is_bucket,
            .rate = random_rate(),
            .first_request = first_request,
        };
    } while (sl_numbers_compose(&out->in, &out->numbers));
    out->limit = out->numbers.limit;
}

void scenario_init(struct scenario *scenario, const struct sl_algo *algo, bool first_request)
{
    int64_t window_us = random_window_us();
    *scenario = (struct scenario){ .algo = algo, .steady_clock = random_below(2) };
    scenario->limit_count = random_below(3) ? 1 : LIMITS_MAX;
    bool same_capacity = random_below(2);
    for (size_t i = 0; i < scenario->limit_count; i++)
        random_limit(&scenario->limits[i], algo, window_us, first_request,
                     same_capacity && i ? scenario->limits[0].in.capacity : 0);
    scenario->start_us = random_below(4) ? INT64_C(1700000000000000) : 0;
    if (random_below(4) == 0)
        scenario->start_us -= scenario->start_us % window_us;
}

static void print_decimal(struct sl_decimal decimal)
{
    uint64_t unit = sl_power_of_ten(decimal.places);
    printf("%" PRIu64, decimal.digits / unit);
    if (decimal.places)
        printf(".%0*" PRIu64, (int)decimal.places, decimal.digits % unit);
}

static void print_numbers(const struct scenario_limit *limit)
{
    printf("capacity: %" PRIu64, limit->in.capacity);
    if (limit->in.has_rate) {
        printf(", refill_rate: ");
        print_decimal(limit->in.rate);
    }
}

void scenario_print(const struct scenario *scenario)
{
    const struct scenario_limit *first = &scenario->limits[0];
    printf("--- rules\ntiers: { t0: { scale: 1 }, t1: { scale: 1 }, t2: { scale: 1 } }\n"
           "rules:\n  - { name: r, per: user, algorithm: %s, ",
           scenario->algo->name);
    print_numbers(first);
    if (!first->in.has_rate)
        printf(", window: %" PRId64 ".%06" PRId64, first->in.window_us / 1000000,
               first->in.window_us % 1000000);
    if (first->in.first_request)
        printf(", align: first_request");
    printf(",\n      tiers: {");
    for (size_t i = 0; i < scenario->limit_count; i++) {
        printf("%s t%zu: { ", i ? "," : "", i);
        print_numbers(&scenario->limits[i]);
        printf(" }");
    }
    printf(" } }\n--- trace\n");
    for (size_t i = 0; i < scenario->op_count; i++) {
        const struct op *op = &scenario->ops[i];
        printf("{\"at_us\": %" PRId64 ", \"user\": \"u\", \"tier\": \"t%d\", \"cost\": %" PRIu32
               "%s}\n",
               op->at_us, op->limit, op->cost, op->peek ? ", \"peek\": true" : "");
    }
}

int64_t limit_span_us(const struct sl_algo *algo, const struct sl_limit *limit)
{
    int64_t span_us = limit->window_us;
    if (algo->is_bucket)
        span_us = limit->capacity * limit->token_ns / 1000;
    if (algo == &sl_sliding_window_counter)
        span_us *= 2;
    return span_us ? span_us : 1;
}
