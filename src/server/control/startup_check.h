/* The startup check: compares the rules' settings with what this server can do, and logs what it
 * cannot. */
#ifndef SL_SERVER_CONTROL_STARTUP_CHECK_H
#define SL_SERVER_CONTROL_STARTUP_CHECK_H

#include "rules/ruleset.h"
#include "server/server.h"

/* Returns false if every listener is off. */
bool sl_startup_is_serveable(const struct sl_settings *settings);

/* Raises this process's limit of open files as far as the hard limit allows. If that is too low for
 * max_connections, lowers it, logs a note if `says`, and returns false. */
bool sl_startup_files(struct sl_settings *settings, bool says);

/* Replaces the file's addresses by those of the command line. */
void sl_startup_listen(struct sl_settings *settings, const struct sl_serve_config *config);

/* Returns a key that differs and needs a restart, or NULL. */
const char *sl_startup_fixed_change(const struct sl_settings *old, const struct sl_settings *new);

#endif
