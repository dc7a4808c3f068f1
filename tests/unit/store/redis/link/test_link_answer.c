/* What a script has told becomes the answers that the heap store gives on the same states. */
#include "store/claim.h"
#include "store/redis/ask.h"
#include "unit/algo/told.h"

#define S INT64_C(1000000)

#define NOW_US (INT64_C(1700000000) * S)

enum { CLAIMS = 10, RING = 32, VALUES = 2 + CLAIMS * (SL_TOLD + SL_TOLD_GUARD) };

static const struct sl_guard guard = { .window_us = 2 * S, .penalty_us = 8 * S, .threshold = 9 };

/* Every algorithm with a guard and without; the states as Redis would have them. */
static struct sl_claim claims[CLAIMS];
static struct kept {
    uint64_t ring[RING];
    struct sl_state state, guard;
    struct written written;
} kept[CLAIMS];

static size_t claim_count;

static int set_up(void **unused)
{
    (void)unused;
    memset(claims, 0, sizeof claims);
    memset(kept, 0, sizeof kept);
    claim_count = 0;
    for (size_t i = 0; i < CLAIMS && sl_algos[i / 2]; i++) {
        struct sl_claim *claim = &claims[claim_count++];
        claim->algo = sl_algos[i / 2];
        claim->key = (struct sl_hash128){ i + 1, i + 1 };
        claim->limit.capacity = 12 + (int64_t)i;
        if (claim->algo->is_bucket) {
            claim->limit.token_ns = 333333333;
            claim->limit.token_form = sl_token_short(claim->limit.token_ns);
        } else {
            claim->limit.window_us = 5 * S;
        }
        claim->ring_len = claim->algo->keeps_ring ? RING : 0;
        if (i % 2) {
            claim->guard = &guard;
            claim->guard_key = (struct sl_hash128){ i + 100, i };
        }
        kept[i].state = (struct sl_state){ .ring = kept[i].ring, .ring_len = claim->ring_len };
    }
    return 0;
}

static struct sl_bundle bundle_of(struct sl_claim *of, size_t count, int64_t now_us, uint32_t cost)
{
    return (struct sl_bundle){
        .now_us = now_us, .cost = cost, .max_delay_us = -1, .claims = of, .claim_count = count
    };
}

/* What the script would reply: the states as they are before the request. */
static size_t tell_all(const struct sl_bundle *bundle, bool allowed, int64_t values[VALUES])
{
    size_t len = 2;
    values[0] = bundle->now_us;
    values[1] = allowed;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (claim->guard) {
            tell_guard(claim->guard, &kept[i].guard, values + len);
            len += SL_TOLD_GUARD;
        }
        tell(claim->algo, &claim->limit, &kept[i].state,
             (struct sl_ask){ bundle->now_us, bundle->cost }, kept[i].written, values + len);
        len += SL_TOLD;
    }
    return len;
}

/* What the script would have written. */
static void write_all(const struct sl_bundle *decided)
{
    for (size_t i = 0; i < decided->claim_count; i++) {
        struct sl_claim claim = decided->claims[i];
        enum sl_write write = sl_claim_write(&claim, decided);
        struct sl_ask ask = { decided->now_us, write == SL_WRITE_CHARGE ? decided->cost : 0 };
        if (claim.guard)
            sl_claim_guard(&claim, decided, &kept[i].guard);
        if (write == SL_WRITE_NOTHING)
            continue;
        claim.algo->charge(&claim.limit, &kept[i].state, ask);
        kept[i].written = (struct written){ decided->now_us, claim.limit.token_ns };
    }
}

