/* What a holder says in its calls, and makes of the answers; on a clock of our own. */
#include "unit/store/leases.h"

/* As many as come in that second, one by one. */
static struct sl_lease *ask_for_a_second(struct sl_claim *claim, int64_t from_us, int64_t count)
{
    struct sl_lease *lease = NULL;
    for (int64_t i = 0; i < count && !lease; i++)
        lease = wants(claim, from_us + i * S / count, 1);
    return lease;
}

#define WITH_SETUP(name) TEST_WITH(name, open_leases, close_leases)

WITH_SETUP(fewer_than_eight_in_a_second_lease_nothing)
{
    struct sl_claim claim = fixed_claim(1, 1000000);
    for (int64_t second = 10; second < 20; second++)
        assert_null(ask_for_a_second(&claim, second * S, 6));
    struct sl_lease *lease = NULL;
    for (int64_t second = 20; second < 23 && !lease; second++)
        lease = ask_for_a_second(&claim, second * S, 15);
    assert_non_null(lease);
    assert_in_range(lease->ask.want, 8, 15);
    sl_lease_keep(lease, 23 * S);
}

/* Demand as it is after a second of so many; what is wanted then. */
static uint32_t wanted_of(uint64_t key, int64_t mode, uint32_t demand, int64_t capacity)
{
    struct sl_claim claim = fixed_claim(key, capacity);
    claim.lease = mode;
    struct sl_lease *lease = wants(&claim, 9 * S, 1);
    assert_null(lease);
    lease = wants(&claim, 10 * S, demand * 2); /* what comes evenly adds up to that */
    if (!lease)
        return 0;
    uint32_t want = lease->ask.want;
    sl_lease_keep(lease, 10 * S);
    return want;
}

WITH_SETUP(how_much_is_wanted_follows_the_demand)
{
    static const struct {
        int64_t mode;
        uint32_t demand;
        int64_t capacity;
        uint32_t least, most;
    } rows[] = {
        { SL_LEASE_BY_DEMAND, 50, 1000000, 49, 51 },      /* all of it */
        { SL_LEASE_BY_DEMAND, 500, 1000000, 96, 96 },     /* 96 */
        { SL_LEASE_BY_DEMAND, 8000, 1000000, 990, 1010 }, /* an eighth */
        { 200, 8000, 1000000, 200, 200 },                 /* N */
        { 200, 50, 1000000, 49, 51 },                     /* not more than a second's */
        { 5, 8000, 1000000, 0, 0 },                       /* not worth a call */
        { SL_LEASE_BY_DEMAND, 90, 1500, 89, 91 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint32_t want = wanted_of(i * 17, rows[i].mode, rows[i].demand, rows[i].capacity);
        if (want < rows[i].least || want > rows[i].most)
            fail_msg("row %zu: %u", i, want);
    }
}

/* L5 */
WITH_SETUP(a_call_tells_what_was_spent_and_keeps_the_rest_which_is_spent_on)
{
    struct sl_claim claim = fixed_claim(1, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 20);
    int64_t term_us = lease->term_us;
    assert_true(takes(&claim, 10 * S, 16));
    assert_ptr_equal(sl_leases_due(leases), lease);
    assert_true(sl_lease_begin(leases, lease, 10 * S));
    assert_int_equal(lease->ask.term_us, term_us);
    assert_int_equal(lease->ask.spent, 16);
    assert_int_equal(lease->ask.kept, 4);
    assert_int_equal(lease->ask.back, 0);
    assert_true(takes(&claim, 10 * S, 3));
    assert_null(wants(&claim, 10 * S, 5)); /* one call at a time */
    struct sl_lease_reply reply = reply_at(10 * S, 30);
    sl_lease_answer(leases, lease, &reply, 10 * S + MS);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 31);
    assert_true(takes(&claim, 10 * S, 26));
    assert_true(sl_lease_begin(leases, sl_leases_due(leases), 10 * S));
    assert_int_equal(lease->ask.spent, 29);
    assert_int_equal(lease->ask.kept, 5);
    sl_lease_keep(lease, 10 * S);
}

