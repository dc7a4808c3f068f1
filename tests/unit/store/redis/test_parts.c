/* Requests whose claims live in several slots: taken in order, given back, held. */
#include "store/redis/parts.h"

#include "unit/store/scattered.h"

TESTS_ALONE;

/* ---- taking and giving back ---- */

ON_A_CHANNEL(parts_are_taken_one_after_another_in_the_order_of_slots)
{
    static const size_t mixed[] = { 2, 0, 1 };
    make_claims(mixed, 3);
    ask();
    for (size_t node = 0; node < NODES; node++) {
        expect_call(node, keys[node]);
        for (size_t later = node + 1; later < NODES; later++)
            expect_nothing(later);
        assert_int_equal(parcels_done, 0);
        answer(node, (int64_t)node);
    }
    expect_done(SLUICE_OK, true);
    for (size_t i = 0; i < 3; i++) { /* each has its own answer */
        assert_true(claims[i].charged && claims[i].allowed);
        assert_int_equal(claims[i].figures.remaining, LIMIT - 1 - (int64_t)mixed[i]);
        assert_ptr_equal(claims[i].name, &names[i]);
    }
    assert_int_equal(bundle.now_us, redis_us());
}

/* What a node said of a log is kept until all have answered, itself once more included. */
ON_A_CHANNEL(figures_are_those_of_each_ones_own_answer)
{
    static const size_t nodes[] = { 0, 0, 2 };
    char second[32];
    make_claims(nodes, 3);
    for (int i = 0;; i++) { /* the same node's, in a later slot */
        snprintf(second, sizeof second, "rl:-:other:{%d}", i);
        uint32_t slot = sl_slot_of(sl_text(second));
        if (node_of(slot) == 0 && slot > sl_slot_of(sl_text(keys[0])))
            break;
    }
    names[1].key = sl_text(second);
    claims[0].algo = claims[1].algo = &sl_sliding_window_log;
    claims[0].ring_len = claims[1].ring_len = LIMIT;
    ask();
    heard_at(0);
    say_packed_at(0, (int64_t[]){ redis_us(), 1, redis_us() - S, 3, -1 }, 5);
    heard_at(0);
    say_packed_at(0, (int64_t[]){ redis_us(), 1, redis_us() - 2 * S, 1, -1 }, 5);
    heard_at(2);
    answer(2, 4);
    expect_done(SLUICE_OK, true);
    assert_int_equal(claims[0].figures.remaining, LIMIT - 4);
    assert_int_equal(claims[1].figures.remaining, LIMIT - 2);
    assert_int_equal(claims[2].figures.remaining, LIMIT - 5);
}

ON_A_CHANNEL(claims_of_one_slot_are_one_call)
{
    static const size_t same[] = { 1, 1 };
    make_claims(same, 2);
    ask();
    assert_true(has(heard_at(1), "CALL 2 "));
    expect_nothing(0);
    expect_nothing(2);
}

