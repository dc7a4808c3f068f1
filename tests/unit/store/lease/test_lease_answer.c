/* How soon a holder asks again that was given little, and what it says until then; on a clock of
 * our own. */
#include "unit/store/leases.h"

static struct sl_claim window_of(uint64_t key, int64_t capacity, int64_t window_us)
{
    struct sl_claim claim = fixed_claim(key, capacity);
    claim.limit.window_us = window_us;
    return claim;
}

static struct sl_claim bucket_of(uint64_t key, int64_t capacity, int64_t token_ns)
{
    struct sl_claim claim = bucket_claim(key, capacity);
    claim.limit.token_ns = token_ns;
    claim.limit.token_form = sl_token_short(token_ns);
    return claim;
}

static bool denies(struct sl_claim *claim, int64_t now_us, uint32_t cost)
{
    int64_t ahead_us;
    return sl_leases_deny(leases, claim, (struct sl_ask){ now_us, cost }, &ahead_us);
}

#define WITH_SETUP(name) TEST_WITH(name, open_leases, close_leases)

WITH_SETUP(a_lease_that_was_granted_little_denies_for_a_while_and_asks_again)
{
    struct sl_claim claim = fixed_claim(1, 1000);
    lend_of(&claim, 10 * S, 3, 24);
    int64_t now_us = 10 * S + 40 * MS;
    assert_true(takes(&claim, now_us, 3));
    assert_false(sl_leases_any_due(leases));
    assert_true(denies(&claim, now_us, 1));
    assert_false(claim.allowed || claim.charged);
    assert_int_equal(claim.answer.retry_after_us, 60 * MS);
    assert_int_equal(claim.figures.remaining, 0);
    assert_null(wants(&claim, now_us, 1));
    assert_false(denies(&claim, now_us, 126)); /* too much for a lease: the store decides it */
    now_us = 10 * S + 100 * MS;
    assert_false(denies(&claim, now_us, 1));
    struct sl_lease *lease = wants(&claim, now_us, 1);
    assert_non_null(lease);
    sl_lease_keep(lease, now_us);
}

