/* Do the rules fit this server? What they ask for and it cannot do is said. */
#ifndef SL_SERVER_CONTROL_STARTUP_CHECK_H
#define SL_SERVER_CONTROL_STARTUP_CHECK_H

#include "rules/ruleset.h"
#include "server/server.h"

/* False: there is nothing to serve. */
bool sl_startup_is_serveable(const struct sl_settings *settings);

/* Raises this process's limit of open files as far as it can be, and lowers
 * max_connections to it: false then, after a note if it `says` so. */
bool sl_startup_files(struct sl_settings *settings, bool says);

/* Addresses of the command line take the place of the file's. */
void sl_startup_listen(struct sl_settings *settings, const struct sl_serve_config *config);

/* The key that differs and takes a restart, or NULL. */
const char *sl_startup_fixed_change(const struct sl_settings *old, const struct sl_settings *new);

#endif
