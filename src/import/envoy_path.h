/* The way down to a limit: what a rule has to say of each entry of a request. */
#ifndef SL_IMPORT_ENVOY_PATH_H
#define SL_IMPORT_ENVOY_PATH_H

#include "import/envoy.h"

/* One entry. */
struct sl_envoy_step {
    struct sl_envoy_node *node;
    struct sluice_text attribute; /* what it is called here */
};

struct sl_envoy_path {
    struct sl_envoy_step steps[SL_ENVOY_DEPTH_MAX];
    size_t count;
    struct sluice_text shape; /* the keys, a comma between two: the attribute `descriptor` */
    bool is_dead;             /* a pattern beside a step takes whatever comes */
};

/* Finds the way to `node`, and for each on it what those beside take; texts go to `arena`. NULL, or
 * why no rule can say it, and what to do. */
const char *sl_envoy_path_find(struct sl_arena *arena, struct sl_envoy_node *node,
                               struct sl_envoy_path *out);

/* Is an entry of it called so here? */
bool sl_envoy_path_has(const struct sl_envoy_path *path, const char *attribute);

/* A name that no entry of it has. */
const char *sl_envoy_path_lacks(struct sl_arena *arena, const struct sl_envoy_path *path);

#endif
