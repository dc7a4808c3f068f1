/* The rings of the log (docs/table.md, T11 and T12), for spin: charges that
 * settle what the one before left pending, refunds and other moves of a ring
 * into another slot's block, and writers who come too late.
 *
 *   Operation   a process that charges, refunds or moves the key; who[]
 *   Others      take tentative slots, reset, evict, or find the state fresh
 *   Clock       goes on whenever it likes
 *
 * Two slots, each with a block of two entries, and a limit of two. Where the key
 * is found, and that it is in one place, is table.pml's subject: here that is one
 * step. A d_step is one instruction on shared memory. Nothing bounds the number of
 * operations; a process may be killed anywhere.
 *
 * The ledger holds the times of the last two admissions. State and ring together
 * must never say that one of them was earlier than it was, or was not at all: that
 * is what would admit too much. Later than it was is allowed, and happens: one
 * who was overtaken between two instructions may raise or mark an entry of a ring
 * that has come into his block since.
 *
 * What makes the space small: as in table.pml, whether the word that one has read
 * is still there is one bit, and so it is with marks; what a process will not use
 * any more is forgotten at once; processes are sorted, and so are the two slots.
 *
 * Three processes are too many for that. With SLEEPERS there are three, of which
 * only one at a time is awake in the middle of its work; the others fell asleep
 * before a write to a ring and wake up when it is too late. There are no refunds
 * then, and nothing is lost.
 */
#ifdef SLEEPERS
#define PROCS 3
#endif
#ifndef PROCS
#define PROCS 2
#endif
#ifndef LAST
#define LAST 2 /* the clock goes from 1 to this */
#endif
#define WINDOW 1

/* ---- words ------------------------------------------------------------------- */

#define FREE      0 /* dead, or a stranger's */
#define TENTATIVE 1
#define STATE(newest, count, pending) (64 + 8 * (newest) + 2 * (count) + (pending))
#define FROZEN    128 /* added to a state */

#define live(word)       ((word) >= 64 && (word) < FROZEN)
#define frozen(word)     ((word) >= FROZEN)
#define committed(word)  ((word) >= 64)
#define newest_of(word)  (((word) % 64) / 8)
#define count_of(word)   (((word) % 8) / 2)
#define pending_of(word) ((word) % 2)
#define held(word)       (count_of(word) == 3 -> 2 : count_of(word))
#define next_count(word) (count_of(word) == 3 -> 2 : count_of(word) + 1)
#define index_of(word, n) ((count_of(word) + 2 - (n)) % 2)

/* An entry is a time, 0 for none, or the mark of one who writes the block. Marks
 * hold a nonce: GONE is what one remembers of a mark that is not there any more. */
#define MARK 9
#define GONE 10

byte slot[2];
byte ring[4]; /* entries 2 s and 2 s + 1 are slot s's */
byte clock = 1;
byte ledger[2];

/* ---- for test_model.py: what may be broken, one thing at a time; what happened ------ */

#define NO_SETTLE   1
#define RAISE_ONCE  2
#define BLIND_RAISE 3
#define BLIND_SWAP  4
#define NO_FREEZE   5
#define FREEZE_ANY  6
#define UNOWNED     7
#define UNMARKED    8
#define TRUSTS_MARK 9

