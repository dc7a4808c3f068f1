/* A limiter on the model store that is watched. */
#ifndef TEST_LIMITER_WATCHED_H
#define TEST_LIMITER_WATCHED_H

#include "limiter/limiter.h"
#include "limiter/observe/observer.h"
#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

enum { WATCHED_RULES_MAX = 16, FIRST_NUMBER = 40 }; /* numbers are not the rules' places */

struct watched {
    struct model model;
    struct sl_ruleset *rules;
    struct sl_limiter *limiter;
    struct sl_observer *observer;
    uint32_t numbers[WATCHED_RULES_MAX];
};

static struct watched watched;

static inline void watched_open(const char *yaml)
{
    model_open(&watched.model);
    watched.rules = rules_of(yaml);
    watched.limiter = sl_limiter_new(watched.rules, &watched.model.store);
    watched.observer = sl_observer_new();
    assert_non_null(watched.limiter);
    assert_non_null(watched.observer);
    assert_true(watched.rules->rule_count <= WATCHED_RULES_MAX);
    for (uint32_t i = 0; i < WATCHED_RULES_MAX; i++)
        watched.numbers[i] = FIRST_NUMBER + i;
    assert_true(sl_limiter_set_observer(watched.limiter, watched.observer, watched.numbers));
}

static inline void watched_close(void)
{
    sl_limiter_free(watched.limiter);
    sl_observer_free(watched.observer);
    sl_ruleset_free(watched.rules);
    model_close(&watched.model.store);
}

/* Cost 1 and now, unless it says otherwise: a later initialiser wins. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define REQUEST(...)                                                                               \
    (struct sluice_request)                                                                        \
    {                                                                                              \
        .at_us = SLUICE_NOW, .cost = 1, .trust_thousandths = SLUICE_NO_TRUST, __VA_ARGS__          \
    }
#define ASK(...) watched_ask(&REQUEST(__VA_ARGS__))

static inline bool watched_ask(const struct sluice_request *request)
{
    struct sluice_decision decision;
    sl_limiter_decide(watched.limiter, request, &decision);
    return decision.allowed;
}

/* User u1 and so on. */
static inline void watched_ask_as(uint64_t number)
{
    char user[24];
    snprintf(user, sizeof user, "u%" PRIu64, number);
    ASK(.user = sl_text(user));
}

/* The samples that are being written. */
static inline const struct sl_samples *samples(void)
{
    return watched.observer->samples;
}

/* Of the rule of this place in the file and the identifier; NULL: it was not noted. */
static inline const struct sl_noted *noted_of(uint32_t rule, const char *identifier)
{
    for (size_t i = 0; i < samples()->count; i++) {
        const struct sl_noted *noted = &samples()->noted[i];
        bool is_named =
            identifier ? sl_text_is(noted->identifier, identifier) : !noted->has_identifier;
        if (noted->rule == FIRST_NUMBER + rule && is_named)
            return noted;
    }
    return NULL;
}

#endif
