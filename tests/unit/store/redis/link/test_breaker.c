/* A link that does badly: late answers, the breaker, connections that are lost and made again. */
#include "unit/store/fake_redis.h"

TESTS_ALONE;

#define BACKOFF_US (10 * MS) /* the first is at most that, and at least half of it */

/* Makes five calls that Redis does not answer. */
static void trip(void)
{
    ask_all(100, 5);
    heard();
    pass_us(DEADLINE_US);
    expect_ends("tripping", 100, 5, SLUICE_STORE_DOWN);
    assert_int_equal(link_->breaker, SL_BREAKER_OPEN);
}

ON_A_LINK(a_late_answer_keeps_its_place)
{
    greet();
    ask_all(0, 1);
    pass_us(20 * MS);
    ask_all(1, 1);
    pass_us(10 * MS);
    expect_ends("late", 0, 1, SLUICE_STORE_DOWN);
    expect_waiting("not yet", 1, 1);
    say(":11\r\n"); /* the ghost's */
    expect_waiting("not its own", 1, 1);
    say(":22\r\n");
    expect_ends("its own", 1, 1, SLUICE_OK);
    assert_int_equal(questions[1].value, 22);
    assert_int_equal(questions[0].ends, 1);
    assert_true(sl_link_is_up(link_));
}

ON_A_LINK(a_ghosts_error_still_counts_and_is_not_asked_again)
{
    greet();
    ask_all(0, 2);
    pass_us(DEADLINE_US);
    heard();
    say("-NOSCRIPT No matching script.\r\n-OOM no memory\r\n");
    expect_ends("late", 0, 2, SLUICE_STORE_DOWN);
    assert_string_equal(heard(), "");
    assert_true(sl_link_is_up(link_));
    assert_int_equal(shared.errors[SL_REDIS_OOM], 1);
}

ON_A_LINK(an_answer_at_the_last_moment_is_in_time)
{
    greet();
    ask_all(0, 1);
    pass_us(DEADLINE_US - 1);
    say(":1\r\n");
    expect_ends("in time", 0, 1, SLUICE_OK);
}

ON_A_LINK(five_late_ones_in_a_row_open_the_breaker_four_do_not)
{
    greet();
    ask_all(0, 4);
    pass_us(DEADLINE_US);
    assert_int_equal(link_->breaker, SL_BREAKER_CLOSED);
    ask_all(4, 1);
    say(":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n");
    expect_ends("answered", 4, 1, SLUICE_OK); /* a good one: it starts anew */
    ask_all(5, 4);
    pass_us(DEADLINE_US);
    assert_int_equal(link_->breaker, SL_BREAKER_CLOSED);
    ask_all(9, 1);
    pass_us(DEADLINE_US);
    assert_int_equal(link_->breaker, SL_BREAKER_OPEN);
    assert_int_equal(shared.trips, 1);
    assert_non_null(strstr(shared.why, "store_deadline"));
}

ON_A_LINK(an_open_breaker_refuses_at_once_and_sends_nothing)
{
    greet();
    trip();
    ask_all(0, 3);
    expect_ends("refused", 0, 3, SLUICE_STORE_DOWN);
    assert_int_equal(shared.ends[SL_CALL_REFUSED], 3);
    assert_string_equal(heard(), "");
}

ON_A_LINK(a_probe_that_is_answered_in_time_closes_it)
{
    greet();
    trip();
    pass_us(BACKOFF_US);
    assert_string_equal(heard(), "PROBE");
    assert_int_equal(link_->breaker, SL_BREAKER_HALF_OPEN);
    ask_all(0, 1); /* no client's request is the one to try */
    expect_ends("half open", 0, 1, SLUICE_STORE_DOWN);
    say(":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n"); /* the ghosts */
    assert_int_equal(link_->breaker, SL_BREAKER_HALF_OPEN);
    say(CLOCK_FMT, redis_us());
    assert_true(sl_link_is_up(link_));
    ask_all(1, 1);
    assert_string_equal(heard(), "CALL q0001");
    say(":6\r\n");
    expect_ends("closed", 1, 1, SLUICE_OK);
}

