/* What lies on top of a file, and what is in force then. */
#include "unit/rules/overlaying.h"

#include "rules/index.h"

static const char file[] =
    "tiers: { free: {}, pro: { scale: 10 } }\n"
    "rules:\n"
    "  - { name: a, per: ip, limit: 1/s }\n"
    "  - { name: b, per: ip, limit: 2/s }\n"
    "  - { name: c, per: user, limit: 3/s, tiers: { pro: { capacity: 9 } } }\n";

#define JSON(per, limit) "{\"per\": \"" per "\", \"limit\": \"" limit "\"}"

TEST(without_an_overlay_the_file_is_in_force)
{
    static const struct sl_overlay empty;
    const struct sl_overlay *const none[] = { NULL, &empty };
    for (size_t i = 0; i < COUNT(none); i++) {
        lay_well(file, none[i]);
        assert_rules("a b c");
        for (size_t k = 0; k < rules->rule_count; k++) {
            assert_int_equal(rules->rules[k].revision, 0);
            assert_false(rules->rules[k].replaces_files);
            assert_null(rules->rules[k].tenant);
        }
        assert_int_equal(rules->hidden_count, 0);
        assert_int_equal(rules->hidden_tier_count, 0);
        assert_int_equal(rules->exempt_until_count, 0);
        assert_string_equal(rules->rules[1].json,
                            "{\"name\": \"b\", \"per\": \"ip\", \"limit\": \"2/s\"}");
        assert_string_equal(rules->tiers[0].json, "{}");
        assert_string_equal(rules->tiers[1].json, "{\"scale\": 10}");
    }
}

TEST(a_replacement_has_the_place_of_what_it_replaces_and_new_ones_stand_behind)
{
    static const struct sl_overlay_rule over[] = {
        { "z", NULL, JSON("ip", "5/s"), 3 },
        { "b", NULL, JSON("user", "20/s"), 7 },
        { "y", NULL, JSON("ip", "6/s"), 4 },
    };
    lay_well(file, &(struct sl_overlay){ RULES_OF(over) });
    assert_rules("a b c z y");
    const struct sl_rule *b = rule_named("b"), *z = rule_named("z");
    assert_int_equal(b->numbers[0].limit.capacity, 20);
    assert_int_equal(b->per[0].attribute, SL_ATTR_USER);
    assert_int_equal(b->revision, 7);
    assert_true(b->replaces_files);
    assert_int_equal(z->revision, 3);
    assert_false(z->replaces_files);
    assert_int_equal(rule_named("a")->revision, 0);
    assert_string_equal(b->json, "{\"name\": \"b\", \"per\": \"user\", \"limit\": \"20/s\"}");
}

TEST(what_is_hidden_is_not_in_force_and_said_to_be_hidden)
{
    static const struct sl_overlay_rule over[] = {
        { "nobody", NULL, NULL, 1 }, /* the file has none of that name */
        { "b", NULL, NULL, 2 },
        { "a", "acme", NULL, 3 }, /* a tenant cannot hide a rule for all */
    };
    lay_well(file, &(struct sl_overlay){ RULES_OF(over) });
    assert_rules("a c");
    assert_int_equal(rules->hidden_count, 1);
    assert_string_equal(rules->hidden[0], "b");
}

TEST(a_file_without_rules_and_tiers_can_be_given_some)
{
    static const struct sl_overlay_rule over[] = { { "a", NULL, JSON("ip", "1/s"), 1 } };
    static const struct sl_overlay_tier tiers[] = { { "pro", "{\"scale\": 2}", 1 } };
    static const char *const files[] = { "workers: 1", "rules: []", "{}", "tiers: {}" };
    for (size_t i = 0; i < COUNT(files); i++) {
        lay_well(files[i], &(struct sl_overlay){ RULES_OF(over), TIERS_OF(tiers) });
        assert_rules("a");
        assert_int_equal(rules->tier_count, 1);
        assert_int_equal(rules->rules[0].numbers[1].limit.capacity, 2);
    }
    lay("", &(struct sl_overlay){ RULES_OF(over) }); /* and what is no file stays none */
    assert_null(rules);
    lay("rules:", &(struct sl_overlay){ RULES_OF(over) });
    assert_null(rules);
}

