/* The bounds of the algorithms, held against a ledger. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "algo/bucket.h"
#include "stress/ledger.h"

/* Sizes: the smallest there is fills with short-lived states within the first
 * tenth of a second, so that every insertion from then on takes the slot of a
 * state that has just expired. */
const struct variant ledger_variants[] = {
    { "with room", UINT64_C(64) << 20, UINT64_C(24) << 20, 2000, 3000, 40, 2, false },
    { "reused slots", UINT64_C(1) << 20, UINT64_C(512) << 10, 1000, 500, 12, 2, false },
    { "crowded", UINT64_C(64) << 10, UINT64_C(16) << 10, 20000000, 500, 2000, 2, true },
    { NULL, 0, 0, 0, 0, 0, 0, false },
};

struct sl_claim ledger_claim(const struct variant *variant, uint32_t key)
{
    static const int64_t capacities[] = { 1, 3, 5, 9 };
    size_t algos = 0;
    while (sl_algos[algos])
        algos++;
    struct sl_claim claim = { .algo = sl_algos[key % algos], .key = key_of(key, 0, 0) };
    claim.limit.capacity = capacities[key / algos % 4];
    int64_t span_us = variant->window_us << key / algos / 4 % 3;
    if (claim.algo->is_bucket) {
        claim.limit.token_ns = span_us * 1000 / claim.limit.capacity;
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = span_us;
    }
    if (claim.algo->keeps_ring)
        claim.ring_len = (uint32_t)claim.limit.capacity;
    return claim;
}

/* Admissions that took longer than a tenth of the window are left out: that breaks no bound. */
static bool is_slow(const struct sl_claim *claim, const struct entry *entry)
{
    int64_t span_us = claim->limit.window_us;
    if (claim->algo->is_bucket)
        span_us = claim->limit.capacity * claim->limit.token_ns / 1000;
    return entry->after_us - entry->decided_us > span_us / 10;
}

static int64_t end_of(const struct entry *entries, size_t i, int64_t end_us)
{
    return entries[i].after_us > end_us ? entries[i].after_us : end_us;
}

/* Above the limit, in what lies within one aligned window. */
static int64_t over_aligned(const struct sl_claim *claim, const struct entry *entries, size_t count,
                            size_t *worst)
{
    int64_t window_us = claim->limit.window_us, over = 0;
    for (size_t i = 0, j; i < count; i = j) {
        int64_t window = entries[i].decided_us / window_us, sum = 0;
        for (j = i; j < count && entries[j].decided_us / window_us == window; j++)
            if (entries[j].after_us / window_us == window)
                sum += entries[j].cost;
        if (sum > claim->limit.capacity) {
            over += sum - claim->limit.capacity;
            *worst = i;
        }
    }
    return over;
}

/* Above the limit in any window: the worst one. */
static int64_t over_sliding(const struct sl_claim *claim, const struct entry *entries, size_t count,
                            size_t *worst)
{
    int64_t over = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t until_us = entries[i].decided_us + claim->limit.window_us, sum = 0;
        for (size_t j = i; j < count && entries[j].decided_us < until_us; j++)
            if (entries[j].after_us < until_us)
                sum += entries[j].cost;
        if (sum - claim->limit.capacity > over) {
            over = sum - claim->limit.capacity;
            *worst = i;
        }
    }
    return over;
}

/* Above capacity and refill, in any interval: in units, rounded up. The units up to
 * entry j, less what time allows up to its end, may exceed the least such
 * difference before any entry i by the capacity. */
static int64_t over_bucket(const struct sl_claim *claim, const struct entry *entries, size_t count,
                           size_t *worst)
{
    int64_t token_ns = claim->limit.token_ns, over_ns = 0;
    int64_t sum = 0, least_ns = INT64_MAX, end_us = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t base_us = entries[0].decided_us;
        int64_t before_ns = sum * token_ns - (entries[i].decided_us - base_us) * 1000;
        least_ns = before_ns < least_ns ? before_ns : least_ns;
        sum += entries[i].cost;
        end_us = end_of(entries, i, end_us);
        int64_t now_ns = sum * token_ns - (end_us - base_us) * 1000;
        if (now_ns - least_ns - claim->limit.capacity * token_ns > over_ns) {
            over_ns = now_ns - least_ns - claim->limit.capacity * token_ns;
            *worst = i;
        }
    }
    return (over_ns + token_ns - 1) / token_ns;
}

static void judge_key(const struct variant *variant, const struct entry *entries, size_t count,
                      struct verdict *verdict)
{
    struct sl_claim claim = ledger_claim(variant, entries[0].key);
    struct entry *quick = calloc(count, sizeof *quick);
    size_t kept = 0, worst = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].returned_us)
            continue;
        else if (is_slow(&claim, &entries[i]))
            verdict->slow++;
        else
            quick[kept++] = entries[i];
    int64_t over = claim.algo->is_bucket ? over_bucket(&claim, quick, kept, &worst)
                   : claim.algo == &sl_sliding_window_log
                       ? over_sliding(&claim, quick, kept, &worst)
                       : over_aligned(&claim, quick, kept, &worst);
    if (over > 0 && verdict->over == 0) {
        snprintf(verdict->text, sizeof verdict->text,
                 "%s of %" PRId64 " on key %" PRIu32 ": %" PRId64 " too many near %" PRId64,
                 claim.algo->name, claim.limit.capacity, entries[0].key, over,
                 quick[worst].decided_us);
        verdict->worst_us = quick[worst].decided_us;
        verdict->first = entries;
        verdict->first_count = count;
        verdict->claim = claim;
    }
    verdict->over += (uint64_t)over;
    free(quick);
}

static int by_key_and_time(const void *a, const void *b)
{
    const struct entry *one = a, *other = b;
    if (one->key != other->key)
        return one->key < other->key ? -1 : 1;
    return (one->decided_us > other->decided_us) - (one->decided_us < other->decided_us);
}

void ledger_judge(const struct variant *variant, struct entry *entries, size_t count,
                  struct verdict *verdict)
{
    verdict->limit_most = 9;
    qsort(entries, count, sizeof *entries, by_key_and_time);
    for (size_t i = 0, j; i < count; i = j) {
        for (j = i; j < count && entries[j].key == entries[i].key; j++)
            ;
        judge_key(variant, entries + i, j - i, verdict);
    }
}

void ledger_print(const struct verdict *verdict)
{
    const struct sl_limit *limit = &verdict->claim.limit;
    int64_t span_us = limit->window_us + limit->capacity * limit->token_ns / 1000;
    if (verdict->first_count)
        printf("--- window %" PRId64 " us, token %" PRId64
               " ns; decided, answered, cost, returned\n",
               limit->window_us, limit->token_ns);
    for (size_t i = 0; i < verdict->first_count; i++) {
        const struct entry *entry = &verdict->first[i];
        if (llabs(entry->decided_us - verdict->worst_us) > 2 * span_us)
            continue;
        printf("%" PRId64 " +%" PRId64 " cost %" PRIu32, entry->decided_us,
               entry->after_us - entry->decided_us, entry->cost);
        if (entry->returned_us > 0)
            printf(" returned +%" PRId64, entry->returned_us - entry->decided_us);
        printf("%s\n", entry->returned_us < 0 ? " reserved" : "");
    }
}
