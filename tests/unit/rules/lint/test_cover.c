/* The trie against the definition: it finds exactly what sl_pattern_covers says. */
#include <stdlib.h>

#include "rules/lint/cover.h"
#include "unit/base/unit.h"

/* Few words and few segments, so that patterns often cover each other. */
static const char *const patterns[] = {
    NULL,     "*",      "/*",     "/a",         "/a/*",   "/b/*",       "/*/b", "/*/*",
    "/a/b",   "/a/b/*", "/a/*/b", "/a/*/b/*",   "/*/b/a", "/a/b/a",     "/",    "/*/*/a",
    "a",      "a.*",    "a.b",    "*.b",        "a.*.b",  "a.b.*",      "*.*",  "/a/b/*/a",
    "/b/a/*", "/b",     "/*/a/*", "/*/*/b/*/a", "b.a",    "/a/*/*/b/a",
};

enum { COUNT = sizeof patterns / sizeof *patterns };

static struct sl_arena arena;
static struct sl_rule rules[COUNT];
static const struct sl_rule *all[COUNT];

static int parse_all(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT; i++) {
        rules[i].index = (uint32_t)i;
        rules[i].any_resource = patterns[i] == NULL;
        if (patterns[i])
            assert_null(sl_pattern_parse(&arena, sl_text(patterns[i]), &rules[i].resource));
        all[i] = &rules[i];
    }
    return 0;
}

static int release_all(void **unused)
{
    (void)unused;
    sl_arena_release(&arena);
    return 0;
}

static bool is_any(const struct sl_rule *rule)
{
    return rule->any_resource || rule->resource.everything;
}

static bool covers(const struct sl_rule *wide, const struct sl_rule *narrow)
{
    if (is_any(wide) || is_any(narrow))
        return is_any(wide);
    return sl_pattern_covers(&wide->resource, &narrow->resource);
}

TEST(it_finds_each_pattern_that_covers_and_no_other)
{
    const struct sl_cover *cover = sl_cover_new(&arena, all, COUNT);
    for (size_t n = 0; n < COUNT; n++) {
        const struct sl_rule *found[COUNT + 1];
        bool seen[COUNT] = { false };
        size_t count = sl_cover_find(cover, &rules[n], found, COUNT + 1);
        assert_true(count <= COUNT);
        for (size_t i = 0; i < count; i++) {
            assert_false(seen[found[i]->index]);
            seen[found[i]->index] = true;
        }
        for (size_t w = 0; w < COUNT; w++)
            if (seen[w] != covers(&rules[w], &rules[n]))
                fail_msg("%s %s %s", patterns[w] ? patterns[w] : "(any)",
                         seen[w] ? "was found for" : "was not found for",
                         patterns[n] ? patterns[n] : "(any)");
    }
}

TEST(it_stops_where_there_is_no_more_room)
{
    const struct sl_cover *cover = sl_cover_new(&arena, all, COUNT);
    const struct sl_rule *found[3] = { NULL, NULL, NULL };
    assert_int_equal(sl_cover_find(cover, &rules[8], found, 2), 2);
    assert_non_null(found[1]);
    assert_null(found[2]);
    assert_int_equal(sl_cover_find(cover, &rules[8], found, 0), 0);
}

TEST(over_no_rules_it_finds_none)
{
    const struct sl_rule *found[1];
    const struct sl_cover *cover = sl_cover_new(&arena, NULL, 0);
    assert_int_equal(sl_cover_find(cover, &rules[0], found, 1), 0);
    assert_int_equal(sl_cover_find(cover, &rules[8], found, 1), 0);
}

TESTS_WITH(parse_all, release_all)
