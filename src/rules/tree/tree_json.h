/* JSON as the same tree of values: a body sent to the API means what a file with it would.
 *
 * Strict (RFC 8259), and no name twice. Numbers, true, false and null are plain scalars
 * with the text that they were written with; strings are scalars in quotes. */
#ifndef SL_RULES_TREE_TREE_JSON_H
#define SL_RULES_TREE_TREE_JSON_H

#include "rules/tree/tree.h"

/* Returns the root, which is an object; or NULL, and the report has the reason. Its bounds are
 * those of a file (tree.h). Texts hold no NUL. */
struct sl_node *sl_tree_json_parse(struct sl_arena *arena, struct sluice_text json,
                                   struct sl_report *report);

/* Returns true if this whole text is a number as JSON writes it. */
bool sl_json_is_number(struct sluice_text text);

#endif
