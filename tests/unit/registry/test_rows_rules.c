#include "unit/registry/in_memory.h"

static void put(const char *tenant, const char *name, const char *json)
{
    DONE(sl_registry_put_rule(registry, tenant, name, json, &error));
}

static bool drop_rule(const char *tenant, const char *name)
{
    bool found;
    DONE(sl_registry_drop_rule(registry, tenant, name, &found, &error));
    return found;
}

static void put_tenant(const char *name, const char *tier)
{
    bool is_new;
    DONE(sl_registry_put_tenant(registry, name, tier, &is_new, &error));
}

static uint64_t revision_of(const char *name)
{
    struct sl_tenant *tenants;
    size_t count;
    DONE(sl_registry_tenants(registry, &arena, &tenants, &count, &error));
    for (size_t i = 0; i < count; i++)
        if (!strcmp(tenants[i].name, name))
            return tenants[i].revision;
    fail_msg("there is no %s", name);
    return 0;
}

IN_MEMORY(rules_come_in_the_order_in_which_they_were_made)
{
    put(NULL, "z", "{}");
    put(NULL, "a", "{}");
    put(NULL, "m", "{}");
    assert_string_equal(rules_of(registry), "z={} a={} m={}");
}

IN_MEMORY(a_replaced_rule_keeps_its_place)
{
    put(NULL, "first", "{}");
    put(NULL, "second", "{}");
    put(NULL, "first", "{\"limit\":1.50}");
    assert_string_equal(rules_of(registry), "first={\"limit\":1.50} second={}");
    put(NULL, "first", NULL);
    assert_string_equal(rules_of(registry), "first=- second={}");
    put(NULL, "first", "{}");
    assert_string_equal(rules_of(registry), "first={} second={}");
}

IN_MEMORY(a_dropped_rule_is_gone_and_comes_back_at_the_end)
{
    put(NULL, "first", "{}");
    put(NULL, "second", "{}");
    assert_true(drop_rule(NULL, "first"));
    assert_false(drop_rule(NULL, "first"));
    assert_string_equal(rules_of(registry), "second={}");
    put(NULL, "first", "{}");
    assert_string_equal(rules_of(registry), "second={} first={}");
}

IN_MEMORY(a_tenants_rule_and_a_rule_for_all_may_have_one_name)
{
    put_tenant("a", NULL);
    put_tenant("b", NULL);
    put(NULL, "api", "1");
    put("a", "api", "2");
    put("b", "api", "3");
    put("a", "api", "4");
    assert_string_equal(rules_of(registry), "api=1 a/api=4 b/api=3");
    assert_true(drop_rule(NULL, "api"));
    assert_false(drop_rule(NULL, "api"));
    assert_true(drop_rule("b", "api"));
    assert_string_equal(rules_of(registry), "a/api=4");
}

IN_MEMORY(a_rule_of_a_tenant_that_is_not_there_is_refused)
{
    REFUSED(sl_registry_put_rule(registry, "acme", "own", "{}", &error),
            "there is no tenant `acme`");
}

IN_MEMORY(a_rule_of_a_tenant_without_a_name_is_no_rule_for_all)
{
    REFUSED(sl_registry_put_rule(registry, "", "own", "{}", &error), "there is no tenant ``");
}

IN_MEMORY(an_own_rule_is_a_change_of_its_tenant)
{
    put_tenant("acme", NULL);
    put_tenant("other", NULL);
    next_transaction();
    put("acme", "own", "{}");
    assert_int_equal(revision_of("acme"), next_transaction());
    assert_true(drop_rule("acme", "own"));
    assert_int_equal(revision_of("acme"), next_transaction());
    uint64_t before = revision_of("acme");
    assert_false(drop_rule("acme", "own"));
    put(NULL, "own", "{}");
    assert_int_equal(revision_of("acme"), before);
    assert_int_equal(revision_of("other"), 1);
}

IN_MEMORY(names_and_texts_are_bytes)
{
    const char *name = "\xff\xc3\x28 '\"%s\n`;--";
    put(NULL, name, "{\"\xf0\x9f\x98\x80\": \"\x80\"}");
    put(NULL, "A", "1");
    put(NULL, "a", "2");
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%s={\"\xf0\x9f\x98\x80\": \"\x80\"} A=1 a=2", name);
    assert_string_equal(rules_of(registry), wanted);
    assert_true(drop_rule(NULL, name));
}

IN_MEMORY(a_long_rule_is_kept_whole)
{
    struct sl_overlay overlay;
    size_t len = 1 << 20;
    char *json = malloc(len + 1);
    memset(json, 'x', len);
    json[len] = 0;
    put(NULL, "long", json);
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    assert_string_equal(overlay.rules[0].json, json);
    free(json);
}

IN_MEMORY(every_rule_has_the_revision_of_its_last_change)
{
    struct sl_overlay overlay;
    put(NULL, "first", "{}");
    assert_int_equal(next_transaction(), 1);
    put(NULL, "second", "{}");
    assert_int_equal(next_transaction(), 2);
    put(NULL, "first", "{}");
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    assert_int_equal(overlay.rules[0].revision, 3);
    assert_int_equal(overlay.rules[1].revision, 2);
}

/* ---- tiers ---- */

IN_MEMORY(tiers_are_put_hidden_and_dropped)
{
    struct sl_overlay overlay;
    bool found;
    DONE(sl_registry_put_tier(registry, "pro", "{\"scale\": 10}", &error));
    DONE(sl_registry_put_tier(registry, "free", NULL, &error));
    DONE(sl_registry_put_tier(registry, "pro", "{\"scale\": 20}", &error));
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    assert_int_equal(overlay.tier_count, 2);
    assert_string_equal(overlay.tiers[0].name, "pro");
    assert_string_equal(overlay.tiers[0].json, "{\"scale\": 20}");
    assert_int_equal(overlay.tiers[0].revision, 1);
    assert_string_equal(overlay.tiers[1].name, "free");
    assert_null(overlay.tiers[1].json);
    DONE(sl_registry_drop_tier(registry, "pro", &found, &error));
    assert_true(found);
    DONE(sl_registry_drop_tier(registry, "pro", &found, &error));
    assert_false(found);
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    assert_int_equal(overlay.tier_count, 1);
}

static void names(const char *tier, const char *wanted)
{
    const char *who = "untouched";
    DONE(sl_registry_tier_user(registry, tier, &arena, &who, &error));
    assert_string_equal(or_dash(who), wanted);
}

IN_MEMORY(the_first_user_key_or_tenant_that_names_a_tier_is_found)
{
    bool is_new;
    names("pro", "-");
    put_user(registry, "", "u1", "pro");
    names("pro", "user `u1`");
    assert_true(drop_user(registry, "", "u1"));
    put_user(registry, "acme", "u1", "pro");
    names("pro", "user `acme/u1`");
    names("pr", "-");
    put_tenant("acme", "free");
    struct sl_tenant_key key = { .tenant = "acme", .tier = "pro" };
    DONE(sl_registry_put_key(registry, &key, &is_new, &error));
    names("pro", "a key of tenant `acme`");
    names("free", "tenant `acme`");
    put_tenant("acme", "pro");
    names("pro", "tenant `acme`");
    names("free", "-");
}
