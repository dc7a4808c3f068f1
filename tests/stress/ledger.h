/* What was admitted, and whether it may have been. */
#ifndef STRESS_LEDGER_H
#define STRESS_LEDGER_H

#include "stress/stress.h"

struct variant {
    const char *name; /* NULL ends the list */
    uint64_t size_bytes, log_bytes;
    int64_t window_us; /* the shortest; others are up to four times that */
    int64_t group_us;  /* how long a group of keys is hot */
    uint64_t groups_back;
    uint64_t duration_s; /* unless --seconds */
    bool crowded;        /* more is live than there is room for */
};

extern const struct variant ledger_variants[];

struct entry {
    uint32_t key;
    uint32_t cost;
    int64_t decided_us;  /* table time */
    int64_t before_us;   /* boot time, */
    int64_t after_us;    /* in the end in table time */
    int64_t returned_us; /* boot time of a refund, 0: none, -1: held until it expires */
};

struct verdict {
    uint64_t over; /* units admitted above a bound */
    uint64_t slow; /* entries left out, having taken too long */
    uint64_t limit_most;
    /* Of the first key above its bound: */
    struct sl_claim claim;
    const struct entry *first;
    size_t first_count;
    int64_t worst_us;
    char text[256];
};

/* The claim that stands behind a key: every algorithm gets its share of keys. */
struct sl_claim ledger_claim(const struct variant *variant, uint32_t key);

/* Sorts the entries, and holds them against the bounds of their keys. */
void ledger_judge(const struct variant *variant, struct entry *entries, size_t count,
                  struct verdict *verdict);

/* What happened to the first key that is above its bound. */
void ledger_print(const struct verdict *verdict);

#endif
