/* Exemptions that lie on top of the file's. Those of the file: test_ruleset.c. */
#include "unit/rules/overlaying.h"

#define DIGEST                                                                                     \
    "9F86D081884C7D659A2FEAA0C55AD015"                                                             \
    "A3BF4F1B2B0B822CD15D6C15B0F00A08"

TEST(exemptions_are_read_as_in_the_files_lists)
{
    static const struct sl_overlay_exemption exempt[] = {
        { SL_EXEMPT_IP, "10.0.0.0/8", 5 },        { SL_EXEMPT_IP, "2001:db8::1", 0 },
        { SL_EXEMPT_CLIENT, "acme/a/b", 7 },      { SL_EXEMPT_CLIENT, "null", 0 },
        { SL_EXEMPT_API_KEY, DIGEST, INT64_MAX },
    };
    lay_well("exempt: { ips: [127.0.0.1] }", &(struct sl_overlay){ EXEMPT_OF(exempt) });
    assert_int_equal(rules->exempt.ip_count, 1); /* the file's stay the file's */
    assert_int_equal(rules->exempt_until_count, 5);
    const struct sl_exempt_until *until = rules->exempt_until;
    assert_int_equal(until[0].kind, SL_UNTIL_IP);
    assert_int_equal(until[0].ip.prefix, 96 + 8);
    assert_int_equal(until[0].until_us, 5);
    assert_int_equal(until[1].ip.prefix, 128);
    assert_int_equal(until[1].until_us, 0);
    assert_int_equal(until[2].kind, SL_UNTIL_CLIENT);
    assert_true(sl_text_is(until[2].client.tenant, "acme"));
    assert_true(sl_text_is(until[2].client.name, "a/b"));
    assert_null(until[3].client.tenant.at);
    assert_true(sl_text_is(until[3].client.name, "null"));
    assert_int_equal(until[4].kind, SL_UNTIL_API_KEY);
    assert_true(sl_text_is(until[4].api_key, "9f86d081884c7d659a2feaa0c55ad015"
                                             "a3bf4f1b2b0b822cd15d6c15b0f00a08"));
}

TEST(what_no_list_could_hold_is_refused_by_what_it_is)
{
    static const struct sl_overlay_exemption exempt[] = {
        { SL_EXEMPT_IP, "10.0.0.0/33", 0 },
        { SL_EXEMPT_IP, "10.0.0.1/8", 0 },
        { SL_EXEMPT_IP, "", 0 },
        { SL_EXEMPT_CLIENT, "acme/", 0 },
        { SL_EXEMPT_CLIENT, "a\tb", 0 },
    };
    lay("{}", &(struct sl_overlay){ EXEMPT_OF(exempt) });
    assert_null(rules);
    assert_printed(
        "exemption `10.0.0.0/33`: `ip` cannot be `\"10.0.0.0/33\"`; write an address such as "
        "192.0.2.1, or a network such as 10.0.0.0/8\n"
        "exemption `10.0.0.1/8`: `ip` cannot be `\"10.0.0.1/8\"`; write the network `10.0.0.0/8`, "
        "or the address without its prefix\n"
        "exemption ``: `ip` cannot be `\"\"`; write an address such as 192.0.2.1, or a network "
        "such as 10.0.0.0/8\n"
        "exemption `a?b`: `client` cannot be `\"a?b\"`; write a text without control characters\n"
        "exemption `acme/`: `client` cannot be `\"acme/\"`; write tenant/name, or the name alone "
        "where there is no tenant\n");
    assert_null(report.subject);
}

TEST(what_may_be_a_key_in_the_clear_is_never_repeated)
{
    static const struct sl_overlay_exemption exempt[] = {
        { SL_EXEMPT_API_KEY, "sk_live_secret", 0 },
    };
    lay("{}", &(struct sl_overlay){ EXEMPT_OF(exempt) });
    assert_null(rules);
    assert_int_equal(report.count, 1);
    char *text = printed();
    assert_non_null(strstr(text, "SHA-256"));
    assert_null(strstr(text, "secret"));
    free(text);
}

TESTS_WITH(NULL, release)
