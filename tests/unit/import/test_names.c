#include "import/names.h"

#include "rules/ruleset.h"
#include "unit/base/unit.h"

TEST(texts_become_names_that_look_like_them)
{
    static const struct {
        const char *text, *name;
    } rows[] = {
        { "edge.path_/login", "edge.path_login" },
        { "edge.path_/a b//c/", "edge.path_a-b-c" },
        { "edge.plan_trial-*", "edge.plan_trial-any" },
        { "edge.plan_*-eu", "edge.plan_any-eu" },
        { "a*b", "a-any-b" },
        { "*", "any" },
        { "**", "any-any" },
        { "\xc3\x9c. co", "co" },
        { "a.!.b", "a..b" },
        { "", "limit" },
        { "!!", "limit" },
    };
    struct sl_arena arena = { 0 };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_names names = { .arena = &arena };
        SAME_TEXT(rows[i].text, sl_text(sl_names_take(&names, sl_text(rows[i].text))),
                  rows[i].name);
    }
    sl_arena_release(&arena);
}

TEST(no_two_are_alike)
{
    static const struct {
        const char *text, *name;
    } rows[] = { { "a", "a" },    { "a-2", "a-2" },   { "a", "a-3" },
                 { "a!", "a-4" }, { "a-2", "a-2-2" }, { "a-4", "a-4-2" } };
    struct sl_arena arena = { 0 };
    struct sl_names names = { .arena = &arena };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME_TEXT(rows[i].text, sl_text(sl_names_take(&names, sl_text(rows[i].text))),
                  rows[i].name);
    sl_arena_release(&arena);
}

/* Thousands of long texts that differ only in what is cut out of them. */
TEST(they_fit_however_long_and_many_texts_are)
{
    struct sl_arena arena = { 0 };
    struct sl_names names = { .arena = &arena };
    struct sl_textmap seen = { 0 };
    char text[200];
    for (int i = 0; i < 20000; i++) {
        int len = snprintf(text, sizeof text, "%040d%d%040d", 0, i, 0);
        struct sluice_text name =
            sl_text(sl_names_take(&names, (struct sluice_text){ text, (size_t)len }));
        if (!sl_rule_name_is_good(name) || sl_textmap_get(&seen, 0, name))
            fail_msg("%s", name.at);
        sl_textmap_add(&arena, &seen, 0, name, 1);
    }
    sl_arena_release(&arena);
}
