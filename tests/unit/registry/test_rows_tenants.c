#include "unit/registry/in_memory.h"

static bool put(const char *name, const char *tier)
{
    bool is_new;
    DONE(sl_registry_put_tenant(registry, name, tier, &is_new, &error));
    return is_new;
}

static bool drop_tenant(const char *name)
{
    bool found;
    DONE(sl_registry_drop_tenant(registry, name, &found, &error));
    return found;
}

static struct sl_digest digest(uint8_t byte)
{
    struct sl_digest made;
    memset(made.byte, byte, sizeof made.byte);
    return made;
}

static bool put_key(const char *tenant, uint8_t byte, const char *label)
{
    bool is_new;
    struct sl_tenant_key key = { .tenant = tenant,
                                 .digest = digest(byte),
                                 .label = label,
                                 .tier = label,
                                 .created_at_us = byte };
    DONE(sl_registry_put_key(registry, &key, &is_new, &error));
    return is_new;
}

static bool drop_key(const char *tenant, uint8_t byte)
{
    bool found;
    struct sl_digest gone = digest(byte);
    DONE(sl_registry_drop_key(registry, tenant, &gone, &found, &error));
    return found;
}

/* "acme:pro@1(ff=ci,01=-)": name, tier, revision, keys. */
static const char *listed(void)
{
    struct sl_tenant *all;
    size_t count;
    DONE(sl_registry_tenants(registry, &arena, &all, &count, &error));
    written[0] = 0;
    for (size_t i = 0; i < count; i++) {
        write_down("%s%s:%s@%d(", i ? " " : "", all[i].name, or_dash(all[i].tier),
                   (int)all[i].revision);
        for (size_t k = 0; k < all[i].key_count; k++) {
            const struct sl_tenant_key *key = &all[i].keys[k];
            struct sl_digest whole = digest(key->digest.byte[0]);
            assert_true(sl_digest_equal(&key->digest, &whole));
            assert_string_equal(key->tenant, all[i].name);
            assert_string_equal(or_dash(key->tier), or_dash(key->label));
            assert_int_equal(key->created_at_us, whole.byte[0]);
            write_down("%s%02x=%s", k ? "," : "", whole.byte[0], or_dash(key->label));
        }
        write_down(")");
    }
    return written;
}

IN_MEMORY(they_are_sorted_by_name)
{
    assert_true(put("b", NULL));
    assert_true(put("a", "pro"));
    assert_true(put("B", NULL));
    assert_false(put("b", "free"));
    assert_string_equal(listed(), "B:-@1() a:pro@1() b:free@1()");
}

IN_MEMORY(keys_come_in_the_order_in_which_they_were_made)
{
    put("a", NULL);
    put("b", NULL);
    assert_true(put_key("a", 0xff, "ci"));
    assert_true(put_key("b", 0x07, NULL));
    assert_true(put_key("a", 0x01, NULL));
    assert_string_equal(listed(), "a:-@1(ff=ci,01=-) b:-@1(07=-)");
}

IN_MEMORY(a_key_is_one_tenants_and_made_once)
{
    put("a", NULL);
    put("b", NULL);
    put_key("a", 1, "first");
    next_transaction();
    assert_false(put_key("a", 1, "again"));
    assert_false(put_key("b", 1, "another's"));
    assert_string_equal(listed(), "a:-@1(01=first) b:-@1()");
}

IN_MEMORY(a_key_needs_its_tenant)
{
    bool is_new;
    struct sl_tenant_key key = { .tenant = "nobody" };
    REFUSED(sl_registry_put_key(registry, &key, &is_new, &error), "there is no tenant `nobody`");
}

IN_MEMORY(only_its_tenant_drops_a_key)
{
    put("a", NULL);
    put("b", NULL);
    put_key("a", 1, NULL);
    assert_false(drop_key("b", 1));
    assert_false(drop_key("a", 2));
    assert_true(drop_key("a", 1));
    assert_false(drop_key("a", 1));
    assert_string_equal(listed(), "a:-@1() b:-@1()");
    assert_true(put_key("b", 1, NULL));
}

IN_MEMORY(a_changed_key_changes_its_tenant)
{
    put("a", NULL);
    put("b", NULL);
    next_transaction();
    put_key("a", 1, NULL);
    next_transaction();
    put_key("b", 2, NULL);
    next_transaction();
    drop_key("a", 1);
    assert_string_equal(listed(), "a:-@4() b:-@3(02=-)");
}

IN_MEMORY(a_dropped_tenant_goes_with_its_keys_and_rules)
{
    put("a", "pro");
    put("b", NULL);
    put_key("a", 1, NULL);
    put_key("b", 2, NULL);
    put_user(registry, "a", "u1", NULL);
    DONE(sl_registry_put_rule(registry, "a", "own", "{}", &error));
    DONE(sl_registry_put_rule(registry, "b", "own", "{}", &error));
    DONE(sl_registry_put_rule(registry, NULL, "own", "{}", &error));
    assert_true(drop_tenant("a"));
    assert_false(drop_tenant("a"));
    assert_string_equal(listed(), "b:-@1(02=-)");
    assert_string_equal(rules_of(registry), "b/own={} own={}");
    assert_string_equal(users_of(registry), "[a/u1]");
    assert_true(put_key("b", 1, NULL));
}

IN_MEMORY(dropping_a_tenant_without_a_name_drops_nothing)
{
    DONE(sl_registry_put_rule(registry, NULL, "api", "{}", &error));
    assert_false(drop_tenant(""));
    assert_string_equal(rules_of(registry), "api={}");
}

IN_MEMORY(a_tenant_without_a_name_is_refused)
{
    bool is_new;
    REFUSED(sl_registry_put_tenant(registry, "", NULL, &is_new, &error), "constraint");
}

IN_MEMORY(a_database_holds_no_key_but_its_digest)
{
    sqlite3_stmt *statement;
    put("a", NULL);
    put_key("a", 0xab, NULL);
    assert_int_equal(
        sqlite3_prepare_v2(registry->db, "SELECT sha256 FROM tenant_key", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0),
                        "abababababababababababababababababababababababababababababababab");
    sqlite3_finalize(statement);
}
