/* How somebody stands, in every rule that counts by what is known of them, whether or not it would
 * be asked about this request. Nothing is counted. */
#ifndef SL_LIMITER_LOOK_H
#define SL_LIMITER_LOOK_H

#include "limiter/limiter.h"

struct sl_looked {
    const struct sl_rule *rule;
    bool matches;   /* it would be asked */
    bool unlimited; /* it does not apply, to this tier; the rest is void */
    enum sluice_reason reason;
    struct sluice_explained told;
};

struct sl_look {
    const struct sluice_request *request;
    const char *name; /* of one rule; NULL: all */
    void (*see)(void *about, const struct sl_looked *looked);
    void *about;

    bool is_exempt; /* filled in: none of it matters */
};

/* Calls `see` for each rule. The first bad status, at which it stops. */
int sl_limiter_look(struct sl_limiter *limiter, struct sl_look *look);

#endif
