/* Exemptions, found at a cost that does not grow with their number. */
#ifndef SL_RULES_WHITELIST_H
#define SL_RULES_WHITELIST_H

#include "rules/ruleset.h"

/* Built once from rules->exempt and rules->exempt_until; lives in rules->arena. */
struct sl_whitelist *sl_whitelist_new(struct sl_ruleset *rules);

/* The end of an exemption: a moment of wall time in µs, or one of these. So the clock is read
 * only for an exemption that ends. Where several entries match, the longest counts. */
#define SL_EXEMPT_NOT    INT64_C(0)
#define SL_EXEMPT_ALWAYS INT64_MAX

/* Names belong to a tenant: none is a tenant too. `name` is not missing. */
bool sl_whitelist_has_user(const struct sl_whitelist *list, struct sluice_text tenant,
                           struct sluice_text name);
int64_t sl_whitelist_client_us(const struct sl_whitelist *list, struct sluice_text tenant,
                               struct sluice_text name);
int64_t sl_whitelist_address_us(const struct sl_whitelist *list, const struct sl_address *address);

/* By its SHA-256 in lowercase hex. Call sl_whitelist_has_api_keys first: finding a request's
 * key is not free. */
bool sl_whitelist_has_api_keys(const struct sl_whitelist *list);
int64_t sl_whitelist_api_key_us(const struct sl_whitelist *list, struct sluice_text digest_hex);

#endif
