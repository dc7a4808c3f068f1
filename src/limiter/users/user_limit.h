/* A user's own numbers in a rule, in place of the tier's. */
#ifndef SL_LIMITER_USERS_USER_LIMIT_H
#define SL_LIMITER_USERS_USER_LIMIT_H

#include "limiter/users/users.h"
#include "rules/ruleset.h"

/* Returns NULL and the numbers for no tier; or what is wrong with them and what would be right: in
 * every tier they must make a limit. Does not check that the rule is the one they are for. */
const char *sl_rule_user_numbers(const struct sl_rule *rule, const struct sl_user_limit *own,
                                 struct sl_numbers *out);

/* Composed numbers of one user. */
struct sl_user_numbers {
    uint64_t revision; /* the user's; 0: this place is free */
    uint32_t rule;     /* the rule's index */
    ptrdiff_t tier;
    bool good; /* they make a limit */
    uint32_t ring_len;
    struct sl_numbers numbers;
};

/* The numbers used last, for one ruleset; a zeroed struct is empty. */
enum { SL_USER_NUMBERS_CACHED = 64 };

struct sl_user_numbers_cache {
    struct sl_user_numbers at[SL_USER_NUMBERS_CACHED];
};

/* Returns NULL if the user has no numbers of their own in this rule, or they make no limit with the
 * rule as it is now. Valid until the next call. */
const struct sl_user_numbers *sl_user_numbers_find(struct sl_user_numbers_cache *kept,
                                                   const struct sl_user *user,
                                                   const struct sl_rule *rule, ptrdiff_t tier);

#endif