ON_A_LINK(a_probe_that_is_late_is_followed_by_another)
{
    greet();
    trip();
    pass_us(BACKOFF_US);
    assert_string_equal(heard(), "PROBE");
    pass_us(2 * DEADLINE_US);
    assert_int_equal(link_->breaker, SL_BREAKER_OPEN);
    assert_string_equal(heard(), ""); /* one at a time */
    say(":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n" CLOCK_FMT, redis_us());
    assert_false(sl_link_is_up(link_));
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    assert_true(sl_link_is_up(link_));
}

ON_A_LINK(a_probe_that_is_refused_is_tried_again_less_and_less)
{
    int probes = 0;
    greet();
    ask_all(0, 1);
    heard();
    say("-LOADING Redis is loading the dataset in memory\r\n");
    for (int64_t ms = 0; ms < 10000; ms++) {
        pass_us(MS);
        if (strcmp(heard(), "PROBE") != 0)
            continue;
        probes++;
        say("-LOADING Redis is loading the dataset in memory\r\n");
    }
    assert_in_range(probes, 10, 35); /* doubling up to a second, halved at random */
    assert_int_equal(shared.connects, 1);
    while (strcmp(heard(), "PROBE") != 0)
        pass_us(MS);
    say(CLOCK_FMT, redis_us());
    assert_true(sl_link_is_up(link_));
}

ON_A_LINK(two_seconds_of_silence_end_the_connection)
{
    greet();
    trip();
    pass_us(BACKOFF_US);
    assert_string_equal(heard(), "PROBE");
    pass_us(2 * S - BACKOFF_US);
    assert_int_equal(shared.failed_connects, 0);
    pass_us(4 * BACKOFF_US);
    assert_string_equal(heard(), "PROBE"); /* on another one */
    assert_int_equal(shared.failed_connects, 1);
    say(CLOCK_FMT, redis_us());
    assert_true(sl_link_is_up(link_));
    assert_int_equal(shared.connects, 2);
}

ON_A_LINK(a_greeting_that_is_not_answered_for_a_second_is_given_up)
{
    sl_link_open(link_);
    assert_string_equal(heard(), "PROBE");
    pass_us(S - 1);
    assert_int_equal(shared.failed_connects, 0);
    pass_us(1);
    assert_int_equal(shared.failed_connects, 1);
    pass_us(BACKOFF_US);
    assert_string_equal(heard(), "PROBE");
}

ON_A_LINK(a_young_connection_that_is_cut_is_made_again_after_a_while)
{
    greet();
    ask_all(0, 2);
    heard();
    hang_up();
    turn();
    expect_ends("cut", 0, 2, SLUICE_STORE_DOWN);
    assert_int_equal(link_->breaker, SL_BREAKER_OPEN);
    assert_int_equal(peer, -1);
    pass_us(BACKOFF_US);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    assert_true(sl_link_is_up(link_));
    assert_int_equal(shared.connects, 2);
}

ON_A_LINK(an_old_connection_that_is_cut_is_made_again_at_once_and_calls_wait)
{
    greet();
    pass_us(S);
    ask_all(0, 1);
    heard();
    hang_up();
    turn();
    expect_ends("it may have been charged", 0, 1, SLUICE_STORE_DOWN);
    ask_all(1, 1);
    expect_waiting("for the new one", 1, 1);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    assert_string_equal(heard(), "CALL q0001"); /* and not q0000 again */
    say(":1\r\n");
    expect_ends("answered", 1, 1, SLUICE_OK);
    assert_int_equal(shared.trips, 0);
}

ON_A_LINK(a_redis_that_is_not_there_is_tried_less_and_less_and_found_again)
{
    stop_listening();
    ask_all(0, 1);
    expect_ends("nobody", 0, 1, SLUICE_STORE_DOWN);
    pass_us(10 * S);
    assert_in_range(shared.failed_connects, 10, 35);
    ask_all(1, 1);
    expect_ends("refused", 1, 1, SLUICE_STORE_DOWN);
    assert_int_equal(shared.connects, 0);
    start_listening();
    pass_us(S);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us());
    assert_true(sl_link_is_up(link_));
}

