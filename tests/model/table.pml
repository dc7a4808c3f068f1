/* The table's protocol (docs/table.md), for spin: finding, inserting, charging,
 * evicting, moving and resetting one key while others use the same slots.
 *
 *   Operation     a process at work on the key; who[] is what each remembers
 *   Strangers     all other keys: they take whatever is free, at any time
 *   Reset         an operator (with RESETS)
 *   Clock         goes on whenever it likes
 *   Alone         in every state: could one more process, left alone, finish?
 *
 * A d_step is one instruction on shared memory: a read, a swap or a look at the
 * clock. Between two of them anything may happen. Nothing bounds the number of
 * operations: a process that is done starts again with nothing remembered, and
 * so does, from any point, one that was killed; what it left in the table stays.
 *
 * What makes the space small, and loses nothing:
 *
 * - A nonce is one bit per reader. Nonces are unique (T6), so the tentative word
 *   that one has read is still there, or it is gone for ever. `put` notes that
 *   for everybody; he finds out when he swaps.
 * - Time is the number of a fixed window. A hit may be decided at any reading
 *   of the clock, however old: it is picked when it is used, not remembered.
 * - Dead, fresh and a stranger's are one word, OTHER: strangers turn each into
 *   the other at will. A process may find it free or not.
 * - A swap of a whole word decides on that very word: strangers, who only ever
 *   act on one, read and swap in one step.
 * - Processes are alike: they are sorted after every step.
 *
 * test_model.py lists the configurations and the switches that break one thing
 * each. With STORY there is no C in it, for spin's own simulator.
 */
#ifndef PROCS
#define PROCS 2
#endif
#ifndef SLOTS
#define SLOTS 3 /* or 2 */
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef LAST
#define LAST 1 /* the clock's last window */
#endif

/* ---- words ------------------------------------------------------------------- */

#define EMPTY     0
#define OTHER     1
#define TENTATIVE 2
#define LIVE(window, count, limiting) (8 + 8 * (window) + 2 * (count) + (limiting))
#define FROZEN    32 /* added to a live word */
#define OLD       64 /* added to what there was when a reset began */

#define live(word)      ((word) % OLD >= 8 && (word) % OLD < 8 + FROZEN)
#define frozen(word)    ((word) % OLD >= 8 + FROZEN)
#define committed(word) ((word) >= 8)
#define window_of(word) ((((word) - 8) % FROZEN) / 8)
#define count_of(word)  (((word) % 8) / 2)
#define limiting(word)  ((word) % 2)

byte slot[SLOTS];
byte clock;
byte admitted[LAST + 1]; /* the ledger: by window, less what was reset or evicted */
byte reset;              /* 1: at work, 2: done */
byte marker;             /* its tentative slot, plus one */

/* ---- what happened in the search, for test_model.py ---------------------------- */

#ifdef STORY
#define EVENT(name)
#define hidden
#else
#define EVENT(name) c_code { if (!supposing) happened[name] = #name; };
c_decl {
    enum { ADOPTED, FINISHED, OVERTAKEN, LOSER_KILLED, LOSER_GONE, SWAP_LOST, DENIED, FULL,
           KILLED_TENTATIVE, KILLED_FROZEN, TENTATIVE_TAKEN, FRESH_TAKEN, EVICTED, RESET,
           FROZE, FOUND_FROZEN, MOVED, MOVED_GONE, BURIED, BURIED_FRESH, CLEARED, EVENTS };
    static const char *happened[EVENTS];
    extern unsigned char supposing;
    static void __attribute__((destructor)) tell(void)
    {
        for (int event = 0; event < EVENTS; event++)
            if (happened[event])
                printf("happened: %s\n", happened[event]);
    }
};
#endif

/* ---- a process ----------------------------------------------------------------- */

mtype:step = { SCAN, KILL, TAKE, READ, COMMIT, HIT,                       /* charging */
               SWEEP, LOOK, CLEAR, PREPARE, FREEZE, CONFIRM, READ_ON, REPLACE, BURY }; /* moving */

#define OWN  SLOTS /* added to `before`: took it himself */
#define GONE SLOTS /* added to `from`: what was read there is there no more */

