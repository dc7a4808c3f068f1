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

static void an_address_is_found_as_if_each_network_were_tried(void **unused)
{
    (void)unused;
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
            assert_int_equal(sl_whitelist_has_address(list, &address), wanted);
        }
        release(NULL);
    }
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

static void a_name_is_found_as_if_each_were_tried(void **unused)
{
    (void)unused;
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
        assert_int_equal(sl_whitelist_has_client(list, tenant, name),
                         named(clients, NAMES, tenant, name));
    }
    release(NULL);
}

static void an_empty_whitelist_has_nobody(void **unused)
{
    (void)unused;
    const struct sl_whitelist *list = sl_whitelist_new(&rules);
    struct sl_address address = { 0 };
    assert_false(sl_whitelist_has_address(list, &address));
    assert_false(sl_whitelist_has_user(list, (struct sluice_text){ 0 }, SL_TEXT("u")));
    assert_false(sl_whitelist_has_client(list, SL_TEXT("t"), SL_TEXT("c")));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CLAIM(an_address_is_found_as_if_each_network_were_tried),
        CLAIM(a_name_is_found_as_if_each_were_tried),
        CLAIM(an_empty_whitelist_has_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
