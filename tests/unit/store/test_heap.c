#include "store/store.h"

#include <time.h>

#include "unit/base/unit.h"

#define S INT64_C(1000000)

static struct sl_store *store;

static int open_store(void **unused)
{
    (void)unused;
    store = sl_heap_open();
    return store ? 0 : -1;
}

static int close_store(void **unused)
{
    (void)unused;
    sl_store_close(store);
    return 0;
}

static struct sl_claim claim_on(const struct sl_algo *algo, uint64_t key, int64_t capacity)
{
    return (struct sl_claim){ .algo = algo,
                              .limit = { .capacity = capacity, .window_us = S },
                              .ring_len = algo->keeps_ring ? (uint32_t)capacity : 0,
                              .key = { key, ~key } };
}

static struct sl_claim fixed_on(uint64_t key, int64_t capacity)
{
    return claim_on(&sl_fixed_window, key, capacity);
}

static bool decide(struct sl_claim *claims, size_t count, int64_t now_us, uint32_t cost)
{
    struct sl_bundle bundle = {
        .now_us = now_us, .cost = cost, .max_delay_us = -1, .claims = claims, .claim_count = count
    };
    assert_int_equal(sl_store_decide(store, &bundle), SLUICE_OK);
    return bundle.allowed;
}

/* How much is left under a key, without taking anything. */
static int64_t left(struct sl_claim claim, int64_t now_us)
{
    struct sl_bundle bundle = { .now_us = now_us,
                                .cost = 1,
                                .peek = true,
                                .max_delay_us = -1,
                                .claims = &claim,
                                .claim_count = 1 };
    assert_int_equal(sl_store_decide(store, &bundle), SLUICE_OK);
    return claim.figures.remaining;
}

#define ON_A_STORE(name) TEST_WITH(name, open_store, close_store)

ON_A_STORE(each_key_has_its_own_count)
{
    struct sl_claim one = fixed_on(1, 2), two = fixed_on(2, 2);
    assert_true(decide(&one, 1, 5 * S, 1));
    assert_int_equal(one.figures.remaining, 1);
    assert_int_equal(one.figures.reset_at_us, 6 * S);
    assert_true(decide(&one, 1, 5 * S, 1));
    assert_false(decide(&one, 1, 5 * S, 1));
    assert_int_equal(one.answer.retry_after_us, S);
    assert_true(decide(&two, 1, 5 * S, 2));
}

ON_A_STORE(a_key_of_all_zeros_is_a_key)
{
    struct sl_claim zero = fixed_on(0, 2);
    zero.key = (struct sl_hash128){ 0 };
    assert_true(decide(&zero, 1, 5 * S, 2));
    assert_false(decide(&zero, 1, 5 * S, 1));
    for (uint64_t key = 2; key < 5000; key++) { /* the table moves house */
        struct sl_claim other = fixed_on(key, 2);
        decide(&other, 1, 5 * S, 1);
    }
    assert_int_equal(left(zero, 5 * S), 0);
}

ON_A_STORE(keys_that_share_half_their_bits_are_told_apart)
{
    struct sl_claim a = fixed_on(7, 2), b = fixed_on(7, 2), c = fixed_on(7, 2);
    b.key.high = 1;
    c.key.low += 1024; /* the same place in a small table */
    assert_true(decide(&a, 1, 5 * S, 2));
    assert_int_equal(left(b, 5 * S), 2);
    assert_int_equal(left(c, 5 * S), 2);
    assert_true(decide(&b, 1, 5 * S, 1));
    assert_true(decide(&c, 1, 5 * S, 2));
    assert_int_equal(left(a, 5 * S), 0);
    assert_int_equal(left(b, 5 * S), 1);
    assert_int_equal(left(c, 5 * S), 0);
}

ON_A_STORE(all_are_charged_or_none)
{
    struct sl_claim claims[] = { fixed_on(1, 10), fixed_on(2, 10), fixed_on(3, 1) };
    assert_true(decide(claims, 3, 5 * S, 1));
    assert_false(decide(claims, 3, 5 * S, 1));
    assert_true(claims[0].allowed && claims[1].allowed && !claims[2].allowed);
    for (uint64_t key = 1; key <= 2; key++)
        assert_int_equal(left(fixed_on(key, 10), 5 * S), 9);
    assert_int_equal(claims[0].figures.remaining, 9); /* as of after the denial */
}

