/* The table's statistics: read slot by slot while other threads decide. */
#include "base/check.h"
#include "store/table/table_log.h"

uint64_t sl_table_count_live(const struct sl_slot_line *lines, uint64_t line_count, int64_t now_us,
                             uint64_t *limiting)
{
    uint64_t live = 0;
    for (const struct sl_slot_line *line = lines; line < lines + line_count; line++)
        for (uint32_t i = 0; i < SL_LINE_SLOTS; i++) {
            struct sl_word word = sl_word_load(&line->slots[i]);
            if (!sl_slot_is_live(word, now_us))
                continue;
            live++;
            *limiting += (word.hi & SL_SLOT_FLAG) != 0;
        }
    SL_CHECK(live <= line_count * SL_LINE_SLOTS);
    return live;
}

static uint64_t used_log_bytes(struct sl_table *table)
{
    struct sl_extents extents = sl_extents(table);
    struct sl_region region;
    while (sl_extents_next(&extents, &region))
        ;
    SL_CHECK(extents.at_bytes <= table->log_bytes);
    return extents.at_bytes;
}

void sl_table_glance(struct sl_table *table, struct sluice_stats *out)
{
    SL_CHECK(table->header && out);
    out->size_bytes = table->size_bytes;
    out->slots = table->slots.line_count * SL_LINE_SLOTS;
    out->log_bytes = table->log_bytes;
    out->log_used_bytes = used_log_bytes(table);
    out->insertions = out->evictions = out->full = 0;
    for (uint32_t i = 0; i < SL_STRIPES; i++) {
        const struct sl_stripe *stripe = &table->header->stripes[i];
        out->insertions += __atomic_load_n(&stripe->insertions, __ATOMIC_RELAXED);
        out->evictions += __atomic_load_n(&stripe->evictions, __ATOMIC_RELAXED);
        out->full += __atomic_load_n(&stripe->full, __ATOMIC_RELAXED);
    }
    out->reservations = __atomic_load_n(&table->header->held, __ATOMIC_RELAXED);
}

void sl_table_measure(struct sl_table *table, int64_t now_us, struct sluice_stats *out)
{
    struct sl_extents extents = sl_extents(table);
    struct sl_region region;
    sl_table_glance(table, out);
    out->limiting = out->log_live = 0;
    out->live =
        sl_table_count_live(table->slots.lines, table->slots.line_count, now_us, &out->limiting);
    while (sl_extents_next(&extents, &region))
        out->log_live +=
            sl_table_count_live(region.lines, region.line_count, now_us, &out->limiting);
}