TEST(tiers_are_replaced_added_and_hidden_like_rules)
{
    static const struct sl_overlay_tier tiers[] = {
        { "gold", "{\"scale\": 0.5, \"algorithms\": [\"fixed_window\", \"token_bucket\"]}", 5 },
        { "free", NULL, 1 },
        { "pro", "{\"unlimited\": true}", 6 },
        { "nobody", NULL, 1 },
    };
    static const struct sl_overlay_rule over[] = {
        { "b", NULL,
          "{\"per\": \"ip\", \"limit\": \"8/s\", \"tiers\": {\"gold\": {\"capacity\": 3}}}", 1 },
    };
    lay_well(file, &(struct sl_overlay){ RULES_OF(over), TIERS_OF(tiers) });
    assert_int_equal(rules->tier_count, 2);
    const struct sl_tier *pro = &rules->tiers[0], *gold = &rules->tiers[1];
    assert_true(sl_text_is(pro->name, "pro"));
    assert_true(pro->unlimited);
    assert_true(pro->replaces_files);
    assert_int_equal(pro->revision, 6);
    assert_string_equal(pro->json, "{\"unlimited\": true}");
    assert_true(sl_text_is(gold->name, "gold"));
    assert_false(gold->replaces_files);
    assert_int_equal(gold->algorithms, 1u << 1 | 1u << 3);
    assert_string_equal(sl_algos[1]->name, "fixed_window");
    assert_string_equal(sl_algos[3]->name, "token_bucket");
    assert_int_equal(rules->hidden_tier_count, 1);
    assert_string_equal(rules->hidden_tiers[0], "free");
    assert_true(rule_named("a")->numbers[1].unlimited);
    assert_int_equal(rule_named("b")->numbers[2].limit.capacity, 3);
    assert_int_equal(rule_named("c")->numbers[2].limit.capacity, 1);
}

TEST(a_rule_that_is_replaced_or_hidden_keeps_nothing_that_it_named)
{
    static const struct sl_overlay_tier tiers[] = { { "pro", NULL, 1 } };
    static const struct sl_overlay_rule hide[] = { { "c", NULL, NULL, 1 } };
    static const struct sl_overlay_rule replace[] = { { "c", NULL, JSON("ip", "1/s"), 1 } };
    lay_well(file, &(struct sl_overlay){ RULES_OF(hide), TIERS_OF(tiers) });
    lay_well(file, &(struct sl_overlay){ RULES_OF(replace), TIERS_OF(tiers) });
    lay(file, &(struct sl_overlay){ TIERS_OF(tiers) });
    assert_printed("rules.yaml:5:48: tier `pro` is not declared; add it to the file's `tiers`\n");
}

/* ---- names ----------------------------------------------------------------- */

TEST(a_rule_may_repeat_its_name)
{
    static const struct sl_overlay_rule over[] = {
        { "z", NULL, "{\"limit\": \"1/s\", \"name\": \"z\", \"per\": \"ip\"}", 1 },
        { "007", NULL, "{\"per\": \"ip\", \"limit\": \"1/s\"}", 1 },
        { "404", NULL, "{\"name\": 404, \"per\": \"ip\", \"limit\": \"1/s\"}", 1 },
    };
    lay_well("{}", &(struct sl_overlay){ RULES_OF(over) });
    assert_rules("z 007 404");
    assert_string_equal(rules->rules[0].json,
                        "{\"limit\": \"1/s\", \"name\": \"z\", \"per\": \"ip\"}");
    assert_string_equal(rules->rules[1].json,
                        "{\"name\": \"007\", \"per\": \"ip\", \"limit\": \"1/s\"}");
    assert_string_equal(rules->rules[2].json,
                        "{\"name\": 404, \"per\": \"ip\", \"limit\": \"1/s\"}");
}

TEST(a_file_that_has_a_name_twice_stays_refused)
{
    static const char twice[] = "rules:\n  - { name: a, per: ip, limit: 1/s }\n"
                                "  - { name: a, per: ip, limit: 2/s }\n";
    static const struct sl_overlay_rule hide[] = { { "a", NULL, NULL, 1 } };
    static const struct sl_overlay_rule replace[] = { { "a", NULL, JSON("ip", "1/s"), 1 } };
    static const char wanted[] = "rules.yaml:3:13: another rule is called `a`, in line 2; give "
                                 "each a name of its own\n";
    lay(twice, NULL);
    assert_printed(wanted);
    lay(twice, &(struct sl_overlay){ RULES_OF(hide) });
    assert_printed(wanted);
    lay(twice, &(struct sl_overlay){ RULES_OF(replace) });
    assert_printed(wanted);
}

TEST(an_overlay_that_has_a_name_twice_is_refused)
{
    static const struct sl_overlay_rule over[] = {
        { "z", NULL, JSON("ip", "1/s"), 1 },
        { "z", NULL, JSON("ip", "2/s"), 2 },
        { "z", "acme", JSON("ip", "2/s"), 3 },
        { "z", "acme", JSON("ip", "2/s"), 4 },
    };
    lay("{}", &(struct sl_overlay){ RULES_OF(over) });
    assert_int_equal(report.errors, 2);
    assert_string_equal(report.problems[0].subject, "rule `acme/z`");
    assert_string_equal(report.problems[1].subject, "rule `z`");
}

/* ---- tenants' own ---------------------------------------------------------- */

