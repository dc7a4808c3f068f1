/* Where the database of a rules file is. */
#ifndef SL_REGISTRY_PATH_H
#define SL_REGISTRY_PATH_H

#include "rules/ruleset.h"

/* Returns the path of the database, in `arena`; NULL: it is in memory, because neither `database`
 * nor a rules file (NULL) gives it a name. Looks at the file system, and at $STATE_DIRECTORY.
 *
 *   database: FILE            that file
 *   else, under systemd       $STATE_DIRECTORY/NAME.db, NAME being the rules file's name
 *   else                      RULESFILE.db
 *
 * If there is no `database` and the default file is absent, the database of an earlier version is
 * used if there is one: TABLE.db of `store: memory:TABLE`, else sluice.db beside the rules file.
 * *replaces (may be NULL) is then the default path, otherwise NULL. */
const char *sl_registry_path(const struct sl_settings *settings, const char *rules_file,
                             struct sl_arena *arena, const char **replaces);

#endif