typedef Process {
    mtype:step step;
    byte at;         /* the slot to look at next, or the one hit */
    byte word;       /* what was read there, or in `from` */
    byte from;       /* the slot that is to be moved, plus one */
    byte before;     /* a tentative slot that was there before this scan, plus one */
    byte now;        /* a reading of the clock */
    byte seen[SLOTS] /* words of the key in this scan: 1 is still there, 2 is not */
};
Process who[PROCS + 1]; /* the last one is Alone's */

#define me who[k]
#define before_is(place)  (me.before && (me.before - 1) % SLOTS == (place))
#define from_is(place)    (me.from && (me.from - 1) % SLOTS == (place))
#define still_tentative() (me.before && slot[(me.before - 1) % SLOTS] == TENTATIVE)
#define still(word)       (me.from <= SLOTS && slot[me.from - 1] == (word))

hidden byte i, j, place, first, last, steps;
hidden byte answered;  /* an operation of Alone's came to its end */
hidden byte supposing; /* Alone is at work: nothing of it is real */
hidden byte kept[SLOTS], kept_admitted[LAST + 1];

/* After every step. */
inline tidy() {
    i = 0; j = 0; place = 0; first = 0; last = 0; answered = 0;
#ifndef STORY
    c_code {
        struct Process spare;
        for (int a = 1; a < PROCS; a++)
            for (int b = a; b > 0 && memcmp(&now.who[b - 1], &now.who[b], sizeof spare) > 0; b--) {
                spare = now.who[b];
                now.who[b] = now.who[b - 1];
                now.who[b - 1] = spare;
            }
    }
#endif
}

/* After every change of the table. */
inline check() {
    first = SLOTS; last = 0; j = 0; i = 0;
    do
    :: i < SLOTS ->
        if
        :: slot[i] == EMPTY -> first = i
        :: slot[i] == OTHER
        :: else -> assert(first == SLOTS) /* T3: no empty slot before it */
        fi;
        if
        :: live(slot[i]) ->
            last++;
            assert(last == 1); /* T4: one */
            assert(admitted[window_of(slot[i])] <= count_of(slot[i])) /* nothing is forgotten */
        :: frozen(slot[i]) ->
            j++;
            assert(j == 1) /* T12: it is clear which */
        :: else
        fi;
        assert(!(reset == 2 && slot[i] >= OLD)); /* a reset stays done */
        i++
    :: else -> break
    od;
    i = 0;
    do
    :: i <= LAST -> assert(admitted[i] <= LIMIT); i++
    :: else -> break
    od
}

/* Every swap that succeeds. What was there is gone for those who have read it. */
inline put(where, what) {
    place = where;
#ifndef RESET_EMPTIES
    assert(what != EMPTY); /* T2 */
#endif
    j = 0;
    do
    :: j < PROCS && !supposing ->
#ifndef SAME_NONCE
        if :: who[j].seen[place] -> who[j].seen[place] = 2 :: else fi;
        if :: who[j].before && (who[j].before - 1) % SLOTS == place -> who[j].before = 0 :: else fi;
#endif
#ifndef SAME_STATE
        if :: who[j].from == place + 1 && what != slot[place] + FROZEN -> who[j].from = place + 1 + GONE :: else fi;
#endif
        j++
    :: else -> break
    od;
    if :: marker == place + 1 && !supposing -> marker = 0 :: else fi;
    slot[place] = what
}

inline forget_scan(k) {
    i = 0;
    do
    :: i < SLOTS -> me.seen[i] = 0; i++
    :: else -> break
    od;
    me.at = 0
}
inline forget(k) { forget_scan(k); me.word = 0; me.from = 0; me.now = 0 }
inline again(k) { forget(k); me.step = SCAN }
inline end(k) { forget(k); me.before = 0; me.step = SCAN; answered = 1 }

/* ---- finding, inserting, charging ------------------------------------------------ */

/* The first and the last tentative slot that the scan saw. */
inline survey(k) {
    first = SLOTS; last = 0; i = 0;
    do
    :: i < SLOTS ->
        if :: me.seen[i] -> last = i; if :: first == SLOTS -> first = i :: else fi :: else fi;
        i++
    :: else -> break
    od
}

