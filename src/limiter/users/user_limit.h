/* A user's own numbers in a rule, in place of the tier's. */
#ifndef SL_LIMITER_USERS_USER_LIMIT_H
#define SL_LIMITER_USERS_USER_LIMIT_H

#include "limiter/users/users.h"
#include "rules/ruleset.h"

/* NULL, and the numbers for no tier; or what is wrong with them, and what would be
 * right: in every tier they must make a limit. Whether the rule is the one they are for
 * is not looked at. */
const char *sl_rule_user_numbers(const struct sl_rule *rule, const struct sl_user_limit *own,
                                 struct sl_numbers *out);

/* Composed numbers. */
struct sl_user_numbers {
    uint64_t revision; /* of the user's; 0: this one is free */
    uint32_t rule;     /* its index */
    ptrdiff_t tier;
    bool good; /* else they make no limit */
    uint32_t ring_len;
    struct sl_numbers numbers;
};

/* Those that were needed last. One ruleset's; a zeroed struct is empty. */
enum { SL_USER_NUMBERS_CACHED = 64 };

struct sl_user_numbers_cache {
    struct sl_user_numbers at[SL_USER_NUMBERS_CACHED];
};

/* NULL: the person has no numbers of their own in this rule, or they make no limit with
 * what the rule says now. Good until the next call. */
const struct sl_user_numbers *sl_user_numbers_find(struct sl_user_numbers_cache *kept,
                                                   const struct sl_user *user,
                                                   const struct sl_rule *rule, ptrdiff_t tier);

#endif
