/* An open-addressing hash table with linear probing. */
#include "base/text/textmap.h"

#include "base/check.h"
#include "base/hash.h"

static const char *text_of(const struct sl_textmap_entry *entry)
{
    return entry->len <= sizeof entry->text.inside ? entry->text.inside : entry->text.at;
}

static bool is_entry_of(const struct sl_textmap_entry *entry, uint32_t tag, uint32_t owner,
                        struct sluice_text text)
{
    return entry->tag == tag && entry->owner == owner && entry->len == text.len &&
           memcmp(text_of(entry), text.at, text.len) == 0;
}

/* Returns the entry of (owner, text), or the free entry for it. The map is never
 * more than half full, so there is always one. */
static struct sl_textmap_entry *find_entry(const struct sl_textmap *map, uint32_t owner,
                                           struct sluice_text text, uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    for (size_t at = hash & map->mask;; at = (at + 1) & map->mask) {
        struct sl_textmap_entry *entry = &map->entries[at];
        if (!entry->value || is_entry_of(entry, tag, owner, text))
            return entry;
    }
}

uint32_t sl_textmap_get(const struct sl_textmap *map, uint32_t owner, struct sluice_text text)
{
    return map->count ? find_entry(map, owner, text, sl_hash64(text, owner))->value : 0;
}

static void grow(struct sl_arena *arena, struct sl_textmap *map)
{
    size_t room = map->entries ? 2 * (map->mask + 1) : 64;
    struct sl_textmap larger = { sl_arena_take(arena, room * sizeof *larger.entries), room - 1,
                                 map->count };
    for (size_t i = 0; map->entries && i <= map->mask; i++) {
        const struct sl_textmap_entry *entry = &map->entries[i];
        struct sluice_text text = { text_of(entry), entry->len };
        if (entry->value)
            *find_entry(&larger, entry->owner, text, sl_hash64(text, entry->owner)) = *entry;
    }
    *map = larger;
}

void sl_textmap_add(struct sl_arena *arena, struct sl_textmap *map, uint32_t owner,
                    struct sluice_text text, uint32_t value)
{
    SL_CHECK(value != 0);
    if (!map->entries || map->count >= (map->mask + 1) / 2)
        grow(arena, map);
    uint64_t hash = sl_hash64(text, owner);
    struct sl_textmap_entry *entry = find_entry(map, owner, text, hash);
    SL_CHECK(entry->value == 0 && text.len <= UINT32_MAX);
    *entry = (struct sl_textmap_entry){
        owner, value, (uint32_t)text.len, (uint32_t)(hash >> 32), { { 0 } }
    };
    if (text.len <= sizeof entry->text.inside)
        memcpy(entry->text.inside, text.at, text.len);
    else
        entry->text.at = text.at;
    map->count++;
}
