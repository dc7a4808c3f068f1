/* The user of a request: looked up once for each request, used by all its rules. */
#ifndef SL_LIMITER_USER_CONTEXT_H
#define SL_LIMITER_USER_CONTEXT_H

#include "limiter/identity.h"
#include "limiter/users/user_limit.h"

/* A zeroed struct knows no user. */
struct sl_user_context {
    struct sl_users *users; /* NULL: no user is known */
    bool is_known;          /* `user` is filled in */
    bool is_exempt;
    bool wall_is_read; /* read once for all requests decided together, and only if needed */
    int64_t wall_us;
    int64_t minutes; /* the minute of the last known violation + 1; 0: none */
    struct sl_user user;
    struct sl_user_numbers_cache own;
};

/* Looks the caller up; a known tier becomes the caller's, if the request names none. `users` is not
 * NULL. */
void sl_user_context_meet(struct sl_user_context *context, const struct sl_ruleset *rules,
                          struct sl_caller_keys *caller);

/* Returns the caller's trust, by what is known and what the request says. */
int32_t sl_user_context_trust(struct sl_user_context *context, const struct sl_ruleset *rules,
                              const struct sl_caller_keys *caller);

/* Returns the caller's own numbers in the rule, or NULL. */
static inline const struct sl_user_numbers *
sl_user_context_limit(struct sl_user_context *context, const struct sl_rule *rule, ptrdiff_t tier)
{
    if (!context->is_known)
        return NULL;
    return sl_user_numbers_find(&context->own, &context->user, rule, tier);
}

#endif
