/* The scripts that Redis runs, composed out of src/algo/X.lua and src/store/redis/lua/X.lua.
 *
 * Redis compiles a script once, but makes its functions and tables anew at every call, and that is
 * half of what a call costs. So there are no functions: an algorithm's Lua twin is a file of
 * sections (`---- read ----`), plain Lua on the frame's variables, which replace marks in the frame
 * (`--@read`). There is a script for every set of algorithms that a request meets, and one for each
 * algorithm alone, without a loop. */
#ifndef SL_STORE_REDIS_LUA_SCRIPTS_H
#define SL_STORE_REDIS_LUA_SCRIPTS_H

#include <stdatomic.h>

#include "algo/algo.h"
#include "base/text.h"

enum sl_script_kind {
    SL_SCRIPT_ONE,      /* decides one claim without a guard */
    SL_SCRIPT_ALL,      /* decides any number of claims */
    SL_SCRIPT_RESERVE,  /* decides any number, and holds what it charged */
    SL_SCRIPT_KEEP,     /* makes a reservation of what was charged in other slots */
    SL_SCRIPT_CHANGE,   /* refunds, and charges afterwards */
    SL_SCRIPT_TAKE,     /* ends a reservation */
    SL_SCRIPT_DUE,      /* lists reservations that have expired */
    SL_SCRIPT_FORGET,   /* resets one claim */
    SL_SCRIPT_LEASE,    /* settles and takes a lease of one claim */
    SL_SCRIPT_COUNT,    /* counts denied requests for a guard */
    SL_SCRIPT_LOG_LOOK, /* the log of rows that all instances share: docs/replication.md */
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

/* Scripts, composed on first use by any thread. */
struct sl_scripts {
    _Atomic(struct sl_script *) made[SL_SCRIPT_KINDS][SL_SCRIPT_SETS];
};

/* Returns the algorithm's bit in a set. */
uint32_t sl_script_bit(const struct sl_algo *algo);

/* Returns the script of this kind for a set of algorithms; NULL if memory is missing. */
const struct sl_script *sl_script_get(struct sl_scripts *scripts, enum sl_script_kind kind,
                                      uint32_t set);
void sl_scripts_release(struct sl_scripts *scripts);

#endif
