/* The names of claims as operators see them. */
#include "limiter/name.h"

#include "unit/limiter/rules.h"

static struct sl_ruleset *rules;
static struct sl_caller_keys caller;
static struct sl_namer namer;

static int release(void **unused)
{
    (void)unused;
    if (rules)
        sl_namer_release(&namer);
    sl_ruleset_free(rules);
    sl_caller_keys_release(&caller);
    rules = NULL;
    caller = (struct sl_caller_keys){ 0 };
    return 0;
}

static void use(const char *yaml)
{
    release(NULL);
    rules = rules_of(yaml);
    assert_true(sl_namer_init(&namer, &rules->settings));
}

static const struct sl_claim_name *name_of(size_t rule, struct sluice_request request)
{
    assert_true(sl_caller_keys_init(&caller, rules, &request));
    const struct sl_claim_name *name = sl_name_claim(&namer, &caller, &rules->rules[rule]);
    assert_non_null(name);
    return name;
}

#define REQUEST(...) ((struct sluice_request){ __VA_ARGS__ })

#define RULES                                                                                      \
    "rules:\n"                                                                                     \
    "- { name: api, per: user, limit: 5/m }\n"                                                     \
    "- { name: both, per: [user, ip], limit: 5/m }\n"                                              \
    "- { name: addresses, per: ip, limit: 5/m }\n"                                                 \
    "- { name: all, per: global, limit: 5/m }\n"                                                   \
    "- { name: whole, per: tenant, limit: 5/m }\n"

enum { API, BOTH, ADDRESSES, ALL, WHOLE };

#define WITH_RULES(name) TEST_WITH(name, NULL, release)

WITH_RULES(names_are_as_the_contract_says)
{
    static const struct {
        size_t rule;
        const char *tenant, *user, *ip;
        const char *by_tenant, *by_identifier;
    } rows[] = {
        { API, "acme", "u1", NULL, "rl:{acme}:api:u1", "rl:acme:api:{u1}" },
        { API, NULL, "u1", NULL, "rl:-:api:{u1}", "rl:-:api:{u1}" },
        { API, "", "u1", NULL, "rl:-:api:{u1}", "rl:-:api:{u1}" },
        { API, "-", "u1", NULL, "rl:{%2D}:api:u1", "rl:%2D:api:{u1}" },
        { API, "--", "-", NULL, "rl:{--}:api:-", "rl:--:api:{-}" },
        { API, "a:b", "u", NULL, "rl:{a%3Ab}:api:u", "rl:a%3Ab:api:{u}" },
        { API, "{a}", "}{", NULL, "rl:{%7Ba%7D}:api:%7D%7B", "rl:%7Ba%7D:api:{%7D%7B}" },
        { API, "acme", "50%", NULL, "rl:{acme}:api:50%25", "rl:acme:api:{50%25}" },
        { API, "acme", "a b\n\x7f\x01", NULL, "rl:{acme}:api:a b%0A%7F%01",
          "rl:acme:api:{a b%0A%7F%01}" },
        { API, "acme", "m\xc3\xbcller", NULL, "rl:{acme}:api:m\xc3\xbcller",
          "rl:acme:api:{m\xc3\xbcller}" },
        { BOTH, "acme", "u1", "192.0.2.1", "rl:{acme}:both:u1:192.0.2.1",
          "rl:acme:both:{u1:192.0.2.1}" },
        { BOTH, NULL, "u1", "2001:db8::1", "rl:-:both:{u1:2001%3Adb8%3A%3A}",
          "rl:-:both:{u1:2001%3Adb8%3A%3A}" },
        { ADDRESSES, "acme", NULL, "192.0.2.1", "rl:-:addresses:{192.0.2.1}",
          "rl:-:addresses:{192.0.2.1}" },
        { ALL, "acme", "u1", NULL, "rl:-:all:{-}", "rl:-:all:{-}" },
        { WHOLE, "acme", "u1", NULL, "rl:{acme}:whole:acme", "rl:acme:whole:{acme}" },
    };
    for (int by_identifier = 0; by_identifier < 2; by_identifier++) {
        use(by_identifier ? "hash_tag: identifier\n" RULES : "hash_tag: tenant\n" RULES);
        for (size_t i = 0; i < COUNT(rows); i++) {
            const char *wanted = by_identifier ? rows[i].by_identifier : rows[i].by_tenant;
            const struct sl_claim_name *name = name_of(
                rows[i].rule, REQUEST(.tenant = sl_text(rows[i].tenant),
                                      .user = sl_text(rows[i].user), .ip = sl_text(rows[i].ip)));
            SAME_TEXT(wanted, name->key, wanted);
            /* name->guard is what the memory held: sl_name_claim leaves it alone without a guard */
        }
    }
}

