/* What is known of who is asking: found once for each request, used by all its rules. */
#ifndef SL_LIMITER_USER_CONTEXT_H
#define SL_LIMITER_USER_CONTEXT_H

#include "limiter/identity.h"
#include "limiter/users/user_limit.h"

/* A zeroed struct knows nobody. */
struct sl_known {
    struct sl_people *people; /* or NULL */
    bool is_somebody;         /* then it is `person` */
    bool is_exempt;
    bool wall_is_read; /* one reading for all that are decided together, where one is needed */
    int64_t wall_us;
    int64_t minutes; /* up to and with the last violation that is known of; 0: none */
    struct sl_person person;
    struct sl_own_kept own;
};

/* Looks the asker up; a tier that is known becomes the asker's, where the request names
 * none. There are people. */
void sl_known_meet(struct sl_known *known, const struct sl_ruleset *rules, struct sl_asker *asker);

/* The asker's trust of what is known and what the request says. */
int32_t sl_known_trust(struct sl_known *known, const struct sl_ruleset *rules,
                       const struct sl_asker *asker);

/* The asker's own numbers in the rule, or NULL. */
static inline const struct sl_own *sl_known_own(struct sl_known *known, const struct sl_rule *rule,
                                                ptrdiff_t tier)
{
    if (!known->is_somebody)
        return NULL;
    return sl_own_find(&known->own, &known->person, rule, tier);
}

#endif