WITH_SETUP(a_pause_is_no_longer_than_it_is_worth)
{
    enum { STARTS = 10 }; /* s */
    const struct {
        const char *name;
        struct sl_claim claim;
        int64_t asked_us, left, pause_us;
    } rows[] = {
        { "a large limit, little left", fixed_claim(1, 100000), 10 * S, 24, 100 * MS },
        { "a short window", window_of(2, 1000, S), 10 * S, 24, S / 64 },
        { "a very short window", window_of(3, 1000, 10 * MS), 10 * S, 24, 10 * MS / 64 },
        { "a window that ends", window_of(4, 1000, 10 * S), 20 * S - 30 * MS, 24, 30 * MS },
        { "a fast bucket: 64 less 21", bucket_of(5, 1000, 50000), 10 * S, 24, 43 * 51 },
        { "a slow bucket", bucket_of(6, 1000, 1000000000), 10 * S, 24, 100 * MS },
        { "a small bucket: 32 less 21", bucket_of(7, 64, 50000), 10 * S, 24, 11 * 51 },
        { "a small limit, half of it left", fixed_claim(8, 64), 10 * S, 35, 0 },
        { "a small limit, less than half", fixed_claim(9, 64), 10 * S, 34, 100 * MS },
        { "much is left: no window was open", fixed_claim(10, 2000), 10 * S, 2000, 0 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_claim claim = rows[i].claim;
        struct sl_lease *lease = call_for(&claim, rows[i].asked_us);
        struct sl_lease_reply reply = reply_at(rows[i].asked_us, 3);
        int64_t used = claim.limit.capacity - rows[i].left, token_ns = claim.limit.token_ns;
        reply.told[0] = STARTS * S + AHEAD_US;
        reply.told[1] = used;
        if (claim.algo->is_bucket)
            memcpy(reply.told, (int64_t[]){ used * token_ns, reply.now_us, token_ns },
                   sizeof reply.told);
        sl_lease_answer(leases, lease, &reply, rows[i].asked_us);
        assert_true(takes(&claim, rows[i].asked_us, 3));
        int64_t over_us = rows[i].asked_us + rows[i].pause_us;
        SAME(rows[i].name, denies(&claim, over_us - 1, 1), rows[i].pause_us > 0);
        SAME(rows[i].name, denies(&claim, over_us, 1), false);
    }
}

WITH_SETUP(the_wait_is_until_one_would_pass_by_what_the_store_said)
{
    struct sl_claim window = window_of(1, 1000, 60 * S), bucket = bucket_of(2, 1000, 3 * S * 1000),
                    some = window_of(3, 1000, 60 * S);
    lend_of(&window, 10 * S, 3, 3); /* as if it were spent there is nothing until 70 s */
    assert_true(takes(&window, 10 * S, 3));
    assert_true(denies(&window, 10 * S + MS, 1));
    assert_int_equal(window.answer.retry_after_us, 60 * S - MS);
    lend_of(&bucket, 10 * S, 3, 3);
    assert_true(takes(&bucket, 10 * S, 3));
    assert_true(denies(&bucket, 10 * S + MS, 1));
    assert_int_equal(bucket.answer.retry_after_us, 3 * S - MS);
    lend_of(&some, 10 * S, 3, 24); /* there is some: as soon as it asks */
    assert_true(takes(&some, 10 * S, 3));
    assert_true(denies(&some, 10 * S + MS, 1));
    assert_int_equal(some.answer.retry_after_us, 99 * MS);
}

/* ---- figures ---------------------------------------------------------------- */

/* Whatever was granted is somewhere, unless a call for it is under way. */
static void add_up(const char *what)
{
    const struct sl_lease_counts *counts = sl_leases_counts(leases, 7);
    static struct sl_lease_held held[SL_LEASE_RULES];
    sl_leases_held(leases, held, 10 * S);
    SAME(what, counts->units[SL_LEASE_GRANTED],
         counts->units[SL_LEASE_SPENT] + counts->units[SL_LEASE_RETURNED] +
             counts->units[SL_LEASE_DROPPED] + held[7].most);
}

/* What comes of a call, any of it. */
static void end_call(struct sl_lease *lease, int64_t now_us, uint64_t *seed)
{
    struct sl_lease_reply reply = reply_at(now_us, (uint32_t)unit_up_to(seed, lease->ask.want));
    int64_t way = unit_up_to(seed, 5);
    reply.is_known = way != 2;
    reply.is_late = way == 2 && unit_up_to(seed, 1);
    reply.end_us -= unit_up_to(seed, 1) ? 700 * MS : 0;
    reply.now_us += way == 3 ? 10 * S : 0; /* a clock that leapt */
    if (way == 0)
        sl_lease_keep(lease, now_us);
    else if (way == 1)
        sl_lease_lose(leases, lease, now_us);
    else
        sl_lease_answer(leases, lease, &reply, now_us);
}

static void step(struct sl_claim *claim, int64_t now_us, uint64_t *seed)
{
    size_t place = sl_leases_place(&claim->key);
    struct sl_lease *lease = NULL;
    switch (unit_up_to(seed, 4)) {
    case 0:
        lease = wants(claim, now_us, 8);
        break;
    case 1:
        takes(claim, now_us, 1 + (uint32_t)unit_up_to(seed, 9));
        lease = sl_leases_due(leases);
        lease = lease && sl_lease_begin(leases, lease, now_us) ? lease : NULL;
        break;
    case 2:
        lease = sl_leases_recall(leases, place, &claim->key, now_us);
        break;
    case 3:
        if (unit_up_to(seed, 9) == 0)
            sl_leases_turn_page(leases);
        break;
    default:
        lease = &leases->slots[place];
        atomic_store(&lease->owner, 3);
        if (sl_lease_look(leases, lease, 3, now_us) != SL_LEASE_CALL)
            lease = NULL;
    }
    if (lease && unit_up_to(seed, 1)) /* spent while it is called for */
        takes(claim, now_us, 1 + (uint32_t)unit_up_to(seed, 3));
    if (lease)
        end_call(lease, now_us, seed);
}

WITH_SETUP(what_is_granted_is_spent_returned_dropped_or_held)
{
    static const struct sl_algo *const algos[] = { &sl_fixed_window, &sl_sliding_window_counter,
                                                   &sl_token_bucket };
    uint64_t seed = 1;
    int64_t now_us = 10 * S;
    for (int i = 0; i < 4000; i++) {
        /* Six have four places, by turns. */
        uint64_t key = (uint64_t)unit_up_to(&seed, 5);
        struct sl_claim claim = bucket_claim(key / 3 * SL_LEASES_MAX, 1000);
        claim.key.high = key;
        claim.algo = algos[key % 3];
        claim.limit.window_us = 3600 * S;
        step(&claim, now_us, &seed);
        add_up(claim.algo->name);
        now_us += unit_up_to(&seed, 20) ? unit_up_to(&seed, 50 * MS) : unit_up_to(&seed, 20 * S);
    }
    assert_true(sl_leases_counts(leases, 7)->units[SL_LEASE_RETURNED] > 0);
    assert_true(sl_leases_counts(leases, 7)->units[SL_LEASE_DROPPED] > 0);
}