#ifdef STORY
#define hidden
#define EVENT(name)
#define broken(what) (what == BREAK)
#ifndef BREAK
#define BREAK 0
#endif
#else
#define EVENT(name) c_code { happened[name] = #name; };
#define broken(what) c_expr { breakage == what }
c_decl {
    enum { DENIED, SETTLED, RAISE_LOST, LATE_RAISE, FOUND_FROZEN, MARKED, LATE_MARK, FILLED,
           LATE_FILL, MOVED, REFUNDED, RESURRECTED, LATER_THAN_IT_WAS, EVENTS };
    static const char *happened[EVENTS];
    static int breakage;
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
#define FIND    0
#define LOAD    1
#define SETTLE  2
#define RAISE   3
#define SWAP    4
/* Moving: */
#define COPY    5
#define PREPARE 6
#define WRITE   7
#define LOWER   8
#define FILL    9
#define FREEZE  10
#define COMMIT  11
#define BURY    12

typedef Process {
    byte step;
    byte at;    /* the key's slot */
    byte gone;  /* and what was read there is not there any more */
    byte word;  /* what was read there; later, what is to be committed */
    byte value; /* the second newest entry, as read */
    byte index; /* an entry that is to be written */
    byte entry; /* and what stood there */
#ifdef SLEEPERS
    byte asleep;
#endif
    byte own;   /* the other slot is tentative, by him */
    byte takes; /* a refund takes the n-th newest out */
    byte copy[2]
};
Process who[PROCS];

#define me who[k]
#define at_step(name) (who[k].step == name)

#ifdef SLEEPERS
#define raises    (at_step(SETTLE) || at_step(RAISE))
#define writes    (at_step(LOWER) || at_step(FILL))
#define may_go    (!me.asleep || (raises && me.gone) || (writes && !me.own) || !(raises || writes))
#define rests(j)  (who[j].step == FIND || who[j].asleep)
#define may_begin (rests(0) && rests(1) && rests(2))
#else
#define may_go    true
#define may_begin true
#endif
#define STEP(name) (at_step(name) && may_go)

#define entry_at   (2 * me.at + me.index)       /* of the key's block */
#define own_at     (2 * (1 - me.at) + me.index) /* of his */

hidden byte i, j, place, n, w, v;

inline end(k) {
    me.step = FIND;
    me.at = 0; me.gone = 0; me.word = 0; me.value = 0; me.index = 0; me.entry = 0; me.own = 0;
    me.takes = 0; me.copy[0] = 0; me.copy[1] = 0;
#ifdef SLEEPERS
    me.asleep = 0;
#endif
    skip
}

/* Who will fail and touches nothing before is as good as at the start. */
#define hopeless \
    ((me.gone && (at_step(COPY) || at_step(BURY))) || \
     (me.gone && at_step(LOAD) && !pending_of(me.word)) || \
     (me.gone && at_step(SWAP) && !broken(BLIND_SWAP)) || \
     (me.gone && at_step(FREEZE) && !(broken(FREEZE_ANY) && committed(slot[me.at]))) || \
     (!me.own && at_step(WRITE) && !broken(UNOWNED)) || \
     (!me.own && at_step(COMMIT)))

inline give_up(k) { if :: hopeless -> end(k) :: else fi }

/* After every step. Processes are alike, and so are slots: both are sorted. */
inline tidy() {
    i = 0;
    do
    :: i < PROCS ->
        give_up(i);
        i++
    :: else -> break
    od;
    i = 0; j = 0; place = 0; n = 0; w = 0; v = 0;
#ifndef STORY
    c_code {
        if (now.slot[0] < now.slot[1] ||
            (now.slot[0] == now.slot[1] && memcmp(&now.ring[0], &now.ring[2], 2) < 0)) {
            unsigned char other = now.slot[0];
            now.slot[0] = now.slot[1];
            now.slot[1] = other;
            for (int e = 0; e < 2; e++) {
                other = now.ring[e];
                now.ring[e] = now.ring[2 + e];
                now.ring[2 + e] = other;
            }
            for (int k = 0; k < PROCS; k++)
                now.who[k].at ^= now.who[k].step != FIND;
        }
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

/* After every change of a slot or an entry: what the state and the ring say. */
inline check() {
    assert(!(live(slot[0]) && live(slot[1])));
    if
    :: live(slot[0]) || (frozen(slot[0]) && !live(slot[1])) -> place = 0
    :: live(slot[1]) || (frozen(slot[1]) && !committed(slot[0])) -> place = 1
    :: else -> place = 2; assert(ledger[0] == 0)
    fi;
    n = 1;
    do
    :: place < 2 && n <= 2 ->
        w = slot[place];
        if
        :: n > held(w) -> v = 0
        :: n <= pending_of(w) -> v = newest_of(w)
        :: else -> v = ring[2 * place + index_of(w, n)]
        fi;
        if :: v > newest_of(w) -> v = newest_of(w) :: else fi;
        assert(v >= ledger[n - 1]); /* not lost, not back-dated */
        if :: ledger[n - 1] && v > ledger[n - 1] -> EVENT(LATER_THAN_IT_WAS) skip :: else fi;
        n++
    :: else -> break
    od
}

inline put(where, what) {
    place = where;
    j = 0;
    do
    :: j < PROCS ->
        if :: who[j].own && who[j].at == 1 - place -> who[j].own = 0 :: else fi;
        if
        :: who[j].step != FIND && who[j].at == place && what != slot[place] + FROZEN ->
            who[j].gone = 1; who[j].value = 0; who[j].takes = 0
        :: else
        fi;
        j++
    :: else -> break
    od;
    slot[place] = what
}

#define remembers_mark(j, place) \
    (who[j].entry == MARK && \
     ((who[j].step == RAISE && 2 * who[j].at + who[j].index == place) || \
      (who[j].step != RAISE && 2 * (1 - who[j].at) + who[j].index == place)))

inline write(where, what) {
    place = where;
    j = 0;
    do
    :: j < PROCS ->
        if :: remembers_mark(j, place) -> who[j].entry = GONE :: else fi;
        j++
    :: else -> break
    od;
    ring[place] = what;
    check()
}

/* ---- charging -------------------------------------------------------------------- */

inline find(k, moves) {
    if
    :: live(slot[0]) || (frozen(slot[0]) && !live(slot[1])) -> me.at = 0
    :: else -> me.at = 1
    fi;
    if
    :: frozen(slot[me.at]) -> EVENT(FOUND_FROZEN) me.step = COPY
    :: live(slot[me.at]) && moves -> me.step = COPY
    :: else -> me.word = slot[me.at]; begin_charge(k)
    fi
}

inline begin_charge(k) {
    if
    :: held(me.word) == 2 -> me.step = LOAD
    :: else -> loaded(k)
    fi
}

inline insert(k, where) {
    printf("%d: slot %d is live, charged at %d\n", k, where, clock);
    ledger[0] = clock;
    put(where, STATE(clock, 1, 1));
    if :: slot[1 - where] == TENTATIVE -> put(1 - where, FREE) :: else fi;
    check()
}

inline load(k) {
    if
    :: !me.gone -> me.value = ring[2 * me.at + index_of(me.word, 2)]
    :: else
    fi;
    if :: me.value > newest_of(me.word) -> me.value = newest_of(me.word) :: else fi;
    printf("%d: reads %d, the second newest, in slot %d\n", k, me.value, me.at);
    loaded(k)
}

inline loaded(k) {
    if
    :: pending_of(me.word) && !broken(NO_SETTLE) ->
        me.index = index_of(me.word, 1); me.word = newest_of(me.word); me.step = SETTLE
    :: else -> me.word = 0; me.step = SWAP
    fi
}

inline settled(k) { me.word = 0; me.entry = 0; me.index = 0; me.step = SWAP }

/* Over somebody's mark only if the state is still the one that was read, seen
 * after the mark was: one who is late does not know what the mark stands for. */
inline settle(k) {
    me.entry = ring[entry_at];
    printf("%d: reads %d in slot %d entry %d\n", k, me.entry, me.at, me.index);
    if
    :: me.entry == MARK && me.gone && !broken(TRUSTS_MARK) -> end(k)
    :: me.entry == MARK && (!me.gone || broken(TRUSTS_MARK)) -> me.step = RAISE
    :: me.entry < me.word -> me.step = RAISE
    :: else -> settled(k)
    fi
}

inline raise(k) {
    printf("%d: raises slot %d entry %d from %d to %d\n", k, me.at, me.index, me.entry, me.word);
    if
    :: ring[entry_at] == me.entry || broken(BLIND_RAISE) ->
        if :: me.gone -> EVENT(LATE_RAISE) skip :: else -> EVENT(SETTLED) skip fi;
        i = entry_at; w = me.word;
        settled(k);
        write(i, w)
    :: ring[entry_at] != me.entry && broken(RAISE_ONCE) -> settled(k)
    :: else -> EVENT(RAISE_LOST) me.entry = 0; me.step = SETTLE
    fi
}

#define denied(as_of) (me.value && me.value + WINDOW > as_of)

inline swap(k, as_of) {
    printf("%d: charges slot %d as of %d\n", k, me.at, as_of);
    if
    :: !live(slot[me.at]) -> end(k)
    :: live(slot[me.at]) && denied(as_of) -> EVENT(DENIED) end(k)
    :: else ->
        assert(ledger[1] == 0 || ledger[1] + WINDOW <= as_of); /* the limit */
        ledger[1] = ledger[0];
        ledger[0] = as_of;
        put(me.at, STATE(as_of, next_count(slot[me.at]), 1));
        end(k);
        check()
    fi
}

/* ---- moving ------------------------------------------------------------------------ */

#define state_at (slot[me.at] % FROZEN)

/* The second newest entry, then the newest unless it is pending. Whether the
 * state is still the same need not be looked at: freezing expects that. */
#define copies_last (held(state_at) == 1 || pending_of(state_at) || me.index == 1)

inline copy_entry(k, n, to) {
    v = ring[2 * me.at + index_of(state_at, n)];
    if
    :: n <= pending_of(state_at) || v > newest_of(state_at) -> v = newest_of(state_at)
    :: else
    fi;
    printf("%d: copies %d from slot %d\n", k, v, me.at);
    me.copy[to] = v
}

inline copy_first(k) { copy_entry(k, 2, 0); me.index = 1 }

/* A refund takes the n-th newest `out`. Then, what is to stand in entries 0 and 1:
 * oldest first; 0: nothing has to, it is pending. */
inline copy_last(k, out) {
    if
    :: held(state_at) == 2 && me.index == 0 -> copy_entry(k, 2, 0)
    :: else
    fi;
    copy_entry(k, 1, 1);
    printf("%d: takes entry %d out\n", k, out);
    if
    :: out == 0 && pending_of(state_at) -> me.copy[1] = 0
    :: out == 0 && !pending_of(state_at) && held(state_at) == 1 ->
        me.copy[0] = me.copy[1]; me.copy[1] = 0
    :: out == 1 -> me.copy[1] = 0
    :: out == 2 -> me.copy[0] = me.copy[1]; me.copy[1] = 0
    :: else
    fi;
    me.takes = out;
    me.index = 0;
    me.step = PREPARE
}

inline prepare(k) {
    printf("%d: slot %d is tentative\n", k, 1 - me.at);
    if
    :: committed(slot[1 - me.at]) -> end(k)
    :: else ->
        put(1 - me.at, TENTATIVE);
        me.own = 1;
        if :: me.copy[0] -> me.step = WRITE :: else -> me.step = FREEZE fi
    fi
}

/* Reads the entry, and after that sees that the slot is still his. */
inline read_own(k) {
    me.entry = ring[own_at];
    printf("%d: reads %d in slot %d entry %d\n", k, me.entry, 1 - me.at, me.index);
    if
    :: me.entry == me.copy[me.index] -> written(k)
    :: else -> me.step = LOWER
    fi
}

inline written(k) {
    me.entry = 0;
    if
    :: me.index == 0 && me.copy[1] -> me.copy[0] = 0; me.index = 1; me.step = WRITE
    :: else ->
        if :: me.takes == 1 :: else -> me.copy[0] = 0 fi;
        me.copy[1] = 0; me.index = 0; me.step = FREEZE
    fi
}

inline lower(k) {
    printf("%d: marks slot %d entry %d, which was %d\n", k, 1 - me.at, me.index, me.entry);
    if
    :: ring[own_at] == me.entry && broken(UNMARKED) ->
        i = own_at; w = me.copy[me.index];
        written(k);
        write(i, w)
    :: ring[own_at] == me.entry && !broken(UNMARKED) ->
        if :: me.own -> EVENT(MARKED) skip :: else -> EVENT(LATE_MARK) skip fi;
        write(own_at, MARK);
        me.entry = MARK;
        if :: me.own || broken(UNOWNED) -> me.step = FILL :: else -> end(k) fi
    :: else -> me.entry = 0; me.step = WRITE
    fi
}

inline fill(k) {
    printf("%d: writes %d into slot %d entry %d\n", k, me.copy[me.index], 1 - me.at, me.index);
    if
    :: ring[own_at] == me.entry ->
        if :: me.own -> EVENT(FILLED) skip :: else -> EVENT(LATE_FILL) skip fi;
        i = own_at; w = me.copy[me.index];
        written(k);
        write(i, w)
    :: else -> me.entry = 0; me.step = WRITE
    fi
}

/* And then, as one step with it, the scan that finds nothing but the frozen slot:
 * had it failed later, nothing would have come of it. */
inline freeze(k) {
    printf("%d: freezes slot %d\n", k, me.at);
    w = state_at;
    if
    :: live(slot[me.at]) && !broken(NO_FREEZE) -> put(me.at, slot[me.at] + FROZEN)
    :: else
    fi;
    if
    :: me.takes == 0 -> me.word = STATE(newest_of(w), held(w), pending_of(w))
    :: me.takes == 1 -> me.word = STATE(me.copy[0], 1, 0); me.copy[0] = 0
    :: else -> me.word = STATE(newest_of(w), 1, 0)
    fi;
    me.gone = 0;
    me.step = COMMIT
}

inline commit(k) {
    printf("%d: slot %d is live instead\n", k, 1 - me.at);
    if
    :: me.gone -> EVENT(RESURRECTED) skip
    :: !me.gone && me.takes == 0 -> EVENT(MOVED) skip
    :: !me.gone && me.takes == 1 -> EVENT(REFUNDED) ledger[0] = ledger[1]; ledger[1] = 0
    :: !me.gone && me.takes == 2 -> EVENT(REFUNDED) ledger[1] = 0
    fi;
    put(1 - me.at, me.word);
    me.word = 0; me.takes = 0; me.step = BURY;
    check()
}

inline bury(k) {
    printf("%d: frozen slot %d is dead\n", k, me.at);
    put(me.at, FREE);
    end(k);
    check()
}

/* ---- everybody ------------------------------------------------------------------------ */

#define nowhere (!committed(slot[0]) && !committed(slot[1]))

proctype Operation(byte k) {
    do
    :: d_step { STEP(FIND) && may_begin && nowhere -> insert(k, 0); tidy() }
    :: d_step { STEP(FIND) && may_begin && nowhere -> insert(k, 1); tidy() }
    :: d_step { STEP(FIND) && may_begin && !nowhere -> find(k, 0); tidy() }
    :: d_step { STEP(FIND) && may_begin && !nowhere -> find(k, 1); tidy() }
    :: d_step { STEP(LOAD) -> load(k); tidy() }
    :: d_step { STEP(SETTLE) -> settle(k); tidy() }
    :: d_step { STEP(RAISE) -> raise(k); tidy() }
    :: d_step { STEP(SWAP) -> swap(k, clock); tidy() }
    :: d_step { STEP(SWAP) && newest_of(slot[who[k].at]) < clock ->
        swap(k, newest_of(slot[who[k].at])); tidy() } /* at an old reading of the clock */
    :: d_step { STEP(COPY) && !copies_last -> copy_first(k); tidy() }
    :: d_step { STEP(COPY) && copies_last -> copy_last(k, 0); tidy() }
#ifndef SLEEPERS
    :: d_step { STEP(COPY) && copies_last && held(state_at) == 2 -> copy_last(k, 1); tidy() }
    :: d_step { STEP(COPY) && copies_last && held(state_at) == 2 -> copy_last(k, 2); tidy() }
#endif
    :: d_step { STEP(PREPARE) -> prepare(k); tidy() }
    :: d_step { STEP(WRITE) -> read_own(k); tidy() }
    :: d_step { STEP(LOWER) -> lower(k); tidy() }
    :: d_step { STEP(FILL) -> fill(k); tidy() }
    :: d_step { STEP(FREEZE) -> freeze(k); tidy() }
    :: d_step { STEP(COMMIT) -> commit(k); tidy() }
    :: d_step { STEP(BURY) -> bury(k); tidy() }
#ifdef SLEEPERS
    :: d_step { !me.asleep && (raises || writes) ->
        printf("%d: falls asleep\n", k); me.asleep = 1; tidy() }
#endif
    :: d_step { !at_step(FIND) -> printf("%d: is killed\n", k); end(k); tidy() }
    od
}

proctype Others(byte at) {
    do
    :: d_step { slot[at] == TENTATIVE ->
        printf("stranger: takes tentative slot %d\n", at); put(at, FREE); tidy() }
#ifndef SLEEPERS
    :: d_step { committed(slot[at]) ->
        printf("stranger: slot %d is reset, evicted or fresh\n", at);
        if
        :: live(slot[at]) || !live(slot[1 - at]) -> ledger[0] = 0; ledger[1] = 0
        :: else
        fi;
        put(at, FREE);
        check();
        tidy() }
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
        :: k < PROCS -> run Operation(k); k++
        :: else -> break
        od;
        run Others(0);
        run Others(1);
        run Clock();
        k = 0
    }
}
