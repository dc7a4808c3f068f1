/* The way down to a limit: names of entries, and which values are left to it. */
#include "import/envoy_path.h"

#include "unit/base/unit.h"

static struct sl_envoy envoy;
static struct sl_envoy_file file;

static int release(void **unused)
{
    (void)unused;
    sl_envoy_release(&envoy);
    sl_report_release(&file.report);
    file = (struct sl_envoy_file){ .name = "c.yaml" };
    return 0;
}

/* The last descriptor of the last one that has a limit, and so on down. */
static struct sl_envoy_node *read_last_node(const char *descriptors)
{
    char yaml[1024];
    release(NULL);
    snprintf(yaml, sizeof yaml, "domain: d\ndescriptors: %s\n", descriptors);
    if (!sl_envoy_read(&envoy, &file, sl_text(yaml)))
        fail_msg("%s: %s", yaml, file.report.problems[0].text);
    struct sl_envoy_node *node = envoy.first->root.last;
    while (node->last)
        node = node->last;
    return node;
}

/* "a, b": names of the steps. */
static void assert_names(const char *keys, const char *wanted)
{
    char yaml[512] = "", words[128], names[256] = "", *rest = words, *key;
    snprintf(words, sizeof words, "%s", keys);
    size_t depth = 0;
    while ((key = strsep(&rest, " "))) {
        snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml), "%s[{ key: %s",
                 depth ? ", descriptors: " : "", key);
        depth++;
    }
    while (depth--)
        strcat(yaml, " }]");
    struct sl_envoy_path path;
    assert_null(sl_envoy_path_find(&envoy.arena, read_last_node(yaml), &path));
    for (size_t i = 0; i < path.count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "",
                 path.steps[i].attribute.at);
    SAME_TEXT(keys, sl_text(names), wanted);
}

TEST(entries_are_called_as_the_front_calls_them)
{
    assert_names("a", "a");
    assert_names("a b", "a b");
    assert_names("a a a", "a a.2 a.3");
    assert_names("a.2 a a", "a.2 a a.3");
    assert_names("a a.2 a", "a a.2 a.3");
    assert_names("tenant", "descriptor.tenant");
    assert_names("cost cost", "descriptor.cost descriptor.cost.2");
    assert_names("descriptor.cost cost", "descriptor.cost descriptor.cost.2");
    assert_names("user ip user", "user ip user.2");
}

/* "not x y unlike p": what the last step leaves to others. */
static void assert_leaves(const char *descriptors, const char *wanted)
{
    struct sl_envoy_path path;
    char left[256] = "";
    const char *wrong = sl_envoy_path_find(&envoy.arena, read_last_node(descriptors), &path);
    if (wrong)
        fail_msg("%s", wrong);
    const struct sl_envoy_node *node = path.steps[path.count - 1].node;
    for (size_t i = 0; i < node->unequal.count; i++)
        snprintf(left + strlen(left), sizeof left - strlen(left), " %s", node->unequal.at[i].at);
    strcat(left, " |");
    for (size_t i = 0; i < node->unlike.count; i++)
        snprintf(left + strlen(left), sizeof left - strlen(left), " %s", node->unlike.at[i].at);
    SAME_TEXT(descriptors, sl_text(left), wanted);
}

#define K(value) "{ key: k, value: '" value "' }, "

TEST(what_others_beside_take_is_left_to_them)
{
    assert_leaves("[" K("a") K("b*") "{ key: k }]", " a | b*");
    assert_leaves("[" K("a") K("b*") "{ key: other }]", " |");
    assert_leaves("[{ key: k }, " K("a*") "{ key: k, value: a }]", " |"); /* exact goes first */
    assert_leaves("[" K("ab") K("c") "{ key: k, value: 'a*' }]", " ab |");
    assert_leaves("[" K("ab*") K("c*") "{ key: k, value: 'a*' }]", " | ab*");
    assert_leaves("[" K("a") "{ key: x, descriptors: [{ key: k }] }]", " |"); /* another level */
}

TEST(a_pattern_leaves_nothing_to_those_behind_it)
{
    struct sl_envoy_path path;
    read_last_node("[" K("ab*") K("a*") "]");
    struct sl_envoy_node *first = envoy.first->root.first;
    assert_null(sl_envoy_path_find(&envoy.arena, first, &path));
    assert_int_equal(path.steps[0].node->unlike.count, 0);
}

TEST(no_descriptor_follows_a_pattern_of_stars)
{
    struct sl_envoy_path path;
    assert_null(sl_envoy_path_find(&envoy.arena, read_last_node("[" K("**") "{ key: k }]"), &path));
    assert_true(path.is_dead);
    assert_null(sl_envoy_path_find(&envoy.arena, read_last_node("[" K("*a") "{ key: k }]"), &path));
    assert_false(path.is_dead);
}

TEST(what_no_rule_can_say_is_told)
{
    static const struct {
        const char *descriptors, *part;
    } rows[] = {
        { "[{ key: ':path' }]", "the key `:path`" },
        { "[{ key: endpoint }]", "the key `endpoint`" },
        { "[{ key: a b, descriptors: [{ key: c }] }]", "the key `a b`" },
        { "[{ key: k, value: \"a\\nb\" }]", "a value of `k` that has control characters" },
        { "[{ key: k, value: \"a\\0\" }, { key: k }]", "control characters" },
        { "[{ key: ip, value: here }]", "`here` is no address" },
        { "[{ key: ip, value: here }, { key: ip }]", "`here` is no address" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_envoy_path path;
        const char *wrong =
            sl_envoy_path_find(&envoy.arena, read_last_node(rows[i].descriptors), &path);
        if (!wrong || !strstr(wrong, rows[i].part) || !strstr(wrong, "; c"))
            fail_msg("%s: %s", rows[i].descriptors, wrong ? wrong : "nothing");
    }
    struct sl_envoy_path path;
    assert_null(
        sl_envoy_path_find(&envoy.arena, read_last_node("[{ key: ip, value: 'here*' }]"), &path));
    assert_null(
        sl_envoy_path_find(&envoy.arena, read_last_node("[{ key: x, value: here }]"), &path));
}

TEST(a_name_is_found_that_no_entry_has)
{
    struct sl_envoy_path path;
    assert_null(sl_envoy_path_find(&envoy.arena, read_last_node("[{ key: a }]"), &path));
    assert_string_equal(sl_envoy_path_lacks(&envoy.arena, &path), "nobody");
    assert_null(sl_envoy_path_find(
        &envoy.arena, read_last_node("[{ key: nobody, descriptors: [{ key: nobody_ }] }]"), &path));
    assert_string_equal(sl_envoy_path_lacks(&envoy.arena, &path), "nobody__");
}

TESTS_WITH(NULL, release)
