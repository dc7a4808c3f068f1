/* Checks of attribute names. */
#ifndef SL_RULES_READING_ATTRIBUTE_H
#define SL_RULES_READING_ATTRIBUTE_H

#include "base/text.h"

/* Returns true if a request may carry an attribute of its own under this name. Not `user` and
 * the like, which have a field of their own, nor `cost` and the like, which are no
 * attributes. */
bool sl_attribute_is_free(struct sluice_text name);

/* Returns true if a rules file can name an attribute of this name in `when` and `per`. Not
 * `global` and `null`, which are no attributes, nor `endpoint`, which means another one. */
bool sl_attribute_can_be_named(struct sluice_text name);

/* Returns true if an entry of an Envoy descriptor with this name becomes the attribute
 * `descriptor.NAME`, because NAME means something else: the domain's name, those of members
 * beside attributes in a request, and `descriptor` itself. */
bool sl_attribute_is_of_descriptor(struct sluice_text name);

#endif
