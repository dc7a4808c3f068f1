#include "store/redis/link/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "unit/base/unit.h"

static struct sl_target *open_url(const struct sl_store_url *url)
{
    struct sluice_error error = { 0 };
    struct sl_target *target = sl_target_open(url, &(struct sl_tls_client){ 0 }, &error);
    assert_non_null(target);
    assert_string_equal(error.text, "");
    return target;
}

/* "127.0.0.1 6379", "unix /path" or "none" */
static const char *address_of(struct sl_target *target, uint32_t attempt)
{
    static char text[256];
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_storage at;
    socklen_t len = 0;
    if (!sl_target_address(target, attempt, &at, &len))
        return "none";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at;
    switch (at.ss_family) {
    case AF_INET:
        assert_int_equal(len, sizeof *v4);
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(text, sizeof text, "%s %d", host, ntohs(v4->sin_port));
        return text;
    case AF_INET6:
        assert_int_equal(len, sizeof *v6);
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(text, sizeof text, "%s %d", host, ntohs(v6->sin6_port));
        return text;
    default:
        assert_int_equal(at.ss_family, AF_UNIX);
        snprintf(text, sizeof text, "unix %s", ((const struct sockaddr_un *)&at)->sun_path);
        assert_int_equal(len, offsetof(struct sockaddr_un, sun_path) + strlen(text + 5) + 1);
        return text;
    }
}

TEST(addresses_are_what_they_say)
{
    static const struct {
        const char *hosts, *path;
        const char *address, *host;
    } rows[] = {
        { "127.0.0.1:6379", NULL, "127.0.0.1 6379", "127.0.0.1" },
        { "192.0.2.7:1", NULL, "192.0.2.7 1", "192.0.2.7" },
        { "[::1]:65535", NULL, "::1 65535", "::1" },
        { "[2001:db8::7]:6380", NULL, "2001:db8::7 6380", "2001:db8::7" },
        { NULL, "/run/redis.sock", "unix /run/redis.sock", NULL },
        { NULL, "redis.sock", "unix redis.sock", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_target *target =
            open_url(&(struct sl_store_url){ .hosts = rows[i].hosts, .path = rows[i].path });
        for (uint32_t attempt = 0; attempt < 3; attempt++)
            SAME_TEXT("address", sl_text(address_of(target, attempt)), rows[i].address);
        SAME_TEXT("last attempt", sl_text(address_of(target, UINT32_MAX)), rows[i].address);
        SAME_TEXT("host", sl_text(sl_target_host(target)), rows[i].host);
        SAME_TEXT("name", sl_text(sl_target_name(target)),
                  rows[i].path ? rows[i].path : rows[i].hosts);
        assert_null(sl_target_tls(target));
        sl_target_refresh(target); /* there is nothing to look up */
        SAME_TEXT("still", sl_text(address_of(target, 0)), rows[i].address);
        sl_target_close(target);
    }
}

TEST(a_name_is_looked_up)
{
    struct sl_target *target = open_url(&(struct sl_store_url){ .hosts = "localhost:6379" });
    const char *address = address_of(target, 0);
    assert_true(strcmp(address, "127.0.0.1 6379") == 0 || strcmp(address, "::1 6379") == 0);
    for (int i = 0; i < 100; i++) /* at most once a second, for all callers */
        sl_target_refresh(target);
    assert_string_not_equal(address_of(target, 1), "none");
    sl_target_close(target);
}

/* It may be known later: that is no reason not to start. */
TEST(a_name_that_is_not_known_has_no_address)
{
    struct sl_target *target =
        open_url(&(struct sl_store_url){ .hosts = "no-such-host.invalid:6379" });
    assert_string_equal(address_of(target, 0), "none");
    assert_string_equal(sl_target_host(target), "no-such-host.invalid");
    sl_target_refresh(target);
    sl_target_close(target); /* also while it is being looked up */
}

TEST(what_it_wants_to_hear_is_copied)
{
    char hosts[] = "127.0.0.1:6379", user[] = "app", password[] = "secret";
    struct sl_target *target = open_url(&(struct sl_store_url){
        .hosts = hosts, .user = user, .password = password, .database = 7 });
    memset(hosts, 'x', sizeof hosts - 1);
    memset(user, 'x', sizeof user - 1);
    memset(password, 'x', sizeof password - 1);
    assert_string_equal(sl_target_user(target), "app");
    assert_string_equal(sl_target_password(target), "secret");
    assert_string_equal(sl_target_name(target), "127.0.0.1:6379");
    assert_int_equal(sl_target_database(target), 7);
    sl_target_close(target);
    target = open_url(&(struct sl_store_url){ .hosts = "127.0.0.1:6379" });
    assert_null(sl_target_user(target));
    assert_null(sl_target_password(target));
    assert_int_equal(sl_target_database(target), 0);
    sl_target_close(target);
}

TEST(a_path_has_room_for_107_bytes)
{
    char path[110];
    struct sluice_error error = { 0 };
    struct sl_store_url url = { .path = path };
    memset(path, 'p', sizeof path);
    path[107] = 0;
    struct sl_target *target = open_url(&url);
    assert_int_equal(strlen(address_of(target, 0)), 5 + 107);
    sl_target_close(target);
    path[107] = 'p';
    path[108] = 0;
    assert_null(sl_target_open(&url, &(struct sl_tls_client){ 0 }, &error));
    assert_non_null(strstr(error.text, "too long"));
    assert_non_null(strstr(error.text, "107"));
}

TEST(certificates_that_are_not_there_are_refused)
{
    struct sluice_error error = { 0 };
    struct sl_store_url url = { .hosts = "127.0.0.1:6379", .tls = true };
    assert_null(sl_target_open(&url, &(struct sl_tls_client){ .ca = "/nowhere/ca.pem" }, &error));
    assert_non_null(strstr(error.text, "/nowhere/ca.pem"));
    struct sl_target *target = open_url(&url); /* those that this system trusts */
    assert_non_null(sl_target_tls(target));
    sl_target_close(target);
    sl_target_close(NULL);
}
