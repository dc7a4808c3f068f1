/* The counts of one identifier in every rule that counts by what is known of it, whether or not the
 * rule would decide this request. Nothing is counted. */
#ifndef SL_LIMITER_LOOK_H
#define SL_LIMITER_LOOK_H

#include "limiter/limiter.h"

struct sl_looked {
    const struct sl_rule *rule;
    bool matches;   /* it would decide the request */
    bool unlimited; /* it does not apply to this tier; the rest is void */
    enum sluice_reason reason;
    struct sluice_explained told;
};

struct sl_look {
    const struct sluice_request *request;
    const char *name; /* of one rule; NULL: all rules */
    void (*see)(void *about, const struct sl_looked *looked);
    void *about;

    bool is_exempt; /* filled in: exempt, so that no rule matters */
};

/* Calls `see` for each rule. Stops at the first bad status and returns it. */
int sl_limiter_look(struct sl_limiter *limiter, struct sl_look *look);

#endif
