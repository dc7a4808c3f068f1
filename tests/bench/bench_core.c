/* What a decision costs without a store, and what matching costs with many
 * rules. One number per line: `name value unit`.
 *
 *   bench-core decide ALGORITHM ROUNDS    nanoseconds per decide + charge + figures
 *   bench-core deny ALGORITHM ROUNDS      nanoseconds per denial
 *   bench-core base NAME ROUNDS           clock | hash | call: what to hold it against
 *   bench-core match RULES ROUNDS HOT     nanoseconds per match, HOT distinct paths
 *   bench-core check RULES ROUNDS HOT     nanoseconds per whole decision on a private store
 *
 * tools/bench repeats, takes medians and counts instructions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo/bucket.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"
#include "limiter/limiter.h"
#include "rules/index.h"

static volatile uint64_t sink;

static const struct sl_algo *algo_named(const char *name)
{
    for (size_t i = 0; sl_algos[i]; i++)
        if (strcmp(sl_algos[i]->name, name) == 0)
            return sl_algos[i];
    fprintf(stderr, "no algorithm `%s`\n", name);
    exit(2);
}

static struct sl_limit limit_for(const struct sl_algo *algo, int64_t capacity)
{
    struct sl_limit limit = { .capacity = capacity, .window_us = algo->is_bucket ? 0 : 1000000 };
    if (algo->is_bucket) {
        limit.token_ns = 10000000;
        limit.token_form = sl_token_short(limit.token_ns);
    }
    return limit;
}

/* Requests 11 ms apart under 100 a second: all pass. */
static int64_t time_decide(const struct sl_algo *algo, uint64_t rounds)
{
    static uint64_t ring[100];
    struct sl_limit limit = limit_for(algo, 100);
    struct sl_state state = { .ring = ring, .ring_len = 100 };
    struct sl_ask ask = { .now_us = 1700000000000000, .cost = 1 };
    int64_t started_ns = sl_monotonic_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        ask.now_us += 11000;
        struct sl_answer answer = algo->decide(&limit, &state, ask);
        if (answer.allowed)
            algo->charge(&limit, &state, ask);
        sink += (uint64_t)algo->figures(&limit, &state, ask.now_us).remaining;
    }
    return sl_monotonic_ns() - started_ns;
}

static int64_t time_deny(const struct sl_algo *algo, uint64_t rounds)
{
    static uint64_t ring[1];
    struct sl_limit limit = limit_for(algo, 1);
    struct sl_state state = { .ring = ring, .ring_len = 1 };
    struct sl_ask ask = { .now_us = 1700000000000000, .cost = 1 };
    algo->charge(&limit, &state, ask);
    int64_t started_ns = sl_monotonic_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        ask.now_us += (int64_t)(i & 1);
        if (ask.now_us > 1700000000009000)
            ask.now_us = 1700000000000000;
        struct sl_answer answer = algo->decide(&limit, &state, ask);
        sink += (uint64_t)answer.retry_after_us;
        sink += (uint64_t)algo->figures(&limit, &state, ask.now_us).remaining;
    }
    return sl_monotonic_ns() - started_ns;
}

static int64_t time_base(const char *name, uint64_t rounds)
{
    struct sl_clock clock;
    char key[40] = "0123456789012345678901234567890123456789";
    sl_clock_open(&clock);
    int64_t started_ns = sl_monotonic_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        if (strcmp(name, "clock") == 0) {
            sink += (uint64_t)sl_clock_now_us(&clock);
        } else {
            memcpy(key, &i, sizeof i);
            sink += sl_hash128((struct sluice_text){ key, sizeof key }, 7).low;
        }
    }
    return sl_monotonic_ns() - started_ns;
}

