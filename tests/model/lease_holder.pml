/* What lease_window.pml and lease_bucket.pml have in common: those who hold leases
 * (docs/leases.md), their calls, and what may go wrong on the way.
 *
 *   holder   spends what it has, while by its own reckoning the lease has not ended;
 *            asks for more, keeping what is left; gives back
 *   call     is on its way to Redis for as long as it likes, is run or is not, and its
 *            answer is on its way for as long as it likes, or is lost
 *   Clock    ticks whenever it likes
 *
 * A holder does not know what time it is in Redis. It knows how many ticks went by since
 * it sent the call (monotonic time), and how many the answer says there were to go when
 * the script ran: their difference is `life`. Ages and lives are relative, so nothing
 * bounds the number of ticks, calls or crashes.
 *
 * A model that includes this has LIMIT, and `run_call(k)`: what the script does. */
#ifndef PROCS
#define PROCS 2
#endif

#ifndef GONE
#define GONE 2 /* an age: the window or term is over, and so is the one after it */
#endif
#define LONG 3 /* ticks; longer is the same */

#define NONE     0
#define ASKED    1
#define ANSWERED 2

#ifdef STORY
#ifndef BREAK
#define BREAK 0
#endif
#define broken(what) (what == BREAK)
#define EVENT(name)
#define hidden
#else
#define broken(what) c_expr { breakage == what }
#define EVENT(name) c_code { happened[name] = #name; };
c_decl {
    enum { SPENT, SPENT_WHILE_ASKING, DIRECT, GRANTED, KEPT, GIVEN_BACK, GIVEN_BACK_LATE, UNKNOWN,
           ENDED_UNSPENT, LAPSED, CRASHED, RUN_FOR_NOBODY, LOST, UNSENT, TOO_LATE, RESET, STEPPED_BACK,
           EVENTS };
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

typedef Holder {
    byte left;   /* units not spent */
    byte spent;  /* units spent since it last said so */
    byte age;    /* of the term (bucket) or window that they were taken in */
    byte life;   /* ticks for which they may be spent, by its own reckoning */

    byte call;
    byte nobody; /* who sent it has crashed, or has given up waiting */
    byte since;  /* ticks since it was sent, until it is run */
    byte says_spent, says_kept, says_back, says_age;
    byte granted, granted_age, known; /* the answer, */
    byte to_live                      /* and the life it brings: less with every tick */
};
Holder who[PROCS];

#define me who[k]

hidden byte i, units;

/* After every step. Holders are alike: they are sorted. */
inline tidy() {
    i = 0; units = 0;
#ifndef STORY
    c_code {
        struct Holder spare;
        for (int a = 1; a < PROCS; a++)
            for (int b = a; b > 0 && memcmp(&now.who[b - 1], &now.who[b], sizeof spare) > 0; b--) {
                spare = now.who[b];
                now.who[b] = now.who[b - 1];
                now.who[b - 1] = spare;
            }
    }
#endif
}

inline close(k) { me.left = 0; me.spent = 0; me.age = 0; me.life = 0 }

inline end_call(k) {
    me.call = NONE; me.nobody = 0; me.since = 0;
    me.says_spent = 0; me.says_kept = 0; me.says_back = 0; me.says_age = 0;
    me.granted = 0; me.granted_age = 0; me.known = 0; me.to_live = 0
}

#define may_spend(k) (who[k].left > 0 && who[k].life > 0)

inline take_one(k) {
    printf("%d: spends one of %d\n", k, me.left);
    if :: me.call == NONE -> EVENT(SPENT) skip :: else -> EVENT(SPENT_WHILE_ASKING) skip fi;
    me.left--;
    me.spent++
}

/* L5: what is given back is not there to be spent any more when the call goes out. */
inline ask(k, kept, back) {
    printf("%d: asks; %d spent, %d kept, %d given back\n", k, me.spent, kept, back);
    me.call = ASKED;
    me.says_spent = me.spent; me.says_kept = kept; me.says_back = back; me.says_age = me.age;
    me.spent = 0;
    if :: broken(SPENDS_RETURNED) :: else -> me.left = kept fi
}

/* The rest of what a script says. L4: a lease ends so long after the call was *sent* as there
 * was to go when the script ran. */
inline answer(k, grant, to_go) {
    printf("Redis: grants %d for %d, knew the lease: %d\n", grant, to_go, me.known);
    if :: me.known :: else -> EVENT(UNKNOWN) skip fi;
    if :: grant > 0 -> EVENT(GRANTED) skip :: else fi;
    if
    :: me.nobody && broken(ASKED_AGAIN) -> me.known = 0
    :: me.nobody && !broken(ASKED_AGAIN) -> EVENT(RUN_FOR_NOBODY) end_call(k)
    :: else ->
        me.granted = grant;
        me.to_live = to_go;
        if
        :: broken(FROM_REPLY)
        :: else -> me.to_live = (to_go > me.since -> to_go - me.since : 0)
        fi;
        me.since = 0;
        me.says_spent = 0; me.says_kept = 0; me.says_back = 0; me.says_age = 0;
        me.call = ANSWERED
    fi
}

/* L6: units that Redis did not know of are not there. */
inline hear(k) {
    if
    :: me.known || broken(KEEPS_UNKNOWN) -> if :: me.left > 0 -> EVENT(KEPT) skip :: else fi
    :: else -> me.left = 0; me.spent = 0
    fi;
    me.left = me.left + me.granted;
    me.age = me.granted_age;
    me.life = me.to_live;
    printf("%d: has %d for %d\n", k, me.left, me.life);
    if :: me.left > 0 && me.life == 0 -> EVENT(TOO_LATE) skip :: else fi;
    if :: me.left + me.spent == 0 -> close(k) :: else fi;
    end_call(k)
}

/* A crash, or an answer that does not come: L7, what is not known is not there. What was
 * sent may still be run. */
inline crash(k) {
    printf("%d: crashes, or gives up waiting\n", k);
    EVENT(CRASHED)
    close(k);
    if
    :: me.call == ASKED -> me.nobody = 1; me.since = 0
    :: else -> end_call(k)
    fi
}

inline lose(k) {
    printf("%d: its call is never run\n", k);
    EVENT(LOST)
    close(k);
    end_call(k)
}

/* It is known that it was never sent: all is as before. What was spent meanwhile is told by the next. */
inline unsend(k) {
    printf("%d: its call was never sent\n", k);
    EVENT(UNSENT)
    me.spent = me.spent + me.says_spent;
    me.age = me.says_age;
    if :: broken(SPENDS_RETURNED) :: else -> me.left = me.left + me.says_back fi;
    end_call(k)
}

/* `over`: an age grows with every tick, or only when a window ends. */
inline age_holder(over) {
    if
    :: who[i].life > 0 ->
        who[i].life--;
        if :: who[i].life == 0 && who[i].left > 0 -> EVENT(ENDED_UNSPENT) skip :: else fi
    :: else
    fi;
    if
    :: who[i].call == ASKED && !who[i].nobody && who[i].since < LONG -> who[i].since++
    :: who[i].call == ANSWERED && who[i].to_live > 0 && !broken(FROM_REPLY) -> who[i].to_live--
    :: else
    fi;
    if
    :: over ->
        if :: who[i].left + who[i].spent > 0 && who[i].age < GONE -> who[i].age++ :: else fi;
        if :: who[i].call == ASKED && who[i].says_age < GONE -> who[i].says_age++ :: else fi;
        if :: who[i].call == ANSWERED && who[i].granted_age < GONE -> who[i].granted_age++ :: else fi
    :: else
    fi
}
