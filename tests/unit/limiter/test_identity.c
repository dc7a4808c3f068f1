#include "limiter/identity.h"

#include "unit/limiter/rules.h"

static struct sl_ruleset *rules;
static struct sl_caller_keys caller;

static void use(const char *yaml)
{
    sl_ruleset_free(rules);
    sl_caller_keys_release(&caller);
    caller = (struct sl_caller_keys){ 0 }; /* one caller, one ruleset */
    rules = rules_of(yaml);
}

static int release(void **unused)
{
    (void)unused;
    sl_ruleset_free(rules);
    sl_caller_keys_release(&caller);
    rules = NULL;
    caller = (struct sl_caller_keys){ 0 };
    return 0;
}

static bool ask(struct sluice_request request)
{
    return sl_caller_keys_init(&caller, rules, &request);
}

/* The key of rule 0 for this request; false: a part of it is missing. */
static bool key_of(struct sluice_request request, struct sl_hash128 *key)
{
    struct sl_hash128 guard_key;
    assert_true(ask(request));
    struct sl_rule_seeds seeds = sl_rule_seeds(&rules->rules[0], 7);
    return sl_caller_keys_keys(&caller, &rules->rules[0], &seeds, key, &guard_key);
}

static bool same_key(struct sluice_request a, struct sluice_request b)
{
    struct sl_hash128 one, two;
    assert_true(key_of(a, &one));
    assert_true(key_of(b, &two));
    return one.low == two.low && one.high == two.high;
}

#define REQUEST(...) ((struct sluice_request){ __VA_ARGS__ })
#define RULE(body)   "rules: [{ name: r, limit: 5/m, " body " }]\n"

TEST(spellings_of_a_resource_count_as_one)
{
    use(RULE("per: resource"));
    static const char *const spellings[] = { "/a/b", "/a//b/", "/a/./b?x=1", "/%61/b",
                                             "/c/../a/b" };
    for (size_t i = 0; i < COUNT(spellings); i++)
        SAME(spellings[i],
             same_key(REQUEST(.resource = SL_TEXT("/a/b")),
                      REQUEST(.resource = sl_text(spellings[i]))),
             true);
    assert_false(
        same_key(REQUEST(.resource = SL_TEXT("/a/b")), REQUEST(.resource = SL_TEXT("/a"))));
    assert_false(
        same_key(REQUEST(.resource = SL_TEXT("/a/b")), REQUEST(.resource = SL_TEXT("/A/b"))));
}

TEST(spellings_of_an_address_count_as_one)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        { "192.0.2.1", "::ffff:192.0.2.1", true },
        { "192.0.2.1", "192.0.2.2", false },
        { "2001:db8::1", "2001:DB8:0:0:0:0:0:1", true },
        { "2001:db8::1", "2001:db8::ffff:1", true }, /* one /64 */
        { "2001:db8::1", "2001:db8:0:1::1", false },
        { "not an address", "not an address", true },
        { "not an address", "no address", false },
    };
    use(RULE("per: ip"));
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].b,
             same_key(REQUEST(.ip = sl_text(rows[i].a)), REQUEST(.ip = sl_text(rows[i].b))),
             rows[i].same);
    use("identity: { ipv4_prefix: 24, ipv6_prefix: 128 }\n" RULE("per: ip"));
    assert_true(same_key(REQUEST(.ip = SL_TEXT("192.0.2.1")), REQUEST(.ip = SL_TEXT("192.0.2.9"))));
    assert_false(
        same_key(REQUEST(.ip = SL_TEXT("192.0.2.1")), REQUEST(.ip = SL_TEXT("192.0.3.1"))));
    assert_false(
        same_key(REQUEST(.ip = SL_TEXT("2001:db8::1")), REQUEST(.ip = SL_TEXT("2001:db8::2"))));
}