ON_A_STORE(a_shadow_is_charged_with_the_others_and_denies_no_request)
{
    struct sl_claim claims[] = { fixed_on(1, 2), fixed_on(2, 1), fixed_on(3, 10) };
    claims[1].shadow = claims[2].shadow = true;
    assert_true(decide(claims, 3, 5 * S, 1));
    assert_true(decide(claims, 3, 5 * S, 1));
    assert_false(claims[1].allowed);
    assert_int_equal(left(fixed_on(2, 1), 5 * S), 0); /* charged once: it allowed once */
    assert_int_equal(left(fixed_on(3, 10), 5 * S), 8);
    assert_false(decide(claims, 3, 5 * S, 1)); /* the enforced one: no shadow is charged */
    assert_int_equal(left(fixed_on(3, 10), 5 * S), 8);
}

ON_A_STORE(a_peek_and_a_cost_of_zero_take_nothing)
{
    struct sl_claim claim = fixed_on(1, 5);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(left(claim, 5 * S), 5);
        assert_true(decide(&claim, 1, 5 * S, 0));
    }
    assert_true(decide(&claim, 1, 5 * S, 5));
    assert_true(decide(&claim, 1, 5 * S, 0));
    assert_false(decide(&claim, 1, 5 * S, 1));
}

ON_A_STORE(a_missing_identity_denies_and_leaves_the_others_alone)
{
    struct sl_claim claims[] = { fixed_on(1, 10), { .no_key = true } };
    assert_false(decide(claims, 2, 5 * S, 1));
    assert_int_equal(left(fixed_on(1, 10), 5 * S), 10);
    claims[1].shadow = true;
    assert_true(decide(claims, 2, 5 * S, 1));
    assert_int_equal(left(fixed_on(1, 10), 5 * S), 9);
}

ON_A_STORE(a_repair_is_saved_with_the_denial)
{
    struct sl_claim claim = fixed_on(1, 5);
    decide(&claim, 1, 50 * S, 1);
    int64_t now_us = 5 * S + 1;
    assert_int_equal(left(claim, now_us), 0); /* a peek sees it, and saves nothing */
    assert_int_equal(left(claim, 50 * S), 4);
    assert_false(decide(&claim, 1, now_us, 1));
    assert_int_equal(left(claim, 6 * S), 5);
    assert_int_equal(left(claim, 50 * S), 5);
}

ON_A_STORE(the_guard_counts_denied_requests_too)
{
    static const struct sl_guard guard = { 10 * S, 60 * S, 3 };
    struct sl_claim claims[] = { fixed_on(1, 100), fixed_on(2, 1) };
    claims[0].guard = &guard;
    claims[0].guard_key = (struct sl_hash128){ 11, 11 };
    for (int i = 0; i < 3; i++) {
        decide(claims, 2, 5 * S, 1); /* the second one denies all but one of them */
        assert_int_equal(claims[0].guard_answer.event, SL_GUARD_QUIET);
        decide(claims, 2, 5 * S, 0);
        left(claims[0], 5 * S);
    }
    decide(claims, 2, 5 * S, 1);
    assert_int_equal(claims[0].guard_answer.event, SL_GUARD_WARNED);
    assert_int_equal(left(fixed_on(1, 100), 5 * S), 99);
}

ON_A_STORE(a_block_is_seen_by_peeks_and_costs_of_zero)
{
    static const struct sl_guard guard = { 10 * S, 60 * S, 1 };
    struct sl_claim claim = fixed_on(1, 100);
    claim.guard = &guard;
    claim.guard_key = (struct sl_hash128){ 11, 11 };
    for (int i = 0; i < 2; i++)
        assert_true(decide(&claim, 1, 5 * S, 1));
    assert_true(decide(&claim, 1, 15 * S, 1));
    assert_false(decide(&claim, 1, 15 * S, 1));
    assert_int_equal(claim.guard_answer.event, SL_GUARD_BLOCKED);
    assert_false(decide(&claim, 1, 16 * S, 0));
    assert_int_equal(claim.answer.retry_after_us, 119 * S);
    assert_int_equal(left(claim, 16 * S), 0);
    assert_true(decide(&claim, 1, 135 * S, 1));
}