static size_t matches(const char *tenant)
{
    const struct sl_rule *found[8];
    struct sluice_request request = sluice_request();
    request.tenant = sl_text(tenant);
    request.method = SL_TEXT("GET");
    request.resource = SL_TEXT("/api");
    return sl_index_match(rules, &request, found);
}

TEST(a_tenants_own_rule_matches_that_tenant_alone)
{
    static const struct sl_overlay_rule over[] = {
        { "own", "acme", "{\"per\": \"user\", \"limit\": \"1/s\", \"resource\": \"/api/*\"}", 4 },
        { "own", "zoo", "{\"per\": \"ip\", \"limit\": \"2/s\", \"when\": {\"method\": \"GET\"}}",
          5 },
        { "all", NULL, JSON("ip", "3/s"), 6 },
        { "all", "zoo", JSON("ip", "4/s"), 7 }, /* takes no rule's place */
    };
    lay_well("rules: [{ name: all, per: ip, limit: 9/s }]", &(struct sl_overlay){ RULES_OF(over) });
    assert_rules("all acme/own zoo/own zoo/all");
    const struct sl_rule *own = rule_named("acme/own");
    assert_string_equal(own->tenant, "acme");
    assert_int_equal(own->revision, 4);
    assert_false(own->replaces_files);
    assert_int_equal(own->when_count, 1);
    assert_int_equal(own->when[0].attribute.attribute, SL_ATTR_TENANT);
    assert_true(sl_text_is(own->when[0].attribute.name, "tenant"));
    assert_int_equal(own->when[0].value_count, 1);
    assert_true(sl_text_is(own->when[0].values[0], "acme"));
    assert_int_equal(rule_named("zoo/own")->when_count, 2);
    assert_string_equal(own->json, "{\"name\": \"own\", \"per\": \"user\", \"limit\": \"1/s\", "
                                   "\"resource\": \"/api/*\"}");
    assert_null(rule_named("all")->tenant);
    assert_int_equal(matches("acme"), 2);
    assert_int_equal(matches("zoo"), 3);
    assert_int_equal(matches("other"), 1);
    assert_int_equal(matches(NULL), 1);
}

TEST(an_own_rule_may_name_its_tenant_and_no_other)
{
#define WHEN(tenants) "{\"per\": \"ip\", \"limit\": \"1/s\",\n \"when\": {\"tenant\": " tenants "}}"
    static const struct {
        const char *json;
        const char *other; /* NULL: it is right */
    } rows[] = {
        { WHEN("\"acme\""), NULL },           { WHEN("[\"acme\", \"acme\"]"), NULL },
        { WHEN("\"other\""), "other" },       { WHEN("[\"acme\", \"other\"]"), "other" },
        { WHEN("\"Acme\""), "Acme" },         { WHEN("1"), "1" },
        { WHEN("{\"is\": \"acme\"}"), NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_overlay_rule over[] = { { "own", "acme", rows[i].json, 1 } };
        lay("{}", &(struct sl_overlay){ RULES_OF(over) });
        SAME(rows[i].json, report.count, rows[i].other != NULL);
        if (!rows[i].other) {
            SAME(rows[i].json, rules->rules[0].when_count, 1);
            SAME(rows[i].json, matches("acme"), 1);
            SAME(rows[i].json, matches("other"), 0);
            continue;
        }
        char wanted[160];
        snprintf(wanted, sizeof wanted,
                 "rule `acme/own`:2:21: `tenant` cannot be `%s` in a rule of tenant `acme` alone; "
                 "leave it out\n",
                 rows[i].other);
        assert_printed(wanted);
    }
}

/* `not` and `like` could let others in, or only look as if they did: neither is of use there. */
TEST(an_own_rule_says_nothing_else_of_tenants)
{
    static const char *const rows[] = { WHEN("{\"not\": \"other\"}"), WHEN("{\"like\": \"*\"}"),
                                        WHEN("{\"unlike\": \"x*\"}"),
                                        WHEN("{\"is\": \"acme\", \"not\": \"x\"}") };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_overlay_rule over[] = { { "own", "acme", rows[i], 1 } };
        lay("{}", &(struct sl_overlay){ RULES_OF(over) });
        assert_printed("rule `acme/own`:2:21: `tenant` cannot be anything but `acme` in a rule of "
                       "that tenant alone; leave it out\n");
    }
}

