/* What a crew does to the keys of a round, and what must hold afterwards. */
#ifndef STRESS_DRILLS_H
#define STRESS_DRILLS_H

#include "stress/stress.h"

enum { COUNTS_MAX = 4096 };

/* What all workers did in a round; shared. */
struct round {
    _Atomic int64_t admitted[KEYS_MAX]; /* units */
    _Atomic int64_t returned[KEYS_MAX];
    _Atomic int64_t resets;
    _Atomic int64_t smallest_denied; /* negated, so that zero is none */
    _Atomic int64_t events[3];       /* of a guard, by enum sl_guard_event */
    _Atomic uint8_t counts[COUNTS_MAX];
};

struct drill;

/* A drill's round, as one worker or the judge sees it. */
struct field {
    const struct subject *subject;
    const struct drill *drill;
    struct sl_store *store; /* the judge's */
    struct round *tally;
    unsigned round, round_count;
    uint64_t id;
    int64_t now_us; /* about */
    int64_t at_us;  /* -1: the store's clock */
};

struct drill {
    const char *name;
    bool (*applies)(const struct subject *subject); /* NULL: to all */
    void (*play)(struct worker *worker, const struct field *field);
    void (*judge)(const struct field *field);
};

/* Ended by one without a name. */
extern const struct drill drills[];

#endif
