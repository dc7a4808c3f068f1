/* Texts that libyaml cannot read, or should not. */
#ifndef SL_RULES_TREE_SYNTAX_H
#define SL_RULES_TREE_SYNTAX_H

#include <yaml.h>

#include "rules/tree/report.h"

static inline struct sl_mark sl_mark_of(yaml_mark_t mark)
{
    return (struct sl_mark){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

/* Reports what a parser that failed has stopped at. */
void sl_syntax_report(const yaml_parser_t *parser, struct sluice_text yaml,
                      struct sl_report *report);

/* Is there a line that starts with `%`? Reports it. */
bool sl_syntax_has_directive(struct sluice_text yaml, struct sl_report *report);

#endif
