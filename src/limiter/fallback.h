/* Decisions for a store that does not answer. */
#ifndef SL_LIMITER_FALLBACK_H
#define SL_LIMITER_FALLBACK_H

#include "rules/ruleset.h"
#include "store/store.h"

/* Denies a request that lacks an identity which an enforced rule needs. Otherwise the policies of
 * the rules that matched decide: one `deny` outweighs everything; else those with `local` decide,
 * on the table `local` and at the settings' share of their limits; else it is allowed. rules[i]
 * made claim i of the bundle, which the store has failed; `local` may be NULL. */
void sl_fallback_decide(const struct sl_settings *settings, struct sl_store *local,
                        const struct sl_bundle *bundle, const struct sl_rule *const *rules,
                        struct sluice_decision *out);

/* Cuts a limit to a share of it, rounded down. */
void sl_limit_share(const struct sl_algo *algo, struct sl_decimal share, struct sl_limit *limit);

#endif
