/* What is denied from memory, against the exact limiter: a store in this file whose clock is its
 * own, whose answers take a while, and that others use too. */
#include "store/cache/answer_cache.h"

#include "algo/bucket.h"
#include "store/cache/guard_backlog.h"
#include "store/claim.h"
#include "unit/base/unit.h"
#include "unit/store/hand_clock.h"

TESTS_ALONE;

#define S     INT64_C(1000000)
#define AHEAD INT64_C(1700000000000000) /* the store's clock, of ours */

enum { RING = 32 };

static struct sl_answer_cache *answers;
static int64_t node_ahead_us; /* the asked node's clock, of the store's others */

static int open_answer_cache(void **unused)
{
    (void)unused;
    node_ahead_us = 0;
    answers = sl_answer_cache_new();
    return answers ? 0 : -1;
}

static int close_answer_cache(void **unused)
{
    (void)unused;
    sl_answer_cache_free(answers);
    return 0;
}

#define WITH_ANSWER_CACHE(name) TEST_WITH(name, open_answer_cache, close_answer_cache)

/* ---- the store ---- */

struct kept {
    struct sl_state state;
    uint64_t ring[RING];
    int64_t told[SL_TOLD];
    int64_t blocked_until_us;
    uint64_t number; /* each is on a key of its own */
};

static int64_t store_now_us(void)
{
    return boot_us + AHEAD + node_ahead_us;
}

static uint64_t last_number;

static struct sl_claim claim_on(const struct sl_algo *algo, struct kept *kept, int64_t capacity)
{
    if (!kept->number)
        kept->number = ++last_number * UINT64_C(0x9e3779b97f4a7c15);
    struct sl_claim claim = { .algo = algo,
                              .key = { kept->number, 5 },
                              .limit = { .capacity = capacity },
                              .ring_len = RING };
    if (algo->is_bucket) {
        claim.limit.token_ns = 2 * S * 1000 / capacity;
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = 2 * S;
    }
    if (algo->keeps_ring) {
        kept->state.ring = kept->ring;
        kept->state.ring_len = RING;
    }
    return claim;
}

static struct sl_bundle bundle_of(struct sl_claim *claims, size_t count, uint32_t cost)
{
    return (struct sl_bundle){
        .now_us = -1, .cost = cost, .max_delay_us = -1, .claims = claims, .claim_count = count
    };
}

/* What a script tells of a log: the newest, how many, and the one that a denied request waits
 * for. Other states are as they are. */
static void tell_state(const struct sl_bundle *bundle, struct sl_claim *claim, struct kept *kept)
{
    struct sl_state *own = (struct sl_state *)(void *)claim->own;
    *own = kept->state;
    if (!claim->algo->keeps_ring)
        return;
    int64_t window_us = claim->limit.window_us, wait_us = claim->answer.retry_after_us;
    kept->told[0] = claim->figures.reset_at_us - window_us;
    kept->told[1] = claim->limit.capacity - claim->figures.remaining;
    kept->told[2] = wait_us == SL_NEVER ? -1 : bundle->now_us + wait_us - window_us;
    *own = (struct sl_state){ 0 };
    claim->algo->load(&claim->limit, kept->told, own);
}

/* As the store decides; it does so halfway between asking and hearing. */
static void ask_store(struct sl_bundle *bundle, struct kept *const *kept, int64_t trip_us)
{
    struct sl_since since = sl_answer_cache_since(answers);
    bool teaches = sl_answer_cache_may_learn(bundle);
    pass_us(trip_us / 2);
    bundle->now_us = bundle->now_us < 0 ? store_now_us() : bundle->now_us;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        claim->guard_answer.blocked_until_us = kept[i]->blocked_until_us;
        sl_claim_decide(claim, bundle, &kept[i]->state);
    }
    sl_bundle_judge(bundle);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        enum sl_write write = sl_claim_write(claim, bundle);
        uint32_t cost = write == SL_WRITE_CHARGE ? bundle->cost : 0;
        if (write != SL_WRITE_NOTHING)
            claim->algo->charge(&claim->limit, &kept[i]->state,
                                (struct sl_ask){ bundle->now_us, cost });
        claim->charged = write == SL_WRITE_CHARGE;
        sl_claim_measure(claim, bundle, &kept[i]->state);
        tell_state(bundle, claim, kept[i]);
    }
    pass_us(trip_us - trip_us / 2);
    if (teaches)
        sl_answer_cache_learn(answers, bundle, since);
}

