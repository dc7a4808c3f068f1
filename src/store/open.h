/* A store out of what a rules file says behind `store:`. */
#ifndef SL_STORE_OPEN_H
#define SL_STORE_OPEN_H

#include "rules/ruleset.h"
#include "store/store.h"

/* For these rules (NULL: for no rules yet), which say how long it may take to answer and whether
 * they keep logs. A status; error->text says why not, never with the URL's text, or is a
 * note. */
int sl_store_open(const struct sl_store_url *url, const struct sl_ruleset *rules,
                  struct sl_store **out, struct sluice_error *error);

#endif
