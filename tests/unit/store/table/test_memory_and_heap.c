/* The same bundles to the shared table and to the heap's plain one, which never
 * forgets: every answer must be the same as long as time only goes forward.
 *
 * The keys crowd into a few lines, and there are more of them than slots there,
 * so that slots and rings change hands all the time (T7). Nothing may have to be
 * evicted: that is counted, and checked. */
#include "algo/bucket.h"
#include "store/store.h"
#include "unit/base/unit.h"

#define MS INT64_C(1000)
#define S  INT64_C(1000000)

enum { BUNDLES = 50000, BATCH = 16, CLAIMS = 3, RULES = 25, KEYS = 500, GUARDED = 7 };
enum { FIRST_LINE = 100, LINES = 24, GUARD_LINE = 200, APART = 20 };

static struct sl_store *shared, *plain;
static uint64_t seed, line_count;

/* One of the numbers. */
#define ONE_OF(numbers) ((numbers)[unit_up_to(&seed, (int64_t)COUNT(numbers) - 1)])

static struct sl_hash128 key_at(uint64_t line, uint64_t number)
{
    return (struct sl_hash128){ (UINT64_MAX / line_count + 1) * line, number << 40 };
}

/* A key's rule says its algorithm and window; its limit changes with every request. */
static struct sl_claim random_claim(uint64_t key)
{
    static const int64_t windows_us[] = { MS, 30 * MS, S - 1, S, 5 * S, 70 * S };
    static const int64_t tokens_ns[] = { 3000000, 7000000, 12345678 };
    static const int64_t few[] = { 0, 1, 2, 3, 5, 8, 8, 8, 20 };
    uint64_t rule = key % RULES;
    const struct sl_algo *algo = sl_algos[rule % 5];
    struct sl_claim claim = { .algo = algo,
                              .limit = { .capacity = ONE_OF(few) },
                              .shadow = unit_up_to(&seed, 9) == 0,
                              .no_key = unit_up_to(&seed, 99) == 0,
                              .key = key_at(FIRST_LINE + key % LINES, key) };
    if (algo->is_bucket) {
        claim.limit.token_ns = unit_up_to(&seed, 9) ? 7000000 : ONE_OF(tokens_ns);
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = windows_us[rule / 5 + (rule % 5 == 1)];
        claim.limit.first_request = algo->takes_align && rule % 2;
    }
    claim.ring_len = algo->keeps_ring ? (uint32_t)claim.limit.capacity + 1 : 0;
    return claim;
}

static void add_guard(struct sl_claim *claim, uint64_t number)
{
    static const struct sl_guard guard = { .window_us = 200 * MS, .penalty_us = S, .threshold = 3 };
    claim->guard = &guard;
    claim->guard_key = key_at(GUARD_LINE + APART * number, number);
}

static struct sl_bundle random_bundle(struct sl_claim *claims, int64_t now_us)
{
    static const uint32_t costs[] = { 0, 1, 1, 1, 2, 3, 4, 5, 21 };
    struct sl_bundle bundle = { .now_us = now_us,
                                .cost = ONE_OF(costs),
                                .peek = unit_up_to(&seed, 9) == 0,
                                .max_delay_us = -1,
                                .claims = claims,
                                .claim_count = 1 + (size_t)unit_up_to(&seed, CLAIMS - 1) };
    if (unit_up_to(&seed, 9) == 0)
        bundle.max_delay_us = unit_up_to(&seed, 50 * MS);
    uint64_t key = unit_random(&seed) % KEYS;
    for (size_t i = 0; i < bundle.claim_count; i++)
        claims[i] = random_claim((key + i * 101) % KEYS);
    bundle.is_mixed = unit_up_to(&seed, 3) == 0;
    for (size_t i = 0; bundle.is_mixed && i < bundle.claim_count; i++) {
        claims[i].cost = ONE_OF(costs);
        claims[i].peek = unit_up_to(&seed, 3) == 0;
    }
    uint64_t guarded = unit_random(&seed) % (3 * GUARDED);
    if (guarded < GUARDED)
        add_guard(&claims[guarded % bundle.claim_count], guarded);
    return bundle;
}

