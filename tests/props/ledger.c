/* The bounds of algorithms.md, held against every admission so far. Only for
 * scenarios with one limit and a clock that does not go back. */
#include "props/scenario.h"

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
    uint64_t capacity = (uint64_t)limit->capacity;
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
    if (units <= capacity)
        return NULL;
    struct sl_decimal rate = scenario->limits[0].in.rate;
    sl_u128 refilled = (sl_u128)(uint64_t)elapsed_us * rate.digits;
    sl_u128 unit = (sl_u128)1000000 * sl_power_of_ten(rate.places);
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
