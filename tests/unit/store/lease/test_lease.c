/* Spending what was leased, by one and by many. */
#include "unit/store/leases.h"

#include <pthread.h>

#define WITH_SETUP(name) TEST_WITH(name, open_leases, close_leases)

WITH_SETUP(what_was_lent_is_spent_and_no_more)
{
    struct sl_claim claim = fixed_claim(1, 1000);
    assert_false(takes(&claim, 10 * S, 1));
    lend(&claim, 10 * S, 20);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 20);
    for (int i = 0; i < 6; i++)
        assert_true(takes(&claim, 10 * S, 3));
    assert_false(takes(&claim, 10 * S, 3));
    assert_true(takes(&claim, 10 * S, 2));
    assert_false(takes(&claim, 10 * S, 1));
}

WITH_SETUP(an_allowed_request_is_told_what_is_left_in_lease_and_store)
{
    struct sl_claim claim = fixed_claim(1, 1000);
    lend(&claim, 10 * S, 20);
    assert_true(takes(&claim, 10 * S, 1));
    assert_true(claim.allowed && claim.charged && claim.answer.allowed);
    assert_int_equal(claim.figures.remaining, 999);
    assert_int_equal(claim.answer.as_of_us, 10 * S + AHEAD_US);
    assert_int_equal(claim.figures.reset_at_us,
                     (10 * S + AHEAD_US) / (3600 * S) * 3600 * S + 3600 * S);
}

/* L4 */
WITH_SETUP(nothing_is_spent_after_the_end_as_counted_from_before_the_call)
{
    struct sl_claim claim = fixed_claim(1, 1000);
    int64_t asked_us = 10 * S + 250 * MS;
    lend(&claim, asked_us, 20); /* of a term that ends at 12 s: 1.75 s to go */
    int64_t end_us = asked_us + 1750 * MS - 1750 * MS / 512;
    assert_true(takes(&claim, end_us - 2, 1));
    assert_false(takes(&claim, end_us, 1));
    assert_int_equal(sl_leases_left(leases, &claim, end_us), 0);
}

/* L1 */
WITH_SETUP(another_limit_on_the_same_key_has_no_part_in_it)
{
    struct sl_claim claim = bucket_claim(1, 1000), other = bucket_claim(1, 1001),
                    slower = bucket_claim(1, 1000);
    slower.limit.token_ns++;
    lend(&claim, 10 * S, 20);
    assert_false(takes(&other, 10 * S, 1));
    assert_false(takes(&slower, 10 * S, 1));
    assert_true(takes(&claim, 10 * S, 1));
}

/* L10 */
WITH_SETUP(what_is_put_back_is_there_again_unless_a_call_has_told_of_it)
{
    struct sl_claim claim = fixed_claim(1, 1000), late = claim;
    struct sl_lease *lease = lend(&claim, 10 * S, 20);
    assert_true(takes(&claim, 10 * S, 5) && takes(&late, 10 * S, 10));
    sl_lease_put_back(*sl_lease_ticket_of(&claim), 5);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 10);
    assert_true(takes(&claim, 10 * S, 6)); /* a quarter is left: it is due */
    struct sl_lease *due = sl_leases_due(leases);
    assert_ptr_equal(due, lease);
    assert_true(sl_lease_begin(leases, due, 10 * S));
    assert_int_equal(due->ask.spent, 16);
    sl_lease_put_back(*sl_lease_ticket_of(&late), 10);
    assert_int_equal(sl_leases_left(leases, &claim, 10 * S), 4);
    sl_lease_keep(due, 10 * S);
}

WITH_SETUP(it_is_called_for_once_when_a_quarter_is_left)
{
    struct sl_claim claim = fixed_claim(1, 1000);
    lend(&claim, 10 * S, 20);
    assert_true(takes(&claim, 10 * S, 14));
    assert_false(sl_leases_any_due(leases));
    assert_true(takes(&claim, 10 * S, 1) && takes(&claim, 10 * S, 1));
    assert_true(sl_leases_any_due(leases));
    struct sl_lease *due = sl_leases_due(leases);
    assert_non_null(due);
    assert_null(sl_lease_next(leases, due));
    assert_null(sl_leases_due(leases));
}

