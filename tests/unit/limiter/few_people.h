/* People for tests: a handful in an array, and what was asked of them. */
#ifndef TEST_LIMITER_FEW_PEOPLE_H
#define TEST_LIMITER_FEW_PEOPLE_H

#include "limiter/users/users.h"
#include "unit/base/unit.h"

enum { FEW = 4, TOLD = 64 };

struct few {
    struct sl_people seam;
    const char *tenants[FEW], *users[FEW];
    struct sl_person persons[FEW];
    int finds;
    int64_t found_at_us; /* the last time they were asked for */
    struct {
        char user[8], tenant[8];
        int64_t at_us;
    } told[TOLD];
    size_t told_count;
};

static inline bool few_find(struct sl_people *people, struct sluice_text tenant,
                            struct sluice_text user, int64_t now_us, struct sl_person *out)
{
    struct few *few = (struct few *)people;
    few->finds++;
    few->found_at_us = now_us;
    for (size_t i = 0; i < FEW; i++)
        if (few->users[i] && sl_text_is(user, few->users[i]) &&
            sl_text_is(tenant, few->tenants[i] ? few->tenants[i] : "")) {
            *out = few->persons[i];
            return true;
        }
    memset(out, 0x5a, sizeof *out); /* void */
    return false;
}

static inline void few_violated(struct sl_people *people, struct sluice_text tenant,
                                struct sluice_text user, int64_t now_us)
{
    struct few *few = (struct few *)people;
    assert_true(few->told_count < TOLD);
    size_t i = few->told_count++;
    snprintf(few->told[i].user, sizeof few->told[i].user, "%.*s", (int)user.len, user.at);
    snprintf(few->told[i].tenant, sizeof few->told[i].tenant, "%.*s", (int)tenant.len,
             tenant.len ? tenant.at : "");
    few->told[i].at_us = now_us;
}

static const struct sl_people_ops few_ops = { few_find, few_violated };

static inline void few_open(struct few *few)
{
    memset(few, 0, sizeof *few);
    few->seam.ops = &few_ops;
}

/* Somebody more, of whom nothing is known yet. */
static inline struct sl_person *few_add(struct few *few, const char *tenant, const char *user)
{
    size_t i = few->seam.count;
    assert_true(i < FEW);
    few->tenants[i] = tenant;
    few->users[i] = user;
    few->persons[i].violated_minute = -1;
    few->seam.count++;
    return &few->persons[i];
}

static inline void few_own(struct sl_person *person, const char *rule, uint64_t capacity,
                           struct sl_decimal rate)
{
    static uint64_t revision;
    struct sl_own_limit *own = &person->own[person->own_count++];
    snprintf(own->rule, sizeof own->rule, "%s", rule);
    own->capacity = capacity;
    own->rate = rate;
    person->own_revision = ++revision;
}

#endif
