/* What the table holds, for people: read slot by slot while others go on. */
#include "store/table_log.h"

static uint64_t count_live(const struct sl_region *region, int64_t now_us, uint64_t *limiting)
{
    uint64_t live = 0;
    for (uint64_t line = 0; line < region->line_count; line++)
        for (uint32_t i = 0; i < SL_LINE_SLOTS; i++) {
            struct sl_word word = sl_word_load(&region->lines[line].slots[i]);
            if (!sl_slot_is_live(word, now_us))
                continue;
            live++;
            *limiting += (word.hi & SL_SLOT_FLAG) != 0;
        }
    return live;
}

void sl_table_measure(struct sl_table *table, int64_t now_us, struct sluice_stats *out)
{
    struct sl_extents extents = sl_extents(table);
    struct sl_region region;
    out->slots = table->slots.line_count * SL_LINE_SLOTS;
    out->live = count_live(&table->slots, now_us, &out->limiting);
    while (sl_extents_next(&extents, &region))
        out->log_live += count_live(&region, now_us, &out->limiting);
    out->log_bytes = table->log_bytes;
    out->log_used_bytes = extents.at_bytes;
    for (uint32_t i = 0; i < SL_STRIPES; i++) {
        const struct sl_stripe *stripe = &table->header->stripes[i];
        out->insertions += __atomic_load_n(&stripe->insertions, __ATOMIC_RELAXED);
        out->evictions += __atomic_load_n(&stripe->evictions, __ATOMIC_RELAXED);
        out->full += __atomic_load_n(&stripe->full, __ATOMIC_RELAXED);
    }
}
