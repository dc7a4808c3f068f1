/* Counts the parts of a table, one look at a time. */
#include "store/table/tally.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "store/table/table_log.h"

enum { PAGE_LEAST_BYTES = 4096, PART_BYTES = 1 << 20, LINE_BYTES = sizeof(struct sl_slot_line) };

/* The lines of a region that one look counts: of the next part, as many as are allowed. */
struct piece {
    const struct sl_slot_line *lines;
    uint64_t line_count;
    uint64_t stands_for; /* lines */
};

static struct piece piece_of(const struct sl_tally *tally, const struct sl_region *region,
                             uint64_t most)
{
    SL_CHECK(tally->next < tally->count);
    uint64_t from = region->line_count * tally->next / tally->count;
    uint64_t to = region->line_count * (tally->next + 1) / tally->count;
    uint64_t count = to - from < most ? to - from : most;
    uint64_t shift = tally->rounds * count % (to - from - count + 1);
    return (struct piece){ region->lines + from + shift, count, to - from };
}

/* The counts of one look. */
struct tally_pass {
    int64_t now_us;
    uint64_t line_count; /* that were read */
    struct sl_tally_part part;
};

/* Counts the lines of the piece whose pages are in memory. */
static uint64_t count_resident_live(const struct piece *piece, struct tally_pass *look,
                                    uint64_t *limiting)
{
    unsigned char is_there[SL_TALLY_LINES * LINE_BYTES / PAGE_LEAST_BYTES + 1];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), next;
    uintptr_t at = (uintptr_t)piece->lines, end = (uintptr_t)(piece->lines + piece->line_count);
    uintptr_t start = at / page * page;
    uint64_t live = 0;
    SL_CHECK((end - start + page - 1) / page <= sizeof is_there);
    if (mincore((void *)start, end - start, is_there) != 0)
        memset(is_there, 1, sizeof is_there);
    for (; at < end; at = next) {
        next = at / page * page + page;
        next = next < end ? next : end;
        uint64_t count = (next - at) / LINE_BYTES;
        if (!(is_there[(at - start) / page] & 1))
            continue;
        live += sl_table_count_live((const struct sl_slot_line *)at, count, look->now_us, limiting);
        look->line_count += count;
    }
    return live;
}

static uint64_t count_piece(struct piece piece, struct tally_pass *look)
{
    uint64_t limiting = 0;
    if (piece.line_count == 0)
        return 0;
    uint64_t live = count_resident_live(&piece, look, &limiting);
    look->part.limiting += limiting * piece.stands_for / piece.line_count;
    return live * piece.stands_for / piece.line_count;
}

static uint32_t part_count_of(const struct sl_table *table)
{
    uint64_t parts = (table->size_bytes + PART_BYTES - 1) / PART_BYTES;
    return parts < SL_TALLY_PARTS ? (uint32_t)parts : SL_TALLY_PARTS;
}

static void count_next_part(struct sl_tally *tally, struct sl_table *table, struct tally_pass *look)
{
    struct sl_extents extents = sl_extents(table);
    struct sl_region region;
    look->part = (struct sl_tally_part){ 0 };
    look->part.live = count_piece(piece_of(tally, &table->slots, SL_TALLY_LINES), look);
    while (sl_extents_next(&extents, &region))
        look->part.log_live += count_piece(piece_of(tally, &region, SL_TALLY_LOG_LINES), look);
    SL_CHECK(tally->next < tally->count && tally->count <= SL_TALLY_PARTS);
    tally->parts[tally->next++] = look->part;
    tally->seen = tally->seen > tally->next ? tally->seen : tally->next;
    if (tally->next == tally->count) {
        tally->next = 0;
        tally->rounds++;
    }
}

void sl_tally_look(struct sl_tally *tally, struct sl_table *table, int64_t now_us)
{
    struct tally_pass look = { .now_us = now_us };
    uint32_t first = tally->next;
    tally->count = part_count_of(table);
    do
        count_next_part(tally, table, &look);
    while (look.line_count < SL_TALLY_LINES / 2 && tally->next != first);
    SL_CHECK(tally->seen > 0 && tally->seen <= tally->count);
}

void sl_tally_sum(const struct sl_tally *tally, struct sluice_stats *out)
{
    struct sl_tally_part sum = { 0 };
    SL_CHECK(tally->seen > 0 && tally->seen <= tally->count && out);
    for (uint32_t i = 0; i < tally->seen; i++) {
        sum.live += tally->parts[i].live;
        sum.limiting += tally->parts[i].limiting;
        sum.log_live += tally->parts[i].log_live;
    }
    out->live = sum.live * tally->count / tally->seen;
    out->limiting = sum.limiting * tally->count / tally->seen;
    out->log_live = sum.log_live * tally->count / tally->seen;
}
