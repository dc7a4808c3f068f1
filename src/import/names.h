/* Making rule names of texts that were not meant as names: legal, and no two alike. */
#ifndef SL_IMPORT_NAMES_H
#define SL_IMPORT_NAMES_H

#include "base/text/textmap.h"

/* Zeroed: no name is taken. */
struct sl_names {
    struct sl_arena *arena; /* for names and all other memory */
    struct sl_textmap taken;
    struct sl_textmap counts; /* (0, name) → place in `last` */
    uint32_t *last;           /* the number that each name was last given with */
    size_t count, room;
};

/* A name of 1 to SL_RULE_NAME_MAX letters, digits, `.`, `_` and `-` that looks like the text, with
 * a number behind it where that is taken. */
const char *sl_names_take(struct sl_names *names, struct sluice_text text);

#endif
