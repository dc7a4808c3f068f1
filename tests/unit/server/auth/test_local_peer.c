/* Is the peer local, without a proxy in between? Whole heads, as they are read. */
#include "server/auth/local_peer.h"

#include "unit/server/at_control.h"

static const char yaml[] = "rules: [{ name: all, per: global, limit: 1000000/h }]\n";

/* What the admin API says to this: 200 it is this machine, 403 it is not, 400 that is no
 * message at all. */
static uint32_t status_to(const char *version, const char *fields)
{
    char text[1024];
    snprintf(text, sizeof text, "GET /v1/rules HTTP/%s\r\n%s\r\n", version, fields);
    uint32_t status = answer_to(text)->status;
    if (answers[0].closes) {
        start_over();
        visitor_comes_from(&visitor, "127.0.0.1");
    }
    return status;
}

AT_CONTROL(host_is_this_machines_name_or_a_loopback_address, yaml)
{
    static const struct {
        const char *host;
        uint32_t status;
    } rows[] = {
        { "localhost", 200 },
        { "LOCALHOST:80", 200 },
        { "LocalHost", 200 },
        { "localhost:", 200 },
        { "127.0.0.1", 200 },
        { "127.0.0.1:8080", 200 },
        { "127.9.9.9", 200 },
        { "127.255.255.255:1", 200 },
        { "[::1]", 200 },
        { "[::1]:8080", 200 },
        { "[0:0:0:0:0:0:0:1]:8080", 200 },
        { "[::ffff:127.0.0.1]", 200 },
        { "evil.localhost.example", 403 },
        { "localhost.example", 403 },
        { "localhost.", 403 },
        { "evil.localhost", 403 },
        { "xlocalhost", 403 },
        { "localhos", 403 },
        { "localhostx:80", 403 },
        { "127.0.0.1.example", 403 },
        { "127.0.0.1.", 403 },
        { "127.1", 403 },
        { "2130706433", 403 },
        { "0x7f.0.0.1", 403 },
        { "0177.0.0.1", 403 },
        { "126.255.255.255", 403 },
        { "128.0.0.1", 403 },
        { "0.0.0.0", 403 },
        { "192.0.2.1:8080", 403 },
        { "example.com", 403 },
        { "[::]", 403 },
        { "[::2]:8080", 403 },
        { "[::ffff:192.0.2.1]", 403 },
        { "[2001:db8::1]", 403 },
        { "[fe80::1]", 403 },
        /* these are refused when the head is read */
        { "", 400 },
        { "[::1", 400 },
        { "[::1]evil.example", 400 },
        { "::1", 400 },
        { "localhost:80:80", 400 },
        { "localhost, evil.example", 400 },
        { "localhost/", 400 },
        { "[]", 400 },
        { ":80", 400 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char fields[128];
        snprintf(fields, sizeof fields, "Host: %s\r\n", rows[i].host);
        SAME(rows[i].host, status_to("1.1", fields), rows[i].status);
    }
}

/* An address in brackets is one of version 6, and a name is none at all. */
AT_CONTROL(brackets_hold_an_ipv6_address, yaml)
{
    assert_int_equal(status_to("1.1", "Host: [localhost]\r\n"), 403);
    assert_int_equal(status_to("1.1", "Host: [127.0.0.1]\r\n"), 403);
}

AT_CONTROL(without_a_host_a_peer_is_not_local, yaml)
{
    assert_int_equal(status_to("1.1", ""), 400);
    assert_int_equal(status_to("1.0", ""), 403);
    assert_int_equal(status_to("1.0", "Host: localhost\r\n"), 403); /* as nginx forwards */
    assert_int_equal(status_to("1.1", "Host: localhost\r\nHost: localhost\r\n"), 400);
}

AT_CONTROL(an_origin_is_this_host_or_a_foreign_page, yaml)
{
    static const struct {
        const char *host, *origin;
        uint32_t status;
    } rows[] = {
        { "localhost:8080", "http://localhost:8080", 200 },
        { "127.0.0.1:8080", "http://127.0.0.1:8080", 200 },
        { "[::1]:8080", "http://[::1]:8080", 200 },
        { "localhost", "https://localhost", 200 },
        { "localhost:8080", "http://localhost:3000", 403 },
        { "localhost:8080", "http://localhost", 403 },
        { "localhost", "http://localhost:80", 403 },
        { "localhost:8080", "http://127.0.0.1:8080", 403 },
        { "localhost:8080", "http://evil.example", 403 },
        { "localhost:8080", "http://evil.example//localhost:8080", 403 },
        { "localhost:8080", "http://localhost:8080.evil.example", 403 },
        { "localhost:8080", "http://evil@localhost:8080", 403 },
        { "localhost:8080", "null", 403 },
        { "localhost:8080", "", 403 },
        { "localhost:8080", "//", 403 },
        { "localhost:8080", "localhost:8080", 403 },
        { "localhost:8080", "http:/localhost:8080", 403 },
        { "localhost:8080", "chrome-extension://abcdef", 403 },
        { "localhost:8080", "http://localhost:8080/", 403 },
        { "localhost:8080", "http://localhost:8080, http://evil.example", 403 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char fields[256];
        snprintf(fields, sizeof fields, "Host: %s\r\nOrigin: %s\r\n", rows[i].host, rows[i].origin);
        SAME(rows[i].origin, status_to("1.1", fields), rows[i].status);
        snprintf(fields, sizeof fields, "oRIGIN: %s\r\nHost: %s\r\n", rows[i].origin, rows[i].host);
        SAME(rows[i].origin, status_to("1.1", fields), rows[i].status);
    }
}

AT_CONTROL(a_request_through_a_proxy_is_not_local, yaml)
{
    static const char *const fields[] = {
        "Forwarded: for=127.0.0.1",
        "Forwarded:",
        "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-For:",
        "X-Real-IP: 127.0.0.1",
        "x-real-ip:",
        "Via: 1.1 proxy",
        "VIA:",
    };
    for (size_t i = 0; i < COUNT(fields); i++) {
        char text[128];
        snprintf(text, sizeof text, "Host: localhost\r\n%s\r\n", fields[i]);
        SAME(fields[i], status_to("1.1", text), 403);
        assert_true(body_has(&answers[0], "through a proxy"));
    }
    assert_int_equal(status_to("1.1", "Host: localhost\r\nVia-X: a\r\nX-Via: b\r\n"), 200);
}

AT_CONTROL(it_comes_from_a_loopback_address_or_through_a_unix_socket, yaml)
{
    static const struct {
        const char *peer; /* NULL: a Unix socket */
        uint32_t status;
    } rows[] = {
        { NULL, 200 },          { "127.0.0.1", 200 },        { "127.1.2.3", 200 },
        { "::1", 200 },         { "::ffff:127.0.0.1", 200 }, { "::ffff:127.255.0.1", 200 },
        { "::", 403 },          { "0.0.0.0", 403 },          { "::2", 403 },
        { "::127.0.0.1", 403 }, { "128.0.0.1", 403 },        { "192.0.2.1", 403 },
        { "10.0.0.1", 403 },    { "::ffff:192.0.2.1", 403 }, { "fe80::1", 403 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        visitor_comes_from(&visitor, rows[i].peer);
        const char *row = rows[i].peer ? rows[i].peer : "unix";
        SAME(row, status_to("1.1", "Host: localhost\r\n"), rows[i].status);
        if (rows[i].status == 403)
            assert_true(body_has(&answers[0], "only this machine is answered"));
    }
}

/* A peer of the Unix socket may still be a proxy, or a browser with a foreign page. */
AT_CONTROL(through_a_unix_socket_the_host_counts_too, yaml)
{
    visitor_comes_from(&visitor, NULL);
    assert_int_equal(status_to("1.1", "Host: localhost\r\n"), 200);
    assert_int_equal(status_to("1.1", "Host: evil.example\r\n"), 403);
    assert_int_equal(status_to("1.1", "Host: localhost\r\nOrigin: http://evil.example\r\n"), 403);
    assert_int_equal(status_to("1.1", "Host: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n"), 403);
}

AT_CONTROL(every_refusal_says_what_to_do, yaml)
{
    static const char *const fields[] = { "Host: evil.example\r\n",
                                          "Host: localhost\r\nVia: 1.1 a\r\n",
                                          "Host: localhost\r\nOrigin: null\r\n" };
    for (size_t i = 0; i < COUNT(fields); i++) {
        SAME(fields[i], status_to("1.1", fields[i]), 403);
        assert_true(body_has(&answers[0], "set `admin.token_file`"));
        assert_null(field_of(&answers[0], "WWW-Authenticate").at);
    }
}
