/* People for tests: a handful in an array, and what was asked of them. */
#ifndef TEST_LIMITER_FEW_USERS_H
#define TEST_LIMITER_FEW_USERS_H

#include "limiter/users/users.h"
#include "unit/base/unit.h"

enum { FEW = 4, TOLD = 64 };

struct few {
    struct sl_users seam;
    const char *tenants[FEW], *users[FEW];
    struct sl_user persons[FEW];
    int finds;
    int64_t found_at_us; /* the last time they were asked for */
    struct {
        char user[8], tenant[8];
        int64_t at_us;
    } told[TOLD];
    size_t told_count;
};

static inline bool few_find(struct sl_users *users, struct sluice_text tenant,
                            struct sluice_text user, int64_t now_us, struct sl_user *out)
{
    struct few *few = (struct few *)users;
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

static inline void few_violated(struct sl_users *users, struct sluice_text tenant,
                                struct sluice_text user, int64_t now_us)
{
    struct few *few = (struct few *)users;
    assert_true(few->told_count < TOLD);
    size_t i = few->told_count++;
    snprintf(few->told[i].user, sizeof few->told[i].user, "%.*s", (int)user.len, user.at);
    snprintf(few->told[i].tenant, sizeof few->told[i].tenant, "%.*s", (int)tenant.len,
             tenant.len ? tenant.at : "");
    few->told[i].at_us = now_us;
}

static const struct sl_users_ops few_ops = { few_find, few_violated };

static inline void few_open(struct few *few)
{
    memset(few, 0, sizeof *few);
    few->seam.ops = &few_ops;
}

/* Adds a user without any facts. */
static inline struct sl_user *few_add(struct few *few, const char *tenant, const char *user)
{
    size_t i = few->seam.count;
    assert_true(i < FEW);
    few->tenants[i] = tenant;
    few->users[i] = user;
    few->persons[i].violated_minute = -1;
    few->seam.count++;
    return &few->persons[i];
}

static inline void few_own(struct sl_user *user, const char *rule, uint64_t capacity,
                           struct sl_decimal rate)
{
    static uint64_t revision;
    struct sl_user_limit *own = &user->own[user->own_count++];
    snprintf(own->rule, sizeof own->rule, "%s", rule);
    own->capacity = capacity;
    own->rate = rate;
    user->own_revision = ++revision;
}

#endif
