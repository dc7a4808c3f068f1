/* One key, the limits it is asked under, and what has happened to it. */
#ifndef PROPS_SCENARIO_H
#define PROPS_SCENARIO_H

#include "base/check.h"
#include "rules/numbers.h"
#include "store/store.h"

enum { OPS_MAX = 48, LIMITS_MAX = 3 };

/* A limit with the numbers it was composed from. */
struct scenario_limit {
    struct sl_numbers_in in;
    struct sl_numbers numbers;
    struct sl_limit limit;
};

struct op {
    int64_t at_us;
    uint32_t cost;
    bool peek;
    uint8_t limit;
};

struct scenario {
    const struct sl_algo *algo;
    struct scenario_limit limits[LIMITS_MAX]; /* more than one: it changes under a live key */
    size_t limit_count;
    bool steady_clock; /* never goes back */
    int64_t start_us;
    struct op ops[OPS_MAX];
    size_t op_count;
};

struct admitted {
    int64_t at_us;
    uint32_t cost;
};

struct world {
    struct sl_store *store;
    struct sl_hash128 key;
    int64_t now_us;
    int64_t retry_us; /* of the last answer, 0 if none */
    int64_t reset_us;
    bool written;        /* there is a state, */
    uint32_t token_form; /* and this is the token time it was written under */
    struct admitted ledger[OPS_MAX];
    size_t ledger_count;
};

uint64_t random_u64(void);
uint64_t random_below(uint64_t n);

void scenario_init(struct scenario *scenario, const struct sl_algo *algo, bool first_request);

/* As a rules file, limits being tiers, and a trace. */
void scenario_print(const struct scenario *scenario);

/* W; 2W for the counter; C·T for buckets. At least 1. */
int64_t limit_span_us(const struct sl_algo *algo, const struct sl_limit *limit);

/* A Redis that this program starts, and stops when it ends; NULL: it said why. */
struct sl_store *open_redis(void);

void world_init(struct world *world, const struct scenario *scenario, struct sl_store *store);

/* Plays one op and checks every property there is to check. NULL: all hold. */
const char *world_step(struct world *world, const struct scenario *scenario, struct op op);

/* P4 and P6 for what the ledger holds. */
const char *ledger_check(const struct world *world, const struct scenario *scenario);

#endif
