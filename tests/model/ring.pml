#ifndef PROCS
#define PROCS 2
#endif
#ifndef LAST
#define LAST 3 /* the clock goes from 1 to this */
#endif
#ifndef WINDOW
#define WINDOW 1
#endif
#define SLOTS 2
#define LENGTH 2 /* of a ring, and the limit */

/* words */
#define FREE 0
#define TENTATIVE 1
#define STATE(newest, count, pending) (64 + 8 * (newest) + 2 * (count) + (pending))
#define FROZEN 128
#define live(w) ((w) >= 64 && (w) < 128)
#define frozen(w) ((w) >= 128)
#define committed(w) ((w) >= 64)
#define newest_of(w) (((w) % 64) / 8)
#define count_of(w) (((w) % 8) / 2)
#define pending_of(w) ((w) % 2)
#define held(w) (count_of(w) > 2 -> 2 : count_of(w))
#define index_of(w, n) ((count_of(w) + 2 - (n)) % 2)

/* entries: 0 to LAST, or */
#define MARK 9
#define STALE 10 /* what one remembers of a mark that is gone */

byte slot[SLOTS];
byte ring[4];
byte clock = 1;
byte ledger[2]; /* newest, second newest */

mtype:step = { FIND, LOAD, SETTLE, RAISE, SWAP, COPY, VERIFY, PREPARE, WRITE, LOWER, CHECK, FILL, FREEZE, CONFIRM, COMMIT, BURY };

typedef Process {
    mtype:step step;
    byte at;     /* slot */
    byte word;
    byte gone;
    byte value;  /* what was read of the second newest */
    byte entry;  /* what was read of an entry that is to be written */
    byte own;    /* the tentative slot, plus one */
    byte index;
    byte next;
    byte copy[2]
};
Process who[PROCS];
#define me who[k]
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
    enum { INEXACT, MOVED, REFUNDED, SETTLED, RAISE_LOST, LATE_RAISE, LATE_WRITE, MARKED, LATE_FILL, EVENTS };
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
#define UNMARKED 1
#define SAME_STATE 2
#define NO_SETTLE 3
#define RAISE_ONCE 4
#define BLIND_RAISE 5
#define NO_FREEZE 6
#define NO_VERIFY 7
#define UNOWNED 8
#define EARLY 9
hidden byte i, j, place, n, w, v;

