/* Finding the rules whose resource pattern covers a given rule's: a trie over
 * patterns, so that the linter need not compare every rule with every other.
 * A rule without `resource` counts as the pattern `*` here. */
#ifndef SL_RULES_LINT_COVER_H
#define SL_RULES_LINT_COVER_H

#include "rules/ruleset.h"

struct sl_cover;

/* Indexes `count` rules, which outlive it; lives in `arena`. */
struct sl_cover *sl_cover_new(struct sl_arena *arena, const struct sl_rule *const *rules,
                              size_t count);

/* Writes rules whose pattern covers that of `narrow` (itself, if it is one of
 * them) to `out`, in no particular order, and returns their number. If that is
 * `room`, there may be more. */
size_t sl_cover_find(const struct sl_cover *cover, const struct sl_rule *narrow,
                     const struct sl_rule **out, size_t room);

#endif
