#include <stdlib.h>

#include "rules/store_url.h"
#include "unit/base/unit.h"

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

TEST(memory_alone_is_private)
{
    static const char *const spellings[] = { "memory:", "memory" };
    for (size_t i = 0; i < 2; i++) {
        struct sl_store_url url = parse(spellings[i]);
        assert_int_equal(url.kind, SL_STORE_MEMORY);
        assert_null(url.path);
        assert_int_equal(url.size_bytes, 0);
        assert_true(url.log_bytes == SL_STORE_LOG_DEFAULT);
        assert_int_equal(url.sync_us, SL_STORE_SYNC_OFF);
    }
}

TEST(memory_has_a_file_and_a_size)
{
    struct sl_store_url url = parse("memory:limits.slu?size=2G");
    assert_string_equal(url.path, "etc/limits.slu");
    assert_int_equal(url.size_bytes, INT64_C(2) << 30);
    assert_string_equal(parse("memory:/var/x").path, "/var/x");
    assert_int_equal(parse("memory:/var/x").size_bytes, 0); /* what the file has */
    assert_int_equal(parse("memory:?size=2M").size_bytes, 2 << 20);
    assert_int_equal(parse("memory:x?size=1M").size_bytes, 1 << 20);
    assert_int_equal(parse("memory:x?size=1024K").size_bytes, 1 << 20);
    assert_int_equal(parse("memory:x?size=1048576").size_bytes, 1 << 20);
    assert_int_equal(parse("memory:x?size=1T").size_bytes, INT64_C(1) << 40);
}

