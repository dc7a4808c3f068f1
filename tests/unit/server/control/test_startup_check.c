/* Whether the rules fit this server, and what is said where they do not. */
#include "server/control/startup_check.h"

#include <sys/resource.h>

#include "unit/limiter/rules.h"
#include "unit/server/captured.h"

#define RULE "rules: [{ name: a, per: ip, limit: 1/s }]\n"

struct asked {
    struct sl_settings settings;
    bool says, good;
};

static void ask_is_serveable(void *about)
{
    struct asked *asked = about;
    asked->good = sl_startup_is_serveable(&asked->settings);
}

static void ask_files(void *about)
{
    struct asked *asked = about;
    asked->good = sl_startup_files(&asked->settings, asked->says);
}

/* ---- can they be served? ---- */

struct row {
    const char *yaml;
    bool good;
    const char *said[4]; /* each in a line of its own, and no other line */
};

static void check_row(const struct row *row)
{
    struct sl_ruleset *rules = rules_of(row->yaml);
    struct asked asked = { .settings = rules->settings };
    const char *text = said_by(ask_is_serveable, &asked);
    size_t lines = 0, wanted = 0;
    SAME(row->yaml, asked.good, row->good);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    for (; row->said[wanted]; wanted++)
        if (!strstr(text, row->said[wanted]))
            fail_msg("%s: not said: %s, but: %s", row->yaml, row->said[wanted], text);
    SAME(row->yaml, lines, wanted);
    sl_ruleset_free(rules);
}

