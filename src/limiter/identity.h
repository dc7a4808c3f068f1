/* The caller of a request, in the form that rules, exemptions and keys compare, so that no spelling
 * of a name or a path wins anything. */
#ifndef SL_LIMITER_IDENTITY_H
#define SL_LIMITER_IDENTITY_H

#include "base/hash.h"
#include "rules/ruleset.h"

struct sl_caller_keys {
    struct sluice_request request; /* resource normalised, ip canonical */
    bool has_address;
    struct sl_address address;
    ptrdiff_t tier;                        /* -1: none, or none of the rules' */
    char given[SL_ADDRESS_PRINT_MAX];      /* the address as it was written, if it is one */
    char ip[SL_ADDRESS_PRINT_MAX];         /* its canonical form */
    char counted_ip[SL_ADDRESS_PRINT_MAX]; /* cut to the prefix that is counted */
    size_t given_len, ip_len, counted_ip_len;
    char *resource; /* memory for the normalised resource */
    size_t resource_room;
};

/* Fills in the struct, which begins zeroed, for each request anew, with the same rules. Returns
 * false if there is no memory for an unusually long resource. */
bool sl_caller_keys_init(struct sl_caller_keys *caller, const struct sl_ruleset *rules,
                         const struct sluice_request *request);
void sl_caller_keys_release(struct sl_caller_keys *caller);

/* Is the caller exempt, at the request's time or (SLUICE_NOW) by the wall clock? */
bool sl_caller_keys_exempt(const struct sl_caller_keys *caller, const struct sl_whitelist *list);

/* Returns the caller's value for one part of `per`. */
struct sluice_text sl_caller_keys_value(const struct sl_caller_keys *caller,
                                        const struct sl_part *part);

/* Seeds that are mixed into every key of a rule. */
struct sl_rule_seeds {
    uint64_t limit;
    uint64_t guard;
};

/* `secret` is the store's: without it clients cannot construct colliding keys. */
struct sl_rule_seeds sl_rule_seeds(const struct sl_rule *rule, uint64_t secret);

/* The same for a limit that is not one of the rule's numbers. */
struct sl_rule_seeds sl_limit_seeds(const struct sl_rule *rule, const struct sl_limit *limit,
                                    uint64_t secret);

/* Makes the keys of a rule's counts for this caller: the limit's, and the guard's if the rule has
 * one. Returns false if a part of the identifier is missing. */
bool sl_caller_keys_keys(const struct sl_caller_keys *caller, const struct sl_rule *rule,
                         const struct sl_rule_seeds *seeds, struct sl_hash128 *key,
                         struct sl_hash128 *guard_key);

#endif