/* Steps 2 and 3 of the insertion, once the window has been read. */
inline conclude(k) {
    survey(k);
#ifdef LOSER_LIVES
    last = first % SLOTS;
#endif
#ifdef HASTY_ADOPTION
    if :: first == last && me.seen[first] == 1 -> me.before = first + 1 :: else fi;
#endif
    if
    :: me.from -> forget_scan(k); me.before = 0; me.step = PREPARE
    :: !me.from && first == SLOTS -> me.at = 0; me.before = 0; me.step = TAKE
    :: !me.from && first < last -> me.at = last; me.step = KILL
#ifdef OWN_ONLY
    :: !me.from && first == last && before_is(first) && me.before > OWN -> forget(k); me.step = READ
#else
    :: !me.from && first == last && before_is(first) -> forget(k); me.step = READ
#endif
    :: else ->
        if
        :: before_is(first)
        :: !before_is(first) && me.seen[first] == 1 -> me.before = first + 1
        :: else -> me.before = 0
        fi;
        again(k)
    fi
}

#ifdef STOPS_AT_DEAD
#define ends_scan(word) ((word) <= OTHER)
#else
#define ends_scan(word) ((word) == EMPTY)
#endif

inline scan(k) {
    printf("%d: reads slot %d: %d\n", k, me.at, slot[me.at]);
    if
    :: live(slot[me.at]) ->
        j = me.at;
        forget(k);
        me.before = 0; me.at = j; me.word = slot[j]; me.step = HIT
    :: else ->
        if
        :: slot[me.at] == TENTATIVE -> me.seen[me.at] = 1
        :: frozen(slot[me.at]) -> me.from = me.at + 1; me.word = slot[me.at] - FROZEN
        :: else
        fi;
        if
        :: ends_scan(slot[me.at]) || me.at == SLOTS - 1 -> conclude(k)
        :: else -> me.at++
        fi
    fi
}

#ifdef ANY_EMPTY
#define reached(place) true
#else
#define reached(place) (((place) < 1 || slot[0] != EMPTY) && ((place) < 2 || slot[1] != EMPTY))
#endif
#define takes(place)    (who[k].step == TAKE && slot[place] <= OTHER && reached(place))
#define prepares(place) (who[k].step == PREPARE && slot[place] <= TENTATIVE && reached(place))

inline take(k, where) {
    printf("%d: slot %d is tentative\n", k, where);
    put(where, TENTATIVE);
    forget(k);
    me.before = where + 1 + OWN;
#ifdef NO_RESCAN
    me.step = READ;
#else
    me.step = SCAN;
#endif
    check()
}

inline kill(k) {
    printf("%d: kills the other tentative slot %d: %d\n", k, me.at, slot[me.at]);
    if
    :: me.seen[me.at] == 1 && slot[me.at] == TENTATIVE ->
        EVENT(LOSER_KILLED)
        put(me.at, OTHER);
        me.seen[me.at] = 0;
        if :: me.from -> confirmed(k) :: else -> conclude(k) fi
#ifdef LOSER_UNCHECKED
    :: else -> me.seen[me.at] = 0; if :: me.from -> confirmed(k) :: else -> conclude(k) fi
#else
    :: else -> EVENT(LOSER_GONE) again(k)
#endif
    fi
}

inline commit(k) {
    printf("%d: makes it live at reading %d\n", k, me.now);
    if
    :: still_tentative() ->
        if :: me.before > OWN -> EVENT(FINISHED) skip :: else -> EVENT(ADOPTED) skip fi;
        admitted[me.now]++;
        put((me.before - 1) % SLOTS, LIVE(me.now, 1, 0));
        end(k);
        check()
    :: else -> EVENT(OVERTAKEN) again(k)
    fi
}

