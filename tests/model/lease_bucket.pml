/* Leases of a token bucket (docs/leases.md, L1 to L9), for spin.
 *
 * A tick pays one token and ends a term: what was taken in a term lapses at the second
 * tick after it. Redis knows a debt and what is out by term; `truth` is the debt of a
 * bucket that is charged with every admission at its very instant. That truth is never
 * above the limit is the bound over every interval: at most LIMIT and one for each tick.
 *
 * A call may go by a lower limit than is in force: it was made under the rules before. */
#ifndef LIMIT
#define LIMIT 3
#endif
#define TERM 2 /* ticks */

/* ---- for test_model.py: what may be broken, one thing at a time ------------------- */

#define FROM_REPLY      1
#define SPENDS_RETURNED 2
#define KEEPS_UNKNOWN   3
#define ASKED_AGAIN     4
#define DRAINS          5
#define LAPSES_UNSPENT  6
#define SETTLES_LATE    7
#define KEPT_STAYS      8
#define OUT_IGNORED     9
#define RESET_FORGETS   10
#define CUTS            11

#include "lease_holder.pml"

byte debt;
byte out[2]; /* what lapses at the tick after the next one; at the next tick */
byte truth;

#define counted (debt + out[0] + out[1])

inline admit() { truth++; assert(truth <= LIMIT) }

/* L6: all of a lease or nothing, and only while its term is known. */
inline settle(k) {
    units = me.says_spent + me.says_kept + me.says_back;
    if
    :: broken(DRAINS) -> me.known = 1
    :: !broken(DRAINS) && me.says_age < GONE && out[me.says_age % GONE] >= units ->
        if :: me.says_back > 0 -> EVENT(GIVEN_BACK) skip :: else fi;
        if :: broken(KEPT_STAYS) -> units = units - me.says_kept :: else fi;
        out[me.says_age] = out[me.says_age] - units;
        if :: broken(KEPT_STAYS) :: else -> out[0] = out[0] + me.says_kept fi;
        debt = debt + me.says_spent;
        me.known = 1
    :: !broken(DRAINS) && me.says_age == GONE && broken(SETTLES_LATE) && out[1] >= units ->
        out[1] = out[1] - units;
        me.known = 1
    :: else
    fi
}

/* L1: what others owe is not for it to cut. */
inline run_call(k, want, limit) {
    if :: broken(CUTS) && debt > limit -> debt = limit :: else fi;
    settle(k);
    units = (counted < limit -> limit - counted : 0);
    if :: units > want -> units = want :: else fi;
    if
    :: broken(DRAINS) -> debt = debt + units
    :: else -> out[0] = out[0] + units
    fi;
    answer(k, units, TERM)
}

proctype Instance(byte k) {
    do
    :: d_step { may_spend(k) -> take_one(k); admit(); tidy() }
    :: d_step { who[k].call == NONE -> ask(k, me.left, 0); tidy() }
    :: d_step { who[k].call == NONE && who[k].left > 0 -> ask(k, 0, me.left); tidy() }
    :: d_step { who[k].call == ASKED -> run_call(k, 0, LIMIT); tidy() }
    :: d_step { who[k].call == ASKED -> run_call(k, 1, LIMIT); tidy() }
    :: d_step { who[k].call == ASKED -> run_call(k, LIMIT, LIMIT); tidy() }
    :: d_step { who[k].call == ASKED -> run_call(k, LIMIT, LIMIT - 1); tidy() }
    :: d_step { who[k].call == ASKED -> lose(k); tidy() }
    :: d_step { who[k].call == ASKED && !who[k].nobody -> unsend(k); tidy() }
    :: d_step { who[k].call == ANSWERED -> hear(k); tidy() }
    :: d_step { !who[k].nobody -> crash(k); tidy() }
    od
}

proctype Others() {
    do
    :: d_step { (broken(OUT_IGNORED) -> debt : counted) < LIMIT ->
        printf("others: one, directly\n"); EVENT(DIRECT) debt++; admit(); tidy() }
    :: d_step { debt > 0 ->
        printf("others: reset\n"); EVENT(RESET)
        debt = 0; truth = 0;
        if :: broken(RESET_FORGETS) -> out[0] = 0; out[1] = 0 :: else fi;
        tidy() }
    od
}

/* L8: what lapses counts as spent at that instant, and is paid for from then on. */
proctype Clock() {
    do
    :: d_step { true ->
        printf("clock: ticks\n");
        debt = (debt > 0 -> debt - 1 : 0);
        truth = (truth > 0 -> truth - 1 : 0);
        if :: out[1] > 0 -> EVENT(LAPSED) skip :: else fi;
        if :: broken(LAPSES_UNSPENT) :: else -> debt = debt + out[1] fi;
        out[1] = out[0];
        out[0] = 0;
        i = 0;
        do
        :: i < PROCS -> age_holder(true); i++
        :: else -> break
        od;
        tidy() }
    od
}

init {
    atomic {
        byte k;
        do
        :: k < PROCS -> run Instance(k); k++
        :: else -> break
        od;
        run Others();
        run Clock();
        k = 0
    }
}
