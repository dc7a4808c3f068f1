#include "rules/address.h"

#include <arpa/inet.h>

#include "unit/base/unit.h"

static struct sl_address address_of(const char *text)
{
    struct sl_address address;
    if (!sl_address_parse(sl_text(text), &address))
        fail_msg("`%s` is no address", text);
    return address;
}

static struct sluice_text print(const struct sl_address *address, char out[SL_ADDRESS_PRINT_MAX])
{
    size_t len = sl_address_print(address, out);
    assert_int_equal(out[len], 0);
    return (struct sluice_text){ out, len };
}

TEST(every_spelling_of_an_address_is_one_address)
{
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        { "192.0.2.1", "192.0.2.1" },
        { "0.0.0.0", "0.0.0.0" },
        { "255.255.255.255", "255.255.255.255" },
        { "::ffff:192.0.2.1", "192.0.2.1" },
        { "::FFFF:c000:0201", "192.0.2.1" },
        { "0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1" },
        { "::", "::" },
        { "::1", "::1" },
        { "2001:db8::1", "2001:db8::1" },
        { "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
        { "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1" },
        { "2001:db8::0:1", "2001:db8::1" },
        { "fe80::1", "fe80::1" },
        { "64:ff9b::192.0.2.1", "64:ff9b::c000:201" },
        { "0000:0000:0000:0000:0000:ffff:255.255.255.255", "255.255.255.255" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[SL_ADDRESS_PRINT_MAX];
        struct sl_address address = address_of(rows[i].text);
        SAME_TEXT(rows[i].text, print(&address, out), rows[i].canonical);
        SAME(rows[i].text, sl_address_is_v4(&address), !strchr(rows[i].canonical, ':'));
    }
}

TEST(what_is_no_address_is_refused)
{
    static const char *const texts[] = {
        "",
        "localhost",
        "192.0.2",
        "192.0.2.256",
        "192.0.2.1.1",
        "192.0.2.01", /* octal or not: ambiguous */
        " 192.0.2.1",
        "192.0.2.1 ",
        "192.0.2.1:80",
        "192.0.2.1/32",
        "0x7f.0.0.1",
        "2130706433",
        "[::1]",
        ":::",
        "2001:db8:::1",
        "fe80::1%eth0",
        "1:2:3:4:5:6:7:8:9",
        "12345::",
        "0000:0000:0000:0000:0000:ffff:255.255.255.2550",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct sl_address address = { { 7 } };
        SAME(texts[i], sl_address_parse(sl_text(texts[i]), &address), false);
        SAME(texts[i], address.byte[0], 7);
    }
    struct sl_address address;
    assert_false(sl_address_parse((struct sluice_text){ 0 }, &address));
    assert_false(sl_address_parse(SL_TEXT("192.0.2.1\0"), &address));
    assert_true(sl_address_parse((struct sluice_text){ "192.0.2.123", 9 }, &address));
}

TEST(an_address_is_cut_to_the_prefix_it_counts_by)
{
    static const struct {
        const char *text;
        uint32_t bits;
        const char *cut;
    } rows[] = {
        { "192.0.2.255", 32, "192.0.2.255" },
        { "192.0.2.255", 31, "192.0.2.254" },
        { "192.0.2.255", 25, "192.0.2.128" },
        { "192.0.2.255", 24, "192.0.2.0" },
        { "192.0.2.255", 23, "192.0.2.0" },
        { "192.0.3.255", 23, "192.0.2.0" },
        { "192.0.2.255", 1, "128.0.0.0" },
        { "192.0.2.255", 0, "0.0.0.0" },
        { "::ffff:192.0.2.255", 24, "192.0.2.0" },
        { "2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6" },
        { "2001:db8:1:2:3:4:5:7", 127, "2001:db8:1:2:3:4:5:6" },
        { "2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::" },
        { "2001:db8:1:ffff:3:4:5:6", 49, "2001:db8:1:8000::" },
        { "2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::" },
        { "2001:db8:1:2:3:4:5:6", 1, "::" },
        { "ffff::", 1, "8000::" },
        { "ffff::", 0, "::" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[SL_ADDRESS_PRINT_MAX], row[64];
        struct sl_address address = address_of(rows[i].text);
        struct sl_address cut = sl_address_cut(&address, rows[i].bits);
        snprintf(row, sizeof row, "%s/%u", rows[i].text, rows[i].bits);
        SAME_TEXT(row, print(&cut, out), rows[i].cut);
    }
}

TEST(a_network_has_what_shares_its_prefix)
{
    static const struct {
        const char *network, *address;
        bool has;
    } rows[] = {
        { "10.0.0.0/8", "10.0.0.0", true },
        { "10.0.0.0/8", "10.255.255.255", true },
        { "10.0.0.0/8", "11.0.0.0", false },
        { "10.0.0.0/8", "9.255.255.255", false },
        { "10.0.0.0/8", "::ffff:10.1.2.3", true },
        { "10.0.0.0/8", "a00::", false }, /* the same bits, elsewhere */
        { "192.0.2.1", "192.0.2.1", true },
        { "192.0.2.1", "192.0.2.0", false },
        { "192.0.2.1/32", "192.0.2.1", true },
        { "192.0.2.2/31", "192.0.2.3", true },
        { "192.0.2.2/31", "192.0.2.1", false },
        { "0.0.0.0/0", "255.1.2.3", true },
        { "0.0.0.0/0", "2001:db8::1", false },
        { "::/0", "2001:db8::1", true },
        { "::/0", "192.0.2.1", false }, /* IPv6 is not about IPv4 … */
        { "::fffe:0:0/95", "192.0.2.1", false },
        { "::fffe:0:0/95", "::fffe:102:304", true },
        { "fd00::/8", "fdff::1", true },
        { "fd00::/8", "fe00::", false },
        { "2001:db8::/33", "2001:db8:7fff::", true },
        { "2001:db8::/33", "2001:db8:8000::", false },
        { "::ffff:10.0.0.0/104", "10.1.2.3", true },
        { "::ffff:10.0.0.0/104", "11.1.2.3", false },
        { "::ffff:0:0/96", "192.0.2.1", true }, /* … unless it says so */
        { "::1", "::1", true },
        { "::1", "::2", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char row[96];
        struct sl_network network;
        struct sl_address address = address_of(rows[i].address);
        snprintf(row, sizeof row, "%s in %s", rows[i].address, rows[i].network);
        SAME(row, sl_network_parse(sl_text(rows[i].network), &network), true);
        SAME(row, sl_network_has(&network, &address), rows[i].has);
    }
}

TEST(what_is_no_network_is_refused)
{
    static const char *const texts[] = {
        "",
        "/",
        "/8",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/+8",
        "10.0.0.0/8 ",
        "10.0.0.0/0008",
        "10.0.0.0/8/8",
        "10.0.0.0/255.0.0.0",
        "10.0.0.1/8", /* which one is meant? */
        "192.0.2.1/31",
        "192.0.2.1/0",
        "::/129",
        "::1/127",
        "fd00::1/8",
        "::ffff:10.0.0.0/8", /* of 128 */
        "::ffff:10.0.0.0/96",
        "example.org",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct sl_network network = { .prefix = 777 };
        SAME(texts[i], sl_network_parse(sl_text(texts[i]), &network), false);
        SAME(texts[i], network.prefix, 777);
    }
}

/* The C library's own printing is the second opinion; addresses are made so that
 * runs of zeros are common. */
TEST(printing_agrees_with_the_c_library)
{
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        struct sl_address address, again;
        char ours[SL_ADDRESS_PRINT_MAX], theirs[SL_ADDRESS_PRINT_MAX];
        for (size_t j = 0; j < 16; j++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            address.byte[j] = random >> 60 < 10 ? 0 : (uint8_t)(random >> 32);
        }
        if (i % 7 == 0)
            memcpy(address.byte, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
        print(&address, ours);
        bool v4 = sl_address_is_v4(&address);
        inet_ntop(v4 ? AF_INET : AF_INET6, address.byte + (v4 ? 12 : 0), theirs, sizeof theirs);
        assert_string_equal(ours, theirs);
        assert_true(sl_address_parse(sl_text(ours), &again));
        assert_memory_equal(&again, &address, sizeof address);
    }
}
