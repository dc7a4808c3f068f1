/* Texts that libyaml cannot read, or must not. */
#ifndef SL_RULES_TREE_SYNTAX_H
#define SL_RULES_TREE_SYNTAX_H

#include <yaml.h>

#include "rules/tree/report.h"

static inline struct sl_mark sl_mark_of(yaml_mark_t mark)
{
    return (struct sl_mark){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

/* Reports where and why a parser has failed. */
void sl_syntax_report(const yaml_parser_t *parser, struct sluice_text yaml,
                      struct sl_report *report);

/* Returns true, and reports it, if a line starts with `%`. */
bool sl_syntax_has_directive(struct sluice_text yaml, struct sl_report *report);

#endif