WITH_SETUP(what_goes_back_is_no_demand)
{
    struct sl_claim claim = fixed_claim(1, 1000000);
    struct sl_lease *lease = lend(&claim, 10 * S, 40);
    claim.lease = 8;
    assert_true(takes(&claim, 10 * S, 25));
    assert_null(wants(&claim, 10 * S, 16)); /* more than is left, and more than it would ask for */
    assert_int_equal(lease->reckoned, 25);
    uint64_t demand = lease->demand;
    sl_lease_put_back(*sl_lease_ticket_of(&claim), 25);
    assert_null(wants(&claim, 10 * S, 50));
    assert_int_equal(lease->demand, demand + 50 * 256);
}

/* L6 */
WITH_SETUP(of_a_lease_that_is_not_known_only_what_is_new_is_there)
{
    struct sl_claim claim = fixed_claim(1, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 20);
    assert_true(takes(&claim, 10 * S, 15));
    assert_true(sl_lease_begin(leases, sl_leases_due(leases), 10 * S));
    struct sl_lease_reply reply = reply_at(10 * S, 9);
    reply.is_known = false;
    sl_lease_answer(leases, lease, &reply, 10 * S);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 9);
    const struct sl_lease_counts *counts = sl_leases_counts(leases, 7);
    assert_int_equal(counts->units[SL_LEASE_GRANTED], 29);
    assert_int_equal(counts->units[SL_LEASE_SPENT], 15);
    assert_int_equal(counts->units[SL_LEASE_DROPPED], 5);
    assert_int_equal(counts->calls[SL_LEASE_CALL_UNKNOWN], 1);
}

/* L7 */
WITH_SETUP(a_call_without_an_answer_loses_all)
{
    struct sl_claim claim = fixed_claim(1, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 20);
    assert_true(takes(&claim, 10 * S, 15));
    assert_true(sl_lease_begin(leases, sl_leases_due(leases), 10 * S));
    assert_true(takes(&claim, 10 * S, 2));
    sl_lease_lose(leases, lease, 10 * S);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 0);
    assert_null(wants(&claim, 10 * S + 99 * MS, 1)); /* not at once */
    assert_non_null(lease = wants(&claim, 10 * S + 100 * MS, 1));
    assert_int_equal(lease->ask.term_us, 0);
    assert_int_equal(lease->ask.spent + lease->ask.kept + lease->ask.back, 0);
    sl_lease_keep(lease, 11 * S);
}

WITH_SETUP(a_call_that_was_never_sent_leaves_all_as_it_was)
{
    struct sl_claim claim = fixed_claim(1, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 20);
    assert_true(takes(&claim, 10 * S, 15));
    assert_true(sl_lease_begin(leases, sl_leases_due(leases), 10 * S));
    sl_lease_keep(lease, 10 * S);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 5);
    assert_ptr_equal(sl_leases_recall(leases, sl_leases_place(&claim.key), &claim.key, 10 * S),
                     lease);
    assert_int_equal(lease->ask.spent, 15);
    assert_int_equal(lease->ask.back, 5);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 0);
    sl_lease_keep(lease, 10 * S);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 5);
}

WITH_SETUP(a_call_that_a_request_needs_decides_it)
{
    for (int passes = 0; passes < 2; passes++) {
        struct sl_claim claim = fixed_claim(1 + (uint64_t)passes, 100000);
        struct sl_lease *lease = lend(&claim, 10 * S, 20);
        struct sl_ask ask = { 10 * S, 30 };
        assert_ptr_equal(sl_leases_want(leases, &claim, ask, 30), lease);
        assert_int_equal(lease->ask.need, 30);
        assert_int_equal(lease->ask.back, 20); /* what is too little goes back */
        struct sl_lease_reply reply = reply_at(10 * S, passes ? 96 : 0);
        reply.told[1] = passes ? 0 : 99990;
        reply.out = 25;
        assert_int_equal(sl_lease_answer(leases, lease, &reply, 10 * S), passes);
        assert_int_equal(sl_leases_left(leases, &claim, 10 * S), passes ? 66 : 0);
    }
    assert_int_equal(sl_leases_counts(leases, 7)->short_of, 1);
}

