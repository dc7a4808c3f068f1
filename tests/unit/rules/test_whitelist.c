/* The whitelist against one that looks at every entry, one after the other. */
#include "rules/whitelist.h"

#include "unit/base/unit.h"

enum { NETWORKS = 200, NAMES = 300 };

static struct sl_ruleset rules;
static uint64_t seed = 1;

static int release(void **unused)
{
    (void)unused;
    sl_arena_release(&rules.arena);
    rules = (struct sl_ruleset){ 0 };
    return 0;
}

/* Few distinct bytes, so that networks and addresses meet. */
static struct sl_address random_address(void)
{
    static const uint8_t bytes[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    struct sl_address address = { 0 };
    bool v4 = unit_up_to(&seed, 1);
    for (size_t i = v4 ? 12 : 0; i < 16; i++)
        address.byte[i] = bytes[unit_up_to(&seed, i < 12 ? 1 : 4)];
    if (v4)
        address.byte[10] = address.byte[11] = 0xff;
    return address;
}

static struct sl_network random_network(void)
{
    struct sl_address address = random_address();
    return sl_network_around(&address, (uint32_t)unit_up_to(&seed, 128));
}

TEST(an_address_is_found_as_if_each_network_were_tried)
{
    for (int round = 0; round < 30; round++) {
        struct sl_network networks[NETWORKS];
        size_t count = (size_t)unit_up_to(&seed, round < 10 ? 5 : NETWORKS);
        for (size_t i = 0; i < count; i++)
            networks[i] = random_network();
        rules.exempt = (struct sl_exempt){ .ips = networks, .ip_count = count };
        const struct sl_whitelist *list = sl_whitelist_new(&rules);
        for (int k = 0; k < 1000; k++) {
            struct sl_address address = random_address();
            bool wanted = false;
            for (size_t i = 0; i < count; i++)
                wanted = wanted || sl_network_has(&networks[i], &address);
            assert_true(sl_whitelist_address_us(list, &address) ==
                        (wanted ? SL_EXEMPT_ALWAYS : SL_EXEMPT_NOT));
        }
        release(NULL);
    }
}

/* Some of the file's, which do not end; some of the overlay's, which may. */
TEST(of_several_networks_the_longest_end_counts)
{
    static struct sl_exempt_until until[NETWORKS];
    for (int round = 0; round < 30; round++) {
        struct sl_network networks[NETWORKS];
        size_t count = (size_t)unit_up_to(&seed, 3);
        size_t until_count = (size_t)unit_up_to(&seed, round < 10 ? 8 : NETWORKS);
        for (size_t i = 0; i < count; i++)
            networks[i] = random_network();
        for (size_t i = 0; i < until_count; i++)
            until[i] = (struct sl_exempt_until){ .kind = SL_UNTIL_IP,
                                                 .ip = random_network(),
                                                 .until_us = unit_up_to(&seed, 1000) - 100 };
        rules.exempt = (struct sl_exempt){ .ips = networks, .ip_count = count };
        rules.exempt_until = until;
        rules.exempt_until_count = until_count;
        const struct sl_whitelist *list = sl_whitelist_new(&rules);
        for (int k = 0; k < 1000; k++) {
            struct sl_address address = random_address();
            int64_t wanted = 0;
            for (size_t i = 0; i < count; i++)
                if (sl_network_has(&networks[i], &address))
                    wanted = INT64_MAX;
            for (size_t i = 0; i < until_count; i++) {
                int64_t end = until[i].until_us ? until[i].until_us : INT64_MAX;
                if (sl_network_has(&until[i].ip, &address) && end > wanted)
                    wanted = end;
            }
            assert_true(sl_whitelist_address_us(list, &address) == wanted);
        }
        release(NULL);
    }
}

TEST(a_client_is_exempt_until_the_longest_end)
{
    static const struct sl_exempt_name clients[] = { { { "t", 1 }, { "file", 4 } } };
#define CLIENT(who, owner, end)                                                                    \
    {                                                                                              \
        .kind = SL_UNTIL_CLIENT, .client = { owner, { who, sizeof(who) - 1 } }, .until_us = end    \
    }
#define T                                                                                          \
    {                                                                                              \
        "t", 1                                                                                     \
    }
#define NONE                                                                                       \
    {                                                                                              \
        NULL, 0                                                                                    \
    }
    static const struct sl_exempt_until until[] = {
        CLIENT("file", T, 5), CLIENT("a", T, 5), CLIENT("a", T, 9),  CLIENT("a", T, 7),
        CLIENT("b", T, 5),    CLIENT("b", T, 0), CLIENT("c", T, -5), CLIENT("a", NONE, 3),
    };
    rules.exempt = (struct sl_exempt){ .clients = clients, .client_count = 1 };
    rules.exempt_until = until;
    rules.exempt_until_count = COUNT(until);
    const struct sl_whitelist *list = sl_whitelist_new(&rules);
    struct sluice_text t = SL_TEXT("t"), none = { 0 };
    assert_true(sl_whitelist_client_us(list, t, SL_TEXT("file")) == SL_EXEMPT_ALWAYS);
    assert_int_equal(sl_whitelist_client_us(list, t, SL_TEXT("a")), 9);
    assert_true(sl_whitelist_client_us(list, t, SL_TEXT("b")) == SL_EXEMPT_ALWAYS);
    assert_int_equal(sl_whitelist_client_us(list, t, SL_TEXT("c")), SL_EXEMPT_NOT);
    assert_int_equal(sl_whitelist_client_us(list, none, SL_TEXT("a")), 3);
    assert_int_equal(sl_whitelist_client_us(list, SL_TEXT("u"), SL_TEXT("a")), SL_EXEMPT_NOT);
    assert_false(sl_whitelist_has_user(list, t, SL_TEXT("a")));
    release(NULL);
}

TEST(an_api_key_is_found_by_its_digest)
{
    static const char digits[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    static const char others[] = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const struct sluice_text keys[] = { sl_text(digits) };
    const struct sl_exempt_until until[] = {
        { .kind = SL_UNTIL_API_KEY, .api_key = sl_text(others), .until_us = 8 },
        { .kind = SL_UNTIL_API_KEY, .api_key = sl_text(digits), .until_us = 8 },
    };
    const struct sl_whitelist *list = sl_whitelist_new(&rules);
    assert_false(sl_whitelist_has_api_keys(list));
    assert_int_equal(sl_whitelist_api_key_us(list, sl_text(digits)), SL_EXEMPT_NOT);
    rules.exempt_until = until;
    rules.exempt_until_count = 1;
    list = sl_whitelist_new(&rules);
    assert_true(sl_whitelist_has_api_keys(list));
    assert_int_equal(sl_whitelist_api_key_us(list, sl_text(others)), 8);
    assert_int_equal(sl_whitelist_api_key_us(list, sl_text(digits)), SL_EXEMPT_NOT);
    rules.exempt_until_count = 2;
    rules.exempt = (struct sl_exempt){ .api_keys = keys, .api_key_count = 1 };
    list = sl_whitelist_new(&rules);
    assert_true(sl_whitelist_api_key_us(list, sl_text(digits)) == SL_EXEMPT_ALWAYS);
    assert_int_equal(sl_whitelist_api_key_us(list, SL_TEXT("00")), SL_EXEMPT_NOT);
    release(NULL);
}

static struct sluice_text one_of(const char *letters)
{
    return (struct sluice_text){ letters + unit_up_to(&seed, (int64_t)strlen(letters) - 2), 2 };
}

static bool named(const struct sl_exempt_name *names, size_t count, struct sluice_text tenant,
                  struct sluice_text name)
{
    for (size_t i = 0; i < count; i++)
        if (sl_text_equal(names[i].tenant, tenant) && sl_text_equal(names[i].name, name))
            return true;
    return false;
}

TEST(a_name_is_found_as_if_each_were_tried)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    static struct sl_exempt_name users[NAMES], clients[NAMES];
    for (size_t i = 0; i < NAMES; i++) { /* some twice, some without a tenant */
        users[i] = (struct sl_exempt_name){ { 0 }, one_of(letters) };
        clients[i] = (struct sl_exempt_name){ { 0 }, one_of(letters) };
        if (i % 3)
            users[i].tenant = clients[i].tenant = one_of(letters);
    }
    rules.exempt = (struct sl_exempt){
        .users = users, .user_count = NAMES / 2, .clients = clients, .client_count = NAMES
    };
    const struct sl_whitelist *list = sl_whitelist_new(&rules);
    for (int k = 0; k < 20000; k++) {
        struct sluice_text name = one_of(letters), tenant = { 0 };
        if (unit_up_to(&seed, 3))
            tenant = one_of(letters);
        assert_int_equal(sl_whitelist_has_user(list, tenant, name),
                         named(users, NAMES / 2, tenant, name));
        assert_true(sl_whitelist_client_us(list, tenant, name) ==
                    (named(clients, NAMES, tenant, name) ? SL_EXEMPT_ALWAYS : SL_EXEMPT_NOT));
    }
    release(NULL);
}

TEST(an_empty_whitelist_exempts_no_request)
{
    const struct sl_whitelist *list = sl_whitelist_new(&rules);
    struct sl_address address = { 0 };
    assert_int_equal(sl_whitelist_address_us(list, &address), SL_EXEMPT_NOT);
    assert_false(sl_whitelist_has_user(list, (struct sluice_text){ 0 }, SL_TEXT("u")));
    assert_int_equal(sl_whitelist_client_us(list, SL_TEXT("t"), SL_TEXT("c")), SL_EXEMPT_NOT);
    assert_false(sl_whitelist_has_api_keys(list));
}

TESTS_WITH(NULL, release)
