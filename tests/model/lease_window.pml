/* Leases of windows (docs/leases.md, L1 to L9), for spin: the counter, and with FIXED the
 * fixed window, which forgets the window before.
 *
 * A window is two ticks. Redis counts what it charged and what it leased alike; `truth`
 * counts every admission at its very instant. Of the counter not only the bound is
 * asserted, but that each admission is one that the algorithm itself, knowing the truth,
 * would have allowed at that instant. With BACK the clock may also step back, before the
 * window that is counted: then the bound alone. */
#ifndef LIMIT
#define LIMIT 2
#endif

/* ---- for test_model.py: what may be broken, one thing at a time ------------------- */

#define FROM_REPLY      1
#define SPENDS_RETURNED 2
#define KEEPS_UNKNOWN   3
#define ASKED_AGAIN     4
#define OUTLIVES_WINDOW 5
#define RETURNS_LATE    6
#define KEPT_GIVEN_BACK 7
#define NOT_COUNTED     8
#define RESET_FORGETS   9

#ifdef FIXED
#define GONE 1
#endif
#include "lease_holder.pml"

#define HALVES 2
#define BEFORE 0 /* the clock stepped back: as of the window's start */

byte half = 1;  /* of the window: BEFORE, 1, HALVES */
byte count;     /* of this window, and of the one before */
byte previous;
byte out;       /* leased of these, neither settled nor over */
byte out_before;
byte truth;
byte truth_before;

#ifdef FIXED
#define weight(p) 0
#else
#define weight(p) (half == HALVES -> (p) / 2 : (p))
#endif

inline admit() {
    truth++;
#ifdef BACK
    assert(truth <= LIMIT)
#else
    assert(truth + weight(truth_before) <= LIMIT)
#endif
}

#define says_all (me.says_spent + me.says_kept + me.says_back)

/* L6. What was kept in a window that is over may have been spent before its end: it is not
 * given back. */
inline settle(k) {
    units = says_all;
    if
    :: me.says_age == 0 && (out >= units || broken(NOT_COUNTED)) ->
        if :: me.says_back > 0 -> EVENT(GIVEN_BACK) skip :: else fi;
        out = (out > units -> out - units : 0) + me.says_kept;
        count = (count > me.says_back -> count - me.says_back : 0);
        me.known = 1
    :: me.says_age == 1 && out_before >= units ->
        if :: me.says_back > 0 -> EVENT(GIVEN_BACK_LATE) skip :: else fi;
        out_before = out_before - units;
        units = me.says_back + (broken(KEPT_GIVEN_BACK) -> me.says_kept : 0);
        if
        :: broken(RETURNS_LATE) -> count = (count > units -> count - units : 0)
        :: else -> previous = (previous > units -> previous - units : 0)
        fi
    :: else
    fi
}

#define counted (count + weight(previous))

inline run_call(k, want) {
    settle(k);
    units = (counted < LIMIT -> LIMIT - counted : 0);
    if :: units > want -> units = want :: else fi;
    if :: broken(NOT_COUNTED) :: else -> count = count + units fi;
    out = out + units;
    if
    :: broken(OUTLIVES_WINDOW) -> answer(k, units, HALVES + 1)
    :: else -> answer(k, units, HALVES + 1 - half)
    fi
}

proctype Instance(byte k) {
    do
    :: d_step { may_spend(k) ->
        assert(who[k].age == 0); /* L3: only in the window that debited it */
        take_one(k); admit(); tidy() }
    :: d_step { who[k].call == NONE -> ask(k, me.left, 0); tidy() }
    :: d_step { who[k].call == NONE && who[k].left > 0 -> ask(k, 0, me.left); tidy() }
    :: d_step { who[k].call == ASKED -> run_call(k, 0); tidy() }
    :: d_step { who[k].call == ASKED -> run_call(k, 1); tidy() }
    :: d_step { who[k].call == ASKED -> run_call(k, LIMIT); tidy() }
    :: d_step { who[k].call == ASKED -> lose(k); tidy() }
    :: d_step { who[k].call == ASKED && !who[k].nobody -> unsend(k); tidy() }
    :: d_step { who[k].call == ANSWERED -> hear(k); tidy() }
    :: d_step { !who[k].nobody -> crash(k); tidy() }
    od
}

proctype Others() {
    do
    :: d_step { counted < LIMIT ->
        printf("others: one, directly\n"); EVENT(DIRECT) count++; admit(); tidy() }
    :: d_step { count + previous > 0 ->
        printf("others: reset\n"); EVENT(RESET)
        count = (broken(RESET_FORGETS) -> 0 : out);
        previous = 0; out_before = 0; truth = 0; truth_before = 0;
        tidy() }
    od
}

inline next_window() {
    printf("clock: the next window\n");
    half = 1;
    previous = count; count = 0;
    out_before = out; out = 0;
    truth_before = truth; truth = 0;
#ifdef FIXED
    previous = 0; out_before = 0; truth_before = 0;
#endif
    skip
}

proctype Clock() {
    do
    :: d_step { true ->
        units = half;
        if :: half == HALVES -> next_window() :: else -> half++ fi;
        i = 0;
        do
        :: i < PROCS -> age_holder(units == HALVES); i++
        :: else -> break
        od;
        tidy() }
#ifdef BACK
    :: d_step { half > BEFORE ->
        printf("clock: steps back\n"); EVENT(STEPPED_BACK) half--; tidy() }
#endif
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