inline swap(k, now) {
    printf("%d: charges slot %d at reading %d: %d was %d\n", k, me.at, now, slot[me.at], me.word);
    if
#ifndef BLIND_STORE
    :: slot[me.at] != me.word -> EVENT(SWAP_LOST) again(k)
#endif
    :: else ->
        if
        :: window_of(me.word) < now -> put(me.at, LIVE(now, 1, 0)); admitted[now]++
        :: window_of(me.word) >= now && count_of(me.word) < LIMIT ->
            put(me.at, me.word + 2);
            admitted[window_of(me.word)]++
#ifdef MOVES /* the flag is checked without them */
        :: else -> EVENT(DENIED) skip
#else
        :: else -> EVENT(DENIED) put(me.at, me.word | 1)
#endif
        fi;
        end(k);
        check()
    fi
}

/* ---- moving ------------------------------------------------------------------------ */

/* A frozen slot beside the live one was left behind by one who moved it and was
 * stopped. It goes first, or else there would be two. Only if the live one is seen
 * *after* it: seen before, it may have been moved there and frozen since. */
inline sweep(k) {
    printf("%d: sweeps slot %d: %d\n", k, me.at, slot[me.at]);
    if
#ifdef NO_LOOK
    :: !from_is(me.at) && frozen(slot[me.at]) -> me.seen[me.at] = 1; me.step = CLEAR
#else
    :: !from_is(me.at) && frozen(slot[me.at]) -> me.seen[me.at] = 1; me.step = LOOK
#endif
    :: (from_is(me.at) || !frozen(slot[me.at])) && (slot[me.at] == EMPTY || me.at == SLOTS - 1) ->
        me.at = 0; me.step = PREPARE
    :: else -> me.at++
    fi
}

inline look(k) {
    printf("%d: is slot %d still live?\n", k, (me.from - 1) % SLOTS);
    if
    :: still(me.word) -> me.step = CLEAR
    :: else -> again(k)
    fi
}

inline clear(k) {
    printf("%d: frozen slot %d, left behind, is dead\n", k, me.at);
    if
    :: me.seen[me.at] == 1 -> EVENT(CLEARED) put(me.at, OTHER)
    :: else
    fi;
    me.seen[me.at] = 0;
    me.step = SWEEP
}

inline prepare(k, where) {
    printf("%d: slot %d is tentative, to move slot %d there\n", k, where, (me.from - 1) % SLOTS);
    put(where, TENTATIVE);
    me.before = where + 1 + OWN;
    me.step = FREEZE;
    check()
}

inline freeze(k) {
    printf("%d: freezes slot %d\n", k, (me.from - 1) % SLOTS);
    if
#ifdef NO_FREEZE
    :: still(me.word) -> me.step = CONFIRM
#else
    :: still(me.word) -> EVENT(FROZE) put(me.from - 1, me.word + FROZEN); me.step = CONFIRM; check()
#endif
    :: still(me.word + FROZEN) -> EVENT(FOUND_FROZEN) me.step = CONFIRM
    :: else -> again(k)
    fi
}

#ifdef NO_FREEZE
#define still_frozen() (still(me.word) || still(me.word + FROZEN))
#else
#define still_frozen() still(me.word + FROZEN)
#endif

inline confirmed(k) {
    survey(k);
    if
#ifndef RIVAL_LIVES
    :: first < SLOTS -> me.at = last; me.step = KILL
#endif
    :: else -> forget_scan(k); me.step = READ_ON
    fi
}

inline confirm(k) {
    printf("%d: confirms slot %d: %d\n", k, me.at, slot[me.at]);
    if
#ifdef NO_CONFIRM
    :: true -> me.step = READ_ON
#else
    :: from_is(me.at) && !still_frozen() -> again(k)
    :: !from_is(me.at) && committed(slot[me.at]) -> again(k)
#endif
    :: else ->
        if :: slot[me.at] == TENTATIVE && !before_is(me.at) -> me.seen[me.at] = 1 :: else fi;
        if
        :: slot[me.at] == EMPTY || me.at == SLOTS - 1 -> confirmed(k)
        :: else -> me.at++
        fi
    fi
}

/* What is fresh by now is not moved: it may have been left behind by one who
 * moved it, been charged where it went, and been taken there as fresh. */
#ifdef RESURRECTS
#define is_fresh() false
#else
#define is_fresh() (window_of(me.word) < me.now)
#endif

