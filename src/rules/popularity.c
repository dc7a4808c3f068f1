/* Counting how many rules ask for each value of an attribute. */
#include "rules/popularity.h"

static uint32_t find_attribute(const struct sl_popularity *popularity,
                               const struct sl_part *attribute)
{
    if (attribute->attribute != SL_ATTR_OTHER)
        return attribute->attribute;
    return sl_textmap_get(&popularity->attributes, 0, attribute->name);
}

static uint32_t add_attribute(struct sl_popularity *popularity, const struct sl_part *attribute)
{
    uint32_t number = find_attribute(popularity, attribute);
    if (number || attribute->attribute != SL_ATTR_OTHER)
        return number;
    number = SL_ATTR_OTHER + 1 + (uint32_t)popularity->attributes.count;
    sl_textmap_add(&popularity->arena, &popularity->attributes, 0, attribute->name, number);
    return number;
}

/* Adds the count of a value not seen before; place 0 is unused. */
static uint32_t add_count(struct sl_popularity *popularity)
{
    if (popularity->count + 1 >= popularity->room) {
        size_t room = popularity->room ? 2 * popularity->room : 64;
        uint32_t *counts = sl_arena_take(&popularity->arena, room * sizeof *counts);
        if (popularity->room)
            memcpy(counts, popularity->counts, popularity->room * sizeof *counts);
        popularity->counts = counts;
        popularity->room = room;
    }
    return (uint32_t)++popularity->count;
}

static void count_value(struct sl_popularity *popularity, uint32_t attribute,
                        struct sluice_text value)
{
    uint32_t place = sl_textmap_get(&popularity->values, attribute, value);
    if (!place) {
        place = add_count(popularity);
        sl_textmap_add(&popularity->arena, &popularity->values, attribute, value, place);
    }
    popularity->counts[place]++;
}

void sl_popularity_count(struct sl_popularity *popularity, const struct sl_rule *rule)
{
    for (size_t i = 0; i < rule->when_count; i++) {
        uint32_t attribute = add_attribute(popularity, &rule->when[i].attribute);
        for (size_t k = 0; k < rule->when[i].value_count; k++)
            count_value(popularity, attribute, rule->when[i].values[k]);
    }
}

static uint64_t count_sharers(const struct sl_popularity *popularity,
                              const struct sl_condition *when)
{
    uint64_t sum = 0;
    uint32_t attribute = find_attribute(popularity, &when->attribute);
    for (size_t i = 0; i < when->value_count; i++) {
        uint32_t place = sl_textmap_get(&popularity->values, attribute, when->values[i]);
        sum += popularity->counts[place];
    }
    return sum;
}

const struct sl_condition *sl_popularity_rarest(const struct sl_popularity *popularity,
                                                const struct sl_rule *rule)
{
    const struct sl_condition *rarest = NULL;
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < rule->when_count; i++) {
        uint64_t sum = count_sharers(popularity, &rule->when[i]);
        if (rule->when[i].value_count && sum < fewest) {
            fewest = sum;
            rarest = &rule->when[i];
        }
    }
    return rarest;
}

void sl_popularity_release(struct sl_popularity *popularity)
{
    sl_arena_release(&popularity->arena);
    *popularity = (struct sl_popularity){ 0 };
}
