/* Tables, subjects and asking them. */
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algo/bucket.h"
#include "stress/stress.h"

#define DAY_US INT64_C(86400000000)

/* ---- tables -------------------------------------------------------------------- */

static struct sl_store *open_or_exit(const struct sl_memory_config *config)
{
    struct sluice_error error = { "" };
    struct sl_store *store = sl_memory_open(config, &error);
    if (!store) {
        fprintf(stderr, "no table: %s\n", error.text);
        exit(2);
    }
    return store;
}

/* What runs that were killed have left. */
static void sweep(const char *folder)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/sluice-stress-*", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int pid = atoi(strstr(found.gl_pathv[i], "stress-") + strlen("stress-"));
        if (pid > 0 && kill(pid, 0) != 0)
            unlink(found.gl_pathv[i]);
    }
    globfree(&found);
}

void table_open(struct table *table, uint64_t size_bytes, uint64_t log_bytes, bool in_file)
{
    static unsigned number;
    *table = (struct table){
        .config = { .size_bytes = size_bytes, .log_bytes = log_bytes, .sync_us = SL_SYNC_OFF },
    };
    if (in_file) {
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        if (number == 0)
            sweep(folder);
        snprintf(table->path, sizeof table->path, "%s/sluice-stress-%d-%u", folder, (int)getpid(),
                 number++);
        unlink(table->path);
    }
    table->config.path = in_file ? table->path : NULL;
    table->store = open_or_exit(&table->config);
}

void table_close(struct table *table)
{
    sl_store_close(table->store);
    if (table->path[0])
        unlink(table->path);
}

struct sl_store *table_join(const struct table *table, bool anew)
{
    if (!anew || !table->path[0])
        return table->store;
    struct sl_memory_config config = table->config;
    config.path = table->path;
    return open_or_exit(&config);
}

int64_t table_now_us(struct sl_store *store)
{
    struct sl_bundle nothing = bundle_of(NULL, 0, 0, -1);
    ask(store, &nothing);
    return nothing.now_us;
}

struct sluice_stats table_stats(struct sl_store *store)
{
    struct sluice_stats stats = { .size_bytes = 0 };
    store->ops->measure(store, &stats);
    return stats;
}

/* ---- subjects ------------------------------------------------------------------ */

static void add_subject(struct subject *subjects, size_t *count, struct subject subject,
                        const char *suffix)
{
    snprintf(subject.name, sizeof subject.name, "%s%s", subject.algo->name, suffix);
    subjects[(*count)++] = subject;
}

size_t subjects_list(struct subject *subjects)
{
    size_t count = 0;
    for (size_t i = 0; sl_algos[i]; i++) {
        struct subject plain = { .algo = sl_algos[i], .capacity = 40 };
        if (plain.algo->keeps_ring) {
            plain.capacity = 5;
            add_subject(subjects, &count, plain, " of 5");
            plain.capacity = 1000;
            add_subject(subjects, &count, plain, " of 1000");
            continue;
        }
        add_subject(subjects, &count, plain, "");
        struct subject first = plain;
        first.first_request = true;
        if (plain.algo->takes_align)
            add_subject(subjects, &count, first, " first_request");
        if (plain.algo->is_bucket)
            continue;
        plain.passes_time = true; /* the counter writes these windows differently */
        plain.window_us = 1000000;
        add_subject(subjects, &count, plain, " 1s");
        plain.window_us = 1000;
        add_subject(subjects, &count, plain, " 1ms");
    }
    return count;
}

/* One that does not end within a day. */
static int64_t long_window_us(int64_t now_us)
{
    int64_t window_us = SL_WINDOW_MAX_US;
    while (now_us % window_us > window_us - DAY_US)
        window_us -= 50 * DAY_US;
    return window_us;
}

struct sl_claim claim_on(const struct subject *subject, struct sl_hash128 key, int64_t capacity,
                         int64_t now_us)
{
    struct sl_claim claim = { .algo = subject->algo, .key = key };
    claim.limit.capacity = capacity;
    claim.limit.first_request = subject->first_request;
    if (subject->algo->is_bucket) {
        claim.limit.token_ns = SL_SPAN_MAX_NS / (4 * subject->capacity);
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = subject->window_us ? subject->window_us : long_window_us(now_us);
    }
    if (subject->algo->keeps_ring)
        claim.ring_len = (uint32_t)capacity;
    return claim;
}

struct sl_hash128 key_of(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t parts[] = { a, b, c };
    return sl_hash128((struct sluice_text){ (const char *)parts, sizeof parts }, options.seed);
}

/* ---- asking -------------------------------------------------------------------- */

struct sl_bundle bundle_of(struct sl_claim *claims, size_t count, uint32_t cost, int64_t now_us)
{
    return (struct sl_bundle){
        .now_us = now_us, .cost = cost, .max_delay_us = -1, .claims = claims, .claim_count = count
    };
}

bool ask(struct sl_store *store, struct sl_bundle *bundle)
{
    int status = sl_store_decide(store, bundle);
    if (status != SLUICE_OK)
        complain("a decision failed with status %d", status);
    return status == SLUICE_OK && bundle->allowed;
}

bool ask_once(struct sl_store *store, struct sl_claim *claim, struct sl_bundle *bundle)
{
    struct sl_fast_path once = {
        .algo = claim->algo, .limit = &claim->limit, .key = claim->key, .cost = bundle->cost
    };
    if (!store->ops->once || bundle->now_us >= 0)
        return false;
    store->ops->once(store, &once, 1);
    if (!once.done)
        return false;
    bundle->now_us = once.now_us;
    bundle->status = SLUICE_OK;
    claim->allowed = claim->charged = bundle->allowed = once.taken.answer.allowed;
    return true;
}

int64_t counted(struct sl_store *store, struct sl_claim claim, int64_t now_us)
{
    struct sl_bundle bundle = bundle_of(&claim, 1, 0, now_us);
    bundle.peek = true;
    ask(store, &bundle);
    int64_t left = claim.figures.remaining;
    if (left < 0 || left > claim.limit.capacity)
        complain("%" PRId64 " of %" PRId64 " remain", left, claim.limit.capacity);
    return claim.limit.capacity - left;
}

int64_t drain(struct sl_store *store, struct sl_claim claim, int64_t now_us, int64_t most)
{
    int64_t taken = 0;
    struct sl_bundle bundle = bundle_of(&claim, 1, 1, now_us);
    while (taken < most && ask(store, &bundle)) {
        taken++;
        bundle.now_us = now_us;
    }
    return taken;
}