static void same_claims(const char *row, const struct sl_claim *got, const struct sl_claim *wanted)
{
    SAME(row, got->allowed, wanted->allowed);
    SAME(row, got->charged, wanted->charged);
    SAME(row, got->answer.allowed, wanted->answer.allowed);
    SAME(row, got->answer.repair, wanted->answer.repair);
    SAME(row, got->answer.retry_after_us, wanted->answer.retry_after_us);
    SAME(row, got->answer.delay_us, wanted->answer.delay_us);
    SAME(row, got->figures.remaining, wanted->figures.remaining);
    SAME(row, got->figures.reset_at_us, wanted->figures.reset_at_us);
    SAME(row, got->guard_answer.event, wanted->guard_answer.event);
    SAME(row, got->guard_answer.blocked_until_us, wanted->guard_answer.blocked_until_us);
    SAME(row, got->guard_answer.request_count, wanted->guard_answer.request_count);
}

static void same_bundles(uint64_t number, const struct sl_bundle *got,
                         const struct sl_bundle *wanted)
{
    char row[96];
    for (size_t i = 0; i < got->claim_count; i++) {
        snprintf(row, sizeof row, "bundle %" PRIu64 ", claim %zu of %zu, %s", number, i,
                 got->claim_count, got->claims[i].algo->name);
        same_claims(row, &got->claims[i], &wanted->claims[i]);
    }
    SAME(row, got->status, wanted->status);
    SAME(row, got->allowed, wanted->allowed);
    SAME(row, got->now_us, wanted->now_us);
    SAME(row, got->wall_shift_us, wanted->wall_shift_us);
}

/* All forms of time: at once, within windows, over many. */
static int64_t random_step_us(void)
{
    switch (unit_up_to(&seed, 99)) {
    case 0:
        return unit_up_to(&seed, 2 * S);
    case 1:
        return S - 1;
    default:
        return unit_up_to(&seed, 16 * MS) >> unit_up_to(&seed, 10);
    }
}

static void play(uint32_t batch, uint64_t *allowed)
{
    static struct sl_claim ours[BATCH][CLAIMS], theirs[BATCH][CLAIMS];
    struct sl_bundle bundles[BATCH], twins[BATCH];
    int64_t now_us = 1000 * S;
    *allowed = 0;
    for (uint64_t number = 0; number < BUNDLES; number += batch) {
        for (uint32_t i = 0; i < batch; i++) {
            now_us += random_step_us();
            bundles[i] = random_bundle(ours[i], now_us);
            twins[i] = bundles[i];
            twins[i].claims = theirs[i];
            memcpy(theirs[i], ours[i], sizeof ours[i]);
        }
        shared->ops->decide(shared, bundles, batch);
        for (uint32_t i = 0; i < batch; i++) {
            assert_int_equal(sl_store_decide(plain, &twins[i]), SLUICE_OK);
            same_bundles(number + i, &bundles[i], &twins[i]);
            *allowed += bundles[i].allowed;
        }
    }
}

static void both_stores_give_the_same_answers(uint32_t batch)
{
    struct sluice_error error;
    struct sl_memory_config config = { .size_bytes = 256 << 10, .log_bytes = 64 << 10 };
    struct sluice_stats stats;
    shared = sl_memory_open(&config, &error);
    plain = sl_heap_open();
    assert_true(shared && plain);
    shared->ops->measure(shared, &stats);
    line_count = stats.slots / 4;
    seed = 8 + batch;
    uint64_t allowed;
    play(batch, &allowed);
    assert_in_range(allowed, BUNDLES / 4, BUNDLES * 3 / 4);
    shared->ops->measure(shared, &stats);
    assert_int_equal(stats.evictions, 0);
    assert_int_equal(stats.full, 0);
    assert_true(stats.insertions > 10 * KEYS); /* slots did change hands */
    sl_store_close(shared);
    sl_store_close(plain);
}

TEST(one_by_one_the_stores_give_the_same_answers)
{
    both_stores_give_the_same_answers(1);
}

TEST(a_batch_is_answered_as_one_by_one)
{
    both_stores_give_the_same_answers(BATCH);
}
