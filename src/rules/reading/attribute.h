/* Names of attributes. */
#ifndef SL_RULES_READING_ATTRIBUTE_H
#define SL_RULES_READING_ATTRIBUTE_H

#include "base/text.h"

/* May a request carry an attribute of its own under this name? Not `user` and
 * the like, which have a field of theirs, nor `cost` and the like, which are no
 * attributes. */
bool sl_attribute_is_free(struct sluice_text name);

/* Can a rules file name it in `when` and `per`, and mean an attribute that is called so? Not
 * `global` and `null`, which are no attributes, nor `endpoint`, which is another. */
bool sl_attribute_can_be_named(struct sluice_text name);

/* Is an entry of a descriptor of Envoy's, if it has this name, called `descriptor.NAME` as an
 * attribute? The names that mean something else: the domain's, what stands beside attributes in a
 * request, and `descriptor` itself. */
bool sl_attribute_is_of_descriptor(struct sluice_text name);

#endif