static bool ask_one(const struct sl_algo *algo, struct kept *kept, uint32_t cost)
{
    struct sl_claim claim = claim_on(algo, kept, 10);
    struct sl_bundle bundle = bundle_of(&claim, 1, cost);
    ask_store(&bundle, &kept, 0);
    return bundle.allowed;
}

static bool is_known(struct sl_claim *claim, uint32_t cost)
{
    struct sl_bundle bundle = bundle_of(claim, 1, cost);
    bool known = sl_answer_cache_answer(answers, &bundle);
    assert_int_equal(known, bundle.is_near);
    assert_int_equal(known, bundle.now_us >= 0);
    assert_true(!known || (!bundle.allowed && bundle.status == SLUICE_OK));
    return known;
}

/* ---- one by one ---- */

WITH_ANSWER_CACHE(a_denial_is_cached_until_its_wait_is_over)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        struct kept kept = { 0 };
        struct sl_claim claim = claim_on(sl_algos[i], &kept, 10);
        assert_false(is_known(&claim, 10));
        assert_true(ask_one(sl_algos[i], &kept, 10));
        assert_false(is_known(&claim, 1));
        assert_false(ask_one(sl_algos[i], &kept, 1));
        assert_true(is_known(&claim, 1));
        int64_t wait_us = claim.answer.retry_after_us;
        pass_us((wait_us < S ? wait_us : S) - 1);
        assert_true(is_known(&claim, 1));
        SAME(sl_algos[i]->name, claim.answer.retry_after_us, wait_us < S ? 1 : wait_us - S + 1);
        pass_us(1);
        assert_false(is_known(&claim, 1));
    }
}

WITH_ANSWER_CACHE(what_only_the_store_can_say_is_asked)
{
    struct kept kept = { 0 };
    struct sl_claim claim = claim_on(&sl_fixed_window, &kept, 10);
    ask_one(&sl_fixed_window, &kept, 10);
    ask_one(&sl_fixed_window, &kept, 1);
    struct sl_bundle asks[] = { bundle_of(&claim, 1, 1), bundle_of(&claim, 1, 1),
                                bundle_of(&claim, 1, 1), bundle_of(&claim, 1, 1),
                                bundle_of(&claim, 1, 1), bundle_of(&claim, 1, 0),
                                bundle_of(&claim, 0, 1) };
    asks[0].peek = true;
    asks[1].now_us = AHEAD;
    asks[2].max_delay_us = 0;
    asks[3].hold_us = S;
    asks[4].wants_all = true;
    for (size_t i = 0; i < COUNT(asks); i++)
        assert_false(sl_answer_cache_answer(answers, &asks[i]));
    assert_true(is_known(&claim, 1));
    assert_false(sl_answer_cache_answer(NULL, &asks[5]));
}

WITH_ANSWER_CACHE(a_replay_or_a_long_queue_teaches_nothing)
{
    struct kept kept = { 0 };
    struct sl_claim claim = claim_on(&sl_leaky_bucket, &kept, 10);
    struct sl_bundle replay = bundle_of(&claim, 1, 11);
    replay.now_us = store_now_us();
    ask_store(&replay, (struct kept *[]){ &kept }, 0);
    ask_one(&sl_leaky_bucket, &kept, 5);
    struct sl_bundle hurry = bundle_of(&claim, 1, 1);
    hurry.max_delay_us = 1;
    ask_store(&hurry, (struct kept *[]){ &kept }, 0);
    assert_false(hurry.allowed);
    assert_false(is_known(&claim, 1));
}