ON_A_STORE(a_log_gets_a_longer_ring_when_its_limit_grows)
{
    struct sl_claim claim = claim_on(&sl_sliding_window_log, 1, 3);
    for (int64_t i = 0; i < 5; i++)
        decide(&claim, 1, 5 * S + i * 400000, 1); /* wraps around: 3 live at the most */
    struct sl_claim larger = claim_on(&sl_sliding_window_log, 1, 6);
    int64_t now_us = 5 * S + 4 * 400000;
    assert_int_equal(left(larger, now_us), 3); /* 5.8, 6.2 and 6.6 s */
    assert_true(decide(&larger, 1, now_us, 3));
    assert_false(decide(&larger, 1, now_us, 1));
    assert_int_equal(larger.answer.retry_after_us, 200000);
    assert_int_equal(left(claim, now_us), 0); /* and may shrink again */
}

ON_A_STORE(a_denied_log_needs_no_ring)
{
    struct sl_claim claims[] = { claim_on(&sl_sliding_window_log, 1, 1 << 24), fixed_on(2, 0) };
    assert_false(decide(claims, 2, 5 * S, 1));
    assert_int_equal(left(claims[0], 5 * S), 1 << 24);
}

ON_A_STORE(nothing_is_forgotten_while_the_table_grows)
{
    enum { KEYS = 50000 };
    for (uint64_t i = 0; i < KEYS; i++) {
        struct sl_claim claim = fixed_on(sl_hash64((struct sluice_text){ (char *)&i, 8 }, 0), 100);
        decide(&claim, 1, 5 * S, (uint32_t)(i % 100));
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        struct sl_claim claim = fixed_on(sl_hash64((struct sluice_text){ (char *)&i, 8 }, 0), 100);
        assert_int_equal(left(claim, 5 * S), 100 - i % 100);
    }
}

ON_A_STORE(many_claims_at_once_find_room)
{
    enum { CLAIMS = 3000 };
    static struct sl_claim claims[CLAIMS];
    for (uint64_t i = 0; i < CLAIMS; i++)
        claims[i] = fixed_on(i * 12345, 2);
    assert_true(decide(claims, CLAIMS, 5 * S, 1));
    assert_true(decide(claims, CLAIMS, 5 * S, 1));
    assert_false(decide(claims, CLAIMS, 5 * S, 1));
    assert_true(decide(NULL, 0, 5 * S, 1)); /* no claims: nothing denies */
}

/* As many as make the first table exactly full if guards were not counted: a
 * full table would be searched for ever. */
ON_A_STORE(guards_find_room_beside_their_claims)
{
    enum { CLAIMS = 512 };
    static const struct sl_guard guard = { .window_us = S, .penalty_us = S, .threshold = 5 };
    static struct sl_claim claims[CLAIMS];
    for (uint64_t i = 0; i < CLAIMS; i++) {
        claims[i] = fixed_on(2 * i + 1, 2);
        claims[i].guard = &guard;
        claims[i].guard_key = (struct sl_hash128){ 2 * i + 2, i };
    }
    assert_true(decide(claims, CLAIMS, 5 * S, 1));
    assert_int_equal(left(fixed_on(UINT64_MAX, 2), 5 * S), 2);
}

ON_A_STORE(without_a_time_the_stores_own_clock_decides)
{
    struct sl_claim claim = fixed_on(1, 5);
    struct sl_bundle bundle = {
        .now_us = SLUICE_NOW, .cost = 1, .max_delay_us = -1, .claims = &claim, .claim_count = 1
    };
    assert_int_equal(sl_store_decide(store, &bundle), SLUICE_OK);
    int64_t now_s = (int64_t)time(NULL);
    assert_in_range(bundle.now_us / S, now_s - 60, now_s + 60);
    assert_int_equal(claim.figures.reset_at_us, bundle.now_us - bundle.now_us % S + S);
}

ON_A_STORE(every_store_has_a_secret_of_its_own)
{
    struct sl_store *other = sl_heap_open();
    assert_non_null(other);
    assert_true(other->secret != store->secret);
    sl_store_close(other);
    sl_store_close(NULL);
}
