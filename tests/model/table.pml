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
 * One thing is taken for granted: the word of a state that was frozen or moved does
 * not come back into the same slot while one who has read it still means to act on
 * it. Nothing in the words makes that sure; SAME_STATE shows what it would do.
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

/* ---- for test_model.py: what may be broken, one thing at a time; what happened ------ */

#define ONE_READING     1
#define NO_RESCAN       2
#define LOSER_LIVES     3
#define LOSER_UNCHECKED 4
#define HASTY_ADOPTION  5
#define OWN_ONLY        6
#define SAME_NONCE      7
#define BLIND_STORE     8
#define RESET_EMPTIES   9
#define EVICT_BY_KEY    10
#define TAKEN_EARLY     11
#define ANY_EMPTY       12
#define NO_FREEZE       13
#define NO_CONFIRM      14
#define RIVAL_LIVES     15
#define NO_SWEEP        16
#define NO_LOOK         17
#define SAME_STATE      18
#define RESURRECT       19
#define UNMARKED_RESET  20
#define HASTY_RESET     21

#ifdef STORY
#ifndef BREAK
#define BREAK 0
#endif
#define broken(what) (what == BREAK)
#define EVENT(name)
#define hidden
#else
#define broken(what) c_expr { breakage == what }
#define EVENT(name) c_code { if (!supposing) happened[name] = #name; };
c_decl {
    enum { ADOPTED, FINISHED, OVERTAKEN, LOSER_KILLED, LOSER_GONE, SWAP_LOST, DENIED, FULL,
           KILLED_TENTATIVE, KILLED_FROZEN, TENTATIVE_TAKEN, FRESH_TAKEN, EVICTED, RESET, FROZE,
           FOUND_FROZEN, MOVED, MOVED_GONE, BURIED, BURIED_FRESH, CLEARED, FORGOTTEN, EVENTS };
    static const char *happened[EVENTS];
    static int breakage;
    extern unsigned char supposing;
    static void __attribute__((constructor)) choose(void)
    {
        const char *number = getenv("BREAK");
        breakage = number ? atoi(number) : 0;
    }
    static void __attribute__((destructor)) tell(void)
    {
        for (int event = 0; event < EVENTS; event++)
            if (happened[event])
                printf("happened: %s\n", happened[event]);
    }
};
#endif

/* ---- a process ----------------------------------------------------------------- */

/* Charging: */
#define SCAN    0
#define KILL    1
#define TAKE    2
#define READ    3
#define COMMIT  4
#define HIT     5
/* Moving: */
#define SWEEP   6
#define LOOK    7
#define CLEAR   8
#define PREPARE 9
#define FREEZE  10
#define CONFIRM 11
#define READ_ON 12
#define REPLACE 13
#define BURY    14

#define OWN  SLOTS /* added to `before`: took it himself */
#define GONE SLOTS /* added to `from`: what was read there is there no more */

typedef Process {
    byte step;
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
hidden byte moving;    /* what Alone is to do */
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
    assert(what != EMPTY || broken(RESET_EMPTIES)); /* T2 */
    j = 0;
    do
    :: j < PROCS && !supposing ->
        if
        :: who[j].seen[place] && !broken(SAME_NONCE) -> who[j].seen[place] = 2
        :: else
        fi;
        if
        :: who[j].before && (who[j].before - 1) % SLOTS == place && !broken(SAME_NONCE) ->
            who[j].before = 0
        :: else
        fi;
        if
        :: who[j].from == place + 1 && what != slot[place] + FROZEN && !broken(SAME_STATE) ->
            who[j].from = place + 1 + GONE
        :: else
        fi;
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
    if :: broken(LOSER_LIVES) && first < SLOTS -> last = first :: else fi;
    if
    :: broken(HASTY_ADOPTION) && first == last && me.seen[first] == 1 -> me.before = first + 1
    :: else
    fi;
    if
    :: me.from -> forget_scan(k); me.before = 0; me.step = PREPARE
    :: !me.from && first == SLOTS -> me.at = 0; me.before = 0; me.step = TAKE
    :: !me.from && first < last -> me.at = last; me.step = KILL
    :: !me.from && first == last && before_is(first) && (me.before > OWN || !broken(OWN_ONLY)) ->
        forget(k); me.step = READ
    :: else ->
        if
        :: before_is(first)
        :: !before_is(first) && me.seen[first] == 1 -> me.before = first + 1
        :: else -> me.before = 0
        fi;
        again(k)
    fi
}

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
        :: slot[me.at] == EMPTY || me.at == SLOTS - 1 -> conclude(k)
        :: else -> me.at++
        fi
    fi
}