WITH_RULES(a_guard_has_its_rules_name_with_a_suffix)
{
    use("rules: [{ name: api, per: user, limit: 5/m, burst_guard: { window: 10s, threshold: 3, "
        "penalty: 1m } }]\n");
    const struct sl_claim_name *name =
        name_of(0, REQUEST(.tenant = SL_TEXT("acme"), .user = SL_TEXT("u1")));
    SAME_TEXT("key", name->key, "rl:{acme}:api:u1");
    SAME_TEXT("guard", name->guard, "rl:{acme}:api~guard:u1");
    name = name_of(0, REQUEST(.user = SL_TEXT("u1")));
    SAME_TEXT("guard", name->guard, "rl:-:api~guard:{u1}");
}

static struct sluice_text digest_of(struct sluice_text text)
{
    static char printed[SL_DIGEST_HEX + 1];
    struct sl_digest digest;
    sl_sha256_of(namer.hasher, text, &digest);
    sl_digest_print(&digest, printed);
    return sl_text(printed);
}

WITH_RULES(identifiers_of_persons_can_be_hidden)
{
    char wanted[256];
    use("hash_identifiers: true\n" RULES);
    struct sluice_request request =
        REQUEST(.tenant = SL_TEXT("acme"), .user = SL_TEXT("u1"), .ip = SL_TEXT("192.0.2.1"));
    snprintf(wanted, sizeof wanted, "rl:{acme}:api:%s", digest_of(SL_TEXT("u1")).at);
    SAME_TEXT("user", name_of(API, request)->key, wanted);
    snprintf(wanted, sizeof wanted, "rl:-:addresses:{%s}", digest_of(SL_TEXT("192.0.2.1")).at);
    SAME_TEXT("address", name_of(ADDRESSES, request)->key, wanted);
    SAME_TEXT("a tenant is not a person", name_of(WHOLE, request)->key, "rl:{acme}:whole:acme");
    SAME_TEXT("nor is everybody", name_of(ALL, request)->key, "rl:-:all:{-}");
}

WITH_RULES(a_user_that_is_a_digest_already_is_not_hidden_again)
{
    use("hash_identifiers: true\nidentity: { user_id: sha256(email_ip) }\n" RULES);
    char wanted[256];
    struct sluice_text digest = digest_of(SL_TEXT("abc"));
    snprintf(wanted, sizeof wanted, "rl:-:api:{%s}", digest.at);
    SAME_TEXT("a digest", name_of(API, REQUEST(.user = digest))->key, wanted);
    SAME_TEXT("a plain one", name_of(API, REQUEST(.user = SL_TEXT("abc")))->key, wanted);
}

WITH_RULES(what_is_longer_than_256_bytes_is_a_digest)
{
    char value[300], wanted[400];
    memset(value, 'x', sizeof value);
    use(RULES);
    snprintf(wanted, sizeof wanted, "rl:-:api:{%.256s}", value);
    SAME_TEXT("256", name_of(API, REQUEST(.user = { value, 256 }))->key, wanted);
    struct sluice_text long_one = { value, 257 };
    snprintf(wanted, sizeof wanted, "rl:-:api:{%%sha256=%s}", digest_of(long_one).at);
    SAME_TEXT("257", name_of(API, REQUEST(.user = long_one))->key, wanted);
    snprintf(wanted, sizeof wanted, "rl:{%%sha256=%s}:api:u", digest_of(long_one).at);
    SAME_TEXT("tenant", name_of(API, REQUEST(.tenant = long_one, .user = SL_TEXT("u")))->key,
              wanted);
    memset(value, 1, sizeof value); /* three bytes each, and still one name of its own */
    assert_int_equal(name_of(API, REQUEST(.user = { value, 256 }))->key.len, 11 + 3 * 256);
}

static struct sluice_text identifier_of(size_t rule, struct sluice_request request)
{
    assert_true(sl_caller_keys_init(&caller, rules, &request));
    return sl_name_identifier(&namer, &caller, &rules->rules[rule]);
}