TEST(a_size_out_of_range_is_refused)
{
    static const char *const wrong[] = {
        "memory:x?size=",      "memory:x?size=0",
        "memory:x?size=1023K", "memory:x?size=1048575",
        "memory:x?size=2T",    "memory:x?size=1MB",
        "memory:x?size=M",     "memory:x?size=-1M",
        "memory:x?size=1.5G",  "memory:x?size=99999999999999999T",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_wrong(wrong[i], "from 1M to 1T");
}

TEST(a_log_is_part_of_the_size)
{
    static const char *const wrong[] = {
        "memory:x?log=",           "memory:x?log",
        "memory:x?log=-1",         "memory:x?log=1.5M",
        "memory:x?log=64M", /* the size that is not given */
        "memory:x?log=1T",         "memory:x?log=18446744073709551615",
        "memory:x?size=2M&log=2M", "memory:x?log=2M&size=2M",
        "memory:x?log=3M&size=2M",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_wrong(wrong[i], "`log` in the store's URL is a part of `size`, which is 64M if not");
    assert_int_equal(parse("memory:x?log=0").log_bytes, 0);
    assert_int_equal(parse("memory:x?log=1").log_bytes, 1);
    assert_int_equal(parse("memory:?log=67108863").log_bytes, (64 << 20) - 1);
    assert_int_equal(parse("memory:x?size=2M&log=2047K").log_bytes, 2047 << 10);
    assert_int_equal(parse("memory:x?log=64M&size=65M").log_bytes, 64 << 20);
    assert_true(parse("memory:x?size=1G").log_bytes == SL_STORE_LOG_DEFAULT);
}

TEST(a_file_is_written_to_disk_never_at_the_close_or_every_so_often)
{
    static const char *const wrong[] = {
        "memory:x?sync=",    "memory:x?sync",         "memory:x?sync=0",   "memory:x?sync=always",
        "memory:x?sync=Off", "memory:x?sync=9.999ms", "memory:x?sync=-1s", "memory:x?sync=24.1h",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_wrong(wrong[i], "write `off`, `close`, or how often, from 10ms to 24h, like 1s");
    assert_int_equal(parse("memory:x").sync_us, SL_STORE_SYNC_OFF);
    assert_int_equal(parse("memory:x?sync=off").sync_us, SL_STORE_SYNC_OFF);
    assert_int_equal(parse("memory:x?sync=close").sync_us, SL_STORE_SYNC_CLOSE);
    assert_int_equal(parse("memory:x?sync=10ms").sync_us, 10000);
    assert_int_equal(parse("memory:x?sync=1s").sync_us, 1000000);
    assert_int_equal(parse("memory:x?sync=2").sync_us, 2000000);
    assert_int_equal(parse("memory:x?sync=24h").sync_us, INT64_C(86400) * 1000000);
    assert_wrong("memory:?sync=1s", "needs a file to write; write `memory:FILE?sync=1s`");
    assert_wrong("memory:?sync=off", "needs a file to write");
}

TEST(parameters_are_known_and_there_once)
{
    struct sl_store_url url = parse("memory:x?sync=5m&log=1M&size=8M");
    assert_int_equal(url.size_bytes, 8 << 20);
    assert_int_equal(url.log_bytes, 1 << 20);
    assert_int_equal(url.sync_us, INT64_C(300) * 1000000);
    assert_wrong("memory:x?sise=1M", "`sise` is not a parameter of a memory store; it has `size`, "
                                     "`log` and `sync`");
    assert_wrong("memory:x?size=1M&size2=1M", "`size2` is not a parameter");
    assert_wrong("memory:x?Size=1M", "`Size` is not a parameter");
    assert_wrong("memory:x?size=1M&size=1M", "`size` is twice");
    assert_wrong("memory:x?log=0&size=1M&log=0", "`log` is twice");
    assert_wrong("memory:x?sync=off&sync=1s", "`sync` is twice");
    static const char *const empty[] = { "memory:x?",         "memory:?",
                                         "memory:x?size=1M&", "memory:x?&size=1M",
                                         "memory:x?=1M",      "memory:x?size=1M&&log=0" };
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        assert_wrong(empty[i], "a parameter is missing behind `?` or `&`");
    assert_wrong("memory://x", "no `//`");
}

TEST(redis_has_standard_parts)
{
    struct sl_store_url url = parse("redis://cache");
    assert_int_equal(url.kind, SL_STORE_REDIS);
    assert_false(url.tls);
    assert_string_equal(url.hosts, "cache:6379");
    assert_int_equal(url.database, 0);
    assert_null(url.user);
    assert_null(url.password);
    assert_int_equal(parse("redis://cache/").database, 0);
}

TEST(redis_has_a_login_a_port_and_a_database)
{
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

TEST(a_socket_has_a_path)
{
    struct sl_store_url url = parse("redis+unix:///run/redis.sock");
    assert_int_equal(url.kind, SL_STORE_REDIS_UNIX);
    assert_string_equal(url.path, "/run/redis.sock");
    assert_string_equal(parse("redis+unix://run/r.sock").path, "etc/run/r.sock");
    assert_wrong("redis+unix://", "socket is missing");
}

TEST(clusters_and_sentinels_have_several_hosts)
{
    struct sl_store_url url = parse("redis-cluster://u:p@a,b:7000,[::1]");
    assert_int_equal(url.kind, SL_STORE_REDIS_CLUSTER);
    assert_string_equal(url.hosts, "a:6379,b:7000,[::1]:6379");
    assert_string_equal(url.user, "u");
    url = parse("redis-sentinel://a:26380,b/mymaster/3");
    assert_int_equal(url.kind, SL_STORE_REDIS_SENTINEL);
    assert_string_equal(url.hosts, "a:26380,b:26379");
    assert_string_equal(url.master, "mymaster");
    assert_int_equal(url.database, 3);
    assert_null(url.sentinel_password);
    assert_false(url.tls);
    assert_true(parse("rediss-sentinel://a/mymaster").tls);
    url = parse("redis-sentinel://:p@a/m?sentinel_password=s%26=%3f");
    assert_string_equal(url.sentinel_password, "s&=?");
    assert_string_equal(url.password, "p");
    assert_string_equal(url.master, "m");
    assert_wrong("redis-sentinel://a,b", "master's name is missing");
    assert_wrong("redis-sentinel://a/?sentinel_password=x", "master's name is missing");
    assert_wrong("redis-sentinel://a/m?", "`?sentinel_password=PASSWORD`");
    assert_wrong("redis-sentinel://a/m?sentinel_password=", "`?sentinel_password=PASSWORD`");
    assert_wrong("redis-sentinel://a/m?sentinel_password=x&y=z", "%26");
    assert_wrong("redis-sentinel://a/m?sentinel_password=%0", "%25");
    assert_false(url.tls);
    url = parse("rediss-cluster://:p@a");
    assert_int_equal(url.kind, SL_STORE_REDIS_CLUSTER);
    assert_true(url.tls);
    assert_wrong("redis-cluster://a/0", "one database");
    assert_wrong("redis-cluster://a,,b", "host is missing");
    assert_wrong("redis-cluster://a,", "host is missing");
}

TEST(what_is_no_host_or_port_is_refused)
{
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

TEST(a_wrong_url_never_gives_its_password_away)
{
    static const char *const wrong[] = {
        "redis://hunter2@cache",          "redis://:hunter2%@cache",
        "redis://u:hunter2/@cache",       "redis://:hunter2",
        "redis://u:hunter2@ca che",       "redis://u:hunter2@cache:x",
        "redis://u:hun?hunter2@cache",    "redis://u:hunter2%00@cache",
        "redis-sentinel://a/m?p=hunter2", "redis-sentinel://a/m?sentinel_password=hunter2%",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sl_store_url url;
        const char *text = sl_store_url_parse(&arena, sl_text(wrong[i]), SL_TEXT(""), &url);
        assert_non_null(text);
        assert_null(strstr(text, "hunter2"));
    }
}

TESTS_WITH(NULL, release)