inline replace(k) {
    printf("%d: makes slot %d live instead, at reading %d\n", k, (me.before + SLOTS - 1) % SLOTS, me.now);
    if
    :: is_fresh() -> EVENT(BURIED_FRESH) me.now = 0; me.step = BURY
    :: !is_fresh() && still_tentative() ->
        if :: me.from > SLOTS -> EVENT(MOVED_GONE) skip :: else -> EVENT(MOVED) skip fi;
        put((me.before - 1) % SLOTS, me.word);
        me.now = 0; me.before = 0; me.step = BURY;
        check()
    :: else -> again(k)
    fi
}

inline bury(k) {
    printf("%d: frozen slot %d is dead\n", k, (me.from - 1) % SLOTS);
    if
    :: still_frozen() -> EVENT(BURIED) put(me.from - 1, OTHER); check()
    :: else
    fi;
    end(k)
}

/* ---- everybody ------------------------------------------------------------------------ */

#define STEP(name) who[k].step == name

proctype Operation(byte k) {
    do
    :: d_step { STEP(SCAN) -> scan(k); tidy() }
    :: d_step { STEP(KILL) -> kill(k); tidy() }
    :: d_step { takes(0) -> take(k, 0); tidy() }
    :: d_step { takes(1) -> take(k, 1); tidy() }
#if SLOTS > 2
    :: d_step { takes(2) -> take(k, 2); tidy() }
#endif
    :: d_step { STEP(TAKE) -> EVENT(FULL) end(k); tidy() }
    :: d_step { STEP(READ) -> who[k].now = clock; who[k].step = COMMIT; tidy() }
#ifdef ONE_READING
    :: d_step { STEP(READ) -> who[k].now = 0; who[k].step = COMMIT; tidy() }
#endif
    :: d_step { STEP(COMMIT) -> commit(k); tidy() }
    :: d_step { STEP(HIT) -> swap(k, clock); tidy() }
    :: d_step { STEP(HIT) && clock > 0 -> swap(k, 0); tidy() }
    :: d_step { STEP(HIT) && clock > 1 -> swap(k, 1); tidy() }
#ifdef MOVES
#ifdef NO_SWEEP
    :: d_step { STEP(HIT) -> who[k].from = who[k].at + 1; who[k].at = 0; who[k].step = PREPARE; tidy() }
#else
    :: d_step { STEP(HIT) -> who[k].from = who[k].at + 1; who[k].at = 0; who[k].step = SWEEP; tidy() }
#endif
    :: d_step { STEP(SWEEP) -> sweep(k); tidy() }
    :: d_step { STEP(LOOK) -> look(k); tidy() }
    :: d_step { STEP(CLEAR) -> clear(k); tidy() }
    :: d_step { prepares(0) -> prepare(k, 0); tidy() }
    :: d_step { prepares(1) -> prepare(k, 1); tidy() }
#if SLOTS > 2
    :: d_step { prepares(2) -> prepare(k, 2); tidy() }
#endif
    :: d_step { STEP(PREPARE) -> EVENT(FULL) end(k); tidy() }
    :: d_step { STEP(FREEZE) -> freeze(k); tidy() }
    :: d_step { STEP(CONFIRM) -> confirm(k); tidy() }
    :: d_step { STEP(READ_ON) -> who[k].now = clock; who[k].step = REPLACE; tidy() }
    :: d_step { STEP(REPLACE) -> replace(k); tidy() }
    :: d_step { STEP(BURY) -> bury(k); tidy() }
#endif
    :: d_step { who[k].before || who[k].at || !(STEP(SCAN)) ->
        printf("%d: is killed\n", k);
        if :: who[k].before > OWN -> EVENT(KILLED_TENTATIVE) skip :: else fi;
        if :: who[k].from && who[k].from <= SLOTS && frozen(slot[who[k].from - 1]) -> EVENT(KILLED_FROZEN) skip :: else fi;
        end(k);
        tidy() }
    od
}

/* A state is lost, and that is counted: unless it was left behind, beside a live one. */
inline lose(where, what) {
    last = 0; i = 0;
    do
    :: i < SLOTS -> if :: live(slot[i]) -> last++ :: else fi; i++
    :: else -> break
    od;
    if
    :: live(slot[where]) || (committed(slot[where]) && last == 0) -> admitted[window_of(slot[where])] = 0
    :: else
    fi;
    put(where, what);
    check()
}

