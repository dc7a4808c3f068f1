/* The name of a claim in a store that people look into:
 *
 *   rl:{TENANT}:RULE:IDENTIFIER          one tenant's keys share a slot of Redis Cluster
 *   rl:TENANT:RULE:{IDENTIFIER}          with `hash_tag: identifier`
 *   rl:-:RULE:{IDENTIFIER}               without a tenant, and for rules that span them
 *
 * and of its guard the same with RULE~guard. IDENTIFIER is the values in `per` order. */
#ifndef SL_LIMITER_NAME_H
#define SL_LIMITER_NAME_H

#include "base/scratch.h"
#include "base/sha256.h"
#include "limiter/identity.h"
#include "store/store.h"

struct sl_namer {
    const struct sl_settings *settings; /* NULL: the defaults */
    struct sl_sha256 *hasher;
    struct sl_scratch memory; /* holds the names until it is reset */
};

bool sl_namer_init(struct sl_namer *namer, const struct sl_settings *settings);
void sl_namer_release(struct sl_namer *namer);

/* Returns the name of the caller's claim on a rule that has its keys: no part of the identifier is
 * missing. Returns NULL if there is no memory. */
const struct sl_claim_name *sl_name_claim(struct sl_namer *namer,
                                          const struct sl_caller_keys *caller,
                                          const struct sl_rule *rule);

/* The same for windows of different lengths under one rule, so that each has a count of its own:
 * rl:…:RULE~WINDOW:… */
const struct sl_claim_name *sl_name_window(struct sl_namer *namer,
                                           const struct sl_caller_keys *caller,
                                           const struct sl_rule *rule, int64_t window_us);

/* Returns IDENTIFIER alone, for people: of a single value only `%` and controls are written as %XX,
 * so that an IPv6 address can be read. Null `at`: no memory. */
struct sluice_text sl_name_identifier(struct sl_namer *namer, const struct sl_caller_keys *caller,
                                      const struct sl_rule *rule);

/* The name of a limit without a rules file: rl:-:NAME:{KEY} */
const struct sl_claim_name *sl_name_key(struct sl_namer *namer, const char *rule,
                                        struct sluice_text key);

#endif
