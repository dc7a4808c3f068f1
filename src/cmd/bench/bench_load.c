/* The loads of `sluice bench`, their tables and their keys.
 *
 * Keys are written to memory before anything is measured, one after the other, and
 * walked in that order: the hash scatters them over the table, so each is far from
 * the last, and reading the key itself stays cheap. A lap touches every key once,
 * which is the worst order for a cache.
 *
 * A limit that all decisions should pass allows 100 million a second. With many
 * keys, a charge lasts for a minute and more: a state that is fresh again after a
 * lap would be a free slot, and the row would measure insertions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/bench/bench.h"

#define MILLION INT64_C(1000000)
#define MONTHS  (60 * 86400 * MILLION)

static const char rules_text[] = "rules:\n"
                                 "  - name: global\n"
                                 "    per: global\n"
                                 "    algorithm: fixed_window\n"
                                 "    capacity: 1000000000\n"
                                 "    window: 10s\n"
                                 "  - name: per-ip\n"
                                 "    per: ip\n"
                                 "    algorithm: sliding_window_counter\n"
                                 "    limit: 1000000/m\n"
                                 "  - name: per-user\n"
                                 "    per: user\n"
                                 "    algorithm: token_bucket\n"
                                 "    capacity: 100000\n"
                                 "    refill_rate: 1000\n"
                                 "    burst_guard: { window: 10s, threshold: 1000000, "
                                 "penalty: 1m }\n"
                                 "  - name: login\n"
                                 "    resource: /login\n"
                                 "    when: { method: POST }\n"
                                 "    per: [user, ip]\n"
                                 "    algorithm: sliding_window_log\n"
                                 "    limit: 5/15m\n"
                                 "  - name: search\n"
                                 "    resource: /api/search\n"
                                 "    per: user\n"
                                 "    algorithm: leaky_bucket\n"
                                 "    capacity: 1000\n"
                                 "    refill_rate: 100\n";

const struct sl_bench_load sl_bench_loads[] = {
    { "hot", "one hot key, token bucket", "token_bucket", NULL, MILLION, 10000, 1, 0, true },
    { "hot-leaky", "one hot key, leaky bucket", "leaky_bucket", NULL, MILLION, 10000, 1, 0, false },
    { "hot-fixed", "one hot key, fixed window", "fixed_window", NULL, MILLION, 10000, 1, 0, false },
    { "hot-counter", "one hot key, sliding window counter", "sliding_window_counter", NULL, MILLION,
      10000, 1, 0, false },
    { "hot-log", "one hot key, sliding window log", "sliding_window_log", NULL, 100000, 1000, 1,
      UINT64_C(48) << 20, false },
    { "denied", "one hot key, everything denied", "token_bucket", NULL, 1, 3600 * MILLION, 1, 0,
      true },
    { "rules", "five rules in layers", NULL, rules_text, 0, 0, 100000, UINT64_C(32) << 20, true },
    { "keys-1m", "many keys, token bucket", "token_bucket", NULL, 100000, MONTHS, 1000000, 0,
      true },
    { "keys-10m", "many keys, token bucket", "token_bucket", NULL, 100000, MONTHS, 10000000, 0,
      true },
    { 0 },
};

const struct sl_bench_load sl_bench_keys = {
    "keys", "many keys, token bucket", "token_bucket", NULL, 100000, MONTHS, 1000000, 0, true,
};

/* ---- memory ---- */

enum { RULE_KEYS = 5, REQUEST_BYTES = 48 };

/* Half the slots for keys that live, a 256th of it for reservations. */
uint64_t sl_bench_table_bytes(const struct sl_bench_load *load, uint64_t keys)
{
    uint64_t slots_bytes = keys * (load->rules ? RULE_KEYS : 1) * 32;
    uint64_t bytes = slots_bytes + slots_bytes / 128 + load->log_bytes + (UINT64_C(1) << 16);
    return bytes < UINT64_C(64) << 20 ? UINT64_C(64) << 20 : bytes;
}

uint64_t sl_bench_key_bytes(const struct sl_bench_load *load, uint64_t keys)
{
    return keys * (load->rules ? sizeof(struct sluice_request) + REQUEST_BYTES
                               : (uint64_t)SL_BENCH_KEY_BYTES);
}

/* ---- keys ---- */

