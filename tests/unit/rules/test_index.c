/* The trie against a matcher that looks at every rule, one after the other. */
#include "rules/index.h"

#include "unit/base/unit.h"

enum { RULES_MAX = 10000, CONDITIONS_MAX = 3, VALUES_MAX = 3, EXCEPTS_MAX = 2 };

/* A rule as it was made up; NULL ends a list. */
struct made {
    const char *resource; /* NULL: any */
    const char *except[EXCEPTS_MAX + 1];
    struct {
        const char *attribute;
        const char *values[VALUES_MAX + 1];
    } when[CONDITIONS_MAX];
};

static struct sl_ruleset rules;
static const struct sl_rule *matched[RULES_MAX];

static int release(void **unused)
{
    (void)unused;
    sl_arena_release(&rules.arena);
    rules = (struct sl_ruleset){ 0 };
    return 0;
}

/* ---- from made-up rules to a ruleset ------------------------------------------ */

static struct sl_pattern pattern_of(const char *text)
{
    struct sl_pattern pattern;
    const char *wrong = sl_pattern_parse(&rules.arena, sl_text(text), &pattern);
    if (wrong)
        fail_msg("`%s`: %s", text, wrong);
    return pattern;
}

static struct sl_part part_of(const char *name)
{
    static const char *const own[] = {
        [SL_ATTR_TENANT] = "tenant", [SL_ATTR_METHOD] = "method", [SL_ATTR_USER] = "user"
    };
    struct sl_part part = { SL_ATTR_OTHER, sl_text(name) };
    for (size_t i = 0; i < COUNT(own); i++)
        if (own[i] && strcmp(own[i], name) == 0)
            part.attribute = (enum sl_attribute)i;
    return part;
}

static void fill_conditions(struct sl_rule *rule, const struct made *made)
{
    struct sl_condition *when = sl_arena_take(&rules.arena, CONDITIONS_MAX * sizeof *when);
    for (; rule->when_count < CONDITIONS_MAX && made->when[rule->when_count].attribute;
         rule->when_count++) {
        size_t count = 0;
        struct sluice_text *values = sl_arena_take(&rules.arena, VALUES_MAX * sizeof *values);
        for (; made->when[rule->when_count].values[count]; count++)
            values[count] = sl_text(made->when[rule->when_count].values[count]);
        when[rule->when_count] =
            (struct sl_condition){ part_of(made->when[rule->when_count].attribute), values, count };
    }
    rule->when = when;
}

static void build(const struct made *made, size_t count)
{
    release(NULL);
    rules.rules = sl_arena_take(&rules.arena, count * sizeof *rules.rules);
    rules.rule_count = count;
    for (size_t i = 0; i < count; i++) {
        struct sl_rule *rule = &rules.rules[i];
        struct sl_pattern *except = sl_arena_take(&rules.arena, EXCEPTS_MAX * sizeof *except);
        rule->index = (uint32_t)i;
        rule->any_resource = !made[i].resource;
        if (made[i].resource)
            rule->resource = pattern_of(made[i].resource);
        for (; made[i].except[rule->except_count]; rule->except_count++)
            except[rule->except_count] = pattern_of(made[i].except[rule->except_count]);
        rule->except = except;
        fill_conditions(rule, &made[i]);
    }
    rules.index = sl_index_new(&rules);
}

/* ---- the matcher that looks at everything -------------------------------------- */

/* Segment by segment over the texts alone. */
static bool fits(const char *pattern, const char *resource)
{
    if (strcmp(pattern, "*") == 0)
        return true;
    if ((pattern[0] == '/') != (resource[0] == '/'))
        return false;
    char separator = pattern[0] == '/' ? '/' : '.';
    const char *p = pattern + (separator == '/');
    const char *r = resource + (separator == '/');
    while (*p) {
        if (strcmp(p, "*") == 0)
            return true;
        const char *p_end = strchrnul(p, separator);
        const char *r_end = strchrnul(r, separator);
        if (!*r)
            return false;
        if (strncmp(p, "*", (size_t)(p_end - p)) != 0 &&
            (p_end - p != r_end - r || strncmp(p, r, (size_t)(p_end - p)) != 0))
            return false;
        p = p_end + (*p_end != 0);
        r = r_end + (*r_end != 0);
    }
    return *r == 0;
}

static bool holds(const struct made *made, const struct sluice_request *request)
{
    for (size_t i = 0; i < CONDITIONS_MAX && made->when[i].attribute; i++) {
        const char *name = made->when[i].attribute;
        struct sluice_text value = { 0 };
        if (strcmp(name, "method") == 0)
            value = request->method;
        if (strcmp(name, "user") == 0)
            value = request->user;
        for (size_t k = 0; k < request->other_count; k++)
            if (sl_text_is(request->others[k].name, name))
                value = request->others[k].value;
        bool one = false;
        for (size_t k = 0; made->when[i].values[k]; k++)
            one = one || (value.at && sl_text_is(value, made->when[i].values[k]));
        if (!one)
            return false;
    }
    return true;
}

