/* Do the rules fit this server? What they ask for and it cannot do is said. */
#ifndef SL_SERVER_FIT_H
#define SL_SERVER_FIT_H

#include "rules/ruleset.h"

/* False: there is nothing to serve. What can be left out is noted. */
bool sl_fit_is_serveable(const struct sl_settings *settings);

/* Raises this process's limit of open files as far as it can be, and lowers
 * max_connections to it: false then, after a note if it `says` so. */
bool sl_fit_files(struct sl_settings *settings, bool says);

/* The key that differs and takes a restart, or NULL. */
const char *sl_fit_fixed_change(const struct sl_settings *old, const struct sl_settings *new);

#endif
