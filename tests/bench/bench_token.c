/* What a token adds to a decision, in process.
 *
 *   bench-token FOLDER time            every side in turn; each a line of JSON beside no token
 *   bench-token FOLDER count SIDE N    N decisions of a side, prints nothing
 *   bench-token FOLDER kept FILE       tokens that a cache still has when their turn comes again
 *
 * tools/bench_jwt.py makes the folder: rules.yaml, `users`, and of every algorithm a file with
 * its name and a token in each line. A side, as `count` knows it, is one of
 *
 *   none           the user's name is given                          decide
 *   HS256 …        the same few tokens again and again       known → decide
 *   new-HS256 …    each token for the first time     known → check → decide
 *
 * What stands before `decide` is what the server does there (server/auth/caller.c), and the caller
 * is the same in all: sides differ only in how they get the user's name. Each has a verifier of its
 * own, or new tokens would drive out those that are to be known. When all tokens of a file have
 * been new once, the verifier is told to forget them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/token/token_cache.h"
#include "auth/token/verifier.h"
#include "base/clock.h"
#include "base/file.h"
#include "limiter/limiter.h"
#include "measure.h"
#include "rules/reading/jwt_algorithms.h"
#include "store/open.h"

enum { FEW = 16, FILE_MAX_BYTES = 64 << 20 };

static struct plan plan = { .rounds = 9, .span_ns = 30000000 };
static const char *folder;

/* ---- files ---- */

/* One in each line. */
struct lines {
    struct sluice_text *at;
    size_t count;
};

static struct sl_buffer read_file(const char *name)
{
    char path[4096];
    struct sl_buffer bytes = sl_buffer(FILE_MAX_BYTES);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int wrong = sl_file_read(path, &bytes);
    if (wrong)
        bench_fail("%s: %s", path, strerror(wrong));
    return bytes;
}

/* The bytes stay for as long as the program. */
static struct lines read_lines(const char *name)
{
    struct sl_buffer bytes = read_file(name);
    struct lines lines = { malloc(bytes.len * sizeof *lines.at), 0 };
    if (!lines.at)
        bench_fail("%s: empty, or no memory", name);
    const char *at = bytes.at, *end = at + bytes.len, *stop;
    for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
        lines.at[lines.count++] = (struct sluice_text){ at, (size_t)(stop - at) };
    if (lines.count < FEW)
        bench_fail("%s has fewer than %d lines", name, FEW);
    return lines;
}

static struct sl_ruleset *read_rules(void)
{
    char path[4096];
    struct sl_buffer yaml = read_file("rules.yaml");
    struct sl_report report = { .file = "rules.yaml" };
    snprintf(path, sizeof path, "%s/rules.yaml", folder);
    struct sl_ruleset *rules =
        sl_ruleset_parse(path, (struct sluice_text){ yaml.at, yaml.len }, &report);
    if (!rules) {
        sl_report_print(&report, stderr);
        exit(2);
    }
    sl_buffer_release(&yaml);
    return rules;
}

/* ---- deciding ---- */

/* What all sides share. */
struct server {
    struct sl_limiter *limiter;
    struct sl_keyset *keys;
    struct sl_sha256 *hasher;
};

static struct server server_open(void)
{
    struct sl_ruleset *rules = read_rules();
    struct server server = { .hasher = sl_sha256_new() };
    struct sl_store *store;
    struct sluice_error error = { 0 };
    if (sl_store_open(&rules->settings.store, rules, &store, &error) != SLUICE_OK)
        bench_fail("%s", error.text);
    server.limiter = sl_limiter_new(rules, store);
    server.keys = sl_keyset_load(&rules->settings.identity, &error);
    if (!server.keys)
        bench_fail("%s", error.text);
    if (!server.limiter || !server.hasher)
        bench_fail("no memory");
    return server;
}

struct asking {
    const struct server *server;
    struct sl_verifier *verifier; /* of a side without tokens: NULL */
    struct lines lines;
};

static volatile int64_t sink;

static void decide(const struct asking *asking, struct sluice_text user)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.resource = SL_TEXT("/api/videos");
    request.method = SL_TEXT("GET");
    request.user = user;
    int status = sl_limiter_decide(asking->server->limiter, &request, &decision);
    if (status != SLUICE_OK || !decision.allowed)
        bench_fail("a decision failed, or is a no: %d", status);
    sink = decision.remaining;
}

static uint64_t run_none(const struct side *side, uint64_t at, uint64_t count)
{
    const struct asking *asking = side->context;
    for (; count; count--, at = key_next(side->keys, at))
        decide(asking, asking->lines.at[at]);
    return at;
}