WITH_ANSWER_CACHE(never_is_told_for_costs_above_the_limit)
{
    struct kept kept = { 0 };
    struct sl_claim claim = claim_on(&sl_token_bucket, &kept, 10);
    assert_false(ask_one(&sl_token_bucket, &kept, 11));
    assert_false(is_known(&claim, 10));
    assert_true(is_known(&claim, 12));
    assert_int_equal(claim.answer.retry_after_us, SL_NEVER);
    pass_us(S);
    assert_false(is_known(&claim, 12));
}

WITH_ANSWER_CACHE(all_is_forgotten_at_once_also_what_is_on_its_way)
{
    struct kept kept = { 0 };
    struct sl_claim claim = claim_on(&sl_fixed_window, &kept, 10);
    ask_one(&sl_fixed_window, &kept, 10);
    ask_one(&sl_fixed_window, &kept, 1);
    assert_int_equal(sl_answer_cache_held(answers), 1);
    sl_answer_cache_forget(answers);
    assert_false(is_known(&claim, 1));
    assert_int_equal(sl_answer_cache_held(answers), 0);
    struct sl_since since = sl_answer_cache_since(answers);
    struct sl_bundle bundle = bundle_of(&claim, 1, 1);
    ask_store(&bundle, (struct kept *[]){ &kept }, 0);
    sl_answer_cache_forget(answers);
    sl_answer_cache_learn(answers, &bundle, since);
    assert_false(is_known(&claim, 1));
}

WITH_ANSWER_CACHE(a_block_denies_every_cost)
{
    struct kept kept = { .blocked_until_us = store_now_us() + S / 2 };
    struct sl_claim claim = claim_on(&sl_token_bucket, &kept, 10);
    struct sl_guard guard = { .window_us = S, .penalty_us = S, .threshold = 1 };
    claim.guard = &guard;
    struct sl_bundle bundle = bundle_of(&claim, 1, 7);
    ask_store(&bundle, (struct kept *[]){ &kept }, 0);
    assert_true(is_known(&claim, 1));
    assert_int_equal(claim.guard_answer.blocked_until_us, kept.blocked_until_us);
    assert_int_equal(claim.answer.retry_after_us, S / 2);
    assert_int_equal(claim.figures.remaining, 0);
    pass_us(S / 2);
    assert_false(is_known(&claim, 1));
    assert_int_equal(sl_guard_backlog_held(sl_answer_cache_uncounted(answers)),
                     0); /* nor is it counted */
}

/* ---- several rules ---- */

WITH_ANSWER_CACHE(one_denial_is_enough_and_nothing_is_said_of_the_others)
{
    struct kept full = { 0 }, free = { 0 };
    struct sl_claim claims[] = { claim_on(&sl_fixed_window, &free, 10),
                                 claim_on(&sl_fixed_window, &full, 10) };
    ask_one(&sl_fixed_window, &full, 10);
    ask_one(&sl_fixed_window, &full, 1);
    struct sl_bundle bundle = bundle_of(claims, 2, 1);
    assert_true(sl_answer_cache_answer(answers, &bundle));
    assert_false(bundle.allowed);
    assert_true(claims[0].is_unseen && claims[0].allowed && !claims[0].charged);
    assert_true(!claims[1].is_unseen && !claims[1].allowed);
    claims[0].is_unseen = false;
    bundle = bundle_of(claims, 2, 1);
    bundle.is_joined = true; /* each request of several must hear its own */
    assert_false(sl_answer_cache_answer(answers, &bundle));
    assert_false(claims[0].is_unseen || claims[1].is_unseen);
}