TEST(a_tenants_name_is_checked)
{
    static const char *const good[] = { "a", "A-1_b.c", "007" };
    static const char *const bad[] = { "", "a/b", "a b", "caf\xc3\xa9", "\xff", "a\nb" };
    char longest[66] = "";
    memset(longest, 't', 64);
    for (size_t i = 0; i <= COUNT(good); i++) {
        const char *name = i < COUNT(good) ? good[i] : longest;
        struct sl_overlay_rule over[] = { { "own", name, JSON("ip", "1/s"), 1 } };
        lay_well("{}", &(struct sl_overlay){ RULES_OF(over) });
    }
    longest[64] = 't';
    for (size_t i = 0; i <= COUNT(bad); i++) {
        const char *name = i < COUNT(bad) ? bad[i] : longest;
        struct sl_overlay_rule over[] = { { "own", name, JSON("ip", "1/s"), 1 } };
        lay("{}", &(struct sl_overlay){ RULES_OF(over) });
        SAME(name, report.count, 1);
        SAME(name, report.problems[0].mark.line, 0);
        assert_non_null(strstr(report.problems[0].text, "1 to 64 letters, digits"));
        assert_non_null(strstr(report.problems[0].subject, "rule `"));
        assert_null(strchr(report.problems[0].subject, '\n'));
        assert_null(strchr(report.problems[0].text, '\xff'));
    }
}

/* ---- bounds ---------------------------------------------------------------- */

TEST(tiers_are_bounded_with_those_of_the_overlay)
{
    static struct sl_overlay_tier tiers[256];
    static char names[256][16];
    for (int i = 0; i < 256; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        tiers[i] = (struct sl_overlay_tier){ names[i], "{}", 1 };
    }
    lay_well("tiers: { t7: {} }", &(struct sl_overlay){ TIERS_OF(tiers) });
    assert_int_equal(rules->tier_count, 256);
    lay("tiers: { x: {} }", &(struct sl_overlay){ TIERS_OF(tiers) });
    assert_printed("rules.yaml:1:8: there are 257 tiers with those of the API; a file has at most "
                   "256\n");
}

TEST(rules_times_tiers_are_bounded_with_those_of_the_overlay)
{
    enum { RULES = (1 << 20) / 200 + 1 };
    struct sl_overlay_rule *over = calloc(RULES, sizeof *over);
    char(*names)[16] = calloc(RULES, sizeof *names);
    static struct sl_overlay_tier tiers[199];
    assert_non_null(over);
    assert_non_null(names);
    for (int i = 0; i < RULES; i++) {
        snprintf(names[i], sizeof names[i], "r%d", i);
        over[i] = (struct sl_overlay_rule){ names[i], NULL, JSON("ip", "1/s"), 1 };
    }
    for (int i = 0; i < 199; i++)
        tiers[i] = (struct sl_overlay_tier){ names[i], "{}", 1 };
    struct sl_overlay overlay = { over, RULES, TIERS_OF(tiers) };
    lay("{}", &overlay);
    assert_printed("rules.yaml:1:1: 5243 rules with 199 tiers are too many; rules times tiers are "
                   "at most 1048576\n");
    free(over);
    free(names);
}

TEST(what_the_overlay_was_made_of_need_not_last)
{
    char name[] = "own", tenant[] = "acme", tier[] = "gold", network[] = "10.0.0.0/8",
         client[] = "acme/c", hidden[] = "b", hidden_tier[] = "free";
    char json[] = "{\"per\": \"ip\", \"limit\": \"1/s\", \"resource\": \"/x\"}", tier_json[] = "{}";
    struct sl_overlay_rule over[] = { { name, tenant, json, 1 }, { hidden, NULL, NULL, 1 } };
    struct sl_overlay_tier tiers[] = { { tier, tier_json, 1 }, { hidden_tier, NULL, 1 } };
    struct sl_overlay_exemption exempt[] = { { SL_EXEMPT_IP, network, 0 },
                                             { SL_EXEMPT_CLIENT, client, 0 } };
    lay_well(file, &(struct sl_overlay){ RULES_OF(over), TIERS_OF(tiers), EXEMPT_OF(exempt) });
    char *const all[] = {
        name, tenant, tier, network, client, hidden, hidden_tier, json, tier_json
    };
    for (size_t i = 0; i < COUNT(all); i++)
        memset(all[i], '#', strlen(all[i]));
    const struct sl_rule *own = rule_named("acme/own");
    assert_string_equal(own->tenant, "acme");
    assert_true(sl_text_is(own->when[0].values[0], "acme"));
    assert_true(sl_text_is(own->resource.text, "/x"));
    assert_string_equal(own->json, "{\"name\": \"own\", \"per\": \"ip\", \"limit\": \"1/s\", "
                                   "\"resource\": \"/x\"}");
    assert_true(sl_text_is(rules->tiers[1].name, "gold"));
    assert_string_equal(rules->hidden[0], "b");
    assert_string_equal(rules->hidden_tiers[0], "free");
    assert_true(sl_text_is(rules->exempt_until[1].client.tenant, "acme"));
    assert_true(sl_text_is(rules->exempt_until[1].client.name, "c"));
}

TESTS_WITH(NULL, release)