WITH_SETUP(a_lease_is_renewed_if_it_was_used_and_given_back_if_not)
{
    for (uint64_t key = 1; key < 50; key++) {
        struct sl_claim claim = fixed_claim(key, 100000);
        struct sl_lease *lease = lend(&claim, 10 * S, 100); /* until 12 s, less 4 ms */
        atomic_store(&lease->owner, 3);
        bool is_used = key % 2;
        if (is_used)
            assert_true(takes(&claim, 10 * S, 60));
        assert_int_equal(sl_lease_look(leases, lease, 3, 11 * S + 240 * MS), SL_LEASE_REST);
        assert_int_equal(sl_lease_look(leases, lease, 4, 11 * S + 750 * MS), SL_LEASE_OVER);
        assert_int_equal(sl_lease_look(leases, lease, 3, 11 * S + 750 * MS), SL_LEASE_CALL);
        assert_int_equal(lease->ask.kept, is_used ? 40 : 0);
        assert_int_equal(lease->ask.back, is_used ? 0 : 100);
        sl_lease_lose(leases, lease, 11 * S + 750 * MS);
        assert_int_equal(sl_lease_look(leases, lease, 3, 11 * S + 750 * MS), SL_LEASE_OVER);
    }
}

/* Lent 50 until its window ends, and 20 are spent. */
static struct sl_lease *lend_to_the_end(struct sl_claim *claim, int64_t *end_us)
{
    struct sl_lease *lease = ask_for_a_second(claim, 10 * S, 100);
    assert_non_null(lease);
    struct sl_lease_reply reply = reply_at(10 * S, 50);
    reply.end_us -= 700 * MS;
    sl_lease_answer(leases, lease, &reply, lease->asked_us);
    atomic_store(&lease->owner, 3);
    *end_us = (int64_t)lease->word.hi;
    assert_true(takes(claim, *end_us - 1, 20));
    assert_int_equal(sl_lease_look(leases, lease, 3, *end_us - 1), SL_LEASE_REST);
    return lease;
}

WITH_SETUP(nothing_is_told_of_a_fixed_window_that_is_over)
{
    const struct sl_lease_counts *counts = sl_leases_counts(leases, 7);
    for (uint64_t key = 1; key <= 2; key++) {
        struct sl_claim claim = fixed_claim(key, 100000);
        int64_t end_us;
        struct sl_lease *lease = lend_to_the_end(&claim, &end_us);
        if (key == 1) /* the first request */
            assert_int_equal(sl_lease_look(leases, lease, 3, end_us), SL_LEASE_OVER);
        else
            assert_ptr_equal(ask_for_a_second(&claim, end_us, 100), lease);
        assert_int_equal(counts->units[SL_LEASE_SPENT], 20 * key);
        assert_int_equal(counts->units[SL_LEASE_DROPPED], 30 * key);
        if (key == 1)
            continue;
        assert_int_equal(lease->ask.term_us, 0);
        assert_int_equal(lease->ask.spent + lease->ask.kept + lease->ask.back, 0);
        sl_lease_keep(lease, 12 * S);
    }
}

