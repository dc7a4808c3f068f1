/* YAML as a tree of values that know their place in the file.
 *
 * Less than YAML on purpose: one document, no aliases, anchors, tags or merge
 * keys, no key twice. What is left means the same to every YAML parser. */
#ifndef SL_RULES_TREE_TREE_H
#define SL_RULES_TREE_TREE_H

#include "rules/tree/report.h"

enum sl_node_kind {
    SL_NODE_BROKEN, /* was reported already: no further message */
    SL_NODE_SCALAR,
    SL_NODE_LIST,
    SL_NODE_MAP,
};

/* A value, and the key it stands under: an entry of a map carries its own, an
 * element of a list that of the list. The root has none. */
struct sl_node {
    enum sl_node_kind kind;
    bool plain;              /* scalar: written without quotes */
    struct sl_mark mark;     /* where the value starts */
    struct sl_mark key_mark; /* where its key does */
    struct sluice_text key;  /* both texts are terminated */
    struct sluice_text text; /* scalar */
    struct sl_node *first;   /* list, map: the first of its nodes, through `next` */
    struct sl_node *next;
    size_t count;
};

enum {
    SL_RULES_FILE_MAX_BYTES = 16 * 1024 * 1024,
    SL_TREE_NODES_MAX = 1000000,
    SL_TREE_DEPTH_MAX = 16,
};

/* Returns the root, which is a map; or NULL where nothing can be read, and the report has the
 * reason. A tree may come with problems: the readers of its values find more. */
const struct sl_node *sl_tree_parse(struct sl_arena *arena, struct sluice_text yaml,
                                    struct sl_report *report);

/* Reports keys that a map has twice. */
void sl_map_refuse_duplicates(const struct sl_node *map, struct sl_report *report);

/* The entry of a map under `key`, or NULL. */
const struct sl_node *sl_node_get(const struct sl_node *map, const char *key);

/* Returns true for an empty value, `~` or `null`. */
bool sl_node_is_null(const struct sl_node *node);

#endif