WITH_ANSWER_CACHE(a_cached_shadow_denial_denies_no_request)
{
    struct kept full = { 0 }, free = { 0 };
    struct sl_claim claims[] = { claim_on(&sl_fixed_window, &full, 10),
                                 claim_on(&sl_fixed_window, &free, 10) };
    ask_one(&sl_fixed_window, &full, 10);
    ask_one(&sl_fixed_window, &full, 1);
    claims[0].shadow = true;
    struct sl_bundle bundle = bundle_of(claims, 1, 1);
    assert_true(sl_answer_cache_answer(answers, &bundle));
    assert_true(bundle.allowed && !claims[0].allowed && !claims[0].charged);
    bundle = bundle_of(claims, 2, 1);
    assert_false(sl_answer_cache_answer(answers, &bundle)); /* the other may deny */
}

WITH_ANSWER_CACHE(guards_of_all_rules_count_what_is_denied)
{
    static const struct sl_guard guard = { .window_us = 10 * S, .penalty_us = S, .threshold = 9 };
    struct sl_claim_name names[] = { { .guard = { "g0", 2 } }, { .guard = { "g1", 2 } } };
    struct kept full = { 0 }, free = { 0 };
    struct sl_claim claims[] = { claim_on(&sl_fixed_window, &full, 10),
                                 claim_on(&sl_fixed_window, &free, 10) };
    struct sl_guard_backlog *backlog = sl_answer_cache_uncounted(answers);
    struct sl_guard_backlog_sum sum;
    ask_one(&sl_fixed_window, &full, 10);
    ask_one(&sl_fixed_window, &full, 1);
    for (size_t i = 0; i < 2; i++) {
        claims[i].guard = &guard;
        claims[i].guard_key.low = i + 1;
        claims[i].name = &names[i];
    }
    for (int i = 0; i < 3; i++) {
        struct sl_bundle bundle = bundle_of(claims, 2, 4);
        assert_true(sl_answer_cache_answer(answers, &bundle));
    }
    assert_true(sl_answer_cache_is_due(answers) && sl_guard_backlog_begin(backlog, boot_us));
    for (int i = 0; i < 2; i++) {
        assert_true(sl_guard_backlog_take(backlog, &sum));
        assert_int_equal(sum.count, 3); /* requests, not what they cost */
    }
    assert_false(sl_guard_backlog_take(backlog, &sum));
    assert_false(sl_answer_cache_is_due(answers));
}

/* In a cluster the claims of a request may live on nodes whose clocks differ. The last claim's node
 * has said nothing: the latest clock stands for it. */
WITH_ANSWER_CACHE(a_guard_counts_by_the_clock_of_its_own_node)
{
    static const struct sl_guard guard = { .window_us = 10 * S, .penalty_us = S, .threshold = 9 };
    static const int64_t ahead_us[] = { 0, 50 * S, -30 * S, 50 * S };
    struct sl_claim_name names[] = { { .guard = { "0", 1 } },
                                     { .guard = { "1", 1 } },
                                     { .guard = { "2", 1 } },
                                     { .guard = { "3", 1 } } };
    struct kept kept[COUNT(ahead_us)] = { 0 };
    struct sl_claim claims[COUNT(ahead_us)];
    struct sl_guard_backlog *backlog = sl_answer_cache_uncounted(answers);
    struct sl_guard_backlog_sum sum;
    for (size_t i = 0; i < COUNT(ahead_us); i++) {
        node_ahead_us = ahead_us[i];
        claims[i] = claim_on(&sl_fixed_window, &kept[i], 10);
        ask_one(&sl_fixed_window, &kept[i], 10);
        if (i + 1 < COUNT(ahead_us))
            ask_one(&sl_fixed_window, &kept[i], 1);
        claims[i].guard = &guard;
        claims[i].guard_key.low = i + 1;
        claims[i].name = &names[i];
    }
    struct sl_bundle bundle = bundle_of(claims, COUNT(claims), 1);
    assert_true(sl_answer_cache_answer(answers, &bundle));
    assert_true(claims[3].is_unseen && !claims[2].is_unseen);
    assert_true(sl_guard_backlog_begin(backlog, boot_us));
    for (size_t i = 0; i < COUNT(ahead_us); i++) {
        assert_true(sl_guard_backlog_take(backlog, &sum));
        int64_t there_us = boot_us + AHEAD + ahead_us[*sum.name - '0'];
        assert_int_equal(sum.start_us, there_us - there_us % guard.window_us);
    }
    assert_int_equal(bundle.now_us, boot_us + AHEAD + 50 * S);
}