/* No scan ends before it. */
#define reached(place) \
    (((place < 1 || slot[0] != EMPTY) && (place < 2 || slot[1] != EMPTY)) || broken(ANY_EMPTY))
#define takes(place)    (who[k].step == TAKE && slot[place] <= OTHER && reached(place))
#define prepares(place) \
    (who[k].step == PREPARE && slot[place] <= TENTATIVE && reached(place) && !from_is(place))

inline take(k, where) {
    printf("%d: slot %d is tentative\n", k, where);
    put(where, TENTATIVE);
    forget(k);
    me.before = where + 1 + OWN;
    if :: broken(NO_RESCAN) -> me.step = READ :: else -> me.step = SCAN fi;
    check()
}

inline go_on(k) { if :: me.from -> confirmed(k) :: else -> conclude(k) fi }

inline kill(k) {
    printf("%d: kills the other tentative slot %d: %d\n", k, me.at, slot[me.at]);
    if
    :: me.seen[me.at] == 1 && slot[me.at] == TENTATIVE ->
        EVENT(LOSER_KILLED)
        put(me.at, OTHER);
        me.seen[me.at] = 0;
        go_on(k)
    :: !(me.seen[me.at] == 1 && slot[me.at] == TENTATIVE) && broken(LOSER_UNCHECKED) ->
        me.seen[me.at] = 0;
        go_on(k)
    :: else -> EVENT(LOSER_GONE) again(k)
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
    :: slot[me.at] != me.word && !broken(BLIND_STORE) -> EVENT(SWAP_LOST) again(k)
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

inline move(k) {
    me.from = me.at + 1;
    me.at = 0;
    if :: broken(NO_SWEEP) -> me.step = PREPARE :: else -> me.step = SWEEP fi
}

/* A frozen slot beside the live one was left behind by one who moved it and was
 * stopped. It goes first, or else there would be two. Only if the live one is seen
 * *after* it: seen before, it may have been moved there and frozen since. */
inline sweep(k) {
    printf("%d: sweeps slot %d: %d\n", k, me.at, slot[me.at]);
    if
    :: !from_is(me.at) && frozen(slot[me.at]) ->
        me.seen[me.at] = 1;
        if :: broken(NO_LOOK) -> me.step = CLEAR :: else -> me.step = LOOK fi
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
    :: still(me.word) && broken(NO_FREEZE) -> me.step = CONFIRM
    :: still(me.word) && !broken(NO_FREEZE) ->
        EVENT(FROZE)
        put(me.from - 1, me.word + FROZEN);
        me.step = CONFIRM;
        check()
    :: still(me.word + FROZEN) -> EVENT(FOUND_FROZEN) me.step = CONFIRM
    :: else -> again(k)
    fi
}

#define still_frozen() (still(me.word + FROZEN) || (still(me.word) && broken(NO_FREEZE)))

inline confirmed(k) {
    survey(k);
    if
    :: first < SLOTS && !broken(RIVAL_LIVES) -> me.at = last; me.step = KILL
    :: else -> forget_scan(k); me.step = READ_ON
    fi
}

inline confirm(k) {
    printf("%d: confirms slot %d: %d\n", k, me.at, slot[me.at]);
    if
    :: broken(NO_CONFIRM) -> me.step = READ_ON
    :: !broken(NO_CONFIRM) && from_is(me.at) && !still_frozen() -> again(k)
    :: !broken(NO_CONFIRM) && !from_is(me.at) && committed(slot[me.at]) -> again(k)
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
#define is_fresh() (window_of(me.word) < me.now && !broken(RESURRECT))

inline replace(k) {
    printf("%d: makes the other slot live instead, at reading %d\n", k, me.now);
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
    :: d_step { STEP(READ) && broken(ONE_READING) -> who[k].now = 0; who[k].step = COMMIT; tidy() }
    :: d_step { STEP(COMMIT) -> commit(k); tidy() }
    :: d_step { STEP(HIT) -> swap(k, clock); tidy() }
#if LAST > 0
    :: d_step { STEP(HIT) && clock > 0 -> swap(k, 0); tidy() }
#endif
#if LAST > 1
    :: d_step { STEP(HIT) && clock > 1 -> swap(k, 1); tidy() }
#endif
#ifdef MOVES
    :: d_step { STEP(HIT) -> move(k); tidy() }
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
        if
        :: who[k].from && who[k].from <= SLOTS && frozen(slot[who[k].from - 1]) ->
            EVENT(KILLED_FROZEN) skip
        :: else
        fi;
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
    :: live(slot[where]) || (committed(slot[where]) && last == 0) ->
        admitted[window_of(slot[where])] = 0
    :: else
    fi;
    put(where, what);
    check()
}

#define fresh(word) (committed(word) && (window_of(word) < clock || broken(TAKEN_EARLY)))
#define evictable(word) (committed(word) && !limiting(word))

inline evict(where) {
    EVENT(EVICTED)
    printf("stranger: evicts slot %d\n", where);
    assert(!limiting(slot[where])); /* T9 */
    lose(where, OTHER)
}

proctype Strangers(byte at) {
    bit chosen;
    do
    :: d_step { slot[at] == EMPTY ->
        printf("stranger: takes empty slot %d\n", at);
        put(at, OTHER);
        tidy() }
    :: d_step { slot[at] == TENTATIVE -> EVENT(TENTATIVE_TAKEN)
        printf("stranger: takes tentative slot %d\n", at);
        put(at, OTHER);
        tidy() }
    :: d_step { fresh(slot[at]) -> EVENT(FRESH_TAKEN)
        printf("stranger: takes fresh slot %d\n", at);
        put(at, OTHER);
        tidy() }
    :: d_step { evictable(slot[at]) -> evict(at); tidy() }
    :: d_step { evictable(slot[at]) && broken(EVICT_BY_KEY) -> chosen = 1; tidy() }
    :: d_step { chosen && committed(slot[at]) -> chosen = 0; evict(at); tidy() }
#ifndef RESETS
    :: d_step { committed(slot[at]) -> EVENT(RESET)
        printf("reset: slot %d\n", at);
        if :: broken(RESET_EMPTIES) -> lose(at, EMPTY) :: else -> lose(at, OTHER) fi;
        tidy() }
#endif
    od
}

#ifdef RESETS
#define may_mark(place) \
    (reset == 1 && !marker && !broken(UNMARKED_RESET) && slot[place] <= OTHER && reached(place))

inline mark(where) {
    printf("reset: slot %d is tentative\n", where);
    put(where, TENTATIVE);
    marker = where + 1;
    at = 0; found = 0; clean = 0
}

inline date_all() {
    printf("reset: begins\n");
    reset = 1;
    i = 0;
    do
    :: i < SLOTS -> if :: committed(slot[i]) -> slot[i] = slot[i] + OLD :: else fi; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < PROCS -> if :: who[i].word -> who[i].word = who[i].word + OLD :: else fi; i++
    :: else -> break
    od
}

/* An operator resets the key once: everything of it is made dead until two whole
 * scans in a row have found nothing. As a miss does, it takes a tentative slot
 * first: who moves the state from where the scan has yet to come to where it has
 * been makes that slot dead before he commits, and the scan does not count. Two:
 * one may have been about to commit when the state that he moves was taken. */
#define nothing_at(place) (slot[place] < TENTATIVE || marker == place + 1)

proctype Reset() {
    byte at, found, clean;
    d_step { reset == 0 -> date_all(); tidy() };
    do
    :: d_step { may_mark(0) -> mark(0); tidy() }
    :: d_step { may_mark(1) -> mark(1); tidy() }
    :: d_step { may_mark(SLOTS - 1) -> mark(SLOTS - 1); tidy() }
    :: d_step { reset == 1 && !nothing_at(at) ->
        printf("reset: slot %d is dead\n", at);
        lose(at, OTHER);
        found = 1;
        tidy() }
    :: d_step { reset == 1 && nothing_at(at) ->
        printf("reset: reads slot %d: %d\n", at, slot[at]);
        at++;
        if
        :: at == SLOTS && found -> clean = 0
        :: at == SLOTS && !found && (marker || broken(UNMARKED_RESET)) -> clean++
        :: else
        fi;
        if
        :: clean == 2 || (clean == 1 && broken(HASTY_RESET)) ->
            EVENT(FORGOTTEN)
            if :: marker -> put(marker - 1, OTHER) :: else fi;
            reset = 2;
            check()
        :: else
        fi;
        if :: at == SLOTS -> at = 0; found = 0 :: else fi;
        if :: reset == 2 -> at = 0; found = 0; clean = 0 :: else fi;
        tidy() }
    od
}
#endif

/* T14, no key is locked: if from here on everybody else stands still, one who
 * comes is done after so many steps. He charges; and with `moving` he moves. */
#define ALONE   PROCS
#define LONGEST (8 * SLOTS)
#ifdef MOVES
#define KINDS 2
#else
#define KINDS 1
#endif
#define AT(name) !answered && who[ALONE].step == name

inline count_step() { steps++; assert(steps <= LONGEST) }

inline restore() {
    i = 0;
    do
    :: i < SLOTS -> slot[i] = kept[i]; kept[i] = 0; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i <= LAST -> admitted[i] = kept_admitted[i]; kept_admitted[i] = 0; i++
    :: else -> break
    od
}

inline suppose() {
    i = 0;
    do
    :: i < SLOTS -> kept[i] = slot[i]; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i <= LAST -> kept_admitted[i] = admitted[i]; i++
    :: else -> break
    od;
    supposing = 1; answered = 0; steps = 0;
    do
    :: AT(SCAN) -> scan(ALONE); count_step()
    :: AT(KILL) -> kill(ALONE); count_step()
    :: AT(TAKE) && slot[0] <= OTHER -> take(ALONE, 0); count_step()
    :: AT(TAKE) && slot[0] > OTHER && slot[1] <= OTHER -> take(ALONE, 1); count_step()
    :: AT(TAKE) && slot[0] > OTHER && slot[1] > OTHER -> end(ALONE) /* full */
    :: AT(READ) -> who[ALONE].now = clock; who[ALONE].step = COMMIT; count_step()
    :: AT(COMMIT) -> commit(ALONE); count_step()
    :: AT(HIT) && !moving -> swap(ALONE, clock); count_step()
#ifdef MOVES
    :: AT(HIT) && moving -> move(ALONE); count_step()
    :: AT(SWEEP) -> sweep(ALONE); count_step()
    :: AT(LOOK) -> look(ALONE); count_step()
    :: AT(CLEAR) -> clear(ALONE); count_step()
    :: AT(PREPARE) && slot[0] <= TENTATIVE -> prepare(ALONE, 0); count_step()
    :: AT(PREPARE) && slot[0] > TENTATIVE && slot[1] <= TENTATIVE -> prepare(ALONE, 1); count_step()
    :: AT(PREPARE) && slot[0] > TENTATIVE && slot[1] > TENTATIVE -> end(ALONE) /* full */
    :: AT(FREEZE) -> freeze(ALONE); count_step()
    :: AT(CONFIRM) -> confirm(ALONE); count_step()
    :: AT(READ_ON) -> who[ALONE].now = clock; who[ALONE].step = REPLACE; count_step()
    :: AT(REPLACE) -> replace(ALONE); count_step()
    :: AT(BURY) -> bury(ALONE); answered = moving; count_step()
#endif
    :: else -> break
    od;
    assert(answered);
    restore();
    supposing = 0; steps = 0
}

proctype Alone() {
    do
    :: d_step {
        moving = 0;
        do
        :: moving < KINDS -> suppose(); moving++
        :: else -> break
        od;
        moving = 0;
        tidy() }
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
