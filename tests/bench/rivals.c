/* Both keep a bucket as the moment when it will be full again (as Sluice does), read
 * the clock for each decision before they take the lock, and hold it for no more
 * than they must: the hash is made outside.
 *
 * Keys are put in in another order than they are asked for later. Else the
 * nodes of the chained map would lie in the order of the questions, and the
 * processor would fetch them in advance, as it never could in real life. */
#include "rivals.h"

#include <pthread.h>
#include <stdlib.h>

#include "bare.h"
#include "base/hash.h"
#include "base/text/number.h"

static const int64_t token_ns = INT64_C(51840000000); /* 100,000 in 60 days */
static const int64_t span_ns = INT64_C(100000) * 51840000000;

struct verdict {
    bool allowed;
    int64_t remaining;
    int64_t retry_after_ns;
};

static struct verdict spend(int64_t *full_at_ns, int64_t now_ns)
{
    int64_t debt_ns = *full_at_ns > now_ns ? *full_at_ns - now_ns : 0;
    if (debt_ns + token_ns > span_ns)
        return (struct verdict){ false, 0, debt_ns + token_ns - span_ns };
    *full_at_ns = now_ns + debt_ns + token_ns;
    return (struct verdict){ true, (span_ns - debt_ns - token_ns) / token_ns, 0 };
}

static volatile int64_t sink;

static void sink_verdict(struct verdict verdict)
{
    sink = verdict.allowed + verdict.remaining + verdict.retry_after_ns;
}

/* A step that visits all of them, out of order. */
static uint64_t stride_over(uint64_t count)
{
    uint64_t stride = (uint64_t)((double)count * 0.6180339887) | 1;
    while (sl_gcd_u128(stride, count) != 1)
        stride += 2;
    return stride;
}

/* ---- the chained map ---- */

struct node {
    struct node *next;
    uint64_t hash;
    int64_t full_at_ns;
    uint8_t len;
    char key[39];
};

_Static_assert(sizeof(struct node) == 64, "a node is a line");

struct chained {
    pthread_mutex_t mutex;
    struct node **buckets;
    uint64_t mask;
    struct node *free;
    struct node *end;
};

/* Under the mutex. NULL: no node is left. */
static struct node *chained_find(struct chained *map, struct sluice_text key, uint64_t hash)
{
    struct node **bucket = &map->buckets[hash & map->mask];
    for (struct node *node = *bucket; node; node = node->next)
        if (node->hash == hash && node->len == key.len && !memcmp(node->key, key.at, key.len))
            return node;
    if (map->free == map->end)
        return NULL;
    struct node *node = map->free++;
    *node = (struct node){ .next = *bucket, .hash = hash, .len = (uint8_t)key.len };
    memcpy(node->key, key.at, key.len);
    *bucket = node;
    return node;
}

static struct verdict chained_decide(struct chained *map, struct sluice_text key)
{
    struct verdict verdict = { 0 };
    uint64_t hash = sl_hash64(key, 7);
    int64_t now_ns = boot_ns();
    pthread_mutex_lock(&map->mutex);
    struct node *node = chained_find(map, key, hash);
    if (node)
        verdict = spend(&node->full_at_ns, now_ns);
    pthread_mutex_unlock(&map->mutex);
    return verdict;
}

struct chained *chained_new(const struct keys *keys)
{
    struct chained *map = calloc(1, sizeof *map);
    uint64_t buckets = 1;
    while (buckets < keys->count)
        buckets *= 2;
    struct node *nodes = aligned_alloc(64, keys->count * sizeof *nodes);
    if (!map || !nodes || !(map->buckets = calloc(buckets, sizeof *map->buckets)))
        bench_fail("no memory for the chained map");
    map->mask = buckets - 1;
    map->free = nodes;
    map->end = nodes + keys->count;
    pthread_mutex_init(&map->mutex, NULL);
    uint64_t stride = stride_over(keys->count);
    for (uint64_t i = 0; i < keys->count; i++)
        sink_verdict(chained_decide(map, key_at(keys, i * stride % keys->count)));
    return map;
}

uint64_t chained_run(const struct side *side, uint64_t at, uint64_t count)
{
    struct chained *map = (struct chained *)(uintptr_t)side->context;
    for (; count; count--, at = key_next(side->keys, at))
        sink_verdict(chained_decide(map, key_at(side->keys, at)));
    return at;
}

/* ---- Sluice's layout, under a lock ---- */

enum { LINE_SLOTS = 4, WINDOW = 32 };

struct slot {
    uint64_t fingerprint; /* 0: empty */
    int64_t full_at_ns;
};

struct plain {
    pthread_mutex_t mutex;
    struct slot *slots;
    uint64_t line_count;
};

static struct slot *plain_find(struct plain *table, struct sl_hash128 hash)
{
    uint64_t line = (uint64_t)((sl_u128)hash.low * table->line_count >> 64);
    uint64_t fingerprint = hash.high | 1;
    struct slot *slot = table->slots + line * LINE_SLOTS;
    for (int i = 0; i < WINDOW; i++, slot++) {
        if (slot->fingerprint == fingerprint)
            return slot;
        if (slot->fingerprint == 0) {
            slot->fingerprint = fingerprint;
            return slot;
        }
    }
    return NULL;
}

static struct verdict plain_decide(struct plain *table, struct sluice_text key)
{
    struct verdict verdict = { 0 };
    struct sl_hash128 hash = sl_hash128(key, 7);
    int64_t now_ns = boot_ns();
    pthread_mutex_lock(&table->mutex);
    struct slot *slot = plain_find(table, hash);
    if (slot)
        verdict = spend(&slot->full_at_ns, now_ns);
    pthread_mutex_unlock(&table->mutex);
    return verdict;
}

struct plain *plain_new(const struct keys *keys)
{
    struct plain *table = calloc(1, sizeof *table);
    uint64_t lines = keys->count * 2 / LINE_SLOTS, bytes = (lines + WINDOW) * 64;
    if (!table || !(table->slots = aligned_alloc(64, bytes)))
        bench_fail("no memory for the plain table");
    memset(table->slots, 0, bytes);
    table->line_count = lines;
    pthread_mutex_init(&table->mutex, NULL);
    for (uint64_t i = 0; i < keys->count; i++)
        sink_verdict(plain_decide(table, key_at(keys, i)));
    return table;
}

uint64_t plain_run(const struct side *side, uint64_t at, uint64_t count)
{
    struct plain *table = (struct plain *)(uintptr_t)side->context;
    for (; count; count--, at = key_next(side->keys, at))
        sink_verdict(plain_decide(table, key_at(side->keys, at)));
    return at;
}