/* "tenant-3/user:00012345", 22 bytes and a zero. */
static bool make_keys(struct sl_bench *bench)
{
    bench->key_bytes = malloc(bench->keys * SL_BENCH_KEY_BYTES);
    for (uint64_t i = 0; bench->key_bytes && i < bench->keys; i++)
        snprintf(bench->key_bytes + i * SL_BENCH_KEY_BYTES, SL_BENCH_KEY_BYTES,
                 "tenant-%u/user:%08u", (unsigned)(i % 10), (unsigned)i % 100000000);
    return bench->key_bytes;
}

/* A request for each user; four users share an address, one in ten logs in. */
static bool make_requests(struct sl_bench *bench)
{
    bench->requests = malloc(bench->keys * sizeof *bench->requests);
    bench->request_bytes = malloc(bench->keys * REQUEST_BYTES);
    if (!bench->requests || !bench->request_bytes)
        return false;
    for (uint64_t i = 0; i < bench->keys; i++) {
        char *user = bench->request_bytes + i * REQUEST_BYTES, *ip = user + 24;
        unsigned address = (unsigned)(i / 4);
        snprintf(user, 24, "user-%08u", (unsigned)i);
        snprintf(ip, 24, "10.%u.%u.%u", address >> 16 & 255, address >> 8 & 255, address & 255);
        struct sluice_request request = sluice_request();
        bool login = i % 10 == 0;
        request.resource = sluice_text(login        ? "/login"
                                       : i % 10 < 4 ? "/api/search"
                                                    : "/api/videos/list");
        request.method = sluice_text(login ? "POST" : "GET");
        request.user = sluice_text(user);
        request.ip = sluice_text(ip);
        bench->requests[i] = request;
    }
    return true;
}

/* ---- opening ---- */

static int open_table(struct sl_bench *bench, struct sluice_error *error)
{
    char url[128];
    snprintf(url, sizeof url, "memory:?size=%" PRIu64 "&log=%" PRIu64,
             sl_bench_table_bytes(bench->load, bench->keys), bench->load->log_bytes);
    return sluice_open(url, &bench->store, error);
}

static int open_limit(struct sl_bench *bench, struct sluice_error *error)
{
    const struct sl_bench_load *load = bench->load;
    if (load->rules)
        return sluice_limiter_parse(bench->store, "bench", sluice_text(load->rules),
                                    &bench->limiter, error);
    struct sluice_limit_config config = {
        .name = load->name,
        .algorithm = load->algorithm,
        .capacity = load->capacity,
        .window_us = load->window_us,
    };
    return sluice_limit_new(bench->store, &config, &bench->limit, error);
}

/* Decides once for every key, so that the rows find them in the table. */
static int fill_table(struct sl_bench *bench)
{
    struct sluice_decision decision;
    int status = SLUICE_OK;
    for (uint64_t i = 0; i < bench->keys && status == SLUICE_OK; i++) {
        struct sluice_text key = { bench->key_bytes + i * SL_BENCH_KEY_BYTES,
                                   SL_BENCH_KEY_BYTES - 2 };
        status = bench->limiter ? sluice_decide(bench->limiter, &bench->requests[i], &decision)
                                : sluice_limit_decide(bench->limit, key, 1, &decision);
    }
    return status;
}

bool sl_bench_open(struct sl_bench *bench, const struct sl_bench_load *load, uint64_t keys,
                   struct sluice_store *store, struct sluice_error *error)
{
    *bench = (struct sl_bench){ .load = load, .keys = keys, .store = store };
    if (!store && open_table(bench, error) != SLUICE_OK)
        return false;
    if (open_limit(bench, error) != SLUICE_OK)
        return false;
    struct sluice_stats stats = { 0 };
    sluice_store_stats(bench->store, &stats);
    bench->table_bytes = stats.size_bytes;
    int status = SLUICE_NO_MEMORY;
    if (load->rules ? make_requests(bench) : make_keys(bench))
        status = fill_table(bench);
    if (status != SLUICE_OK)
        snprintf(error->text, sizeof error->text, "filling the table: %s",
                 sluice_status_text(status));
    return status == SLUICE_OK;
}

void sl_bench_release(struct sl_bench *bench, bool close_store)
{
    if (bench->limit)
        sluice_limit_free(bench->limit);
    if (bench->limiter)
        sluice_limiter_close(bench->limiter);
    if (bench->store && close_store)
        sluice_close(bench->store);
    free(bench->key_bytes);
    free(bench->requests);
    free(bench->request_bytes);
}