inline tidy() {
    i = 0; j = 0; place = 0; n = 0; w = 0; v = 0;
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

inline check() {
    if :: live(slot[0]) -> place = 0
    :: live(slot[1]) -> place = 1
    :: !live(slot[0]) && !live(slot[1]) && frozen(slot[0]) -> place = 0
    :: !live(slot[0]) && !live(slot[1]) && frozen(slot[1]) -> place = 1
    :: else -> place = 2 fi;
    assert(!(live(slot[0]) && live(slot[1])));
    if
    :: place < 2 ->
        w = slot[place];
        n = 1;
        do
        :: n <= 2 ->
            if
            :: n > held(w) -> v = 0
            :: n <= held(w) && n <= pending_of(w) -> v = newest_of(w)
            :: else -> v = ring[2 * place + index_of(w, n)];
                if :: v > newest_of(w) -> v = newest_of(w) :: else fi
            fi;
            assert(v >= ledger[n - 1]);
            if :: v > ledger[n - 1] -> EVENT(INEXACT) skip :: else fi;
            n++
        :: else -> break
        od
    :: else -> assert(ledger[0] == 0)
    fi
}

inline put(where, what) {
    place = where;
    j = 0;
    do
    :: j < PROCS ->
        if :: who[j].own == place + 1 -> who[j].own = 0 :: else fi;
        if :: who[j].word && who[j].at == place && what != slot[place] + FROZEN && !broken(SAME_STATE) -> who[j].gone = 1 :: else fi;
        j++
    :: else -> break
    od;
    slot[place] = what
}

inline write(where, what) {
    place = where;
    j = 0;
    do
    :: j < PROCS ->
        if :: who[j].entry == MARK && ((who[j].step == RAISE && 2 * who[j].at + who[j].index == place) || (who[j].step != RAISE && 2 * (1 - who[j].at) + who[j].index == place)) -> who[j].entry = STALE :: else fi;
        j++
    :: else -> break
    od;
    ring[place] = what;
    check()
}

inline end(k) {
    me.at = 0; me.word = 0; me.gone = 0; me.value = 0; me.entry = 0; me.own = 0; me.index = 0; me.next = 0; me.copy[0] = 0; me.copy[1] = 0;
    me.step = FIND
}

inline find(k) {
    if
    :: live(slot[0]) -> me.at = 0; me.word = slot[0]; me.step = LOAD
    :: live(slot[1]) -> me.at = 1; me.word = slot[1]; me.step = LOAD
    :: !live(slot[0]) && !live(slot[1]) && frozen(slot[0]) -> me.at = 0; me.word = slot[0] - FROZEN; me.step = COPY
    :: !live(slot[0]) && !live(slot[1]) && frozen(slot[1]) -> me.at = 1; me.word = slot[1] - FROZEN; me.step = COPY
    fi
}

inline insert(k, where) {
    printf("%d: slot %d is live, charged at %d\n", k, where, clock);
    put(where, STATE(clock, 1, 1));
    ledger[0] = clock;
    if :: slot[1 - where] == TENTATIVE -> put(1 - where, FREE) :: else fi;
    check()
}

inline load(k) {
    if
    :: held(me.word) == 2 -> me.value = ring[2 * me.at + index_of(me.word, 2)]; if :: me.value > newest_of(me.word) -> me.value = newest_of(me.word) :: else fi
    :: else
    fi;
    printf("%d: loads %d of slot %d\n", k, me.value, me.at);
    me.index = index_of(me.word, 1);
    if
    :: pending_of(me.word) && !broken(NO_SETTLE) -> me.step = SETTLE
    :: else -> me.index = 0; me.step = SWAP
    fi
}

inline settle(k) {
    me.entry = ring[2 * me.at + me.index];
    printf("%d: reads %d of slot %d entry %d, to raise to %d\n", k, me.entry, me.at, me.index, newest_of(me.word));
    if
    :: me.entry < newest_of(me.word) || me.entry == MARK -> me.step = RAISE
    :: else -> me.entry = 0; me.index = 0; me.step = SWAP
    fi
}

inline raise(k) {
    printf("%d: raises slot %d entry %d to %d\n", k, me.at, me.index, newest_of(me.word));
    if
    :: ring[2 * me.at + me.index] == me.entry || broken(BLIND_RAISE) ->
        if :: me.gone -> EVENT(LATE_RAISE) skip :: else -> EVENT(SETTLED) skip fi;
        i = 2 * me.at + me.index;
        me.entry = 0; me.index = 0; me.step = SWAP;
        write(i, newest_of(me.word))
    :: ring[2 * me.at + me.index] != me.entry && broken(RAISE_ONCE) -> me.entry = 0; me.index = 0; me.step = SWAP
    :: else -> EVENT(RAISE_LOST) me.entry = 0; me.step = SETTLE
    fi
}

inline swap(k, as_of) {
    printf("%d: charges slot %d at %d\n", k, me.at, as_of);
    if
    :: me.gone || slot[me.at] != me.word -> end(k)
    :: !(me.gone || slot[me.at] != me.word) && me.value && me.value + WINDOW > as_of -> end(k) /* denied */
    :: else ->
        assert(ledger[1] == 0 || ledger[1] + WINDOW <= as_of);
        ledger[1] = ledger[0];
        ledger[0] = as_of;
        put(me.at, STATE(as_of, (count_of(me.word) == 3 -> 2 : count_of(me.word) + 1), 1));
        end(k);
        check()
    fi
}

/* moving: first the second newest, then the newest */
inline copy_entry(k) {
    if
    :: held(me.word) == 2 && me.index == 0 ->
        me.copy[0] = ring[2 * me.at + index_of(me.word, 2)];
        if :: me.copy[0] > newest_of(me.word) -> me.copy[0] = newest_of(me.word) :: else fi;
        printf("%d: copies %d\n", k, me.copy[0]);
        if :: pending_of(me.word) -> me.index = 0; me.step = VERIFY :: else -> me.index = 1 fi
    :: !(held(me.word) == 2 && me.index == 0) && !pending_of(me.word) ->
        me.copy[1] = ring[2 * me.at + index_of(me.word, 1)];
        if :: me.copy[1] > newest_of(me.word) -> me.copy[1] = newest_of(me.word) :: else fi;
        printf("%d: copies %d\n", k, me.copy[1]);
        me.index = 0; me.step = VERIFY
    :: else -> me.index = 0; me.step = VERIFY
    fi
}

#define unchanged() (!me.gone && (slot[me.at] == me.word || slot[me.at] == me.word + FROZEN))

/* takes: 0 nothing out, else the n-th newest */
inline verify(k, takes) {
    printf("%d: verifies, takes %d out\n", k, takes);
    if
    :: !unchanged() && !broken(NO_VERIFY) -> end(k)
    :: else ->
        if
        :: takes == 0 && held(me.word) == 2 -> me.next = STATE(newest_of(me.word), 2, pending_of(me.word)) /* copy[0] to entry 0, copy[1] to 1 */
        :: takes == 0 && held(me.word) == 1 -> me.next = STATE(newest_of(me.word), 1, pending_of(me.word)); me.copy[0] = me.copy[1]; me.copy[1] = 0
        :: takes == 1 -> me.next = STATE(me.copy[0], 1, 0); me.copy[1] = 0
        :: takes == 2 -> me.next = STATE(newest_of(me.word), 1, 0); me.copy[0] = (pending_of(me.word) -> newest_of(me.word) : me.copy[1]); me.copy[1] = 0
        fi;
        me.step = PREPARE
    fi
}

inline after_write(k) {
    me.entry = 0;
    if
    :: me.index == 0 && me.copy[1] -> me.index = 1; me.step = WRITE
    :: else -> me.index = 0; me.copy[1] = 0; me.step = FREEZE
    fi
}

inline prepare(k) {
    printf("%d: slot %d is tentative\n", k, 1 - me.at);
    if
    :: committed(slot[1 - me.at]) -> end(k)
    :: else ->
        put(1 - me.at, TENTATIVE);
        me.own = 2 - me.at;
        if :: me.copy[0] -> me.step = WRITE :: else -> me.step = FREEZE fi
    fi
}

#define own_entry (2 * (1 - me.at) + me.index)

/* reads the entry, then checks that the slot is still his */
inline read_own(k) {
    if
    :: !me.own && !broken(UNOWNED) -> end(k)
    :: else ->
        me.entry = ring[own_entry];
        printf("%d: reads %d of slot %d entry %d, to write %d\n", k, me.entry, 1 - me.at, me.index, me.copy[me.index]);
        if
        :: me.entry == me.copy[me.index] -> after_write(k)
        :: else -> me.step = LOWER
        fi
    fi
}
inline lower(k) {
    printf("%d: writes slot %d entry %d: %d becomes %d\n", k, 1 - me.at, me.index, me.entry, me.copy[me.index]);
    if
    :: ring[own_entry] == me.entry && broken(UNMARKED) ->
        if :: !me.own -> EVENT(LATE_WRITE) skip :: else fi;
        i = own_entry;
        v = me.copy[me.index];
        after_write(k);
        write(i, v)
    :: ring[own_entry] == me.entry && !broken(UNMARKED) ->
        if :: !me.own -> EVENT(LATE_WRITE) skip :: else -> EVENT(MARKED) skip fi;
        i = own_entry;
        write(i, MARK);
        me.entry = MARK;
        me.step = CHECK
    :: else -> me.entry = 0; me.step = WRITE
    fi
}
inline check_own(k) {
    if
    :: me.own -> me.step = FILL
    :: else -> end(k)
    fi
}
inline fill(k) {
    printf("%d: writes slot %d entry %d: mark becomes %d\n", k, 1 - me.at, me.index, me.copy[me.index]);
    if
    :: ring[own_entry] == me.entry ->
        if :: !me.own -> EVENT(LATE_FILL) skip :: else fi;
        i = own_entry;
        v = me.copy[me.index];
        after_write(k);
        write(i, v)
    :: else -> me.entry = 0; me.step = WRITE
    fi
}

inline freeze(k) {
    printf("%d: freezes slot %d\n", k, me.at);
    if
    :: !me.gone && slot[me.at] == me.word -> if :: broken(NO_FREEZE) :: else -> put(me.at, me.word + FROZEN) fi; me.step = CONFIRM
    :: !me.gone && slot[me.at] == me.word + FROZEN -> me.step = CONFIRM
    :: else -> end(k)
    fi
}
inline confirm(k) {
    if
    :: !me.gone && (slot[me.at] == me.word + FROZEN || broken(NO_FREEZE)) -> me.step = COMMIT
    :: else -> end(k)
    fi
}
inline commit(k) {
    printf("%d: slot %d is live instead\n", k, 1 - me.at);
    if
    :: me.own ->
        put(1 - me.at, me.next);
        if
        :: count_of(me.next) < held(me.word) && newest_of(me.next) < newest_of(me.word) -> ledger[0] = ledger[1]; ledger[1] = 0
        :: count_of(me.next) < held(me.word) && newest_of(me.next) == newest_of(me.word) -> ledger[1] = 0
        :: else
        fi;
        me.next = 0; me.copy[0] = 0;
        me.step = BURY;
        check()
    :: else -> end(k)
    fi
}
inline bury(k) {
    if
    :: !me.gone && slot[me.at] == me.word + FROZEN -> put(me.at, FREE)
    :: else
    fi;
    end(k);
    check()
}
#define STEP(name) who[k].step == name
proctype Operation(byte k) {
    do
    :: d_step { STEP(FIND) && (committed(slot[0]) || committed(slot[1])) -> find(k); tidy() }
    :: d_step { STEP(FIND) && !committed(slot[0]) && !committed(slot[1]) -> insert(k, 0); tidy() }
    :: d_step { STEP(FIND) && !committed(slot[0]) && !committed(slot[1]) -> insert(k, 1); tidy() }
    :: d_step { STEP(LOAD) -> load(k); tidy() }
    :: d_step { STEP(LOAD) -> who[k].step = COPY; tidy() }
    :: d_step { STEP(SETTLE) -> settle(k); tidy() }
    :: d_step { STEP(RAISE) -> raise(k); tidy() }
    :: d_step { STEP(SWAP) -> swap(k, clock); tidy() }
    :: d_step { STEP(SWAP) && newest_of(who[k].word) < clock -> swap(k, newest_of(who[k].word)); tidy() }
    :: d_step { STEP(COPY) -> copy_entry(k); tidy() }
    :: d_step { STEP(VERIFY) -> verify(k, 0); tidy() }
    :: d_step { STEP(VERIFY) && held(who[k].word) == 2 -> verify(k, 1); tidy() }
    :: d_step { STEP(VERIFY) && held(who[k].word) == 2 -> verify(k, 2); tidy() }
    :: d_step { STEP(PREPARE) -> prepare(k); tidy() }
    :: d_step { STEP(WRITE) -> read_own(k); tidy() }
    :: d_step { STEP(LOWER) -> lower(k); tidy() }
    :: d_step { STEP(CHECK) -> check_own(k); tidy() }
    :: d_step { STEP(FILL) -> fill(k); tidy() }
    :: d_step { STEP(FREEZE) -> freeze(k); tidy() }
    :: d_step { STEP(CONFIRM) -> confirm(k); tidy() }
    :: d_step { STEP(COMMIT) -> commit(k); tidy() }
    :: d_step { STEP(BURY) -> bury(k); tidy() }
    :: d_step { !(STEP(FIND)) -> printf("%d: is killed\n", k); end(k); tidy() }
    od
}

proctype Others(byte at) {
    do
    :: d_step { slot[at] == TENTATIVE -> printf("stranger: takes tentative slot %d\n", at); put(at, FREE); tidy() }
    :: d_step { committed(slot[at]) -> printf("stranger: slot %d is reset, evicted or fresh\n", at);
        if :: live(slot[at]) || !live(slot[1 - at]) -> ledger[0] = 0; ledger[1] = 0 :: else fi;
        put(at, FREE); check(); tidy() }
    od
}
proctype Clock() { do :: d_step { clock < LAST -> clock++; printf("clock: %d\n", clock); tidy() } od }
init {
    atomic {
        byte k;
        do
        :: k < PROCS -> me.step = FIND; run Operation(k); k++
        :: else -> break
        od;
        run Others(0); run Others(1); run Clock();
        k = 0
    }
}
