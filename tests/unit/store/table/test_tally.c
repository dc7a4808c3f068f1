/* Counting bit by bit, against counting all at once. */
#include "store/table/tally.h"

#include <sys/mman.h>
#include <unistd.h>

#include "unit/store/logs.h"

static struct sl_tally tally;

static void open_bytes(uint64_t size_bytes, uint64_t log_bytes)
{
    tally = (struct sl_tally){ 0 };
    open_table_of(size_bytes, log_bytes);
}

static void open_mebibytes(uint64_t count, uint64_t log_bytes)
{
    open_bytes(count << 20, log_bytes);
}

static void look(uint32_t times)
{
    for (uint32_t i = 0; i < times; i++)
        sl_tally_look(&tally, &table, NOW_US);
}

static struct sluice_stats tallied(void)
{
    struct sluice_stats stats = { 0 };
    sl_tally_sum(&tally, &stats);
    return stats;
}

/* Puts a live state of any key into that slot. */
static void put(uint64_t line, uint32_t slot, bool is_limiting)
{
    struct sl_state state = state_until(NOW_US + S, 1);
    struct sl_word word = { 0, (uint64_t)SL_DATED_US << SL_SLOT_KIND_SHIFT };
    word.hi |= is_limiting ? SL_SLOT_FLAG : 0;
    *slot_at(line, slot) = sl_slot_with(word, &state);
}

/* Of every part the first and the last slot, and many in between. */
static void put_at_all_edges(uint32_t parts)
{
    for (uint64_t i = 0; i < parts; i++) {
        put(table.slots.line_count * i / parts, 0, true);
        put(table.slots.line_count * (i + 1) / parts - 1, 3, false);
    }
    for (uint64_t line = 7; line < table.slots.line_count; line += 97)
        put(line, line % 4, line % 3 == 0);
}

TEST(up_to_64_mebibytes_a_round_is_exact)
{
    static const uint32_t sizes[] = { 1, 2, 3, 7, 63, 64 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        open_bytes(sizes[i] == 2 ? 2000000 : (uint64_t)sizes[i] << 20, 0);
        put_at_all_edges(sizes[i]);
        look(sizes[i]);
        SAME("parts", tally.count, sizes[i]);
        SAME("live", tallied().live, measured(NOW_US).live);
        SAME("limiting", tallied().limiting, measured(NOW_US).limiting);
        assert_true(tallied().live > 2 * sizes[i] && tallied().limiting > sizes[i]);
        for (uint32_t more = 0; more < sizes[i]; more++) { /* and stays so, whatever was last */
            look(1);
            SAME("live", tallied().live, measured(NOW_US).live);
        }
        sl_table_close(&table);
    }
}

TEST(a_small_table_is_counted_whole_by_each_look)
{
    open_bytes(64 << 10, 0);
    put(0, 0, false);
    look(1);
    assert_int_equal(tallied().live, 1);
    put(table.slots.line_count - 1, 3, true);
    look(1);
    assert_int_equal(tallied().live, 2);
    assert_int_equal(tallied().limiting, 1);
    sl_table_close(&table);
}

TEST(parts_not_seen_yet_are_taken_to_be_like_the_others)
{
    open_mebibytes(8, 0);
    for (uint64_t line = 0; line < table.slots.line_count; line += 2)
        put(line, 0, true);
    uint64_t all = measured(NOW_US).live;
    for (uint32_t i = 0; i < 8; i++) {
        look(1);
        assert_in_range(tallied().live, all - 8, all + 8);
        assert_in_range(tallied().limiting, all - 8, all + 8);
    }
    sl_table_close(&table);
}

TEST(what_is_fresh_by_now_is_gone_at_the_next_look)
{
    open_mebibytes(1, 0);
    put(1, 0, true);
    look(1);
    assert_int_equal(tallied().live, 1);
    sl_tally_look(&tally, &table, NOW_US + S);
    assert_int_equal(tallied().live, 0);
    assert_int_equal(tallied().limiting, 0);
    sl_table_close(&table);
}

TEST(logs_are_counted_apart)
{
    open_mebibytes(4, 2 << 20);
    for (uint64_t i = 1; i <= 40; i++)
        put_log(i, i % 2 ? 8 : 100, 3).slot->hi |= i % 4 ? 0 : SL_SLOT_FLAG;
    look(4);
    assert_int_equal(tallied().log_live, 40);
    assert_int_equal(tallied().limiting, 10);
    assert_int_equal(tallied().live, 0);
    sl_table_close(&table);
}

/* Twice as large as is counted whole: half of it is seen in a round, the other half in the next. */
TEST(a_larger_table_is_sampled_and_elsewhere_each_time)
{
    enum { KEYS = 100000 };
    open_mebibytes(128, 0);
    uint64_t seed = 7;
    for (int i = 0; i < KEYS; i++) {
        uint64_t random = unit_random(&seed);
        put(random >> 2, random & 3, i % 10 == 0);
    }
    uint64_t all = measured(NOW_US).live, limiting = measured(NOW_US).limiting, last = 0;
    for (int round = 0; round < 3; round++) {
        look(SL_TALLY_PARTS);
        assert_in_range(tallied().live, all - all / 50, all + all / 50);
        assert_in_range(tallied().limiting, limiting - limiting / 15, limiting + limiting / 15);
        assert_int_not_equal(tallied().live, last);
        last = tallied().live;
    }
    sl_table_close(&table);
}

TEST(a_table_that_is_hardly_used_is_counted_whole_by_each_look)
{
    open_mebibytes(256, 0);
    put(0, 0, false);
    put(table.slots.line_count - 1, 0, true);
    look(1);
    assert_int_equal(tally.seen, SL_TALLY_PARTS);
    assert_int_equal(tally.rounds, 1);
    sl_table_close(&table);
}

/* Where all of it is in memory, a look reads a mebibyte of slots and no more. */
TEST(a_look_ends_where_it_has_read_enough)
{
    open_mebibytes(32, 0);
    for (uint64_t line = 0; line < table.slots.line_count; line += 32)
        put(line, 0, false);
    for (uint32_t i = 1; i <= 8; i++) {
        look(1);
        assert_int_equal(tally.seen, i);
    }
    sl_table_close(&table);
}

static size_t pages_in_memory(void)
{
    size_t count = 0, page = (size_t)sysconf(_SC_PAGESIZE), pages = table.size_bytes / page;
    unsigned char *is_there = malloc(pages);
    assert_int_equal(mincore(table.header, table.size_bytes, is_there), 0);
    for (size_t i = 0; i < pages; i++)
        count += is_there[i] & 1;
    free(is_there);
    return count;
}

/* To read a page of an anonymous table for the first time is to be given it. */
TEST(looking_gives_the_table_no_memory)
{
    open_mebibytes(16, 1 << 20);
    put(5, 1, false);
    put(table.slots.line_count - 1, 1, false);
    size_t before = pages_in_memory();
    assert_in_range(before, 1, 10);
    look(16);
    assert_int_equal(tallied().live, 2);
    assert_int_equal(pages_in_memory(), before);
    measured(NOW_US);
    assert_true(pages_in_memory() > 1000);
    sl_table_close(&table);
}
