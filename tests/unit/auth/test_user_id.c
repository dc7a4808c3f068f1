#include "auth/user_id.h"

#include "unit/base/unit.h"

/* Of coreutils: printf %s a@example.com_192.0.2.1 | sha256sum */
#define V4_DIGEST   "808010ab459b3dc29b6cb9496c2313b7a78589dabf569822c78f5b247d64f223"
#define V6_DIGEST   "9f03d1eab3d569cdca0dae29486ed0d09928aeb5448e6678b20b0023ab5c0fb3"
#define UNIX_DIGEST "2b6226026c202b2e690f21ccc5628850319f526ed522377a124ca7e9adbdcda1"

static struct sl_sha256 *hasher;

static int open_hasher(void **unused)
{
    (void)unused;
    hasher = sl_sha256_new();
    return hasher ? 0 : -1;
}

static int close_hasher(void **unused)
{
    (void)unused;
    sl_sha256_free(hasher);
    return 0;
}

/* The user of a request of these, which was "u1" before. */
static const char *user_of(const char *email, const char *ip)
{
    static char user[SL_DIGEST_HEX + 1];
    struct sluice_attribute others[] = {
        { SL_TEXT("emails"), SL_TEXT("other@example.com") },
        { SL_TEXT("email"), sl_text(email) },
    };
    struct sluice_request request = sluice_request();
    char room[SL_DIGEST_HEX + 1];
    request.user = SL_TEXT("u1");
    request.ip = sl_text(ip);
    request.others = others;
    request.other_count = COUNT(others);
    bool replaced = sl_user_id_apply(hasher, &request, room);
    SAME(ip ? ip : "no ip", replaced, request.user.at == room);
    snprintf(user, sizeof user, "%.*s", (int)request.user.len, request.user.at);
    return user;
}

TEST(email_and_address_make_the_user)
{
    assert_string_equal(user_of("a@example.com", "192.0.2.1"), V4_DIGEST);
    assert_string_equal(user_of("a@example.com", "2001:db8::1"), V6_DIGEST);
}

TEST(the_address_counts_in_its_canonical_form)
{
    assert_string_equal(user_of("a@example.com", "::ffff:192.0.2.1"), V4_DIGEST);
    assert_string_equal(user_of("a@example.com", "2001:0DB8:0:0::0001"), V6_DIGEST);
    /* not cut to its network */
    assert_string_not_equal(user_of("a@example.com", "2001:db8::2"), V6_DIGEST);
}

TEST(what_is_no_address_counts_as_it_is)
{
    assert_string_equal(user_of("a@example.com", "unix"), UNIX_DIGEST);
}

TEST(without_either_the_user_stays)
{
    assert_string_equal(user_of(NULL, "192.0.2.1"), "u1");
    assert_string_equal(user_of("", "192.0.2.1"), "u1");
    assert_string_equal(user_of("a@example.com", NULL), "u1");
    assert_string_equal(user_of("a@example.com", ""), "u1");
}

TESTS_WITH(open_hasher, close_hasher)
