/* A round: in which order things are decided and answered, and what it has room for. */
#include "server/round.h"

#include "unit/limiter/model_store.h"
#include "unit/server/captured.h"
#include "unit/server/stage.h"

static struct model model;
static struct stage stage;
static struct visitor visitor;
static struct sl_round *the_round;

/* What replies have left behind: a letter each, in their order. */
static char trail[4096];
static size_t trail_len;

static int open_round(void **unused)
{
    (void)unused;
    model_open(&model);
    stage_open(&stage, "rules: [{ name: all, per: user, limit: 5000/h }]\n", &model.store);
    visitor = visitor_enter(&stage);
    the_round = &stage.workers[0].round;
    memset(trail, 0, sizeof trail);
    trail_len = 0;
    return 0;
}

static int close_round(void **unused)
{
    (void)unused;
    visitor_leave(&visitor);
    stage_close(&stage);
    model_close(&model.store);
    return 0;
}

#define IN_A_ROUND(name) TEST_WITH(name, open_round, close_round)

/* `status` is the letter. How many requests it had comes behind it, if any. */
static void leave_letter(struct sl_round *round, struct sl_call *call)
{
    assert_ptr_equal(round, the_round);
    for (uint32_t i = call->first; i < call->first + call->count; i++)
        assert_int_equal(round->decisions[i].decided_at_us, model.now_us + model.wall_shift_us);
    trail[trail_len++] = (char)call->status;
    if (call->count)
        trail[trail_len++] = (char)('0' + call->count);
}

static void leave_letter_alone(struct sl_round *round, struct sl_call *call)
{
    for (uint32_t i = call->first; i < call->first + call->count; i++)
        sl_round_decide(round, i);
    leave_letter(round, call);
}

static struct sl_call *call_of(char letter, int requests)
{
    struct sl_call *call = sl_round_call(the_round, visitor.conn);
    call->status = (uint16_t)letter;
    call->reply = leave_letter;
    for (int i = 0; i < requests; i++)
        sl_round_request(the_round)->user = SL_TEXT("u");
    return call;
}

static void add(char letter, int requests)
{
    sl_round_add(the_round, call_of(letter, requests));
}

/* ---- order ---- */

IN_A_ROUND(calls_are_answered_in_their_order_and_decided_as_one_batch)
{
    add('a', 1);
    add('b', 0);
    add('c', 3);
    add('d', 2);
    assert_string_equal(trail, "");
    assert_int_equal(model.decide_calls, 0);
    sl_round_finish(the_round);
    assert_string_equal(trail, "a1bc3d2");
    assert_int_equal(model.decide_calls, 1);
    assert_int_equal(model.largest_batch, 6);
    assert_int_equal(the_round->call_count, 0);
    assert_int_equal(the_round->request_count, 0);
}

IN_A_ROUND(a_round_without_requests_asks_no_store)
{
    sl_round_finish(the_round);
    add('a', 0);
    add('b', 0);
    sl_round_finish(the_round);
    assert_string_equal(trail, "ab");
    assert_int_equal(model.decide_calls, 0);
}

IN_A_ROUND(a_call_alone_comes_behind_those_before_it_in_a_batch_of_its_own)
{
    add('a', 2);
    add('b', 1);
    struct sl_call *call = call_of('c', 2);
    call->reply = leave_letter_alone;
    sl_round_add_alone(the_round, call);
    assert_string_equal(trail, "a2b1c2");
    assert_int_equal(model.decide_calls, 1 + 2); /* the batch, and each of its own */
    assert_int_equal(model.largest_batch, 3);    /* in which those two were not */
    assert_int_equal(the_round->call_count, 0);
    add('d', 1);
    sl_round_finish(the_round);
    assert_string_equal(trail, "a2b1c2d1");
}

IN_A_ROUND(a_call_alone_in_an_empty_round_is_decided_once)
{
    struct sl_call *call = call_of('c', 1);
    call->reply = leave_letter_alone;
    sl_round_add_alone(the_round, call);
    assert_string_equal(trail, "c1");
    assert_int_equal(model.decide_calls, 1);
}