/* Rules as in common use: exact paths, prefixes, one-segment wildcards. */
static struct sl_ruleset *many_rules(unsigned count)
{
    static const char *const shapes[] = { "/service%u/items", "/service%u/v1/*",
                                          "/service%u/*/logs" };
    struct sl_buffer yaml = sl_buffer(SIZE_MAX);
    struct sl_report report = { .file = "bench" };
    sl_buffer_add(&yaml, SL_TEXT("rules:\n"));
    for (unsigned i = 0; i < count; i++) {
        char path[64], rule[256];
        snprintf(path, sizeof path, shapes[i % 3], i / 3); /* NOLINT: our own formats */
        int len =
            snprintf(rule, sizeof rule,
                     "  - { name: r%u, resource: %s, per: user, limit: 1000000/m }\n", i, path);
        sl_buffer_add(&yaml, (struct sluice_text){ rule, (size_t)len });
    }
    struct sl_ruleset *rules =
        sl_ruleset_parse("bench", (struct sluice_text){ yaml.at, yaml.len }, &report);
    if (!rules) {
        sl_report_print(&report, stderr);
        exit(2);
    }
    sl_report_release(&report);
    sl_buffer_release(&yaml);
    return rules;
}

enum { PATHS_MAX = 4096 };

/* `hot` paths spread over all services, each matched by one rule. */
static char (*make_paths(unsigned rules, unsigned hot))[64]
{
    static char paths[PATHS_MAX][64];
    static const char *const shapes[] = { "/service%u/items", "/service%u/v1/things",
                                          "/service%u/abc/logs" };
    unsigned services = rules / 3 ? rules / 3 : 1;
    for (unsigned i = 0; i < hot; i++)
        snprintf(paths[i], sizeof paths[i], shapes[i % 3], /* NOLINT: our own formats */
                 (unsigned)((uint64_t)i * 2654435761u % services));
    return paths;
}

static int64_t time_match(unsigned rule_count, uint64_t rounds, unsigned hot)
{
    struct sl_ruleset *rules = many_rules(rule_count);
    char(*paths)[64] = make_paths(rule_count, hot);
    const struct sl_rule **matched = calloc(rule_count, sizeof *matched);
    struct sluice_request request = sluice_request();
    int64_t started_ns = sl_monotonic_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        request.resource = sl_text(paths[i % hot]);
        sink += sl_index_match(rules, &request, matched);
    }
    int64_t took_ns = sl_monotonic_ns() - started_ns;
    free(matched);
    sl_ruleset_free(rules);
    return took_ns;
}

static int64_t time_check(unsigned rule_count, uint64_t rounds, unsigned hot)
{
    struct sl_ruleset *rules = many_rules(rule_count);
    char(*paths)[64] = make_paths(rule_count, hot);
    struct sl_store *store = sl_heap_open();
    struct sl_limiter *limiter = sl_limiter_new(rules, store);
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = SL_TEXT("user-0001");
    int64_t started_ns = sl_monotonic_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        request.resource = sl_text(paths[i % hot]);
        sl_limiter_decide(limiter, &request, &decision);
        sink += (uint64_t)decision.remaining;
    }
    int64_t took_ns = sl_monotonic_ns() - started_ns;
    sl_limiter_free(limiter);
    sl_store_close(store);
    sl_ruleset_free(rules);
    return took_ns;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench-core decide|deny|base|match|check WHAT ROUNDS [HOT]\n");
        return 2;
    }
    const char *what = argv[1];
    uint64_t rounds = strtoull(argv[3], NULL, 10);
    unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    unsigned hot = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 64;
    hot = hot > PATHS_MAX ? PATHS_MAX : hot;
    int64_t took_ns = strcmp(what, "decide") == 0  ? time_decide(algo_named(argv[2]), rounds)
                      : strcmp(what, "deny") == 0  ? time_deny(algo_named(argv[2]), rounds)
                      : strcmp(what, "match") == 0 ? time_match(count, rounds, hot)
                      : strcmp(what, "check") == 0 ? time_check(count, rounds, hot)
                                                   : time_base(argv[2], rounds);
    printf("%.3f\n", (double)took_ns / (double)rounds);
    return 0;
}
