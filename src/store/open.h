/* Opening the store that a rules file names behind `store:`. */
#ifndef SL_STORE_OPEN_H
#define SL_STORE_OPEN_H

#include "rules/ruleset.h"
#include "store/store.h"

/* Opens a store for these rules, which give its deadline and say whether they keep logs (NULL: no
 * rules yet). Returns a status. error->text is the reason, which never contains the URL's text, or
 * a note. */
int sl_store_open(const struct sl_store_url *url, const struct sl_ruleset *rules,
                  struct sl_store **out, struct sluice_error *error);

#endif
