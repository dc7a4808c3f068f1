/* One operation on a small table, and how to stop it after any instruction. */
#ifndef STRESS_STEP_H
#define STRESS_STEP_H

#include "stress/stress.h"

#define STAGE_BYTES (UINT64_C(96) << 10)

/* A table, the keys an act is about, and what the table must say of them. */
struct stage {
    struct table table;
    uint8_t *memory; /* the table's file, mapped once more */
    const struct subject *subject;
    uint64_t id;
    int64_t now_us;
    int64_t low[KEYS_MAX], high[KEYS_MAX]; /* units counted, at least and at most */
    int64_t charged_at_us;
    uint64_t reservation;
};

enum { COST = 2, ALL = 1 << 20 };

struct act {
    const char *name;
    bool (*applies)(const struct subject *subject); /* NULL: to all */
    void (*prepare)(struct stage *stage);           /* NULL: on a fresh key */
    void (*run)(struct stage *stage, struct sl_store *store);
    unsigned keys;        /* so many of the stage's keys are charged or refunded, */
    int64_t taken, given; /* these many units each; ALL: whatever there is */
    bool settles;         /* the stage's reservation */
};

extern const struct act acts[]; /* ended by one without a name */

struct sl_claim stage_claim(const struct stage *stage, unsigned n, int64_t capacity);

void stage_open(struct stage *stage, const struct subject *subject, uint64_t id);
void stage_close(struct stage *stage);

/* Called in this process for each state of the table's memory that the act goes
 * through, the actor being stopped; whatever it does to the memory is undone. */
typedef void at_image(struct stage *stage, void *about);

/* How many instructions it took; *images: how many times the memory changed. */
uint64_t act_step(struct stage *stage, const struct act *act, at_image *look, void *about,
                  uint64_t *images);

#endif
