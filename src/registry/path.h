/* Where the database of a rules file is. */
#ifndef SL_REGISTRY_PATH_H
#define SL_REGISTRY_PATH_H

#include "rules/ruleset.h"

/* As `database` says; else beside the store's file, else beside the rules file (NULL: there is
 * none). In `arena`. NULL: in memory. */
const char *sl_registry_path(const struct sl_settings *settings, const char *rules_file,
                             struct sl_arena *arena);

#endif
