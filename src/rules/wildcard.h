/* Patterns of plain text, in which `*` stands for any text, also none. (Those of resources,
 * segment by segment, are pattern.h's.) */
#ifndef SL_RULES_WILDCARD_H
#define SL_RULES_WILDCARD_H

#include "base/text.h"

/* In time that grows with the lengths added up, whatever the pattern. */
bool sl_wildcard_matches(struct sluice_text pattern, struct sluice_text text);

/* Can no text match both? False where that cannot be told by how they begin and end. */
bool sl_wildcards_differ(struct sluice_text a, struct sluice_text b);

#endif
