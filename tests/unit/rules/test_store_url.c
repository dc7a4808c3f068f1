#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rules/store_url.h"

static struct sl_arena arena;

static int release(void **state)
{
    (void)state;
    sl_arena_release(&arena);
    return 0;
}

static struct sl_store_url parse(const char *text)
{
    struct sl_store_url url = { 0 };
    const char *wrong = sl_store_url_parse(&arena, sl_text(text), SL_TEXT("etc/"), &url);
    if (wrong)
        fail_msg("%s: %s", text, wrong);
    assert_string_equal(url.text, text);
    return url;
}

static void assert_wrong(const char *text, const char *part)
{
    struct sl_store_url url = { .database = 77 };
    const char *wrong = sl_store_url_parse(&arena, sl_text(text), SL_TEXT(""), &url);
    assert_non_null(wrong);
    assert_int_equal(url.database, 77);
    if (!strstr(wrong, part))
        fail_msg("`%s` is not in `%s`", part, wrong);
}

static void memory_alone_is_private(void **state)
{
    (void)state;
    static const char *const spellings[] = { "memory:", "memory" };
    for (size_t i = 0; i < 2; i++) {
        struct sl_store_url url = parse(spellings[i]);
        assert_int_equal(url.kind, SL_STORE_MEMORY);
        assert_null(url.path);
        assert_int_equal(url.size_bytes, 64 << 20);
    }
}

static void memory_has_a_file_and_a_size(void **state)
{
    (void)state;
    struct sl_store_url url = parse("memory:limits.slu?size=2G");
    assert_string_equal(url.path, "etc/limits.slu");
    assert_int_equal(url.size_bytes, INT64_C(2) << 30);
    assert_string_equal(parse("memory:/var/x").path, "/var/x");
    assert_int_equal(parse("memory:x?size=1M").size_bytes, 1 << 20);
    assert_int_equal(parse("memory:x?size=1024K").size_bytes, 1 << 20);
    assert_int_equal(parse("memory:x?size=1048576").size_bytes, 1 << 20);
    assert_int_equal(parse("memory:x?size=1T").size_bytes, INT64_C(1) << 40);
}

static void a_size_out_of_range_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "memory:x?size=",      "memory:x?size=0",
        "memory:x?size=1023K", "memory:x?size=1048575",
        "memory:x?size=2T",    "memory:x?size=1MB",
        "memory:x?size=M",     "memory:x?size=-1M",
        "memory:x?size=1.5G",  "memory:x?size=99999999999999999T",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_wrong(wrong[i], "from 1M to 1T");
    assert_wrong("memory:x?sync=none", "`sync` is not a parameter");
    assert_wrong("memory:x?size=1M&size2=1M", "`size2` is not a parameter");
    assert_wrong("memory://x", "no `//`");
}

static void redis_has_standard_parts(void **state)
{
    (void)state;
    struct sl_store_url url = parse("redis://cache");
    assert_int_equal(url.kind, SL_STORE_REDIS);
    assert_false(url.tls);
    assert_string_equal(url.hosts, "cache:6379");
    assert_int_equal(url.database, 0);
    assert_null(url.user);
    assert_null(url.password);
    assert_int_equal(parse("redis://cache/").database, 0);
}

static void redis_has_a_login_a_port_and_a_database(void **state)
{
    (void)state;
    struct sl_store_url url = parse("rediss://me:p%40s%2fs@10.0.0.1:6380/15");
    assert_true(url.tls);
    assert_string_equal(url.user, "me");
    assert_string_equal(url.password, "p@s/s");
    assert_string_equal(url.hosts, "10.0.0.1:6380");
    assert_int_equal(url.database, 15);
    url = parse("redis://:se:cr@et@[::1]:7000");
    assert_null(url.user);
    assert_string_equal(url.password, "se:cr@et");
    assert_string_equal(url.hosts, "[::1]:7000");
    assert_string_equal(parse("redis://[2001:db8::1]/0").hosts, "[2001:db8::1]:6379");
}

