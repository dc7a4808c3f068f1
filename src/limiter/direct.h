/* Limits that requests bring along (sl_direct of limiter.h), as rules that no file has. */
#ifndef SL_LIMITER_DIRECT_H
#define SL_LIMITER_DIRECT_H

#include "limiter/identity.h"
#include "limiter/limiter.h"

/* One for each kind, with the indices behind those of the rules; a limiter's. */
struct sl_direct_rules {
    struct sl_rule rules[SL_DIRECT_COUNT];
    struct sl_rule_seeds seeds[SL_DIRECT_COUNT]; /* of the windows that were asked for last */
    int64_t windows_us[SL_DIRECT_COUNT];
};

void sl_direct_init(struct sl_direct_rules *direct, const struct sl_ruleset *rules,
                    uint64_t secret);

/* Where the counts of this limit live. */
const struct sl_rule_seeds *sl_direct_seeds(struct sl_direct_rules *direct,
                                            const struct sl_direct *asked, uint64_t secret);

#endif