ON_A_LINK(a_patient_call_waits_for_a_connection_also_behind_an_open_breaker)
{
    free_link();
    is_patient = true;
    new_link(NULL, NULL, 0);
    greet();
    hang_up();
    turn();
    ask_all(0, 1);
    expect_ends("down", 0, 1, SLUICE_STORE_DOWN);
    pass_us(BACKOFF_US);
    assert_string_equal(heard(), "PROBE");
    ask_all(1, 1);
    expect_waiting("on its way", 1, 1);
    say(CLOCK_FMT, redis_us());
    say(":1\r\n");
    expect_ends("up", 1, 1, SLUICE_OK);
    for (int i = 0; i < SL_BREAKER_COUNT; i++)
        assert_int_equal(shared.breakers[i], 0); /* its state says nothing of Redis */
}

/* ---- bounds and ends ---- */

ON_A_LINK(more_questions_than_there_is_room_for_are_refused_at_once)
{
    size_t full = 0;
    greet();
    ask_all(0, QUESTIONS);
    while (full < QUESTIONS && questions[QUESTIONS - 1 - full].ends)
        full++;
    size_t room = SL_ROW_MAX - SL_LOADING_MAX; /* which are kept for scripts */
    assert_in_range(QUESTIONS - full, room - 8, room);
    expect_ends("full", QUESTIONS - full, full, SLUICE_STORE_DOWN);
    expect_waiting("in the row", 0, QUESTIONS - full);
    assert_int_equal(shared.ends[SL_CALL_FULL], full);
    pass_us(DEADLINE_US);
    expect_ends("all", 0, QUESTIONS, SLUICE_STORE_DOWN);
}

/* More than the socket takes at once: the rest goes when there is room. */
ON_A_LINK(a_slow_reader_gets_everything_in_the_end)
{
    enum { MANY = 8000 };
    size_t calls = 0;
    greet();
    ask_all(0, MANY);
    assert_true(watched_events & POLLOUT);
    for (const char *text = heard(); (text = strstr(text, "CALL")); text += 4)
        calls++;
    assert_int_equal(calls, MANY);
    assert_false(watched_events & POLLOUT);
    for (int i = 0; i < MANY; i++)
        say(":%d\r\n", i);
    expect_ends("all", 0, MANY, SLUICE_OK);
    assert_int_equal(questions[MANY - 1].value, MANY - 1);
}

ON_A_LINK(freeing_a_link_ends_every_question_once)
{
    ask_all(0, 3); /* wait for the connection */
    free_link();
    expect_ends("waiting", 0, 3, SLUICE_STORE_DOWN);
    new_link(NULL, NULL, 0);
    greet();
    ask_all(0, 2);
    pass_us(DEADLINE_US); /* ghosts */
    ask_all(2, 3);
    for (int i = 2; i < 5; i++)
        questions[i].asks_again = 1; /* which is refused */
    free_link();
    expect_ends("ghosts", 0, 2, SLUICE_STORE_DOWN);
    for (int i = 2; i < 5; i++)
        assert_int_equal(questions[i].ends, 2);
    for (int i = 0; i < SL_BREAKER_COUNT; i++)
        assert_int_equal(shared.breakers[i], 0);
    new_link(NULL, NULL, 0);
}

/* A callback that is told the connection is lost asks again from within; Redis is gone for good. */
ON_A_LINK(a_call_made_while_the_connection_is_lost_is_answered_too)
{
    for (int is_back = 0; is_back < 2; is_back++) {
        greet();
        pass_us(S);
        ask_all(0, 3);
        for (int i = 0; i < 3; i++)
            questions[i].asks_again = 1;
        if (!is_back)
            stop_listening();
        hang_up();
        turn();
        pass_us(DEADLINE_US);
        for (int i = 0; i < 3; i++)
            SAME(is_back ? "back" : "gone", questions[i].ends, 2);
        assert_true(link_->row_len < 10);
        free_link();
        if (!is_back)
            start_listening();
        new_link(NULL, NULL, 0);
    }
}

/* It may find the connection cut, while what came on it is still being read. */
ON_A_LINK(a_call_flushed_while_answers_are_read_is_answered_too)
{
    greet();
    ask_all(0, 3);
    heard();
    questions[0].asks_again = 1;
    questions[0].flushes = true;
    assert_int_equal(send(peer, ":1\r\n:2\r\n", 8, MSG_NOSIGNAL), 8);
    hang_up();
    turn();
    assert_int_equal(questions[0].ends, 2);
    for (int i = 1; i < 3; i++)
        assert_int_equal(questions[i].ends, 1);
}
