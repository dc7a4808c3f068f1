#include "wire/http/target.h"

#include "unit/base/unit.h"

static bool read_target(const char *method, const char *target, struct sl_http_head *out,
                        struct sl_http_wrong *wrong)
{
    *out = (struct sl_http_head){ .method = sl_text(method), .target = sl_text(target) };
    return sl_http_read_target(out, wrong);
}

TEST(a_target_is_a_path_and_perhaps_a_query)
{
    static const struct {
        const char *method, *target, *path, *query;
    } rows[] = {
        { "GET", "/", "/", NULL },
        { "GET", "/?", "/", "" },
        { "GET", "/a/b?c=d?e", "/a/b", "c=d?e" },
        { "GET", "//a", "//a", NULL },
        { "GET", "/http://a/b", "/http://a/b", NULL },
        { "OPTIONS", "*", "*", NULL },
        { "OPTIONS", "/*", "/*", NULL },
        { "connect", "/a", "/a", NULL },
        { "GET", "http://a", "/", NULL },
        { "GET", "http://a/", "/", NULL },
        { "GET", "http://a?b/c", "/", "b/c" },
        { "GET", "HTTPS://a.example:443/b/c?d", "/b/c", "d" },
        { "GET", "http://[2001:db8::1]:80/b?", "/b", "" },
        { "OPTIONS", "http://a", "/", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_http_head head;
        struct sl_http_wrong wrong = { 0 };
        const char *target = rows[i].target;
        SAME(target, read_target(rows[i].method, target, &head, &wrong), true);
        SAME_TEXT(target, head.path, rows[i].path);
        SAME(target, head.query.at != NULL, rows[i].query != NULL);
        if (rows[i].query)
            SAME_TEXT(target, head.query, rows[i].query);
        SAME(target, head.path.at >= target && head.path.at < target + strlen(target), true);
    }
}

TEST(other_targets_are_refused)
{
    static const struct {
        const char *method, *target, *says;
    } rows[] = {
        { "GET", "*", "OPTIONS" },
        { "OPTIONS", "**", "begins with" },
        { "OPTIONS", "*?a", "begins with" },
        { "GET", "a", "begins with" },
        { "GET", "?a", "begins with" },
        { "GET", "example.org:80", "begins with" },
        { "GET", "ftp://a/", "begins with" },
        { "GET", "http:/a", "begins with" },
        { "GET", "http:", "begins with" },
        { "GET", "http://", "no host" },
        { "GET", "http:///a", "no host" },
        { "GET", "http://?a", "no host" },
        { "GET", "http://:80/a", "no host" },
        { "GET", "http://user@a/", "no host" },
        { "GET", "http://user:pass@a/", "no host" },
        { "GET", "http://a\\b/", "no host" },
        { "CONNECT", "example.org:80", "CONNECT" },
        { "CONNECT", "/", "CONNECT" },
        { "CONNECT", "http://a/", "CONNECT" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_http_head head;
        struct sl_http_wrong wrong = { 0 };
        SAME(rows[i].target, read_target(rows[i].method, rows[i].target, &head, &wrong), false);
        SAME(rows[i].target, wrong.status, 400);
        if (!strstr(wrong.detail, rows[i].says))
            SAME_TEXT(rows[i].target, sl_text(wrong.detail), rows[i].says);
    }
}

TEST(a_host_is_a_name_or_an_address_and_perhaps_a_port)
{
    static const char *const good[] = {
        "a",       "A-b_c.d~e", "127.0.0.1", "127.0.0.1:9080",     "a:",
        "a:00089", "%41%zz",    "[::1]",     "[fe80::1%25eth0]:1", "a!$&'()*+,;=",
    };
    static const char *const bad[] = {
        "",     ":80", "a b",  "a:b",   "a:80:80", "::1",    "[]",    "[",   "[::1",
        "[a]b", "a]",  "a[b]", "[[a]]", "a/b",     "a?b",    "a\tb",  "a\"", "a\x80",
        "a#b",  "a@b", "a:-1", "a:8 0", "[::1]:x", "[a]:1:", "[a/b]",
    };
    for (size_t i = 0; i < COUNT(good); i++)
        SAME(good[i], sl_http_is_host(sl_text(good[i])), true);
    for (size_t i = 0; i < COUNT(bad); i++)
        SAME(bad[i], sl_http_is_host(sl_text(bad[i])), false);
}
