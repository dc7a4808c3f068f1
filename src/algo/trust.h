/* The trust score: how much more than the base limit an adaptive rule grants. */
#ifndef SL_ALGO_TRUST_H
#define SL_ALGO_TRUST_H

#include <stdbool.h>
#include <stdint.h>

/* Weights in billionths, exact for every decimal of the rules file. */
struct sl_trust_weights {
    int64_t age_max;
    int64_t age_full_days; /* the account age, in days, that earns age_max */
    int64_t email;
    int64_t success;
    int64_t violation;
    int64_t violation_max;
};

enum { SL_TRUST_MAX = 1000 }; /* full trust, in thousandths */

#define SL_TRUST_ONE INT64_C(1000000000)
#define SL_TRUST_DEFAULTS                                                                          \
    {                                                                                              \
        .age_max = 300000000, .age_full_days = INT64_C(109500000000), .email = 200000000,          \
        .success = 500000000, .violation = 50000000, .violation_max = 200000000                    \
    }

struct sl_trust_facts {
    int64_t account_age_us; /* 0: unknown or new */
    bool email_verified;
    uint64_t calls; /* in the last 7 days */
    uint64_t successes;
    uint64_t violations; /* in the last 30 days */
};

/* Returns 0 to SL_TRUST_MAX thousandths, floored once at the end. */
int32_t sl_trust_score(const struct sl_trust_weights *weights, const struct sl_trust_facts *facts);

/* The parts of the score, in billionths, each rounded down: they add up to the score except
 * for that rounding and for its bounds. */
struct sl_trust_parts {
    int64_t age, email, success;
    int64_t violations; /* subtracted */
};
void sl_trust_explain(const struct sl_trust_weights *weights, const struct sl_trust_facts *facts,
                      struct sl_trust_parts *out);

#endif
