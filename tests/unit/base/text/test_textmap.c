#include "base/text/textmap.h"

#include "unit/base/unit.h"

TEST(an_empty_map_has_nothing)
{
    struct sl_textmap map = { 0 };
    assert_int_equal(sl_textmap_get(&map, 0, SL_TEXT("a")), 0);
    assert_int_equal(sl_textmap_get(&map, 1, SL_TEXT("")), 0);
}

TEST(a_text_belongs_to_its_owner)
{
    struct sl_arena arena = { 0 };
    struct sl_textmap map = { 0 };
    sl_textmap_add(&arena, &map, 1, SL_TEXT("a"), 10);
    sl_textmap_add(&arena, &map, 2, SL_TEXT("a"), 20);
    sl_textmap_add(&arena, &map, 1, SL_TEXT(""), 30);
    sl_textmap_add(&arena, &map, 0, SL_TEXT("a\0b"), UINT32_MAX);
    assert_int_equal(sl_textmap_get(&map, 1, SL_TEXT("a")), 10);
    assert_int_equal(sl_textmap_get(&map, 2, SL_TEXT("a")), 20);
    assert_int_equal(sl_textmap_get(&map, 3, SL_TEXT("a")), 0);
    assert_int_equal(sl_textmap_get(&map, 1, SL_TEXT("")), 30);
    assert_int_equal(sl_textmap_get(&map, 2, SL_TEXT("")), 0);
    assert_int_equal(sl_textmap_get(&map, 0, SL_TEXT("a\0b")), UINT32_MAX);
    assert_int_equal(sl_textmap_get(&map, 0, SL_TEXT("a")), 0);
    assert_int_equal(sl_textmap_get(&map, 1, SL_TEXT("A")), 0);
    sl_arena_release(&arena);
}

TEST(all_are_found_again_while_it_grows)
{
    enum { MANY = 20000, OWNERS = 7 };
    struct sl_arena arena = { 0 };
    struct sl_textmap map = { 0 };
    for (uint32_t i = 1; i <= MANY; i++) {
        char *name = sl_arena_print(&arena, "%u", i / OWNERS);
        sl_textmap_add(&arena, &map, i % OWNERS, sl_text(name), i);
        assert_int_equal(map.count, i);
    }
    for (uint32_t i = 1; i <= MANY + OWNERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i / OWNERS);
        assert_int_equal(sl_textmap_get(&map, i % OWNERS, sl_text(name)), i <= MANY ? i : 0);
    }
    sl_arena_release(&arena);
}
