/* The scripts that Redis runs, put together out of src/algo/X.lua and src/store/redis_X.lua.
 *
 * A script is compiled once, but whatever functions and tables it has are made at every call, and
 * that is half of what a call costs. So there are no functions: a twin is a file of sections
 * (`---- read ----`), plain Lua on variables that the frame has, which are put where the frame
 * says so (`--@read`). There is a script for every set of algorithms that a request meets, and one
 * for each algorithm alone, without a loop. */
#ifndef SL_STORE_REDIS_LUA_SCRIPTS_H
#define SL_STORE_REDIS_LUA_SCRIPTS_H

#include <stdatomic.h>

#include "algo/algo.h"
#include "base/text.h"

enum sl_script_kind {
    SL_SCRIPT_ONE,     /* decides one claim without a guard, */
    SL_SCRIPT_ALL,     /* or any number */
    SL_SCRIPT_RESERVE, /* the same, and holds what was charged */
    SL_SCRIPT_KEEP,    /* what was charged elsewhere is a reservation */
    SL_SCRIPT_CHANGE,
    SL_SCRIPT_TAKE,
    SL_SCRIPT_DUE,
    SL_SCRIPT_FORGET,
    SL_SCRIPT_LEASE,    /* of one claim, whose algorithm leases */
    SL_SCRIPT_COUNT,    /* for a guard */
    SL_SCRIPT_LOG_LOOK, /* rows that all instances share: see docs/replication.md */
    SL_SCRIPT_LOG_PAGE,
    SL_SCRIPT_LOG_WRITE,
    SL_SCRIPT_LOG_FOUND,
    SL_SCRIPT_KINDS
};

enum {
    SL_SCRIPT_GUARD = 1 << SL_ALGO_COUNT, /* besides bit i for sl_algos[i] */
    SL_SCRIPT_SETS = 2 << SL_ALGO_COUNT
};

struct sl_script {
    char sha1_hex[41];
    struct sluice_text text;
};

/* Made when they are first asked for, by any thread. */
struct sl_scripts {
    _Atomic(struct sl_script *) made[SL_SCRIPT_KINDS][SL_SCRIPT_SETS];
};

/* The bit of an algorithm. */
uint32_t sl_script_bit(const struct sl_algo *algo);

/* `set`: what it is to know. NULL: no memory. */
const struct sl_script *sl_script_get(struct sl_scripts *scripts, enum sl_script_kind kind,
                                      uint32_t set);
void sl_scripts_release(struct sl_scripts *scripts);

#endif
