/* Limits that requests bring along (sl_direct of limiter.h), as rules that no file has. */
#ifndef SL_LIMITER_DIRECT_H
#define SL_LIMITER_DIRECT_H

#include "limiter/identity.h"
#include "limiter/limiter.h"

/* One rule for each kind, with indices after those of the rules; a limiter has its own. */
struct sl_direct_rules {
    struct sl_rule rules[SL_DIRECT_COUNT];
    struct sl_rule_seeds seeds[SL_DIRECT_COUNT]; /* of the windows used last */
    int64_t windows_us[SL_DIRECT_COUNT];
};

void sl_direct_init(struct sl_direct_rules *direct, const struct sl_ruleset *rules,
                    uint64_t secret);

/* Returns the seeds of the keys of this limit's counts. */
const struct sl_rule_seeds *sl_direct_seeds(struct sl_direct_rules *direct,
                                            const struct sl_direct *asked, uint64_t secret);

#endif