TEST(names_belong_to_their_tenant_unless_the_rule_spans_tenants)
{
    static const struct {
        const char *rule;
        bool spans;
    } rows[] = {
        { RULE("per: user"), false },         { RULE("per: client"), false },
        { RULE("per: [tenant, ip]"), false }, { RULE("per: ip"), true },
        { RULE("per: global"), true },        { RULE("per: [ip, user]"), false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_request a = { .tenant = SL_TEXT("a"),
                                    .user = SL_TEXT("u"),
                                    .ip = SL_TEXT("192.0.2.1"),
                                    .client = SL_TEXT("c") };
        struct sluice_request b = a;
        b.tenant = SL_TEXT("b");
        use(rows[i].rule);
        SAME(rows[i].rule, same_key(a, b), rows[i].spans);
    }
    use(RULE("per: user"));
    struct sluice_request none = { .user = SL_TEXT("u") };
    struct sluice_request empty = { .user = SL_TEXT("u"), .tenant = SL_TEXT("") };
    struct sluice_request dash = { .user = SL_TEXT("u"), .tenant = SL_TEXT("-") };
    assert_true(same_key(none, empty)); /* none is a tenant of its own */
    assert_false(same_key(none, dash));
}

TEST(no_two_lists_of_values_run_together)
{
    use(RULE("per: [user, client]"));
    static const struct {
        const char *user, *client;
    } rows[] = {
        { "ab", "c" }, { "a", "bc" }, { "abc", "-" }, { "c", "ab" }, { "a:b", "c" }, { "a", "b:c" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < i; k++)
            assert_false(same_key(
                REQUEST(.user = sl_text(rows[i].user), .client = sl_text(rows[i].client)),
                REQUEST(.user = sl_text(rows[k].user), .client = sl_text(rows[k].client))));
}

TEST(names_of_any_length_are_told_apart)
{
    static char a[5000], b[5000];
    static const size_t lengths[] = { 1, 127, 128, 129, 1024, 5000 };
    use(RULE("per: user"));
    memset(a, 'n', sizeof a);
    memset(b, 'n', sizeof b);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        size_t len = lengths[i];
        assert_true(same_key(REQUEST(.user = { a, len }), REQUEST(.user = { b, len })));
        b[len - 1] = 'm';
        assert_false(same_key(REQUEST(.user = { a, len }), REQUEST(.user = { b, len })));
        b[len - 1] = 'n';
        if (len > 1)
            assert_false(same_key(REQUEST(.user = { a, len }), REQUEST(.user = { b, len - 1 })));
    }
}

TEST(identifiers_of_many_long_parts_are_told_apart)
{
    enum { PARTS = 8, LEN = 128 }; /* beyond the room that a key is made in */
    static char values[PARTS][LEN], other[LEN];
    struct sluice_attribute others[PARTS], changed[PARTS];
    use(RULE("per: [p0, p1, p2, p3, p4, p5, p6, p7]"));
    memset(values, 'v', sizeof values);
    memset(other, 'v', LEN - 1);
    for (size_t i = 0; i < PARTS; i++)
        others[i] = (struct sluice_attribute){ rules->rules[0].per[i].name, { values[i], LEN } };
    struct sluice_request request = { .others = others, .other_count = PARTS };
    assert_true(same_key(request, request));
    for (size_t i = 0; i < PARTS; i++) {
        memcpy(changed, others, sizeof others);
        changed[i].value.at = other; /* as long, and ends otherwise */
        assert_false(same_key(request, REQUEST(.others = changed, .other_count = PARTS)));
    }
    memcpy(changed, others, sizeof others);
    changed[7].value = (struct sluice_text){ 0 };
    struct sl_hash128 key;
    assert_false(key_of(REQUEST(.others = changed, .other_count = PARTS), &key));
}

TEST(a_part_that_is_missing_or_empty_makes_no_key)
{
    struct sl_hash128 key;
    use(RULE("per: [ip, user]"));
    assert_true(key_of(REQUEST(.ip = SL_TEXT("::1"), .user = SL_TEXT("u")), &key));
    assert_false(key_of(REQUEST(.ip = SL_TEXT("::1")), &key));
    assert_false(key_of(REQUEST(.user = SL_TEXT("u")), &key));
    assert_false(key_of(REQUEST(.ip = SL_TEXT("::1"), .user = SL_TEXT("")), &key));
    assert_false(key_of(REQUEST(.ip = SL_TEXT(""), .user = SL_TEXT("u")), &key));
    use(RULE("per: tenant"));
    assert_false(key_of(REQUEST(.user = SL_TEXT("u")), &key));
    use(RULE("per: resource"));
    assert_false(key_of(REQUEST(.resource = SL_TEXT("?a=1")), &key));
    use(RULE("per: global"));
    assert_true(key_of(REQUEST(.cost = 1), &key));
}

TEST(what_is_on_the_whitelist_is_exempt)
{
    static const struct {
        const char *what;
        struct sluice_request request;
        bool exempt;
    } rows[] = {
        { "nobody", { .cost = 1 }, false },
        { "an address", { .ip = SL_TEXT("127.0.0.1") }, true },
        { "spelt otherwise", { .ip = SL_TEXT("::ffff:7f00:1") }, true },
        { "of a network", { .ip = SL_TEXT("10.255.0.1") }, true },
        { "of none", { .ip = SL_TEXT("11.0.0.1") }, false },
        { "v6", { .ip = SL_TEXT("fd12::1") }, true },
        { "v6 of none", { .ip = SL_TEXT("fe80::1") }, false },
        { "no address", { .ip = SL_TEXT("127.0.0.1 ") }, false },
        { "a bare user", { .user = SL_TEXT("health-checker") }, true },
        { "in a tenant", { .user = SL_TEXT("health-checker"), .tenant = SL_TEXT("acme") }, false },
        { "a tenant's user", { .user = SL_TEXT("root"), .tenant = SL_TEXT("acme") }, true },
        { "another tenant's", { .user = SL_TEXT("root"), .tenant = SL_TEXT("other") }, false },
        { "of no tenant", { .user = SL_TEXT("root") }, false },
        { "a client", { .client = SL_TEXT("billing-internal") }, true },
        { "a client's name as user", { .user = SL_TEXT("billing-internal") }, false },
        { "a user's name as client", { .client = SL_TEXT("health-checker") }, false },
        { "case counts", { .user = SL_TEXT("Health-Checker") }, false },
        { "an empty name", { .user = SL_TEXT("") }, false },
    };
    use("exempt:\n"
        "  ips: [127.0.0.1, 10.0.0.0/8, \"fd00::/8\"]\n"
        "  users: [health-checker, acme/root]\n"
        "  clients: [billing-internal]\n" RULE("per: ip"));
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(ask(rows[i].request));
        SAME(rows[i].what, sl_caller_keys_exempt(&caller, rules->whitelist), rows[i].exempt);
    }
}