IN_A_ROUND(a_call_now_is_decided_with_those_before_it)
{
    add('a', 2);
    sl_round_add_now(the_round, call_of('b', 3));
    assert_string_equal(trail, "a2b3");
    assert_int_equal(model.decide_calls, 1);
    assert_int_equal(the_round->call_count, 0);
}

IN_A_ROUND(requests_that_are_dropped_are_not_decided)
{
    add('a', 1);
    struct sl_call *call = call_of('b', 5);
    sl_round_drop(the_round, call);
    sl_round_add(the_round, call);
    add('c', 1);
    sl_round_finish(the_round);
    assert_string_equal(trail, "a1bc1");
    assert_int_equal(model.largest_batch, 2);
}

/* It was charged, but its connection is gone. */
IN_A_ROUND(a_connection_that_is_gone_is_not_answered_and_the_others_are)
{
    struct visitor other = visitor_enter(&stage);
    add('a', 1);
    struct sl_call *call = call_of('b', 1);
    call->conn = other.conn;
    sl_round_add(the_round, call);
    add('c', 1);
    other.conn->is_gone = true;
    sl_round_finish(the_round);
    assert_string_equal(trail, "a1c1");
    call = call_of('d', 1);
    call->conn = other.conn;
    sl_round_add_alone(the_round, call);
    assert_string_equal(trail, "a1c1");
    visitor_leave(&other);
}

IN_A_ROUND(a_call_and_a_request_begin_as_nothing_was_said)
{
    memset(the_round->calls, 0xa5, sizeof *the_round->calls);
    memset(the_round->requests, 0xa5, sizeof *the_round->requests);
    struct sl_call *call = sl_round_call(the_round, visitor.conn);
    const struct sl_call nothing = { .conn = visitor.conn };
    assert_ptr_equal(call->conn, visitor.conn);
    assert_null(call->reply);
    assert_null(call->detail);
    assert_int_equal(call->keep_alive, nothing.keep_alive);
    assert_int_equal(call->reservation, 0);
    struct sluice_request *request = sl_round_request(the_round), fresh = sluice_request();
    assert_memory_equal(request, &fresh, sizeof fresh);
    sl_round_drop(the_round, call);
}

/* ---- room ---- */

IN_A_ROUND(a_round_has_room_for_so_many_calls)
{
    for (int i = 0; i < SL_ROUND_CALLS; i++) {
        assert_true(sl_round_has_room(the_round, SL_ROUND_REQUESTS));
        add('a', 0);
    }
    assert_false(sl_round_has_room(the_round, 0));
    sl_round_finish(the_round);
    assert_int_equal(trail_len, SL_ROUND_CALLS);
    assert_true(sl_round_has_room(the_round, SL_ROUND_REQUESTS));
}

IN_A_ROUND(a_round_has_room_for_so_many_requests)
{
    for (int i = 1; i < SL_ROUND_REQUESTS; i++)
        add('a', 1);
    assert_true(sl_round_has_room(the_round, 1));
    assert_false(sl_round_has_room(the_round, 2));
    sl_round_add(the_round, call_of('b', 1));
    assert_false(sl_round_has_room(the_round, 1));
    sl_round_finish(the_round);
    assert_int_equal(model.largest_batch > 1, true);
    assert_int_equal(trail_len, 2 * SL_ROUND_REQUESTS);
    assert_int_equal(trail[trail_len - 2], 'b');
}

/* Calls that were refused before they were added have taken theirs too. */
IN_A_ROUND(a_round_has_room_for_so_much_memory)
{
    for (int with_a_call = 0; with_a_call < 2; with_a_call++) {
        if (with_a_call)
            add('a', 1);
        assert_non_null(sl_round_take(the_round, SL_ROUND_MEMORY_BYTES - 16));
        assert_true(sl_round_has_room(the_round, 1));
        assert_non_null(sl_round_take(the_round, 1));
        assert_false(sl_round_has_room(the_round, 1));
        sl_round_finish(the_round);
        assert_true(sl_round_has_room(the_round, 1));
    }
}

IN_A_ROUND(where_there_is_room_a_call_stays_and_nothing_is_finished)
{
    add('a', 1);
    struct sl_call *call = call_of('b', 0);
    assert_ptr_equal(sl_round_make_room(the_round, call, SL_ROUND_REQUESTS - 1), call);
    assert_string_equal(trail, "");
    sl_round_add(the_round, call);
}