#ifdef TAKEN_EARLY
#define fresh(word) (committed(word) && window_of(word) <= clock)
#else
#define fresh(word) (committed(word) && window_of(word) < clock)
#endif
#ifdef RESET_EMPTIES
#define RESET_WRITES EMPTY
#else
#define RESET_WRITES OTHER
#endif

inline evict(where) {
    EVENT(EVICTED)
    printf("stranger: evicts slot %d\n", where);
    assert(!limiting(slot[where])); /* T9 */
    lose(where, OTHER)
}

proctype Strangers(byte at) {
#ifdef EVICT_BY_KEY
    bit chosen;
#endif
    do
    :: d_step { slot[at] == EMPTY ->
        printf("stranger: takes empty slot %d\n", at); put(at, OTHER); tidy() }
    :: d_step { slot[at] == TENTATIVE -> EVENT(TENTATIVE_TAKEN)
        printf("stranger: takes tentative slot %d\n", at); put(at, OTHER); tidy() }
    :: d_step { fresh(slot[at]) -> EVENT(FRESH_TAKEN)
        printf("stranger: takes fresh slot %d\n", at); put(at, OTHER); tidy() }
#ifdef EVICT_BY_KEY
    :: d_step { committed(slot[at]) && !limiting(slot[at]) -> chosen = 1 }
    :: d_step { committed(slot[at]) && chosen -> chosen = 0; evict(at); tidy() }
#else
    :: d_step { committed(slot[at]) && !limiting(slot[at]) -> evict(at); tidy() }
#endif
#ifndef RESETS
    :: d_step { committed(slot[at]) -> EVENT(RESET)
        printf("reset: slot %d\n", at); lose(at, RESET_WRITES); tidy() }
#endif
    od
}

#ifdef RESETS
#define may_mark(place) (reset == 1 && slot[place] <= OTHER && reached(place))
inline mark(where) {
    printf("reset: slot %d is tentative\n", where);
    put(where, TENTATIVE);
    marker = where + 1
}

/* An operator resets the key once: everything of it is made dead until a whole
 * scan has found nothing. As a miss does, it takes a tentative slot first: who
 * moves the state from where the scan has yet to come to where it has been must
 * make that slot dead, and then the scan does not count. */
#ifndef CLEAN
#define CLEAN 2
#endif
#define of_key(word) ((word) >= TENTATIVE)
proctype Reset() {
    byte at, found, clean;
    d_step {
        reset = 1;
        printf("reset: begins\n");
        i = 0;
        do
        :: i < SLOTS -> if :: committed(slot[i]) -> slot[i] = slot[i] + OLD :: else fi; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < PROCS -> if :: who[i].word -> who[i].word = who[i].word + OLD :: else fi; i++
        :: else -> break
        od;
        tidy() };
    do
#ifndef RESET_UNMARKED
    :: d_step { !marker && may_mark(0) -> mark(0); at = 0; found = 0; clean = 0; tidy() }
    :: d_step { !marker && may_mark(1) -> mark(1); at = 0; found = 0; clean = 0; tidy() }
    :: d_step { !marker && may_mark(SLOTS - 1) -> mark(SLOTS - 1); at = 0; found = 0; clean = 0; tidy() }
#endif
    :: d_step { of_key(slot[at]) && marker != at + 1 ->
        printf("reset: slot %d is dead\n", at); lose(at, OTHER); found = 1; tidy() }
    :: d_step { (!of_key(slot[at]) || marker == at + 1) && at < SLOTS - 1 ->
        printf("reset: reads slot %d: %d\n", at, slot[at]); at++; tidy() }
    :: d_step { (!of_key(slot[at]) || marker == at + 1) && at == SLOTS - 1 ->
        printf("reset: reads slot %d: %d\n", at, slot[at]);
        if
        :: found -> clean = 0
        :: !found && clean < CLEAN - 1 -> clean++
#ifdef RESET_UNMARKED
        :: !found && clean == CLEAN - 1 -> reset = 2
#else
        :: !found && marker && clean == CLEAN - 1 -> put(marker - 1, OTHER); reset = 2
#endif
        :: else
        fi;
        at = 0; found = 0; tidy() }
    od unless reset == 2
}
#endif

