/* A rule made of a program's values instead of a file's text. */
#ifndef SL_RULES_READING_RULE_CONFIG_H
#define SL_RULES_READING_RULE_CONFIG_H

#include "rules/ruleset.h"

/* Returns false, with every problem in *report and *out untouched, unless a rules file
 * could have these numbers. The rule and its texts live in `arena`. */
bool sl_rule_of_config(struct sl_arena *arena, const struct sluice_limit_config *config,
                       struct sl_report *report, struct sl_rule *out);

#endif
