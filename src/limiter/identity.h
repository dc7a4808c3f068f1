/* Who is asking: the request in the form that rules, exemptions and keys
 * compare, so that no spelling of a name or a path wins anything. */
#ifndef SL_LIMITER_IDENTITY_H
#define SL_LIMITER_IDENTITY_H

#include "base/hash.h"
#include "rules/ruleset.h"

struct sl_caller_keys {
    struct sluice_request request; /* resource normalised, ip canonical */
    bool has_address;
    struct sl_address address;
    ptrdiff_t tier;                        /* -1: none, or not one of the rules' */
    char given[SL_ADDRESS_PRINT_MAX];      /* the address as it was written, if it is one; */
    char ip[SL_ADDRESS_PRINT_MAX];         /* as all write it; */
    char counted_ip[SL_ADDRESS_PRINT_MAX]; /* cut to the prefix that counts */
    size_t given_len, ip_len, counted_ip_len;
    char *resource; /* room for the normalised resource */
    size_t resource_room;
};

/* Again and again on the same struct, which begins zeroed, with the same rules. False:
 * no memory for an unusually long resource. */
bool sl_caller_keys_init(struct sl_caller_keys *caller, const struct sl_ruleset *rules,
                         const struct sluice_request *request);
void sl_caller_keys_release(struct sl_caller_keys *caller);

/* Is the asker never counted, at the request's time or (SLUICE_NOW) by the wall clock? */
bool sl_caller_keys_exempt(const struct sl_caller_keys *caller, const struct sl_whitelist *list);

/* What the asker is counted by, for one part of `per`. */
struct sluice_text sl_caller_keys_value(const struct sl_caller_keys *caller,
                                        const struct sl_part *part);

/* Where a rule's counts live among all keys: mixed into every key of its. */
struct sl_rule_seeds {
    uint64_t limit;
    uint64_t guard;
};

/* `secret` is the store's: without it nobody can aim at a key. */
struct sl_rule_seeds sl_rule_seeds(const struct sl_rule *rule, uint64_t secret);

/* The same of a limit that is not one of the rule's numbers. */
struct sl_rule_seeds sl_limit_seeds(const struct sl_rule *rule, const struct sl_limit *limit,
                                    uint64_t secret);

/* The keys of a rule's counts for this asker: the limit's, and the guard's
 * where the rule has one. False: a part of the identifier is missing. */
bool sl_caller_keys_keys(const struct sl_caller_keys *caller, const struct sl_rule *rule,
                         const struct sl_rule_seeds *seeds, struct sl_hash128 *key,
                         struct sl_hash128 *guard_key);

#endif