static uint64_t run_known(const struct side *side, uint64_t at, uint64_t count)
{
    const struct asking *asking = side->context;
    struct sl_token token;
    for (; count; count--, at = key_next(side->keys, at)) {
        if (!sl_verifier_known(asking->verifier, asking->lines.at[at], sl_walltime_us(), &token))
            bench_fail("%s: a token is not known any more", side->name);
        decide(asking, token.values[0]);
    }
    return at;
}

static void check(const struct asking *asking, struct sluice_text text, int64_t now_us,
                  struct sl_token *token)
{
    const char *why;
    if (!sl_verifier_check(asking->verifier, text, now_us, token, &why))
        bench_fail("a token is refused: %s", why);
}

static uint64_t run_new(const struct side *side, uint64_t at, uint64_t count)
{
    const struct asking *asking = side->context;
    struct sl_token token;
    for (; count; count--, at = key_next(side->keys, at)) {
        if (at == 0)
            sl_verifier_use(asking->verifier, asking->server->keys);
        int64_t now_us = sl_walltime_us();
        if (sl_verifier_known(asking->verifier, asking->lines.at[at], now_us, &token))
            bench_fail("%s: a token was there before", side->name);
        check(asking, asking->lines.at[at], now_us, &token);
        decide(asking, token.values[0]);
    }
    return at;
}

/* ---- sides ---- */

/* Name for `count`, printed name, file and what it does. */
static const struct kind {
    const char *name, *title, *file;
    uint64_t (*run)(const struct side *side, uint64_t at, uint64_t count);
} kinds[] = { { "none", "no token", "users", run_none },
#define BOTH(name, is_secret)                                                                      \
    { #name, #name ", cached", #name, run_known },                                                 \
        { "new-" #name, #name ", not cached", #name, run_new },
              SL_JWT_ALGORITHMS(BOTH)
#undef BOTH
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static struct asking asking_of(const struct kind *kind, const struct server *server)
{
    struct asking asking = { .server = server, .lines = read_lines(kind->file) };
    struct sl_token token;
    if (kind->run != run_new)
        asking.lines.count = FEW;
    if (kind->run == run_none)
        return asking;
    asking.verifier = sl_verifier_new(server->hasher);
    if (!asking.verifier)
        bench_fail("no memory");
    sl_verifier_use(asking.verifier, server->keys);
    for (size_t i = 0; kind->run == run_known && i < FEW; i++)
        check(&asking, asking.lines.at[i], sl_walltime_us(), &token);
    return asking;
}

/* Of the keys only how many there are is wanted. */
static struct side side_of(const struct kind *kind, const struct asking *asking, struct keys *keys)
{
    *keys = (struct keys){ .count = asking->lines.count };
    return (struct side){ .name = kind->title, .run = kind->run, .context = asking, .keys = keys };
}

static void run_time(void)
{
    static struct side sides[KINDS];
    static struct asking asking[KINDS];
    static struct keys keys[KINDS];
    struct server server = server_open();
    for (size_t i = 0; i < KINDS; i++) {
        asking[i] = asking_of(&kinds[i], &server);
        sides[i] = side_of(&kinds[i], &asking[i], &keys[i]);
    }
    measure(sides, KINDS, plan);
    for (size_t i = 0; i < KINDS; i++)
        print_row(kinds[i].name, &sides[i], &sides[0], plan, false);
}

static void run_count(const char *name, uint64_t count)
{
    struct server server = server_open();
    struct keys keys;
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        struct asking asking = asking_of(&kinds[i], &server);
        struct side side = side_of(&kinds[i], &asking, &keys);
        side.run(&side, 0, count);
        return;
    }
    bench_fail("no side `%s`", name);
}

/* Is the file too long for the cache, as one hopes? */
static void run_kept(const char *name)
{
    struct lines lines = read_lines(name);
    struct sl_token_cache *cache = sl_token_cache_new();
    struct sl_sha256 *hasher = sl_sha256_new();
    struct sl_claims claims = { .span = { 0, INT64_MAX } };
    size_t kept = 0;
    if (!cache || !hasher)
        bench_fail("no memory");
    for (size_t i = 0; i < 2 * lines.count; i++) {
        struct sl_digest digest;
        struct sl_token token;
        sl_sha256_of(hasher, lines.at[i % lines.count], &digest);
        if (sl_token_cache_get(cache, &digest, 0, &token))
            kept++;
        else
            sl_token_cache_put(cache, &digest, &claims);
    }
    printf("%zu\n", kept);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    folder = argc > 1 ? argv[1] : "";
    pin_to(0);
    if (strcmp(what, "time") == 0)
        run_time();
    else if (strcmp(what, "count") == 0 && argc > 4)
        run_count(argv[3], strtoull(argv[4], NULL, 10));
    else if (strcmp(what, "kept") == 0 && argc > 3)
        run_kept(argv[3]);
    else
        bench_fail("usage: bench-token FOLDER time | count SIDE N | kept FILE");
    return 0;
}