WITH_RULES(an_identifier_alone_is_readable)
{
    use(RULES);
    SAME_TEXT("user", identifier_of(API, REQUEST(.user = SL_TEXT("a:{b}%\n"))), "a:{b}%25%0A");
    SAME_TEXT("ip", identifier_of(ADDRESSES, REQUEST(.ip = SL_TEXT("2001:db8::1"))), "2001:db8::");
    SAME_TEXT("both",
              identifier_of(BOTH, REQUEST(.user = SL_TEXT("a:b"), .ip = SL_TEXT("2001:db8::1"))),
              "a%3Ab:2001%3Adb8%3A%3A");
    SAME_TEXT("all", identifier_of(ALL, REQUEST(.user = SL_TEXT("u"))), "-");
}

WITH_RULES(a_limit_without_rules_is_named_by_its_key)
{
    use(RULES);
    SAME_TEXT("key", sl_name_key(&namer, "api", SL_TEXT("u1"))->key, "rl:-:api:{u1}");
    SAME_TEXT("odd", sl_name_key(&namer, "api", SL_TEXT("a:{%}\n"))->key,
              "rl:-:api:{a%3A%7B%25%7D%0A}");
    SAME_TEXT("empty", sl_name_key(&namer, "api", SL_TEXT(""))->key, "rl:-:api:{}");
    assert_int_equal(sl_name_key(&namer, "api", SL_TEXT("u"))->guard.len, 0);
}

WITH_RULES(names_stay_until_the_memory_is_reset)
{
    enum { NAMES = 2000 };
    static struct sluice_text keys[NAMES];
    char user[32];
    use(RULES);
    for (int i = 0; i < NAMES; i++) {
        snprintf(user, sizeof user, "user-%d", i);
        keys[i] = name_of(API, REQUEST(.user = sl_text(user)))->key;
    }
    for (int i = 0; i < NAMES; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "rl:-:api:{user-%d}", i);
        SAME_TEXT("kept", keys[i], wanted);
    }
}

/* ---- no two share one ---- */

/* Short texts out of what has a meaning in a name: they meet often. */
static struct sluice_text some_text(uint64_t *seed, char *room)
{
    static const char *const pieces[] = { ":", "{", "}", "%", "-", "a", "%3A", "%2D", "2", "\n" };
    size_t len = 0;
    for (uint64_t left = unit_random(seed) % 4; left > 0; left--) {
        const char *piece = pieces[unit_random(seed) % COUNT(pieces)];
        memcpy(room + len, piece, strlen(piece));
        len += strlen(piece);
    }
    return (struct sluice_text){ room, len };
}

struct named {
    char tenant[16], user[16], client[16], name[160];
    size_t rule;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

WITH_RULES(no_two_identifiers_share_a_name)
{
    enum { MANY = 20000 };
    static const char *const tags[] = { "tenant", "identifier" };
    struct named *all = calloc(MANY, sizeof *all);
    assert_non_null(all);
    for (size_t t = 0; t < COUNT(tags); t++) {
        char yaml[512];
        uint64_t seed = t;
        size_t count = 0;
        snprintf(yaml, sizeof yaml,
                 "hash_tag: %s\nrules:\n- { name: a, per: [user, client], limit: 5/m }\n"
                 "- { name: a-a, per: [user, client], limit: 5/m }\n",
                 tags[t]);
        use(yaml);
        memset(all, 0, MANY * sizeof *all);
        while (count < MANY) {
            struct named *one = &all[count];
            struct sluice_request request = REQUEST(.tenant = some_text(&seed, one->tenant),
                                                    .user = some_text(&seed, one->user),
                                                    .client = some_text(&seed, one->client));
            one->rule = unit_random(&seed) % 2;
            if (request.user.len && request.client.len) {
                struct sluice_text key = name_of(one->rule, request)->key;
                assert_true(key.len < sizeof one->name);
                memcpy(one->name, key.at, key.len);
                count++;
            } else {
                memset(one, 0, sizeof *one);
            }
            sl_scratch_reset(&namer.memory);
        }
        qsort(all, MANY, sizeof *all, by_name);
        for (size_t i = 1; i < MANY; i++) {
            const struct named *a = &all[i - 1], *b = &all[i];
            if (strcmp(a->name, b->name) != 0)
                continue;
            SAME(a->name, a->rule, b->rule);
            SAME_TEXT(a->name, sl_text(a->tenant), b->tenant);
            SAME_TEXT(a->name, sl_text(a->user), b->user);
            SAME_TEXT(a->name, sl_text(a->client), b->client);
        }
    }
    free(all);
}
