/* The waist: a request in, a decision out.
 *
 *   exempt? → which rules match → their limits for this tier and trust →
 *   claims → store → one decision out of many answers
 *
 * One limiter serves one thread: it owns the scratch memory of a decision, so
 * that deciding itself allocates only for a longer resource than any before. */
#ifndef SL_LIMITER_LIMITER_H
#define SL_LIMITER_LIMITER_H

#include "rules/ruleset.h"
#include "store/store.h"

struct sl_limiter;

/* Keeps pointers to both. NULL: no memory. */
struct sl_limiter *sl_limiter_new(const struct sl_ruleset *rules, struct sl_store *store);
void sl_limiter_free(struct sl_limiter *limiter);

/* Always answers: a failing store is answered by the rules' policy, and then
 * returned too, as a negative status. The request is not kept. */
int sl_limiter_decide(struct sl_limiter *limiter, const struct sluice_request *request,
                      struct sluice_decision *out);

/* The rules that matched the last request, in the order of the file. Good
 * until the next decision. Returns how many. */
size_t sl_limiter_explain(struct sl_limiter *limiter, const struct sluice_explained **rows);

/* The same rules, row by row. */
size_t sl_limiter_matched(const struct sl_limiter *limiter, const struct sl_rule *const **rules);

#endif
