/* What the others decide where a node of a cluster cannot be asked. */
#include "store/redis/left_out.h"

#include "base/clock.h"
#include "unit/store/scattered.h"

TESTS_ALONE;

/* One claim on each node, of which these may be left out. */
static void ask_with(bool first, bool second, bool third)
{
    make_claims(all, 3);
    claims[0].is_optional = first;
    claims[1].is_optional = second;
    claims[2].is_optional = third;
    ask();
}

static void refuse(size_t node)
{
    heard_at(node);
    say_at(node, "-LOADING Redis is loading the dataset in memory\r\n");
}

static void pass_at(size_t node)
{
    expect_call(node, keys[node]);
    answer(node, 0);
}

ON_A_CHANNEL(a_part_that_fails_is_left_out_where_it_may_be)
{
    for (size_t lost = 0; lost < NODES; lost++) {
        close_channel(NULL);
        open_channel(NULL);
        ask_with(lost == 0, lost == 1, lost == 2);
        for (size_t n = 0; n < NODES; n++)
            if (n == lost)
                refuse(n);
            else
                pass_at(n);
        expect_done(SLUICE_OK, true);
        assert_true(bundle.is_degraded);
        for (size_t n = 0; n < NODES; n++) {
            SAME(keys[n], claims[n].is_lost, n == lost);
            SAME(keys[n], claims[n].charged, n != lost);
            SAME(keys[n], claims[n].allowed, true);
        }
        assert_int_equal(shared.undos[SL_UNDO_DONE], 0);
    }
}

ON_A_CHANNEL(a_denial_of_those_that_live_stands)
{
    ask_with(true, true, true);
    refuse(0);
    pass_at(1);
    heard_at(2);
    answer(2, LIMIT);
    assert_true(has(heard_at(1), "refund 1 "));
    expect_nothing(0); /* it is not asked once more */
    say_at(1, CLOCK_FMT, redis_us());
    expect_done(SLUICE_OK, false);
    assert_false(claims[0].charged || claims[1].charged || claims[2].charged);
    assert_false(claims[2].allowed);
}

ON_A_CHANNEL(one_that_may_not_be_left_out_fails_them_all)
{
    ask_with(true, false, true);
    pass_at(0);
    refuse(1);
    assert_true(has(heard_at(0), "refund 1 "));
    expect_nothing(2);
    say_at(0, CLOCK_FMT, redis_us());
    expect_done(SLUICE_STORE_DOWN, false);
}

ON_A_CHANNEL(if_no_node_answers_the_store_has_failed)
{
    ask_with(true, true, true);
    for (size_t n = 0; n < NODES; n++)
        refuse(n);
    expect_done(SLUICE_STORE_DOWN, false);
    make_claims(all, 3); /* nor is a shadow rule's answer one */
    claims[0].is_optional = true;
    claims[1].shadow = claims[2].shadow = true;
    ask();
    expect_done(SLUICE_STORE_DOWN, false);
    expect_nothing(1);
    expect_nothing(2);
}

/* A silent node has used up the others' time: they are not asked, for they could only be late. */
ON_A_CHANNEL(what_has_no_time_left_is_not_asked)
{
    ask_with(true, true, true);
    expect_call(0, keys[0]);
    pass_all_us(DEADLINE_US);
    expect_done(SLUICE_STORE_DOWN, false);
    expect_nothing(1);
    expect_nothing(2);
    assert_int_equal(shared.ends[SL_CALL_LATE], 1);
}

ON_A_CHANNEL(a_peek_is_answered_by_the_nodes_that_live)
{
    for (int is_optional = 0; is_optional < 2; is_optional++) {
        close_channel(NULL);
        open_channel(NULL);
        make_claims(all, 3);
        bundle.peek = true;
        claims[1].is_optional = is_optional;
        ask();
        refuse(1);
        heard_at(0);
        answer(0, 2);
        heard_at(2);
        answer(2, 1);
        expect_done(is_optional ? SLUICE_OK : SLUICE_STORE_DOWN, true);
        assert_int_equal(bundle.is_degraded, is_optional);
    }
    assert_true(claims[1].is_lost && !claims[0].is_lost && !claims[2].is_lost);
    assert_int_equal(claims[0].figures.remaining, LIMIT - 2);
}

/* ---- leases ---- */

static const int64_t here_us = INT64_C(1700000000) * S + 5;

static struct sl_bundle *bundle_with_a_lease(struct sl_claim of[2])
{
    static struct sl_bundle one;
    for (size_t i = 0; i < 2; i++) {
        of[i] = (struct sl_claim){ .algo = &sl_fixed_window };
        of[i].limit.capacity = LIMIT;
        of[i].limit.window_us = 60 * S;
    }
    of[0].is_here = of[0].allowed = of[0].charged = true;
    of[0].answer = (struct sl_answer){ .allowed = true, .as_of_us = here_us };
    one = (struct sl_bundle){ .now_us = -1,
                              .cost = 1,
                              .max_delay_us = -1,
                              .claims = of,
                              .claim_count = 2,
                              .status = SLUICE_STORE_DOWN };
    return &one;
}

ON_A_CHANNEL(what_was_taken_from_a_lease_decides_without_the_rest)
{
    static const struct {
        const char *name;
        bool shadow, optional, lease_is_shadows, stands;
    } rows[] = {
        { "a shadow is left out", true, false, false, true },
        { "a rule that may be is left out", false, true, false, true },
        { "another is not", false, false, false, false },
        { "a shadow's lease decides nothing", true, false, true, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_claim two[2];
        struct sl_bundle *one = bundle_with_a_lease(two);
        two[0].shadow = rows[i].lease_is_shadows;
        two[1].shadow = rows[i].shadow;
        two[1].is_optional = rows[i].optional;
        SAME(rows[i].name, sl_bundle_decide_without(one), rows[i].stands);
        SAME(rows[i].name, one->status, rows[i].stands ? SLUICE_OK : SLUICE_STORE_DOWN);
        if (!rows[i].stands)
            continue;
        SAME(rows[i].name, one->now_us, here_us);
        SAME(rows[i].name, one->allowed && one->is_degraded && two[1].is_lost, true);
        SAME(rows[i].name, two[0].charged && !two[1].charged && !two[0].is_lost, true);
    }
}

/* The lease is of another time than 1970, and so is a wall clock. */
ON_A_CHANNEL(without_any_answer_it_is_the_time_of_what_is_here)
{
    struct sl_claim two[2];
    struct sl_bundle *one = bundle_with_a_lease(two);
    assert_int_equal(sl_bundle_time_here_us(one), here_us);
    two[0].is_here = false;
    assert_true(sl_bundle_time_here_us(one) > here_us);
    make_claims(all, 3);
    claims[0].is_here = claims[0].allowed = claims[0].charged = true;
    claims[0].answer = (struct sl_answer){ .allowed = true, .as_of_us = here_us };
    claims[1].shadow = claims[2].shadow = true;
    ask();
    refuse(1);
    refuse(2);
    expect_done(SLUICE_OK, true);
    assert_int_equal(bundle.now_us, here_us);
    assert_true(claims[1].figures.reset_at_us >= here_us);
}
