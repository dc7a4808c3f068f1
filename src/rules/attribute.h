/* Names of attributes. */
#ifndef SL_RULES_ATTRIBUTE_H
#define SL_RULES_ATTRIBUTE_H

#include "base/text.h"

/* May a request carry an attribute of its own under this name? Not `user` and
 * the like, which have a field of theirs, nor `cost` and the like, which are no
 * attributes. */
bool sl_attribute_is_free(struct sluice_text name);

#endif