WITH_SETUP(what_a_counter_s_window_has_left_is_given_back_after_its_end)
{
    const struct sl_lease_counts *counts = sl_leases_counts(leases, 7);
    struct sl_claim claim = fixed_claim(1, 100000);
    claim.algo = &sl_sliding_window_counter;
    int64_t end_us;
    struct sl_lease *lease = lend_to_the_end(&claim, &end_us);
    int64_t term_us = lease->term_us, window_us = lease->window_us;
    for (int i = 0; i < 2; i++) { /* if it could not be sent, again */
        assert_int_equal(sl_lease_look(leases, lease, 3, end_us + i * 100 * MS), SL_LEASE_CALL);
        assert_int_equal(lease->ask.back, 30);
        assert_int_equal(lease->ask.spent, 20);
        assert_int_equal(lease->ask.want, 0);
        assert_int_equal(lease->ask.term_us, term_us);
        assert_int_equal(lease->ask.window_us, window_us);
        if (i == 0)
            sl_lease_keep(lease, end_us);
    }
    struct sl_lease_reply reply = reply_at(end_us + 100 * MS, 0);
    reply.is_known = false;
    reply.is_late = true;
    sl_lease_answer(leases, lease, &reply, end_us + 100 * MS);
    assert_int_equal(counts->units[SL_LEASE_RETURNED], 30);
    assert_int_equal(counts->calls[SL_LEASE_CALL_RETURN], 1);
    assert_int_equal(counts->calls[SL_LEASE_CALL_UNKNOWN], 0);
    assert_int_equal(sl_lease_look(leases, lease, 3, end_us + 200 * MS), SL_LEASE_OVER);
    end_us = 0;
    claim.key.low++; /* a lease without an answer for too long is left */
    lease = lend_to_the_end(&claim, &end_us);
    assert_int_equal(sl_lease_look(leases, lease, 3, end_us + 2 * S), SL_LEASE_OVER);
    assert_int_equal(counts->units[SL_LEASE_DROPPED], 30);
}

/* Unless it was given back the old limit would be renewed. */
WITH_SETUP(what_could_not_be_given_back_for_other_rules_is_tried_again)
{
    struct sl_claim claim = fixed_claim(1, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 100);
    atomic_store(&lease->owner, 3);
    assert_true(takes(&claim, 10 * S, 2));
    sl_leases_turn_page(leases);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sl_lease_look(leases, lease, 3, 10 * S + i * 100 * MS), SL_LEASE_CALL);
        assert_int_equal(lease->ask.back, 98);
        sl_lease_keep(lease, 10 * S + i * 100 * MS);
    }
    assert_int_equal(sl_lease_look(leases, lease, 3, 10 * S + 300 * MS), SL_LEASE_CALL);
    struct sl_lease_reply reply = reply_at(10 * S + 300 * MS, 0);
    sl_lease_answer(leases, lease, &reply, 10 * S + 300 * MS);
    assert_int_equal(sl_lease_look(leases, lease, 3, 10 * S + 400 * MS), SL_LEASE_OVER);
}

WITH_SETUP(other_rules_have_it_given_back_at_once)
{
    struct sl_claim claim = fixed_claim(1, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 100);
    atomic_store(&lease->owner, 3);
    assert_true(takes(&claim, 10 * S, 2));
    assert_int_equal(sl_lease_look(leases, lease, 3, 10 * S), SL_LEASE_REST);
    sl_leases_turn_page(leases);
    assert_int_equal(sl_lease_look(leases, lease, 3, 10 * S), SL_LEASE_CALL);
    assert_int_equal(lease->ask.back, 98);
    assert_int_equal(lease->ask.spent, 2);
    assert_int_equal(lease->ask.want, 0);
    sl_lease_lose(leases, lease, 10 * S);
}

/* A3 */
WITH_SETUP(a_store_whose_clock_has_leapt_ends_all_leases)
{
    struct sl_claim claim = fixed_claim(1, 100000), other = fixed_claim(2, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 100);
    lend(&other, 10 * S, 50);
    assert_true(takes(&claim, 10 * S, 80));
    assert_true(sl_lease_begin(leases, sl_leases_due(leases), 10 * S + 300 * MS));
    struct sl_lease_reply reply = reply_at(10 * S + 310 * MS + 5 * MS, 30);
    sl_lease_answer(leases, lease, &reply, 10 * S + 310 * MS);
    assert_int_equal(sl_leases_left(leases, &other, 10 * S + 310 * MS), 0);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S + 310 * MS), 30);
}

/* L10 */
WITH_SETUP(what_was_put_back_is_no_demand)
{
    struct sl_claim claim = fixed_claim(1, 100000);
    lend(&claim, 10 * S, 20);
    assert_true(takes(&claim, 10 * S, 4));
    assert_null(wants(&claim, 10 * S, 1)); /* there is enough; but they are in the demand now */
    sl_lease_put_back(*sl_lease_ticket_of(&claim), 4);
    assert_null(wants(&claim, 10 * S, 1));
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 20);
}

