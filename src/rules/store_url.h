/* Where the counts live, as one text: `memory:limits.slu?size=64M`,
 * `redis://:secret@cache:6379/0`, … */
#ifndef SL_RULES_STORE_URL_H
#define SL_RULES_STORE_URL_H

#include "rules/ruleset.h"

/* NULL, or what is wrong and what would be right; *out is then untouched.
 * Relative paths are joined to `folder`, which is empty or ends with a slash.
 * The message never repeats a password. Everything is kept in `arena`. */
const char *sl_store_url_parse(struct sl_arena *arena, struct sluice_text url,
                               struct sluice_text folder, struct sl_store_url *out);

/* Where it is, for people: "memory", a path, or "host:port"; never a password. */
const char *sl_store_url_name(const struct sl_store_url *url);

#endif
