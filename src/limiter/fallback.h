/* What is answered where the store does not. */
#ifndef SL_LIMITER_FALLBACK_H
#define SL_LIMITER_FALLBACK_H

#include "rules/ruleset.h"
#include "store/store.h"

/* Who lacks an identity that an enforced rule needs is denied for that. Else by the policies of the
 * rules that matched: a `deny` outweighs everything; else those that say
 * `local` decide, on this table and at the settings' share of their limits; else it is allowed.
 * rules[i] made claim i of the bundle, which the store has failed; `local` may be NULL. */
void sl_fallback_decide(const struct sl_settings *settings, struct sl_store *local,
                        const struct sl_bundle *bundle, const struct sl_rule *const *rules,
                        struct sluice_decision *out);

/* A limit, cut to a share of it: rounded against whoever asks. */
void sl_limit_share(const struct sl_algo *algo, struct sl_decimal share, struct sl_limit *limit);

#endif