static void a_socket_has_a_path(void **state)
{
    (void)state;
    struct sl_store_url url = parse("redis+unix:///run/redis.sock");
    assert_int_equal(url.kind, SL_STORE_REDIS_UNIX);
    assert_string_equal(url.path, "/run/redis.sock");
    assert_string_equal(parse("redis+unix://run/r.sock").path, "etc/run/r.sock");
    assert_wrong("redis+unix://", "socket is missing");
}

static void clusters_and_sentinels_have_several_hosts(void **state)
{
    (void)state;
    struct sl_store_url url = parse("redis-cluster://u:p@a,b:7000,[::1]");
    assert_int_equal(url.kind, SL_STORE_REDIS_CLUSTER);
    assert_string_equal(url.hosts, "a:6379,b:7000,[::1]:6379");
    assert_string_equal(url.user, "u");
    url = parse("redis-sentinel://a:26380,b/mymaster/3");
    assert_int_equal(url.kind, SL_STORE_REDIS_SENTINEL);
    assert_string_equal(url.hosts, "a:26380,b:26379");
    assert_string_equal(url.master, "mymaster");
    assert_int_equal(url.database, 3);
    assert_wrong("redis-sentinel://a,b", "master's name is missing");
    assert_wrong("redis-cluster://a/0", "one database");
    assert_wrong("redis-cluster://a,,b", "host is missing");
    assert_wrong("redis-cluster://a,", "host is missing");
}

static void what_is_no_host_or_port_is_refused(void **state)
{
    (void)state;
    assert_wrong("redis://", "host is missing");
    assert_wrong("redis://:6379", "host is missing");
    assert_wrong("redis://a:0", "port");
    assert_wrong("redis://a:65536", "port");
    assert_wrong("redis://a:", "port");
    assert_wrong("redis://::1", "port");
    assert_wrong("redis://1.2.3", "`1.2.3` is not a host");
    assert_wrong("redis://a b", "is not a host");
    assert_wrong("redis://[::1", "in brackets");
    assert_wrong("redis://[1.2.3.4]", "is not a host");
    assert_wrong("redis://a,b", "`a,b` is not a host");
    assert_wrong("redis://a/1x", "database");
    assert_wrong("redis://a/65536", "database");
    assert_wrong("redis://a?x=1", "no parameters");
    assert_wrong("http://a", "starts with `memory:`, `redis://`");
    assert_wrong("", "starts with");
    assert_wrong("memory?size=64M", "starts with");
    assert_wrong("memory2", "write `memory`, or a URL that starts with");
}

static void a_wrong_url_never_gives_its_password_away(void **state)
{
    static const char *const wrong[] = {
        "redis://hunter2@cache",       "redis://:hunter2%@cache",
        "redis://u:hunter2/@cache",    "redis://:hunter2",
        "redis://u:hunter2@ca che",    "redis://u:hunter2@cache:x",
        "redis://u:hun?hunter2@cache", "redis://u:hunter2%00@cache",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sl_store_url url;
        const char *text = sl_store_url_parse(&arena, sl_text(wrong[i]), SL_TEXT(""), &url);
        assert_non_null(text);
        assert_null(strstr(text, "hunter2"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_alone_is_private),
        cmocka_unit_test(memory_has_a_file_and_a_size),
        cmocka_unit_test(a_size_out_of_range_is_refused),
        cmocka_unit_test(redis_has_standard_parts),
        cmocka_unit_test(redis_has_a_login_a_port_and_a_database),
        cmocka_unit_test(a_socket_has_a_path),
        cmocka_unit_test(clusters_and_sentinels_have_several_hosts),
        cmocka_unit_test(what_is_no_host_or_port_is_refused),
        cmocka_unit_test(a_wrong_url_never_gives_its_password_away),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
