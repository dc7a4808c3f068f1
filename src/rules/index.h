/* Finding the rules that match a request, at a cost that grows with the length of its
 * resource and not with the number of rules. */
#ifndef SL_RULES_INDEX_H
#define SL_RULES_INDEX_H

#include "rules/ruleset.h"

/* Built once, after the rules; lives in rules->arena. */
struct sl_index *sl_index_new(struct sl_ruleset *rules);

/* The value of a request's attribute; `at` is null where it has none. */
struct sluice_text sl_attribute_of(const struct sluice_request *request,
                                   const struct sl_part *attribute);

/* Writes the matching rules to `out`, in the order of the file, and returns
 * their number. `out` has room for all rules. The resource is normalised. */
size_t sl_index_match(const struct sl_ruleset *rules, const struct sluice_request *request,
                      const struct sl_rule **out);

#endif
