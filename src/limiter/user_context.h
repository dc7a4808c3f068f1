/* What is known of who is asking: found once for each request, used by all its rules. */
#ifndef SL_LIMITER_USER_CONTEXT_H
#define SL_LIMITER_USER_CONTEXT_H

#include "limiter/identity.h"
#include "limiter/users/user_limit.h"

/* A zeroed struct knows nobody. */
struct sl_user_context {
    struct sl_users *users; /* or NULL */
    bool is_somebody;       /* then it is `person` */
    bool is_exempt;
    bool wall_is_read; /* one reading for all that are decided together, where one is needed */
    int64_t wall_us;
    int64_t minutes; /* up to and with the last violation that is known of; 0: none */
    struct sl_user user;
    struct sl_user_numbers_cache own;
};

/* Looks the asker up; a tier that is known becomes the asker's, where the request names
 * none. There are people. */
void sl_user_context_meet(struct sl_user_context *context, const struct sl_ruleset *rules,
                          struct sl_caller_keys *caller);

/* The asker's trust of what is known and what the request says. */
int32_t sl_user_context_trust(struct sl_user_context *context, const struct sl_ruleset *rules,
                              const struct sl_caller_keys *caller);

/* The asker's own numbers in the rule, or NULL. */
static inline const struct sl_user_numbers *
sl_user_context_limit(struct sl_user_context *context, const struct sl_rule *rule, ptrdiff_t tier)
{
    if (!context->is_somebody)
        return NULL;
    return sl_user_numbers_find(&context->own, &context->user, rule, tier);
}

#endif