IN_A_ROUND(making_room_finishes_the_others_and_keeps_what_the_call_was)
{
    add('a', 1);
    struct sl_call *call = call_of('b', 0);
    call->keep_alive = call->is_1_0 = true;
    call->detail = "kept";
    struct sl_call *moved = sl_round_make_room(the_round, call, SL_ROUND_REQUESTS);
    assert_string_equal(trail, "a1");
    assert_ptr_equal(moved, &the_round->calls[0]);
    assert_int_equal(moved->status, 'b');
    assert_ptr_equal(moved->conn, visitor.conn);
    assert_true(moved->keep_alive && moved->is_1_0);
    assert_string_equal(moved->detail, "kept");
    assert_int_equal(moved->first, 0);
    for (int i = 0; i < 4; i++)
        sl_round_request(the_round);
    sl_round_add(the_round, moved);
    sl_round_finish(the_round);
    assert_string_equal(trail, "a1b4");
}

/* ---- memory ---- */

IN_A_ROUND(memory_is_kept_until_the_round_is_finished)
{
    static char *taken[100];
    for (size_t i = 0; i < COUNT(taken); i++) {
        size_t bytes = i % 10 == 9 ? 300000 : 7001; /* also more than one piece has */
        taken[i] = sl_round_take(the_round, bytes);
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i] % 16, 0);
        memset(taken[i], (int)i, bytes);
    }
    for (size_t i = 0; i < COUNT(taken); i++) {
        size_t bytes = i % 10 == 9 ? 300000 : 7001;
        for (size_t j = 0; j < bytes; j += 500)
            assert_int_equal(taken[i][j], i);
        assert_int_equal(taken[i][bytes - 1], i);
    }
    add('a', 0);
    sl_round_finish(the_round);
    /* The first piece is used again, from its start. */
    assert_ptr_equal(sl_round_take(the_round, 1), taken[0]);
}

IN_A_ROUND(a_copy_is_terminated_and_does_not_follow_its_original)
{
    char text[] = "abc\0def";
    const char *copy = sl_round_copy(the_round, (struct sluice_text){ text, 7 });
    const char *empty = sl_round_copy(the_round, (struct sluice_text){ text, 0 });
    memset(text, 'x', 7);
    assert_memory_equal(copy, "abc\0def", 8);
    assert_string_equal(empty, "");
}

IN_A_ROUND(memory_taken_for_a_call_alone_is_there_when_it_is_answered)
{
    add('a', 1);
    struct sl_call *call = call_of('b', 0);
    call->detail = sl_round_copy(the_round, SL_TEXT("still here"));
    const char *detail = call->detail;
    call->reply = leave_letter;
    sl_round_add_alone(the_round, call);
    assert_string_equal(detail, "still here"); /* the piece is kept, fixture */
    assert_string_equal(trail, "a1b");
}

/* ---- a store that fails ---- */

static void say_nothing(struct sl_round *round, struct sl_call *call)
{
    (void)round;
    (void)call;
}

static void one_round(void *unused)
{
    (void)unused;
    struct sl_call *call = call_of('a', 1);
    call->reply = say_nothing;
    sl_round_add(the_round, call);
    sl_round_finish(the_round);
}

IN_A_ROUND(a_change_of_the_store_is_said_once_and_not_too_often)
{
    uint64_t *now_ms = &stage.workers[0].loop.time;
    assert_string_equal(said_by(one_round, NULL), "");
    model.status = SLUICE_STORE_DOWN;
    assert_non_null(strstr(said_by(one_round, NULL), "on_store_failure"));
    assert_string_equal(said_by(one_round, NULL), "");
    model.status = SLUICE_OK;
    *now_ms += 9999;
    assert_string_equal(said_by(one_round, NULL), ""); /* a moment ago it was said that it fails */
    *now_ms += 1;
    assert_string_equal(said_by(one_round, NULL), "sluice: the store is back\n");
    assert_string_equal(said_by(one_round, NULL), "");
    *now_ms += 100000;
    assert_string_equal(said_by(one_round, NULL), "");
}
