#include "base/arena.h"

#include "unit/base/unit.h"

static bool all_zero(const char *memory, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i])
            return false;
    return true;
}

TEST(memory_is_zeroed_aligned_and_not_shared)
{
    static const size_t sizes[] = { 0, 1, 15, 16, 17, 1000, 16384, 16385, 100000 };
    struct sl_arena arena = { 0 };
    char *before = NULL;
    size_t before_size = 0;
    for (int round = 0; round < 50; round++)
        for (size_t i = 0; i < COUNT(sizes); i++) {
            char *memory = sl_arena_take(&arena, sizes[i]);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory % 16, 0);
            assert_true(all_zero(memory, sizes[i]));
            memset(memory, 0xa5, sizes[i]);
            assert_true(before_size == 0 || before[before_size - 1] == (char)0xa5);
            before = memory;
            before_size = sizes[i];
        }
    sl_arena_release(&arena);
    assert_null(arena.newest);
}

TEST(what_was_taken_stays_where_it_is)
{
    enum { MANY = 5000 };
    static char *texts[MANY];
    struct sl_arena arena = { 0 };
    for (int i = 0; i < MANY; i++)
        texts[i] = sl_arena_print(&arena, "text %d", i);
    for (int i = 0; i < MANY; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "text %d", i);
        assert_string_equal(texts[i], wanted);
    }
    sl_arena_release(&arena);
}

TEST(copies_are_terminated)
{
    struct sl_arena arena = { 0 };
    assert_string_equal(sl_arena_copy(&arena, (struct sluice_text){ "abcdef", 3 }), "abc");
    assert_string_equal(sl_arena_copy(&arena, (struct sluice_text){ 0 }), "");
    assert_string_equal(sl_arena_print(&arena, "%s", ""), "");
    assert_string_equal(sl_arena_print(&arena, "%d of %s", 7, "nine"), "7 of nine");
    char large[20000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    assert_string_equal(sl_arena_print(&arena, "%s", large), large);
    sl_arena_release(&arena);
}

TEST(an_arena_can_be_used_again)
{
    struct sl_arena arena = { 0 };
    sl_arena_release(&arena);
    sl_arena_take(&arena, 10);
    sl_arena_release(&arena);
    assert_true(all_zero(sl_arena_take(&arena, 10), 10));
    sl_arena_release(&arena);
    sl_arena_release(&arena);
}