/* ---- anything ---- */

/* A decision of the exact limiter now, on a copy of its state. */
static struct sl_claim look(const struct sl_claim *from, const struct kept *kept, uint32_t cost,
                            int64_t at_us)
{
    struct sl_claim claim = *from;
    struct sl_bundle bundle = bundle_of(&claim, 1, cost);
    bundle.now_us = at_us;
    claim.guard_answer = (struct sl_guard_answer){ 0 };
    sl_claim_decide(&claim, &bundle, &kept->state);
    sl_claim_measure(&claim, &bundle, &kept->state);
    return claim;
}

/* A request that is denied from memory would be denied by the store right now; if no other node
 * asks, the wait ends at the very instant at which the store allows it, and the figures are the
 * store's. */
static void check_known(struct sl_bundle *bundle, const struct kept *kept, bool is_alone)
{
    const struct sl_claim *claim = bundle->claims;
    struct sl_claim exact = look(claim, kept, bundle->cost, store_now_us());
    int64_t wait_us = claim->answer.retry_after_us;
    const char *row = claim->algo->name;
    SAME(row, exact.allowed, false);
    SAME(row, bundle->now_us <= store_now_us(), true);
    SAME(row, wait_us == SL_NEVER, exact.answer.retry_after_us == SL_NEVER);
    if (wait_us == SL_NEVER || !is_alone)
        return;
    struct sl_claim then = look(claim, kept, bundle->cost, bundle->now_us);
    int64_t passes_us = bundle->now_us + wait_us;
    int64_t exact_us = store_now_us() + exact.answer.retry_after_us;
    if (claim->algo->keeps_ring) { /* of which only that is known that was told, of a cost */
        SAME(row, passes_us <= exact_us, true);
        SAME(row, claim->figures.remaining <= then.figures.remaining, true);
        return;
    }
    SAME(row, passes_us, exact_us);
    SAME(row, claim->figures.remaining, then.figures.remaining);
    SAME(row, claim->figures.reset_at_us, then.figures.reset_at_us);
}

static void play(const struct sl_algo *algo, uint64_t *seed, bool is_alone)
{
    struct kept kept = { 0 };
    int64_t capacity = 1 + (int64_t)(unit_random(seed) % 20);
    struct sl_claim claim = claim_on(algo, &kept, capacity);
    size_t known = 0;
    for (size_t i = 0; i < 400; i++) {
        uint32_t cost = 1 + (uint32_t)(unit_random(seed) % (unit_random(seed) % 4 ? 3 : 22));
        int64_t trip_us = (int64_t)(unit_random(seed) % 3000);
        struct sl_bundle bundle = bundle_of(&claim, 1, cost);
        pass_us((int64_t)(unit_random(seed) % (i % 50 ? 20000 : 4000000)));
        if (!is_alone && unit_random(seed) % 3 == 0 &&
            look(&claim, &kept, 1, store_now_us()).allowed)
            algo->charge(&claim.limit, &kept.state, (struct sl_ask){ store_now_us(), 1 });
        if (sl_answer_cache_answer(answers, &bundle)) {
            check_known(&bundle, &kept, is_alone);
            known++;
        } else {
            ask_store(&bundle, (struct kept *[]){ &kept }, trip_us);
        }
    }
    assert_true(known > 50);
}

WITH_ANSWER_CACHE(no_request_is_denied_that_the_store_would_allow)
{
    uint64_t seed = 9;
    for (size_t i = 0; sl_algos[i]; i++)
        for (size_t k = 0; k < 200; k++)
            play(sl_algos[i], &seed, k % 2);
}
