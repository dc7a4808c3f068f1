/* The path down to a limit: the conditions a rule needs for each entry of a request. */
#ifndef SL_IMPORT_ENVOY_PATH_H
#define SL_IMPORT_ENVOY_PATH_H

#include "import/envoy.h"

/* One entry. */
struct sl_envoy_step {
    struct sl_envoy_node *node;
    struct sluice_text attribute; /* its name here */
};

struct sl_envoy_path {
    struct sl_envoy_step steps[SL_ENVOY_DEPTH_MAX];
    size_t count;
    struct sluice_text shape; /* the keys, a comma between two: the attribute `descriptor` */
    bool is_dead;             /* a pattern beside a step takes every value */
};

/* Finds the path to `node`, and for each step the values that descriptors beside it take; texts go
 * to `arena`. Returns NULL, or why no rule can express it, and the cure. */
const char *sl_envoy_path_find(struct sl_arena *arena, struct sl_envoy_node *node,
                               struct sl_envoy_path *out);

/* Returns true if an entry of the path has this name here. */
bool sl_envoy_path_has(const struct sl_envoy_path *path, const char *attribute);

/* Returns a name that no entry of the path has. */
const char *sl_envoy_path_lacks(struct sl_arena *arena, const struct sl_envoy_path *path);

#endif
