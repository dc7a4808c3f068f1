#include "base/textmap.h"

#include "base/check.h"
#include "base/hash.h"

/* The entry of (owner, text), or the free one where it would go. The map is
 * never more than half full, so there always is one. */
static struct sl_textmap_entry *find(const struct sl_textmap *map, uint32_t owner,
                                     struct sluice_text text)
{
    size_t at = sl_hash64(text, owner) & map->mask;
    for (;; at = (at + 1) & map->mask) {
        struct sl_textmap_entry *entry = &map->entries[at];
        if (!entry->value || (entry->owner == owner && sl_text_equal(entry->text, text)))
            return entry;
    }
}

uint32_t sl_textmap_get(const struct sl_textmap *map, uint32_t owner, struct sluice_text text)
{
    return map->count ? find(map, owner, text)->value : 0;
}

static void grow(struct sl_arena *arena, struct sl_textmap *map)
{
    size_t room = map->entries ? 2 * (map->mask + 1) : 64;
    struct sl_textmap larger = { sl_arena_take(arena, room * sizeof *larger.entries), room - 1,
                                 map->count };
    for (size_t i = 0; map->entries && i <= map->mask; i++) {
        const struct sl_textmap_entry *entry = &map->entries[i];
        if (entry->value)
            *find(&larger, entry->owner, entry->text) = *entry;
    }
    *map = larger;
}

void sl_textmap_add(struct sl_arena *arena, struct sl_textmap *map, uint32_t owner,
                    struct sluice_text text, uint32_t value)
{
    SL_CHECK(value != 0);
    if (!map->entries || map->count >= (map->mask + 1) / 2)
        grow(arena, map);
    struct sl_textmap_entry *entry = find(map, owner, text);
    SL_CHECK(entry->value == 0);
    *entry = (struct sl_textmap_entry){ text, owner, value };
    map->count++;
}