WITH_SETUP(what_is_held_is_counted_by_rule)
{
    static struct sl_lease_held held[SL_LEASE_RULES];
    struct sl_claim claim = fixed_claim(1, 1000), other = fixed_claim(2, 1000);
    other.rule = 9;
    lend(&claim, 10 * S, 20);
    lend(&other, 10 * S, 30);
    assert_true(takes(&claim, 10 * S, 4));
    sl_leases_held(leases, held, 10 * S);
    assert_int_equal(held[7].units, 16);
    assert_int_equal(held[7].most, 20);
    assert_int_equal(held[9].units, 30);
    assert_true(sl_leases_any(leases, 10 * S));
    sl_leases_held(leases, held, 13 * S);
    assert_int_equal(held[7].units + held[9].units, 0);
    assert_false(sl_leases_any(leases, 13 * S));
}

WITH_SETUP(a_number_that_another_rule_is_given_counts_from_nothing)
{
    struct sl_claim claim = fixed_claim(1, 1000);
    const struct sl_lease_counts *counts = sl_leases_counts(leases, claim.rule);
    sl_leases_name(leases, claim.rule, SL_TEXT("world"));
    lend(&claim, 10 * S, 20);
    sl_leases_name(leases, claim.rule, SL_TEXT("world"));
    sl_leases_name(leases, SL_LEASE_RULES, SL_TEXT("tenant"));
    assert_int_equal(counts->units[SL_LEASE_GRANTED], 20);
    assert_int_equal(counts->calls[SL_LEASE_CALL_OK], 1);
    sl_leases_name(leases, claim.rule, SL_TEXT("tenant"));
    assert_int_equal(counts->units[SL_LEASE_GRANTED], 0);
    assert_int_equal(counts->calls[SL_LEASE_CALL_OK], 0);
}

/* ---- many at once ---- */

enum { THREADS = 4, TURNS = 20000, KEYS = 3 };

static _Atomic uint64_t granted, spent, told, back;

/* Answers as a store would that has enough. */
static void answer(struct sl_lease *lease, uint64_t number, int64_t now_us)
{
    const struct sl_lease_ask ask = lease->ask;
    if (number % 13 == 0) {
        sl_lease_keep(lease, now_us);
        return;
    }
    struct sl_lease_reply reply = reply_at(now_us, ask.want);
    atomic_fetch_add(&granted, ask.want);
    atomic_fetch_add(&told, ask.spent);
    atomic_fetch_add(&back, ask.back);
    sl_lease_answer(leases, lease, &reply, now_us);
}

static void *spend(void *about)
{
    uint64_t number = (uint64_t)(uintptr_t)about;
    for (int i = 0; i < TURNS; i++) {
        struct sl_claim claim = fixed_claim(number % KEYS, 100000);
        int64_t now_us = 10 * S + i;
        uint32_t cost = 1 + (uint32_t)(number >> 32) % 3;
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407;
        if (takes(&claim, now_us, cost)) {
            if (number % 7 == 0)
                sl_lease_put_back(*sl_lease_ticket_of(&claim), cost);
            else
                atomic_fetch_add(&spent, cost);
        } else {
            struct sl_lease *lease = wants(&claim, now_us, cost);
            if (lease)
                answer(lease, number, now_us);
        }
        struct sl_lease *due = sl_leases_any_due(leases) ? sl_leases_due(leases) : NULL, *next;
        for (; due; due = next) {
            next = sl_lease_next(leases, due);
            if (sl_lease_begin(leases, due, now_us))
                answer(due, number, now_us);
        }
    }
    return NULL;
}

/* What was put back after a call had told of it counts as spent, so the ledger may say more than
 * the threads, never less. */
WITH_SETUP(threads_spend_what_was_lent_once)
{
    pthread_t threads[THREADS];
    granted = spent = told = back = 0;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spend, (void *)(uintptr_t)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t left = 0, rest = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        for (size_t i = 0; i < SL_LEASE_WAYS; i++) {
            const struct sl_lease *lease = &leases->slots[key * SL_LEASE_WAYS + i];
            left += (uint32_t)lease->word.lo;
            rest += lease->granted - (uint32_t)lease->word.lo;
        }
    }
    assert_true(granted > 0 && spent > 0);
    assert_int_equal(granted, told + back + rest + left);
    assert_true(spent <= told + rest);
}