/* D3 */
WITH_SETUP(a_pardoned_claim_is_not_denied_by_earlier_calls)
{
    struct sl_claim claim = fixed_claim(1, 1000);
    struct sl_ask ask = { 10 * S + MS, 1 };
    int64_t ahead_us;
    struct sl_lease *lease = lend_of(&claim, 10 * S, 3, 24);
    assert_true(takes(&claim, 10 * S, 3));
    assert_true(sl_leases_deny(leases, &claim, ask, &ahead_us));
    sl_leases_pardon(leases);
    assert_false(sl_leases_deny(leases, &claim, ask, &ahead_us));
    for (int is_late = 1; is_late >= 0; is_late--) {
        struct sl_lease_reply reply = reply_at(ask.now_us, 0);
        reply.told[1] = 1000;
        assert_ptr_equal(sl_leases_want(leases, &claim, ask, 1), lease);
        if (is_late) /* it may have run before */
            sl_leases_pardon(leases);
        assert_false(sl_lease_answer(leases, lease, &reply, ask.now_us));
        assert_int_equal(sl_leases_deny(leases, &claim, ask, &ahead_us), !is_late);
    }
}

/* Its term may come again, if the store's clock steps back: others' units are in it then. */
WITH_SETUP(nothing_is_told_of_a_bucket_s_lease_that_has_ended)
{
    struct sl_claim claim = bucket_claim(1, 100000);
    struct sl_lease *lease = lend(&claim, 10 * S, 100);
    assert_true(takes(&claim, 10 * S, 30));
    assert_ptr_equal(wants(&claim, 12 * S, 1000), lease);
    assert_int_equal(lease->ask.term_us, 0);
    assert_int_equal(lease->ask.spent + lease->ask.kept + lease->ask.back, 0);
    assert_true(lease->ask.want > 0);
    sl_lease_keep(lease, 12 * S);
    assert_int_equal(sl_leases_left(leases, &claim, 12 * S), 0);
    const struct sl_lease_counts *counts = sl_leases_counts(leases, 7);
    assert_int_equal(counts->units[SL_LEASE_SPENT], 30);
    assert_int_equal(counts->units[SL_LEASE_DROPPED], 70);
}

WITH_SETUP(an_unused_place_gives_way_and_others_do_not)
{
    enum { SETS = SL_LEASES_MAX / SL_LEASE_WAYS };
    struct sl_claim held[SL_LEASE_WAYS];
    for (uint64_t i = 0; i < SL_LEASE_WAYS; i++) {
        held[i] = fixed_claim(5 + i * SETS, 100000); /* all have the same places */
        lend(&held[i], 10 * S, 50);
    }
    struct sl_claim more = fixed_claim(5 + SL_LEASE_WAYS * SETS, 100000);
    for (int i = 0; i < 100; i++)
        assert_null(wants(&more, 10 * S, 1));
    for (uint64_t i = 0; i < SL_LEASE_WAYS; i++)
        assert_int_equal(sl_leases_left(leases, &held[i], 10 * S), 50);
    lend(&more, 40 * S, 50);
    assert_int_equal(sl_leases_left(leases, &more, 40 * S), 50);
}

WITH_SETUP(a_cost_that_is_too_large_for_a_lease_has_it_given_back)
{
    struct sl_claim claim = fixed_claim(1, 800);
    struct sl_ask ask = { 10 * S, 101 };
    assert_null(sl_leases_want(leases, &claim, ask, 101));
    struct sl_lease *lease = lend(&claim, 10 * S, 50);
    assert_ptr_equal(sl_leases_want(leases, &claim, ask, 101), lease);
    assert_int_equal(lease->ask.need, 0);
    assert_int_equal(lease->ask.back, 50);
    sl_lease_lose(leases, lease, 10 * S);
}
