/* A map from (number, text) to a number, built once and then only read: the
 * edges of a trie, the cases of a switch. Its memory is an arena's; the texts
 * stay the caller's. A zeroed struct is an empty map. */
#ifndef SL_BASE_TEXT_TEXTMAP_H
#define SL_BASE_TEXT_TEXTMAP_H

#include "base/arena.h"

/* Half a cache line: short texts are kept inside, so that a look-up among
 * thousands touches one line and not the text's too. */
struct sl_textmap_entry {
    uint32_t owner;
    uint32_t value; /* 0: the entry is free */
    uint32_t len;
    uint32_t tag; /* bits of the hash that the place does not use */
    union {
        char inside[16];
        const char *at; /* the caller's, if longer */
    } text;
};

struct sl_textmap {
    struct sl_textmap_entry *entries;
    size_t mask; /* room − 1, room being a power of two */
    size_t count;
};

/* Returns the value, or 0 if there is none. */
uint32_t sl_textmap_get(const struct sl_textmap *map, uint32_t owner, struct sluice_text text);

/* `value` is not 0, and (owner, text) not in the map yet. */
void sl_textmap_add(struct sl_arena *arena, struct sl_textmap *map, uint32_t owner,
                    struct sluice_text text, uint32_t value);

#endif
