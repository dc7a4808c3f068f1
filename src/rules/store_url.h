/* The URL of a store, as text: `memory:limits.slu?size=64M`,
 * `redis://:secret@cache:6379/0`, … */
#ifndef SL_RULES_STORE_URL_H
#define SL_RULES_STORE_URL_H

#include "rules/ruleset.h"

/* Returns NULL, or the fault of the URL and the cure; *out is then untouched.
 * Relative paths are joined to `folder`, which is empty or ends with a slash.
 * The message never repeats a password. Everything lives in `arena`. */
const char *sl_store_url_parse(struct sl_arena *arena, struct sluice_text url,
                               struct sluice_text folder, struct sl_store_url *out);

/* The store's name in messages: "memory", a path, or "host:port"; never a password. */
const char *sl_store_url_name(const struct sl_store_url *url);

#endif
