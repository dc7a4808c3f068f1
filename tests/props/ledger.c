/* The bounds of the algorithms, held against every admission so far, for a clock
 * that does not go back. Where the limit changes under the key it is the bound
 * of the most generous: largest capacity, fastest rate. (Buckets are left out
 * where the capacity itself changes: a smaller one cuts the debt, as
 * docs/algorithms.md says.) */
#include "props/scenario.h"

static uint64_t largest_capacity(const struct scenario *scenario)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < scenario->limit_count; i++)
        if (scenario->limits[i].in.capacity > largest)
            largest = scenario->limits[i].in.capacity;
    return largest;
}

static bool one_capacity(const struct scenario *scenario)
{
    for (size_t i = 1; i < scenario->limit_count; i++)
        if (scenario->limits[i].in.capacity != scenario->limits[0].in.capacity)
            return false;
    return true;
}

/* Tokens per 10^15 seconds: every decimal of a scenario has at most 9 places. */
static sl_u128 fastest_rate(const struct scenario *scenario)
{
    sl_u128 fastest = 0;
    for (size_t i = 0; i < scenario->limit_count; i++) {
        struct sl_decimal rate = scenario->limits[i].in.rate;
        sl_u128 scaled = (sl_u128)rate.digits * sl_power_of_ten(15 - rate.places);
        fastest = scaled > fastest ? scaled : fastest;
    }
    return fastest;
}

/* Units admitted from entry `first` to the newest. */
static uint64_t units_since(const struct world *world, size_t first)
{
    uint64_t units = 0;
    for (size_t i = first; i < world->ledger_count; i++)
        units += world->ledger[i].cost;
    return units;
}

static const char *check_interval(const struct scenario *scenario, int64_t elapsed_us,
                                  uint64_t units, bool same_window)
{
    const struct sl_limit *limit = &scenario->limits[0].limit;
    uint64_t capacity = largest_capacity(scenario);
    bool in_window = elapsed_us < limit->window_us;
    if (scenario->algo == &sl_sliding_window_log)
        return in_window && units > capacity ? "P4: more than the limit in a window" : NULL;
    if (!scenario->algo->is_bucket) {
        if (same_window && !limit->first_request && units > capacity)
            return "P4: more than the limit in an aligned window";
        return in_window && units > 2 * capacity ? "P4: more than twice the limit in a window"
                                                 : NULL;
    }
    /* P6 too: capacity + elapsed · rate, the rate as written, not as rounded. */
    if (units <= capacity || !one_capacity(scenario))
        return NULL;
    sl_u128 refilled = (sl_u128)(uint64_t)elapsed_us * fastest_rate(scenario);
    sl_u128 unit = (sl_u128)1000000 * sl_power_of_ten(15);
    return (units - capacity) * unit > refilled ? "P4: more than capacity and refill" : NULL;
}

const char *ledger_check(const struct world *world, const struct scenario *scenario)
{
    if (world->ledger_count == 0)
        return NULL;
    int64_t window_us = scenario->limits[0].limit.window_us;
    int64_t newest_us = world->ledger[world->ledger_count - 1].at_us;
    for (size_t i = 0; i < world->ledger_count; i++) {
        int64_t at_us = world->ledger[i].at_us;
        bool same = window_us && at_us / window_us == newest_us / window_us;
        const char *broken =
            check_interval(scenario, newest_us - at_us, units_since(world, i), same);
        if (broken)
            return broken;
    }
    return NULL;
}