TEST(the_tier_is_looked_up_by_name)
{
    use("tiers: { free: { scale: 1 }, pro: { scale: 10 } }\n" RULE("per: ip"));
    ask(REQUEST(.tier = SL_TEXT("pro")));
    assert_int_equal(caller.tier, sl_ruleset_tier(rules, SL_TEXT("pro")));
    assert_true(caller.tier >= 0);
    ask(REQUEST(.tier = SL_TEXT("gold")));
    assert_int_equal(caller.tier, -1);
    ask(REQUEST(.cost = 1));
    assert_int_equal(caller.tier, -1);
}

/* Do two forms of one rule share their counts, and their guard's? */
static void check_seeds(const char *row, const char *a, const char *b, bool limit, bool guard)
{
    struct sl_rule_seeds one, two;
    use(a);
    one = sl_rule_seeds(&rules->rules[0], 7);
    use(b);
    two = sl_rule_seeds(&rules->rules[0], 7);
    SAME(row, one.limit == two.limit, limit);
    SAME(row, one.guard == two.guard, guard);
}

#define BODY(body) "tiers: { pro: { scale: 2 } }\nrules: [{ per: user, " body " }]\n"

TEST(counts_carry_over_unless_window_or_algorithm_change)
{
    static const struct {
        const char *row, *a, *b;
        bool limit;
    } rows[] = {
        { "capacity", BODY("name: r, limit: 5/m"), BODY("name: r, limit: 6/m"), true },
        { "window", BODY("name: r, limit: 5/m"), BODY("name: r, limit: 5/h"), false },
        { "name", BODY("name: r, limit: 5/m"), BODY("name: s, limit: 5/m"), false },
        { "algorithm", BODY("name: r, limit: 5/m"),
          BODY("name: r, limit: 5/m, algorithm: fixed_window"), false },
        { "alignment", BODY("name: r, limit: 5/m, algorithm: fixed_window"),
          BODY("name: r, limit: 5/m, algorithm: fixed_window, align: first_request"), false },
        { "rate", BODY("name: r, capacity: 5, refill_rate: 1, algorithm: token_bucket"),
          BODY("name: r, capacity: 5, refill_rate: 2, algorithm: token_bucket"), true },
        { "burst", BODY("name: r, limit: 5/m, algorithm: token_bucket"),
          BODY("name: r, limit: 5/m, algorithm: token_bucket, burst_allowance: 2"), true },
        { "tier", BODY("name: r, limit: 5/m"),
          BODY("name: r, limit: 5/m, tiers: { pro: "
               "{ capacity: 50 } }"),
          true },
        { "trust, shadow, match", BODY("name: r, limit: 5/m"),
          BODY("name: r, limit: 5/m, adaptive: true, shadow: true, resource: /x"), true },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_seeds(rows[i].row, rows[i].a, rows[i].b, rows[i].limit,
                    strcmp(rows[i].row, "name") != 0 && strcmp(rows[i].row, "algorithm") != 0);
    check_seeds("guard's window", BODY("name: r, limit: 5/m, burst_guard: { window: 10s }"),
                BODY("name: r, limit: 5/m, burst_guard: { window: 20s }"), true, false);
    check_seeds("guard's threshold", BODY("name: r, limit: 5/m, burst_guard: { threshold: 5 }"),
                BODY("name: r, limit: 5/m, burst_guard: { threshold: 6 }"), true, false);
    check_seeds("guard's penalty", BODY("name: r, limit: 5/m, burst_guard: { penalty: 5m }"),
                BODY("name: r, limit: 5/m, burst_guard: { penalty: 6m }"), true, false);
}

TEST(keys_depend_on_the_stores_secret)
{
    use(BODY("name: r, limit: 5/m, burst_guard: { threshold: 10 }"));
    struct sl_rule_seeds one = sl_rule_seeds(&rules->rules[0], 7);
    struct sl_rule_seeds two = sl_rule_seeds(&rules->rules[0], 8);
    assert_true(one.limit != two.limit && one.guard != two.guard);
    assert_true(one.limit != one.guard);
    struct sl_hash128 key, guard_key;
    ask(REQUEST(.user = SL_TEXT("u")));
    assert_true(sl_caller_keys_keys(&caller, &rules->rules[0], &one, &key, &guard_key));
    assert_true(key.low != guard_key.low);
}

/* What was read of the last address is kept: never for another one. */
TEST(an_address_is_its_own_whatever_was_asked_before)
{
    use(RULE("per: ip"));
    static const char *const texts[] = { "192.0.2.1",   "192.0.2.2",   "192.0.2.1",
                                         "192.0.2.1",   "192.0.2.10",  "192.0.2.1",
                                         "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1",
                                         "not one",     "192.0.2.1",   "not one",
                                         "not two",     "2001:DB8::1", "::ffff:192.0.2.1" };
    struct sl_hash128 keys[COUNT(texts)], alone;
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_true(key_of(REQUEST(.ip = sl_text(texts[i])), &keys[i]));
    for (size_t i = 0; i < COUNT(texts); i++) {
        sl_caller_keys_release(&caller);
        caller = (struct sl_caller_keys){ 0 };
        assert_true(key_of(REQUEST(.ip = sl_text(texts[i])), &alone));
        assert_memory_equal(&keys[i], &alone, sizeof alone);
    }
}

TESTS_WITH(NULL, release)