/* No key is locked, T14: from here on everybody else stands still. */
#define ALONE PROCS
#define LONGEST (8 * SLOTS)
#define alone_at(name) who[ALONE].step == name
inline count_step() { steps++; assert(steps <= LONGEST) }
inline alone(moves) {
    supposing = 1; steps = 0; answered = 0;
    i = 0; do :: i < SLOTS -> kept[i] = slot[i]; i++ :: else -> break od;
    i = 0; do :: i <= LAST -> kept_admitted[i] = admitted[i]; i++ :: else -> break od;
    do
    :: !answered && alone_at(SCAN) -> scan(ALONE); count_step()
    :: !answered && alone_at(KILL) -> kill(ALONE); count_step()
    :: !answered && alone_at(TAKE) && slot[0] <= OTHER -> take(ALONE, 0); count_step()
    :: !answered && alone_at(TAKE) && slot[0] > OTHER && slot[1] <= OTHER -> take(ALONE, 1); count_step()
    :: !answered && alone_at(TAKE) && slot[0] > OTHER && slot[1] > OTHER -> end(ALONE)
    :: !answered && alone_at(READ) -> who[ALONE].now = clock; who[ALONE].step = COMMIT; count_step()
    :: !answered && alone_at(COMMIT) -> commit(ALONE); count_step()
    :: !answered && alone_at(HIT) && !(moves) -> swap(ALONE, clock); count_step()
#ifdef MOVES
    :: !answered && alone_at(HIT) && moves ->
        who[ALONE].from = who[ALONE].at + 1; who[ALONE].at = 0; who[ALONE].step = SWEEP; count_step()
    :: !answered && alone_at(SWEEP) -> sweep(ALONE); count_step()
    :: !answered && alone_at(LOOK) -> look(ALONE); count_step()
    :: !answered && alone_at(CLEAR) -> clear(ALONE); count_step()
    :: !answered && alone_at(PREPARE) && slot[0] <= TENTATIVE -> prepare(ALONE, 0); count_step()
    :: !answered && alone_at(PREPARE) && slot[0] > TENTATIVE && slot[1] <= TENTATIVE -> prepare(ALONE, 1); count_step()
    :: !answered && alone_at(PREPARE) && slot[0] > TENTATIVE && slot[1] > TENTATIVE -> end(ALONE)
    :: !answered && alone_at(FREEZE) -> freeze(ALONE); count_step()
    :: !answered && alone_at(CONFIRM) -> confirm(ALONE); count_step()
    :: !answered && alone_at(READ_ON) -> who[ALONE].now = clock; who[ALONE].step = REPLACE; count_step()
    :: !answered && alone_at(REPLACE) -> replace(ALONE); count_step()
    :: !answered && alone_at(BURY) -> bury(ALONE); if :: moves :: else -> answered = 0 fi; count_step()
#endif
    :: else -> break
    od;
    i = 0; do :: i < SLOTS -> slot[i] = kept[i]; kept[i] = 0; i++ :: else -> break od;
    i = 0; do :: i <= LAST -> admitted[i] = kept_admitted[i]; kept_admitted[i] = 0; i++ :: else -> break od;
    supposing = 0; steps = 0;
    tidy()
}

proctype Alone() {
    do
    :: d_step { alone(0) }
#ifdef MOVES
    :: d_step { alone(1) }
#endif
    od
}

proctype Clock() {
    do
    :: d_step { clock < LAST -> clock++; printf("clock: %d\n", clock) }
    od
}

init {
    atomic {
        byte k;
        do
        :: k <= PROCS -> me.step = SCAN; k++
        :: else -> break
        od;
        k = 0;
        do
        :: k < PROCS -> run Operation(k); k++
        :: else -> break
        od;
        k = 0;
        do
        :: k < SLOTS -> run Strangers(k); k++
        :: else -> break
        od;
        run Clock();
        run Alone();
#ifdef RESETS
        run Reset();
#endif
        k = 0
    }
}