static bool linear(const struct made *made, const struct sluice_request *request)
{
    const char *resource = request->resource.at;
    if (made->resource && (!resource || !fits(made->resource, resource)))
        return false;
    for (size_t i = 0; resource && made->except[i]; i++)
        if (fits(made->except[i], resource))
            return false;
    return holds(made, request);
}

static void check(const struct made *made, const struct sluice_request *request)
{
    size_t count = sl_index_match(&rules, request, matched);
    size_t seen = 0;
    for (size_t i = 0; i < rules.rule_count; i++) {
        bool wanted = linear(&made[i], request);
        bool found = seen < count && matched[seen] == &rules.rules[i];
        if (wanted != found)
            fail_msg("rule %zu (`%s`, %s %s) %s `%.*s`", i, made[i].resource, made[i].except[0],
                     made[i].when[0].attribute, wanted ? "misses" : "matches",
                     (int)request->resource.len, request->resource.at);
        seen += found;
    }
    assert_int_equal(seen, count);
}

/* ---- made at random ------------------------------------------------------------ */

static uint64_t seed = 1;

static const char *one_of(const char *const *list, size_t count)
{
    return list[unit_up_to(&seed, (int64_t)count - 1)];
}
#define ONE_OF(list) one_of(list, COUNT(list))

/* Up to 4 segments out of a small alphabet, so that patterns meet. */
static char *random_path(const char *const *segments, size_t count)
{
    char separator = unit_up_to(&seed, 3) ? '/' : '.';
    int64_t depth = unit_up_to(&seed, 4);
    char text[64] = "/";
    size_t len = 0;
    for (int64_t i = 0; i < depth; i++) {
        if (i || separator == '/')
            text[len++] = separator;
        len += (size_t)sprintf(text + len, "%s", one_of(segments, count));
    }
    return sl_arena_copy(&rules.arena, sl_text(text));
}

static const char *const pattern_segments[] = { "a", "b", "c", "*", "*" };
static const char *const path_segments[] = { "a", "b", "c", "d" };

static void random_rule(struct made *made)
{
    static const char *const attributes[] = { "method", "user", "plan", "region" };
    static const char *const values[] = { "x", "y", "z", "x y" };
    *made = (struct made){ 0 };
    if (unit_up_to(&seed, 5))
        made->resource = random_path(pattern_segments, COUNT(pattern_segments));
    for (int64_t i = unit_up_to(&seed, 5) - 4; i >= 0; i--)
        made->except[i] = random_path(pattern_segments, COUNT(pattern_segments));
    int64_t conditions = unit_up_to(&seed, 5) - 2;
    for (int64_t i = 0; i < conditions; i++) {
        made->when[i].attribute = attributes[(i + unit_up_to(&seed, 1)) % 4];
        for (int64_t k = unit_up_to(&seed, VALUES_MAX - 1); k >= 0; k--)
            made->when[i].values[k] = ONE_OF(values); /* the same one twice, too */
    }
}

static void random_request(struct sluice_request *request, struct sluice_attribute others[2])
{
    static const char *const values[] = { NULL, "", "x", "y", "z", "x y", "X" };
    *request = (struct sluice_request)sluice_request();
    if (unit_up_to(&seed, 9))
        request->resource = sl_text(random_path(path_segments, COUNT(path_segments)));
    request->method = sl_text(ONE_OF(values));
    request->user = sl_text(ONE_OF(values));
    others[0] = (struct sluice_attribute){ SL_TEXT("plan"), sl_text(ONE_OF(values)) };
    others[1] = (struct sluice_attribute){ SL_TEXT("region"), sl_text(ONE_OF(values)) };
    request->others = others;
    request->other_count = (size_t)unit_up_to(&seed, 2);
}

static void check_random(size_t rule_count, int requests)
{
    static struct made made[RULES_MAX];
    struct sl_arena texts = { 0 };
    for (size_t i = 0; i < rule_count; i++)
        random_rule(&made[i]);
    texts = rules.arena; /* building starts an arena of its own */
    rules.arena = (struct sl_arena){ 0 };
    build(made, rule_count);
    for (int i = 0; i < requests; i++) {
        struct sluice_request request;
        struct sluice_attribute others[2];
        random_request(&request, others);
        check(made, &request);
    }
    sl_arena_release(&texts);
    release(NULL);
}

TEST(random_rules_match_as_if_each_were_tried)
{
    for (int round = 0; round < 500; round++)
        check_random((size_t)unit_up_to(&seed, 40), 100);
}

TEST(thousands_of_rules_match_as_if_each_were_tried)
{
    check_random(3000, 500);
    check_random(RULES_MAX, 50);
}

