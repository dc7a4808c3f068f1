/* Printing a part of the file as the JSON that means the same. */
#ifndef SL_RULES_TREE_NODE_JSON_H
#define SL_RULES_TREE_NODE_JSON_H

#include "rules/tree/keys.h"

/* Prints a map that the table reads (NULL: that no table reads), its values as they were written:
 * {"a": 1, "b": ["x", "y"]}. Read by tree_json.h it is the same tree; but for a number with zeros
 * in front (`007`), which JSON cannot write: where the table asks for a number it is 7, elsewhere
 * the text "007". In `arena`. */
const char *sl_node_json(struct sl_arena *arena, const struct sl_node *map,
                         const struct sl_key_table *table);

#endif