static int answer(struct sl_bundle *bundle, const int64_t *values, size_t count)
{
    int64_t *copy = malloc((count ? count : 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, values, count * sizeof *copy);
    struct sl_redis_reply reply = { .values = copy, .value_count = count };
    int status = sl_answer_decide(bundle, &reply);
    free(copy);
    return status;
}

static void same_claim(const char *row, const struct sl_claim *got, const struct sl_claim *wanted)
{
    SAME(row, got->allowed, wanted->allowed);
    SAME(row, got->charged, wanted->charged);
    SAME(row, got->answer.allowed, wanted->answer.allowed);
    SAME(row, got->answer.repair, wanted->answer.repair);
    SAME(row, got->answer.retry_after_us, wanted->answer.retry_after_us);
    SAME(row, got->answer.delay_us, wanted->answer.delay_us);
    SAME(row, got->answer.as_of_us, wanted->answer.as_of_us);
    SAME(row, got->figures.remaining, wanted->figures.remaining);
    SAME(row, got->figures.reset_at_us, wanted->figures.reset_at_us);
    SAME(row, got->guard_answer.event, wanted->guard_answer.event);
    SAME(row, got->guard_answer.blocked_until_us, wanted->guard_answer.blocked_until_us);
    SAME(row, got->guard_answer.request_count, wanted->guard_answer.request_count);
}

/* One request on the heap, and on what Redis tells. */
static bool decide_on_both(const char *row, struct sl_store *heap, struct sl_bundle bundle)
{
    int64_t values[VALUES];
    struct sl_claim others[CLAIMS];
    struct sl_bundle other = bundle;
    memcpy(others, bundle.claims, bundle.claim_count * sizeof *others);
    other.claims = others;
    size_t len = tell_all(&bundle, false, values);
    SAME(row, sl_store_decide(heap, &bundle), SLUICE_OK);
    values[1] = bundle.allowed;
    SAME(row, answer(&other, values, len), SLUICE_OK);
    SAME(row, other.allowed, bundle.allowed);
    SAME(row, other.now_us, bundle.now_us);
    for (size_t i = 0; i < bundle.claim_count; i++)
        same_claim(bundle.claims[i].algo->name, &others[i], &bundle.claims[i]);
    write_all(&bundle);
    return bundle.allowed;
}

/* Requests of all kinds, on time that mostly goes on. */
static struct sl_bundle some_bundle(uint64_t *seed, size_t count, int64_t *now_us)
{
    struct sl_bundle bundle = bundle_of(claims, count, 0, (uint32_t)unit_up_to(seed, 3));
    *now_us += unit_random(seed) % 32 == 0   ? -unit_up_to(seed, 15 * S)
               : unit_random(seed) % 32 == 1 ? unit_up_to(seed, 30 * S)
                                             : unit_up_to(seed, S / 2);
    bundle.now_us = *now_us;
    bundle.peek = unit_random(seed) % 8 == 0;
    if (unit_random(seed) % 4 == 0)
        bundle.max_delay_us = unit_up_to(seed, 2 * S);
    return bundle;
}

#define ON_CLAIMS(name) TEST_WITH(name, set_up, NULL)

ON_CLAIMS(each_algorithm_told_decides_as_the_heap_does)
{
    for (size_t i = 0; i < claim_count; i++) {
        struct sl_store *heap = sl_heap_open();
        struct sl_claim all[CLAIMS];
        uint64_t seed = i;
        int64_t now_us = NOW_US, allowed = 0;
        memcpy(all, claims, sizeof all);
        claims[0] = all[i];
        memset(kept, 0, sizeof kept);
        kept[0].state = (struct sl_state){ .ring = kept[0].ring, .ring_len = all[i].ring_len };
        for (int step = 0; step < 5000; step++)
            allowed += decide_on_both(all[i].algo->name, heap, some_bundle(&seed, 1, &now_us));
        assert_in_range(allowed, 500, 4990); /* both happen, or nothing is proved */
        memcpy(claims, all, sizeof all);
        sl_store_close(heap);
    }
}

ON_CLAIMS(many_claims_told_decide_as_on_the_heap_shadows_and_all)
{
    struct sl_store *heap = sl_heap_open();
    uint64_t seed = 99;
    int64_t now_us = NOW_US;
    claims[1].shadow = claims[4].shadow = claims[7].shadow = true;
    for (int step = 0; step < 5000; step++)
        decide_on_both("many", heap, some_bundle(&seed, claim_count, &now_us));
    sl_store_close(heap);
}

ON_CLAIMS(claims_without_a_key_have_no_numbers)
{
    int64_t values[VALUES] = { 0 };
    struct sl_claim two[] = { { .no_key = true, .shadow = true }, claims[0] };
    struct sl_bundle bundle = bundle_of(two, 2, -1, 1);
    values[0] = NOW_US;
    values[1] = 1;
    values[2] = -1;
    assert_int_equal(answer(&bundle, values, 2 + SL_TOLD), SLUICE_OK);
    assert_int_equal(bundle.now_us, NOW_US);
    assert_int_equal(bundle.wall_shift_us, 0);
    assert_true(two[1].charged);
    assert_int_equal(two[1].figures.remaining, two[1].limit.capacity - 1);
    two[0].shadow = false; /* then it is denied, and the script has said so */
    values[1] = 0;
    assert_int_equal(answer(&bundle, values, 2 + SL_TOLD), SLUICE_OK);
    assert_false(bundle.allowed);
    assert_false(two[1].charged);
}

ON_CLAIMS(too_few_numbers_are_no_answer)
{
    int64_t values[VALUES];
    struct sl_bundle bundle = bundle_of(claims, claim_count, NOW_US, 1);
    size_t len = tell_all(&bundle, true, values);
    for (size_t count = 0; count < len; count++)
        SAME("too few", answer(&bundle, values, count), SLUICE_STORE_DOWN);
    assert_int_equal(answer(&bundle, values, len), SLUICE_OK);
}

ON_CLAIMS(a_verdict_that_is_not_ours_is_no_answer)
{
    int64_t values[VALUES];
    struct sl_bundle bundle = bundle_of(claims, claim_count, NOW_US, 1);
    size_t len = tell_all(&bundle, false, values);
    assert_int_equal(answer(&bundle, values, len), SLUICE_STORE_DOWN);
    bundle.cost = 1000;
    len = tell_all(&bundle, true, values);
    assert_int_equal(answer(&bundle, values, len), SLUICE_STORE_DOWN);
    values[1] = 0;
    assert_int_equal(answer(&bundle, values, len), SLUICE_OK);
}

ON_CLAIMS(no_room_for_a_reservation_is_a_full_store)
{
    struct sl_bundle bundle = bundle_of(claims, claim_count, NOW_US, 1);
    assert_int_equal(answer(&bundle, (int64_t[]){ NOW_US, -2 }, 2), SLUICE_STORE_FULL);
    assert_int_equal(answer(&bundle, (int64_t[]){ NOW_US, -1 }, 2), SLUICE_STORE_DOWN);
    assert_int_equal(answer(&bundle, (int64_t[]){ NOW_US, 1 }, 2), SLUICE_STORE_DOWN);
    assert_int_equal(answer(&bundle, (int64_t[]){ 0 }, 0), SLUICE_STORE_DOWN);
}

ON_CLAIMS(a_reply_of_texts_is_no_answer)
{
    struct sl_bundle bundle = bundle_of(claims, claim_count, NOW_US, 1);
    struct sl_redis_reply reply = { .text_count = 0 };
    assert_int_equal(sl_answer_decide(&bundle, &reply), SLUICE_STORE_DOWN);
}

/* Whatever the numbers, one of the two verdicts is ours, and the figures for the client make sense.
 */
static void check_hostile(struct sl_bundle bundle, int64_t *values, size_t len)
{
    int statuses[2];
    for (int verdict = 0; verdict < 2; verdict++) {
        struct sl_bundle one = bundle;
        values[1] = verdict;
        statuses[verdict] = answer(&one, values, len);
        if (statuses[verdict] != SLUICE_OK)
            continue;
        assert_int_equal(one.allowed, verdict);
        assert_in_range(one.now_us, 0, SL_TIME_MAX_US);
        for (size_t i = 0; i < one.claim_count; i++) {
            const struct sl_claim *claim = &one.claims[i];
            SAME(claim->algo->name, claim->allowed, claim->answer.retry_after_us == 0);
            SAME(claim->algo->name, claim->answer.retry_after_us >= SL_NEVER, true);
            SAME(claim->algo->name, claim->figures.remaining >= 0, true);
            SAME(claim->algo->name, claim->figures.remaining <= claim->limit.capacity, true);
        }
    }
    assert_int_equal((statuses[0] == SLUICE_OK) + (statuses[1] == SLUICE_OK), 1);
    assert_int_equal(statuses[0] + statuses[1], SLUICE_STORE_DOWN);
}

ON_CLAIMS(hostile_numbers_do_no_harm)
{
    uint64_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        int64_t values[VALUES];
        struct sl_bundle bundle = bundle_of(claims, claim_count, -1, 0);
        bundle.cost = (uint32_t[]){ 0, 1, 12, UINT32_MAX }[unit_random(&seed) % 4];
        bundle.max_delay_us = (int64_t[]){ -1, 0, INT64_MAX }[unit_random(&seed) % 3];
        bundle.peek = unit_random(&seed) % 4 == 0;
        for (size_t at = 0; at < VALUES; at++)
            values[at] = unit_random(&seed) % 4 ? hostile[unit_random(&seed) % COUNT(hostile)]
                                                : (int64_t)unit_random(&seed);
        if (unit_random(&seed) % 2)
            values[0] = NOW_US;
        check_hostile(bundle, values, VALUES);
    }
}

/* One claim at a time: a denial of one does not hide the others'. */
ON_CLAIMS(hostile_numbers_harm_no_algorithm_alone)
{
    uint64_t seed = 6;
    for (int i = 0; i < 200000; i++) {
        int64_t values[2 + SL_TOLD + SL_TOLD_GUARD] = { NOW_US };
        struct sl_claim *claim = &claims[(size_t)i % claim_count];
        struct sl_bundle bundle = bundle_of(claim, 1, -1, (uint32_t)unit_up_to(&seed, 20));
        for (size_t at = 2; at < COUNT(values); at++)
            values[at] = unit_random(&seed) % 8 == 0
                             ? hostile[unit_random(&seed) % COUNT(hostile)]
                             : (unit_random(&seed) % 2 ? NOW_US : 0) + unit_up_to(&seed, 9 * S);
        check_hostile(bundle, values, COUNT(values));
    }
}
