/* Patterns of plain text, in which `*` stands for any text, also none. (Patterns of resources,
 * segment by segment, are in pattern.h.) */
#ifndef SL_RULES_WILDCARD_H
#define SL_RULES_WILDCARD_H

#include "base/text.h"

/* Takes time that grows with the sum of the lengths, whatever the pattern. */
bool sl_wildcard_matches(struct sluice_text pattern, struct sluice_text text);

/* Returns true if no text can match both; false where beginnings and ends do not show it. */
bool sl_wildcards_differ(struct sluice_text a, struct sluice_text b);

#endif
