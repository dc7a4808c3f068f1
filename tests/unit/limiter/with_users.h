/* A limiter with a few users, on a store of tests. */
#ifndef TEST_LIMITER_WITH_USERS_H
#define TEST_LIMITER_WITH_USERS_H

#include "limiter/limiter.h"
#include "unit/limiter/few_users.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

#define S   INT64_C(1000000)
#define DAY (86400 * S)

static struct model model;
static struct few few;
static struct sl_store *store; /* not the model's */
static struct sl_ruleset *rules;
static struct sl_limiter *limiter;

static inline int release(void **unused)
{
    (void)unused;
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    sl_store_close(store);
    model_close(&model.store);
    limiter = NULL;
    rules = NULL;
    store = NULL;
    return 0;
}

static inline void use_on(struct sl_store *on, const char *yaml)
{
    few_open(&few);
    rules = rules_of(yaml);
    limiter = sl_limiter_new(rules, on);
    assert_non_null(limiter);
    sl_limiter_set_users(limiter, &few.seam);
}

static inline void use(const char *yaml)
{
    release(NULL);
    model_open(&model);
    use_on(&model.store, yaml);
}

/* At 5 s, by u, unless it says otherwise: a later initialiser wins. */
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Woverride-init-side-effects"
#define ASKED(...)                                                                                 \
    ((struct sluice_request){ .at_us = 5 * S,                                                      \
                              .cost = 1,                                                           \
                              .trust_thousandths = SLUICE_NO_TRUST,                                \
                              .user = SL_TEXT("u"),                                                \
                              __VA_ARGS__ })
#define ASK(...) decide(ASKED(__VA_ARGS__))

static inline struct sluice_decision decide(struct sluice_request request)
{
    struct sluice_decision decision;
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_OK);
    return decision;
}

#define FIXED  "algorithm: fixed_window, per: user, "
#define BUCKET "algorithm: token_bucket, per: user, "

#define WITH_SETUP(name) TEST_WITH(name, NULL, release)

#endif