TEST(any_listener_is_something_to_serve)
{
    static const struct row rows[] = {
        { RULE, true },
        { "listen: { http: 'unix:/run/x' }\n" RULE, true },
        { "listen: { grpc: 127.0.0.1:1 }\n" RULE, true },
        { "listen: { resp: 127.0.0.1:1 }\n" RULE, true },
        { "listen: { grpc: 127.0.0.1:1, resp: 127.0.0.1:2 }\nadmin: { token_env: T }\n" RULE,
          true },
        { "listen: { http: off }\n" RULE, false },
        { "listen: { http: off, resp: 127.0.0.1:1 }\n" RULE, true },
        { "listen: { http: off, grpc: 127.0.0.1:1 }\n" RULE, true },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(&rows[i]);
}

TEST(https_alone_is_something_to_serve)
{
    struct asked asked = { .settings = { .https = { .address = "127.0.0.1:0" } } };
    assert_string_equal(said_by(ask_is_serveable, &asked), "");
    assert_true(asked.good);
}

/* ---- what takes a restart ---- */

TEST(changes_that_take_a_restart_are_named)
{
    static const struct {
        const char *before, *after, *name;
    } rows[] = {
        { RULE, RULE, NULL },
        { RULE, "deny_status: 403\nmax_connections: 5\n" RULE, NULL },
        { RULE, "listen: { http: 127.0.0.1:8080 }\n" RULE, NULL }, /* what it is anyway */
        { RULE, "listen: { http: 127.0.0.1:8081 }\n" RULE, "listen" },
        { RULE, "listen: { http: off }\n" RULE, "listen" },
        { "listen: { http: off }\n" RULE, RULE, "listen" },
        { RULE, "listen: { http: { address: 127.0.0.1:8080, proxy_protocol: true } }\n" RULE,
          "listen" },
        { RULE, "listen: { https: 127.0.0.1:8443 }\ntls: { certificate: c, key: k }\n" RULE,
          "listen" },
        { "listen: { https: 127.0.0.1:8443 }\ntls: { certificate: c, key: k }\n" RULE,
          "listen: { https: 127.0.0.1:8443 }\ntls: { certificate: d, key: l }\n" RULE, NULL },
        { RULE, "listen: { resp: 127.0.0.1:1 }\n" RULE, "listen" },
        { RULE, "listen: { grpc: 127.0.0.1:1 }\n" RULE, "listen" },
        { "listen: { resp: 127.0.0.1:1 }\n" RULE, "listen: { resp: 127.0.0.1:2 }\n" RULE,
          "listen" },
        { "listen: { resp: 127.0.0.1:1 }\n" RULE,
          "listen: { resp: { address: 127.0.0.1:1, proxy_protocol: true } }\n" RULE, "listen" },
        { "listen: { resp: 127.0.0.1:1 }\ntls: { certificate: c, key: k }\n" RULE,
          "listen: { resp: { address: 127.0.0.1:1, tls: true } }\n"
          "tls: { certificate: c, key: k }\n" RULE,
          "listen" },
        { "listen: { grpc: 127.0.0.1:1 }\ntls: { certificate: c, key: k }\n" RULE,
          "listen: { grpc: { address: 127.0.0.1:1, tls: true } }\n"
          "tls: { certificate: c, key: k }\n" RULE,
          "listen" },
        { RULE, "workers: 3\n" RULE, "workers" },
        { "workers: 3\n" RULE, "workers: 3\n" RULE, NULL },
        { RULE, "store: 'memory:?size=1M'\n" RULE, "store" },
        { "store: 'memory:?size=1M'\n" RULE, "store: 'memory:?size=1M'\n" RULE, NULL },
        { "store: 'memory:?size=1M'\n" RULE, "store: 'memory:?size=2M'\n" RULE, "store" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_ruleset *before = rules_of(rows[i].before), *after = rules_of(rows[i].after);
        const char *name = sl_startup_fixed_change(&before->settings, &after->settings);
        if (!name != !rows[i].name || (name && strcmp(name, rows[i].name) != 0))
            fail_msg("%s → %s: %s", rows[i].before, rows[i].after, name ? name : "nothing");
        sl_ruleset_free(before);
        sl_ruleset_free(after);
    }
}

/* ---- files ---- */

static struct rlimit kept;

/* A process may lower its limits, and root raise them again. */
static int lower_limits(void **unused)
{
    (void)unused;
    getrlimit(RLIMIT_NOFILE, &kept);
    struct rlimit lower = { .rlim_cur = 200, .rlim_max = kept.rlim_max };
    return setrlimit(RLIMIT_NOFILE, &lower);
}

static int restore_limits(void **unused)
{
    (void)unused;
    setrlimit(RLIMIT_NOFILE, &kept);
    return 0;
}

#define WITH_LOW_LIMITS(name) TEST_WITH(name, lower_limits, restore_limits)

WITH_LOW_LIMITS(as_many_files_as_may_be_are_asked_for)
{
    struct rlimit now;
    struct asked asked = { .settings = { .max_connections = 10 }, .says = true };
    assert_string_equal(said_by(ask_files, &asked), "");
    assert_true(asked.good);
    assert_int_equal(asked.settings.max_connections, 10);
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, now.rlim_max);
}

/* How many connections there may be with so many workers. */
static uint32_t most_connections(uint32_t workers)
{
    struct asked asked = { .settings = { .max_connections = UINT32_MAX, .workers = workers } };
    assert_string_equal(said_by(ask_files, &asked), ""); /* which it may not say */
    assert_false(asked.good);
    return asked.settings.max_connections;
}

WITH_LOW_LIMITS(no_more_connections_than_files_and_that_is_said_if_it_may_be)
{
    struct asked asked = { .settings = { .max_connections = UINT32_MAX, .workers = 1 },
                           .says = true };
    if (kept.rlim_max == RLIM_INFINITY || kept.rlim_max > UINT32_MAX || kept.rlim_max < 1024)
        skip(); /* there is no limit to find, or hardly room for anything */
    assert_non_null(strstr(said_by(ask_files, &asked), "note: `max_connections` is "));
    uint32_t most = most_connections(1);
    assert_int_equal(asked.settings.max_connections, most);
    assert_true(most + 64 <= kept.rlim_max);
    assert_true(most_connections(3) < most); /* workers have files of their own */
    asked = (struct asked){ .settings = { .max_connections = most, .workers = 1 } };
    ask_files(&asked);
    assert_true(asked.good);
    asked.settings.max_connections++;
    ask_files(&asked);
    assert_false(asked.good);
}
