/* What is known of users: the seam between deciding and storing them.
 *
 * A limiter that has been given users looks up the user of each request. That is on the path of
 * every decision, in any number of threads: finding allocates nothing, and takes a lock
 * only where writers changed the same entries again and again. */
#ifndef SL_LIMITER_USERS_USERS_H
#define SL_LIMITER_USERS_USERS_H

#include <stdatomic.h>

#include "algo/trust.h"
#include "base/text.h"
#include "base/text/number.h"
#include "rules/ruleset.h"

enum { SL_USER_LIMITS_MAX = 16, SL_USER_TIER_MAX = 64 };

#define SL_MINUTE_US INT64_C(60000000)

/* A user's own numbers in a rule of that name. */
struct sl_user_limit {
    char rule[SL_RULE_NAME_MAX + 1];
    uint64_t capacity;      /* 0: not given */
    struct sl_decimal rate; /* digits 0: not given */
};

/* A copy, so that nothing of it changes while a decision is made. */
struct sl_user {
    bool is_exempt;
    char tier[SL_USER_TIER_MAX + 1]; /* "": none */

    bool has_created_at;
    int64_t created_at_us;
    bool has_email_verified;
    bool email_verified;
    uint64_t calls, successes; /* in the 7 days up to now, */
    uint64_t violations;       /* in the 30 */
    int64_t violated_minute;   /* of the last violation, since 1970; -1: none */

    uint64_t own_revision; /* changes whenever `own` does; never the same for two users, nor 0 */
    size_t own_count;
    struct sl_user_limit own[SL_USER_LIMITS_MAX]; /* the first own_count are filled */
};

struct sl_users;

struct sl_users_ops {
    /* Returns false if no user of that name is known; *out is then void. `tenant` is missing if
     * there is none. */
    bool (*find)(struct sl_users *users, struct sluice_text tenant, struct sluice_text user,
                 int64_t now_us, struct sl_user *out);

    /* Reports that the user was denied by an enforced rule. Cheap if a violation of this minute is
     * known already. */
    void (*violated)(struct sl_users *users, struct sluice_text tenant, struct sluice_text user,
                     int64_t now_us);
};

struct sl_users {
    const struct sl_users_ops *ops;
    _Atomic uint32_t count; /* known users; if 0, `find` need not be called */
};

/* Returns the facts of a score at that time: facts of the request (its attributes `created_at` and
 * `email_verified`) go before the record. Both may be NULL. */
struct sluice_request;
struct sl_trust_facts sl_user_facts(const struct sluice_request *request,
                                    const struct sl_user *user, int64_t now_us);

/* Returns the score of these facts. */
int32_t sl_user_trust(const struct sl_trust_weights *weights, const struct sluice_request *request,
                      const struct sl_user *user, int64_t now_us);

#endif
