/* A user's own numbers in a rule, in place of the tier's. */
#ifndef SL_LIMITER_USERS_USER_LIMIT_H
#define SL_LIMITER_USERS_USER_LIMIT_H

#include "limiter/users/users.h"
#include "rules/ruleset.h"

/* NULL, and the numbers for no tier; or what is wrong with them, and what would be
 * right: in every tier they must make a limit. Whether the rule is the one they are for
 * is not looked at. */
const char *sl_rule_own_numbers(const struct sl_rule *rule, const struct sl_own_limit *own,
                                struct sl_numbers *out);

/* Composed numbers. */
struct sl_own {
    uint64_t revision; /* of the user's; 0: this one is free */
    uint32_t rule;     /* its index */
    ptrdiff_t tier;
    bool good; /* else they make no limit */
    uint32_t ring_len;
    struct sl_numbers numbers;
};

/* Those that were needed last. One ruleset's; a zeroed struct is empty. */
enum { SL_OWN_KEPT = 64 };

struct sl_own_kept {
    struct sl_own at[SL_OWN_KEPT];
};

/* NULL: the person has no numbers of their own in this rule, or they make no limit with
 * what the rule says now. Good until the next call. */
const struct sl_own *sl_own_find(struct sl_own_kept *kept, const struct sl_person *person,
                                 const struct sl_rule *rule, ptrdiff_t tier);

#endif
