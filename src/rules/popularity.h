/* How many rules ask for a value of an attribute in their `when`: a value that few rules ask for
 * tells them apart best. A zeroed struct has counted nothing. */
#ifndef SL_RULES_POPULARITY_H
#define SL_RULES_POPULARITY_H

#include "base/text/textmap.h"
#include "rules/ruleset.h"

struct sl_popularity {
    struct sl_arena arena;
    struct sl_textmap attributes; /* (0, name) → number, for those without a field */
    struct sl_textmap values;     /* (attribute's number, value) → place in counts */
    uint32_t *counts;
    size_t count;
    size_t room;
};

void sl_popularity_count(struct sl_popularity *popularity, const struct sl_rule *rule);

/* Returns, of the rule's conditions with values, the one that fewest counted rules share; NULL:
 * none has values. */
const struct sl_condition *sl_popularity_rarest(const struct sl_popularity *popularity,
                                                const struct sl_rule *rule);

void sl_popularity_release(struct sl_popularity *popularity);

#endif
