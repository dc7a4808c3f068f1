/* Once around: each rule and tier of a file, as the JSON that a ruleset keeps of it, laid
 * on top of the same file, is the same rule and tier. Over every good file of the corpus
 * and every example. */
#include <glob.h>

#include "base/buffer.h"
#include "base/file.h"
#include "rules/tree/tree.h"
#include "unit/base/unit.h"
#include "unit/rules/same_rules.h"

enum { FILES_LEAST = 40 };

static struct sl_ruleset *parse(const char *name, struct sluice_text yaml,
                                const struct sl_overlay *overlay)
{
    struct sl_report report = { .file = name };
    struct sl_ruleset *rules = sl_ruleset_parse_over(name, yaml, overlay, &report);
    if (!rules)
        sl_report_print(&report, stderr);
    sl_report_release(&report);
    assert_non_null(rules);
    return rules;
}

static void assert_once_around(const char *name, struct sluice_text yaml)
{
    struct sl_arena arena = { 0 };
    struct sl_ruleset *rules = parse(name, yaml, NULL);
    struct sl_overlay overlay = overlay_of(&arena, rules);
    struct sl_ruleset *again = parse(name, yaml, &overlay);
    const char *differs = rules_differ(rules, again);
    if (differs)
        fail_msg("%s: `%s` differs", name, differs);
    for (size_t i = 0; i < again->rule_count; i++) {
        SAME(name, again->rules[i].revision, i + 1); /* it is the overlay's indeed */
        SAME(name, again->rules[i].replaces_files, true);
    }
    for (size_t i = 0; i < again->tier_count; i++)
        SAME(name, again->tiers[i].replaces_files, true);

    /* And without the file: all of it is in the JSON. */
    struct sl_ruleset *alone = parse(name, SL_TEXT("{}"), &overlay);
    SAME(name, alone->rule_count, rules->rule_count);
    SAME(name, alone->tier_count, rules->tier_count);
    sl_ruleset_free(alone);
    sl_ruleset_free(again);
    sl_ruleset_free(rules);
    sl_arena_release(&arena);
}

TEST(each_rule_and_tier_of_every_file_is_what_its_json_says)
{
    glob_t files;
    assert_int_equal(glob("tests/rules/good/*.yaml", 0, NULL, &files), 0);
    assert_int_equal(glob("examples/*.yaml", GLOB_APPEND, NULL, &files), 0);
    assert_int_equal(glob("examples/*/*rules.yaml", GLOB_APPEND, NULL, &files), 0);
    assert_true(files.gl_pathc >= FILES_LEAST);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct sl_buffer text = sl_buffer(SL_RULES_FILE_MAX_BYTES);
        assert_int_equal(sl_file_read(files.gl_pathv[i], &text), 0);
        assert_once_around(files.gl_pathv[i], (struct sluice_text){ text.at, text.len });
        sl_buffer_release(&text);
    }
    globfree(&files);
}

/* The comparison itself sees each of these. */
TEST(rules_that_are_not_the_same_are_told_apart)
{
#define FILE_OF(rule) "tiers: { pro: { scale: 2 } }\nrules: [{ name: r, " rule " }]"
    static const struct {
        const char *one, *two, *differs;
    } rows[] = {
        { "per: ip, limit: 5/m", "per: user, limit: 5/m", "json" },
        { "per: ip, limit: 5/m", "per: ip, limit: 6/m", "json" },
        { "per: ip, capacity: 007, window: 1m", "per: ip, capacity: 7, window: 1m", NULL },
        { "per: ip, limit: 5/m, when: { a: 1 }", "per: ip, limit: 5/m, when: { a: '1' }", "json" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char one[160], two[160];
        snprintf(one, sizeof one, FILE_OF("%s"), rows[i].one);
        snprintf(two, sizeof two, FILE_OF("%s"), rows[i].two);
        struct sl_ruleset *a = parse("one", sl_text(one), NULL);
        struct sl_ruleset *b = parse("two", sl_text(two), NULL);
        const char *differs = rules_differ(a, b);
        SAME(rows[i].two, differs == NULL, rows[i].differs == NULL);
        if (differs)
            assert_string_equal(differs, rows[i].differs);
        b->rules[0].json = a->rules[0].json; /* below the text, the meaning */
        SAME(rows[i].two, rules_differ(a, b) == NULL, i >= 2);
        sl_ruleset_free(a);
        sl_ruleset_free(b);
    }
}
