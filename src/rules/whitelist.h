/* Who is never counted, found at a cost that does not grow with the list. */
#ifndef SL_RULES_WHITELIST_H
#define SL_RULES_WHITELIST_H

#include "rules/ruleset.h"

/* Built once from rules->exempt; lives in rules->arena. */
struct sl_whitelist *sl_whitelist_new(struct sl_ruleset *rules);

/* Names are a tenant's own: none is a tenant too. `name` is not missing. */
bool sl_whitelist_has_user(const struct sl_whitelist *list, struct sluice_text tenant,
                           struct sluice_text name);
bool sl_whitelist_has_client(const struct sl_whitelist *list, struct sluice_text tenant,
                             struct sluice_text name);
bool sl_whitelist_has_address(const struct sl_whitelist *list, const struct sl_address *address);

#endif