/* ---- made by hand ---------------------------------------------------------------- */

TEST(rules_come_in_the_order_of_the_file)
{
    static const struct made made[] = {
        { "/a/b" }, { .when = { { "method", { "x" } } } },
        { "/*" },   { "/a/*" },
        { NULL },   { "/*/b" },
        { "*" },    { "/a/b" },
        { "/a/c" }, { "a.b" },
    };
    static const uint32_t order[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    build(made, COUNT(made));
    struct sluice_request request = { .resource = SL_TEXT("/a/b"), .method = SL_TEXT("x") };
    assert_int_equal(sl_index_match(&rules, &request, matched), COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++)
        assert_int_equal(matched[i]->index, order[i]);
}

TEST(without_a_resource_only_rules_that_name_none_match)
{
    static const struct made made[] = { { "*" }, { NULL }, { "/" }, { "/*" } };
    build(made, COUNT(made));
    struct sluice_request nowhere = { 0 };
    struct sluice_request empty = { .resource = SL_TEXT("") };
    assert_int_equal(sl_index_match(&rules, &nowhere, matched), 1);
    assert_int_equal(matched[0]->index, 1);
    assert_int_equal(sl_index_match(&rules, &empty, matched), 1);
    struct sluice_request root = { .resource = SL_TEXT("/") };
    assert_int_equal(sl_index_match(&rules, &root, matched), 4);
}

TEST(a_value_listed_twice_matches_once)
{
    static const struct made made[] = { { .when = { { "method", { "x", "y", "x" } } } } };
    build(made, COUNT(made));
    struct sluice_request request = { .method = SL_TEXT("x") };
    assert_int_equal(sl_index_match(&rules, &request, matched), 1);
}

TEST(many_rules_that_differ_in_one_value_are_told_apart)
{
    enum { TENANTS = 10000 };
    static struct made made[TENANTS];
    struct sl_arena names = { 0 };
    for (int i = 0; i < TENANTS; i++)
        made[i] = (struct made){ "/api/*",
                                 .when = { { "tenant", { sl_arena_print(&names, "t%d", i) } } } };
    build(made, TENANTS);
    for (int i = 0; i < TENANTS; i++) {
        struct sluice_request request = { .resource = SL_TEXT("/api/x"),
                                          .tenant = sl_text(made[i].when[0].values[0]) };
        assert_int_equal(sl_index_match(&rules, &request, matched), 1);
        assert_int_equal(matched[0]->index, i);
    }
    sl_arena_release(&names);
}

TEST(a_path_of_any_length_is_walked_to_its_cut)
{
    static char longest[2 * 63 + 1], path[2 * 5000 + 1];
    for (int i = 0; i < 63; i++)
        memcpy(longest + (ptrdiff_t)2 * i, "/s", 2);
    for (int i = 0; i < 5000; i++)
        memcpy(path + (ptrdiff_t)2 * i, "/s", 2);
    struct made made[] = { { longest }, { "/s/*" }, { "/*" } };
    build(made, COUNT(made));
    for (size_t count = 60; count <= 5000; count += count < 70 ? 1 : 1000) {
        struct sluice_request request = { .resource = { path, 2 * count } };
        assert_int_equal(sl_index_match(&rules, &request, matched), count == 63 ? 3 : 2);
    }
}

TEST(an_attribute_is_found_by_its_name)
{
    static const struct sluice_attribute others[] = { { SL_TEXT("plan"), SL_TEXT("gold") } };
    struct sluice_request request = { .tenant = SL_TEXT("t"),
                                      .resource = SL_TEXT("/r"),
                                      .method = SL_TEXT("m"),
                                      .user = SL_TEXT("u"),
                                      .ip = SL_TEXT("i"),
                                      .client = SL_TEXT("c"),
                                      .tier = SL_TEXT("free"),
                                      .others = others,
                                      .other_count = 1 };
    static const struct {
        struct sl_part part;
        const char *value;
    } rows[] = {
        { { SL_ATTR_GLOBAL }, "-" },
        { { SL_ATTR_TENANT }, "t" },
        { { SL_ATTR_RESOURCE }, "/r" },
        { { SL_ATTR_METHOD }, "m" },
        { { SL_ATTR_USER }, "u" },
        { { SL_ATTR_IP }, "i" },
        { { SL_ATTR_CLIENT }, "c" },
        { { SL_ATTR_TIER }, "free" },
        { { SL_ATTR_OTHER, SL_TEXT("plan") }, "gold" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME_TEXT(rows[i].value, sl_attribute_of(&request, &rows[i].part), rows[i].value);
    struct sl_part absent = { SL_ATTR_OTHER, SL_TEXT("plans") };
    assert_null(sl_attribute_of(&request, &absent).at);
}

TESTS_WITH(NULL, release)