/* Some of its keys are here and some there: each is asked for alone. */
ON_A_CHANNEL(in_a_slot_that_moves_each_claim_is_a_part)
{
    static const size_t same[] = { 1, 1 };
    make_claims(same, 2);
    uint32_t slot = sl_slot_of(names[1].key);
    ask();
    assert_true(has(heard_at(1), "CALL 2 "));
    say_at(1, "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
    pass_all_us(DEADLINE_US);
    expect_done(SLUICE_STORE_DOWN, false);
    say_at(1, "-TRYAGAIN again, to nobody\r\n");
    heard_at(1);
    make_claims(same, 2);
    ask();
    expect_call(1, keys[1]);
    answer(1, 0);
    expect_call(1, keys[1]);
    answer(1, 0);
    expect_done(SLUICE_OK, true);
    pass_all_us(2 * S); /* and then together again */
    assert_false(sl_cluster_is_moving(shared.cluster, slot, clock_us));
    make_claims(same, 2);
    ask();
    assert_true(has(heard_at(1), "CALL 2 "));
}

ON_A_CHANNEL(a_denial_gives_back_what_was_taken_and_looks_at_the_rest)
{
    ask_all_three();
    heard_at(0);
    answer(0, 2);
    expect_call(1, keys[1]);
    answer(1, LIMIT); /* denied */
    const char *text = heard_at(0);
    assert_true(has(text, keys[0]) && has(text, "refund 1 "));
    expect_call(2, " 1 d "); /* whatever it says: only guards count */
    assert_int_equal(parcels_done, 0);
    answer_look(2, LIMIT);
    assert_int_equal(parcels_done, 0); /* until it was given back, or not */
    say_at(0, CLOCK_FMT, redis_us());
    expect_done(SLUICE_OK, false);
    assert_int_equal(shared.undos[SL_UNDO_DONE], 1);
    assert_true(claims[0].allowed && !claims[1].allowed && !claims[2].allowed);
    assert_int_equal(claims[0].figures.remaining, LIMIT - 2); /* as it is without us */
    for (size_t i = 0; i < 3; i++)
        assert_false(claims[i].charged);
}

/* What the others say is for figures: without it the denial stands. */
ON_A_CHANNEL(a_denial_stands_whatever_becomes_of_the_rest)
{
    ask_all_three();
    heard_at(0);
    answer(0, LIMIT);
    expect_call(1, " 1 d ");
    expect_call(2, " 1 d ");
    say_at(1, "-OOM no memory\r\n");
    hang_up_at(2);
    turn_all();
    expect_done(SLUICE_OK, false);
    assert_int_equal(claims[1].figures.remaining, LIMIT);
    assert_true(claims[1].allowed && claims[2].allowed);
    assert_int_equal(shared.undos[SL_UNDO_DONE], 0); /* nothing was taken */
}

ON_A_CHANNEL(a_failure_gives_back_what_was_taken)
{
    ask_all_three();
    heard_at(0);
    answer(0, 0);
    heard_at(1);
    say_at(1, "-OOM no memory\r\n");
    assert_true(has(heard_at(0), "refund 1 "));
    expect_nothing(2); /* a node whose answer is not needed is not asked */
    say_at(0, CLOCK_FMT, redis_us());
    expect_done(SLUICE_STORE_FULL, false);
    assert_int_equal(shared.undos[SL_UNDO_DONE], 1);
}

ON_A_CHANNEL(all_parts_share_one_deadline)
{
    ask_all_three();
    heard_at(0);
    pass_all_us(DEADLINE_US - MS);
    answer(0, 0);
    expect_call(1, keys[1]);
    pass_all_us(MS);
    expect_done(SLUICE_STORE_DOWN, false);
}

/* Whatever it waits for: each batch is completed once, and nothing is left behind. */
ON_A_CHANNEL(a_request_ends_with_its_channel_at_any_stage)
{
    for (int stage = 0; stage < 5; stage++) {
        if (stage > 0) {
            close_channel(NULL);
            open_channel(NULL);
        }
        make_claims(all, 3);
        bundle.hold_us = S;
        ask();
        for (size_t node = 0; node < NODES && (int)node < stage; node++) {
            heard_at(node);
            answer(node, stage == 4 && node == 1 ? LIMIT : 0); /* the last one is denied there */
        }
        assert_int_equal(parcels_done, 0);
        sl_channel_free(channel);
        channel = NULL;
        assert_int_equal(parcels_done, 1);
    }
}

/* ---- what takes nothing ---- */

ON_A_CHANNEL(a_peek_asks_all_nodes_at_once)
{
    make_claims(all, 3);
    bundle.peek = true;
    ask();
    for (size_t node = 0; node < NODES; node++)
        expect_call(node, " 1 p ");
    answer(2, 0);
    answer(0, LIMIT);
    assert_int_equal(parcels_done, 0);
    answer(1, 3);
    expect_done(SLUICE_OK, false);
    assert_int_equal(claims[1].figures.remaining, LIMIT - 3);
    assert_int_equal(claims[2].figures.remaining, LIMIT);
    make_claims(all, 3);
    bundle.cost = 0;
    ask();
    for (size_t node = 0; node < NODES; node++)
        expect_call(node, keys[node]);
    hang_up_at(1);
    answer(0, 0);
    answer(2, 0);
    expect_done(SLUICE_STORE_DOWN, false);
}

ON_A_CHANNEL(a_request_without_an_identity_is_denied_and_charged_nothing)
{
    make_claims(all, 3);
    claims[1] = (struct sl_claim){ .algo = &sl_fixed_window, .no_key = true };
    ask();
    expect_call(0, " 1 d ");
    expect_call(2, " 1 d ");
    expect_nothing(1);
    answer_look(0, 0);
    answer_look(2, 0);
    expect_done(SLUICE_OK, false);
    assert_false(claims[0].charged || claims[2].charged);
}

/* ---- shadow rules ---- */

ON_A_CHANNEL(parts_of_shadow_rules_alone_come_last_and_together)
{
    make_claims(all, 3);
    claims[0].shadow = claims[1].shadow = true;
    ask();
    expect_nothing(0);
    expect_nothing(1);
    expect_call(2, keys[2]);
    answer(2, 0);
    expect_call(0, keys[0]);
    expect_call(1, keys[1]);
    say_at(1, "-OOM no memory\r\n"); /* never denies, whatever becomes of it */
    int64_t window_us = redis_us() / (60 * S) * (60 * S);
    say_packed_at(0, (int64_t[]){ redis_us(), 1, window_us, LIMIT, 0 }, 5);
    expect_done(SLUICE_OK, true);
    assert_true(claims[2].charged && !claims[0].charged && !claims[1].charged);
    assert_true(!claims[0].allowed && claims[1].allowed);
}

ON_A_CHANNEL(a_shadow_rule_is_not_charged_where_another_denies)
{
    make_claims(all, 3);
    claims[0].shadow = true;
    ask();
    expect_nothing(0);
    heard_at(1);
    answer(1, LIMIT);
    expect_call(0, " 1 d ");
    expect_call(2, " 1 d ");
    answer_look(0, 0);
    answer_look(2, 0);
    expect_done(SLUICE_OK, false);
    assert_int_equal(shared.undos[SL_UNDO_DONE], 0);
}

/* ---- reservations ---- */

static size_t keeper_of(uint64_t id)
{
    char tag[8];
    snprintf(tag, sizeof tag, "%u", (unsigned)(id % SL_HELD_SHARDS));
    return node_of(sl_slot_of(sl_text(tag)));
}

/* Which node was asked to keep it. */
static size_t find_keeper(void)
{
    for (size_t n = 0; n < NODES; n++)
        if (has(heard_at(n), "CALL 2 rl:~reservation:{"))
            return n;
    fail_msg("nobody was asked to keep it");
    return 0;
}

static void begin_holding(void)
{
    static const size_t two[] = { 0, 2 };
    make_claims(two, 2);
    bundle.hold_us = 10 * S;
    ask();
    heard_at(0);
    answer(0, 0);
    heard_at(2);
    answer(2, 0);
    assert_int_equal(parcels_done, 0);
}

ON_A_CHANNEL(what_was_charged_is_held_afterwards)
{
    begin_holding();
    size_t keeper = find_keeper();
    say_at(keeper, CLOCK_FMT, redis_us());
    expect_done(SLUICE_OK, true);
    assert_true(bundle.held != 0);
    assert_int_equal(keeper_of(bundle.held), keeper);
}

ON_A_CHANNEL(what_cannot_be_held_is_given_back)
{
    begin_holding();
    size_t keeper = find_keeper();
    say_at(keeper, "*2\r\n:%" PRId64 "\r\n:-2\r\n", redis_us());
    assert_true(has(heard_at(0), "refund 1 "));
    assert_true(has(heard_at(2), "refund 1 "));
    say_at(0, CLOCK_FMT, redis_us());
    say_at(2, CLOCK_FMT, redis_us());
    expect_done(SLUICE_STORE_FULL, false);
    assert_int_equal(shared.undos[SL_UNDO_DONE], 2);
}

/* If it is, its expiry gives it back: to give it back now would do so twice. */
ON_A_CHANNEL(what_may_be_held_is_not_given_back)
{
    begin_holding();
    find_keeper();
    pass_all_us(DEADLINE_US);
    expect_done(SLUICE_STORE_DOWN, false);
    for (size_t n = 0; n < NODES; n++)
        assert_false(has(heard_at(n), "refund"));
}
