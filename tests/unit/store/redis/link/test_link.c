/* A link that does well, and what Redis may say: greeting, questions, scripts, errors, time. */
#include "unit/store/fake_redis.h"

TESTS_ALONE;

ON_A_LINK(a_greeting_is_password_database_and_a_probe)
{
    static const struct {
        const char *user, *password;
        uint32_t database;
        const char *heard;
        const char *answers;
    } rows[] = {
        { NULL, NULL, 0, "PROBE", "" },
        { NULL, "secret", 0, "AUTH secret | PROBE", "+OK\r\n" },
        { "app", "secret", 0, "AUTH app secret | PROBE", "+OK\r\n" },
        { "app", NULL, 0, "PROBE", "" }, /* nothing to say without a password */
        { NULL, NULL, 3, "SELECT 3 | PROBE", "+OK\r\n" },
        { "app", "a b\r\nc", 15, "AUTH app a b\r\nc | SELECT 15 | PROBE", "+OK\r\n+OK\r\n" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        free_link();
        new_link(rows[i].user, rows[i].password, rows[i].database);
        sl_link_open(link_);
        SAME_TEXT("greeting", sl_text(heard()), rows[i].heard);
        if (*rows[i].answers)
            say("%s", rows[i].answers);
        SAME(rows[i].heard, sl_link_is_up(link_), false);
        say(CLOCK_FMT, redis_us());
        SAME(rows[i].heard, sl_link_is_up(link_), true);
        SAME(rows[i].heard, shared.connects, 1);
    }
}

ON_A_LINK(questions_wait_until_it_is_greeted)
{
    ask_all(0, 2); /* which connects */
    assert_string_equal(heard(), "PROBE");
    ask_all(2, 1);
    assert_string_equal(heard(), "");
    expect_waiting("greeting", 0, 3);
    say(CLOCK_FMT, redis_us());
    assert_string_equal(heard(), "CALL q0000 | CALL q0001 | CALL q0002");
    say(":7\r\n:8\r\n:9\r\n");
    expect_ends("greeted", 0, 3, SLUICE_OK);
    for (int64_t i = 0; i < 3; i++)
        assert_int_equal(questions[i].value, 7 + i);
}

ON_A_LINK(calls_wait_for_the_greeting_until_the_deadline)
{
    ask_all(0, 2);
    pass_us(DEADLINE_US - 1);
    expect_waiting("in time", 0, 2);
    pass_us(1);
    expect_ends("late", 0, 2, SLUICE_STORE_DOWN);
    assert_int_equal(shared.ends[SL_CALL_LATE], 2);
    assert_string_equal(heard(), "PROBE");
    say(CLOCK_FMT, redis_us()); /* the first probe of a connection may take longer */
    assert_true(sl_link_is_up(link_));
    assert_string_equal(heard(), "");
}

ON_A_LINK(what_is_asked_goes_out_with_the_flush_and_comes_back_in_order)
{
    greet();
    ask_of(0, &script);
    ask_of(1, &other);
    assert_string_equal(heard(), "");
    sl_link_flush(link_);
    assert_string_equal(heard(), "CALL q0000 | CALL q0001");
    say(":1\r\n");
    expect_ends("first", 0, 1, SLUICE_OK);
    expect_waiting("second", 1, 1);
    say(":2\r");
    expect_waiting("not whole", 1, 1);
    say("\n");
    expect_ends("second", 1, 1, SLUICE_OK);
    assert_int_equal(questions[1].value, 2);
    assert_int_equal(shared.ends[SL_CALL_OK], 2);
}

ON_A_LINK(a_script_that_is_not_there_is_loaded_once_and_asked_again)
{
    greet();
    ask_all(0, 3);
    heard();
    say("-NOSCRIPT No matching script.\r\n-NOSCRIPT No matching script.\r\n-NOSCRIPT No.\r\n");
    expect_waiting("loading", 0, 3);
    assert_string_equal(heard(), "LOAD one | CALL q0000 | CALL q0001 | CALL q0002");
    say("$40\r\n%s\r\n:1\r\n:2\r\n:3\r\n", script.sha1_hex);
    expect_ends("loaded", 0, 3, SLUICE_OK);
    assert_int_equal(questions[2].value, 3);
    assert_int_equal(shared.errors[SL_REDIS_NOSCRIPT], 3);
    assert_true(sl_link_is_up(link_));
}

ON_A_LINK(a_script_that_is_gone_again_is_not_asked_for_ever)
{
    greet();
    ask_all(0, 1);
    say("-NOSCRIPT No matching script.\r\n");
    say("-ERR cannot load\r\n-NOSCRIPT No matching script.\r\n");
    expect_ends("twice", 0, 1, SLUICE_STORE_DOWN);
    heard();
    assert_true(sl_link_is_up(link_));
    ask_all(1, 1); /* the next one tries again */
    say("-NOSCRIPT No matching script.\r\n");
    assert_string_equal(heard(), "CALL q0001 | LOAD one | CALL q0001");
}

ON_A_LINK(two_scripts_that_are_not_there_are_both_loaded)
{
    greet();
    ask_of(0, &script);
    ask_of(1, &other);
    sl_link_flush(link_);
    heard();
    say("-NOSCRIPT No.\r\n-NOSCRIPT No.\r\n");
    assert_string_equal(heard(), "LOAD one | CALL q0000 | LOAD two | CALL q0001");
    say("$1\r\na\r\n:1\r\n$1\r\nb\r\n:2\r\n");
    expect_ends("both", 0, 2, SLUICE_OK);
}

/* As many as the row holds, by turns of two scripts, and Redis knows neither. */
ON_A_LINK(a_row_full_of_two_scripts_loads_each_once)
{
    char text[4096];
    size_t asked = 0, len = 0, calls = 0, loads = 0;
    greet();
    for (; asked == 0 || questions[asked - 1].ends == 0; asked++)
        ask_of(asked, asked % 2 ? &script : &other);
    asked--; /* there was no room for the last */
    sl_link_flush(link_);
    assert_true(asked > SL_ROW_MAX / 2);
    heard();
    for (size_t i = 0; i < asked; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "-NOSCRIPT No.\r\n");
        if (len < sizeof text - 64 && i + 1 < asked)
            continue;
        say("%s", text);
        len = 0;
    }
    expect_waiting("loading", 0, asked);
    for (const char *at = heard(); (at = strpbrk(at, "LC")); at += 4) {
        loads += strncmp(at, "LOAD", 4) == 0;
        calls += strncmp(at, "CALL", 4) == 0;
    }
    assert_int_equal(loads, 2);
    assert_int_equal(calls, asked);
    say("$1\r\na\r\n:1\r\n$1\r\nb\r\n");
    for (size_t i = 1; i < asked; i++)
        say(":1\r\n");
    expect_ends("answered", 0, asked, SLUICE_OK);
    assert_true(sl_link_is_up(link_));
    assert_int_equal(shared.connects, 1);
}

/* More scripts than can be loaded at a time: those without room fail, and no others. */
ON_A_LINK(more_scripts_than_are_loaded_at_a_time_fail_alone)
{
    static struct sl_script many[SL_LOADING_MAX + 2];
    greet();
    for (size_t i = 0; i < COUNT(many); i++) {
        memset(many[i].sha1_hex, 'c', 40);
        many[i].text = SL_TEXT("many");
        ask_of(i, &many[i]);
    }
    sl_link_flush(link_);
    heard();
    for (size_t i = 0; i < COUNT(many); i++)
        say("-NOSCRIPT No.\r\n");
    expect_waiting("loading", 0, SL_LOADING_MAX);
    expect_ends("no room", SL_LOADING_MAX, 2, SLUICE_STORE_DOWN);
    heard();
    for (size_t i = 0; i < SL_LOADING_MAX; i++)
        say("$1\r\na\r\n:1\r\n");
    expect_ends("loaded", 0, SL_LOADING_MAX, SLUICE_OK);
    assert_false(questions[SL_LOADING_MAX].query.may_have_run);
}

/* A word of so many bytes, in a place for 32 more. */
static struct sl_buffer write_long(char *at, size_t bytes)
{
    int head = snprintf(at, 32, "$%zu\r\n", bytes);
    memset(at + head, 'x', bytes);
    memcpy(at + head + bytes, "\r\n", 2);
    return (struct sl_buffer){ .at = at, .len = (size_t)head + bytes + 2 };
}

static void ask_long(size_t number, const struct sl_buffer *bytes)
{
    struct question *question = prepare(number, &script);
    question->query.bytes = bytes;
    question->query.start = 0;
    question->query.len = bytes->len;
    sl_link_ask(link_, &question->query);
    sl_link_flush(link_);
}

ON_A_LINK(a_link_that_never_has_sent_everything_goes_on)
{
    enum { LONG = 1 << 16, BEHIND = 10, CALLS = 4 * SL_LINK_OUT_MAX_BYTES / LONG };
    static char long_word[LONG + 32], drain[LONG + 1024];
    struct sl_buffer bytes = write_long(long_word, LONG);
    greet();
    for (size_t i = 0; i < CALLS; i++) {
        ask_long(i, &bytes);
        if (i < BEHIND)
            continue;
        assert_true(read(peer, drain, sizeof drain) > 0);
        turn();
        assert_true(link_->out.len > link_->sent);
    }
    assert_true(sl_link_is_up(link_));
    expect_waiting("all", 0, CALLS);
}

/* What is asked again has room only up to a point: behind it calls fail, and the link stays. */
ON_A_LINK(what_has_no_room_to_be_asked_again_fails_alone)
{
    enum { LONG = 1 << 20, CALLS = 6 };
    static char long_word[LONG + 32];
    size_t failed = 0;
    struct sl_buffer bytes = write_long(long_word, LONG);
    greet();
    for (size_t i = 0; i < CALLS; i++) {
        ask_long(i, &bytes);
        for (char drain[1 << 16]; link_->out.len > link_->sent; turn())
            while (read(peer, drain, sizeof drain) > 0)
                ;
    }
    expect_waiting("sent", 0, CALLS); /* more than is ever kept to be sent, one by one */
    say("-NOSCRIPT No.\r\n-NOSCRIPT No.\r\n-NOSCRIPT No.\r\n"
        "-NOSCRIPT No.\r\n-NOSCRIPT No.\r\n-NOSCRIPT No.\r\n");
    for (size_t i = 0; i < CALLS; i++)
        failed += questions[i].ends == 1 && questions[i].status == SLUICE_STORE_DOWN;
    assert_true(failed > 0 && failed < CALLS);
    assert_true(sl_link_is_up(link_));
    assert_int_equal(shared.ends[SL_CALL_LOST], 0);
}

ON_A_LINK(a_command_that_is_answered_as_if_it_were_a_script_fails)
{
    greet();
    ask_of(0, NULL);
    sl_link_flush(link_);
    assert_string_equal(heard(), "q0000");
    say("-NOSCRIPT No matching script.\r\n");
    expect_ends("no script", 0, 1, SLUICE_STORE_DOWN);
    assert_true(sl_link_is_up(link_));
}

ON_A_LINK(an_error_ends_its_question_and_does_what_it_means)
{
    static const struct {
        const char *sentence;
        int status;
        enum sl_breaker breaker;
        bool leaves;
    } rows[] = {
        { "OOM command not allowed", SLUICE_STORE_FULL, SL_BREAKER_CLOSED, false },
        { "ERR something", SLUICE_STORE_DOWN, SL_BREAKER_CLOSED, false },
        { "LOADING Redis is loading", SLUICE_STORE_DOWN, SL_BREAKER_OPEN, false },
        { "BUSY Redis is busy", SLUICE_STORE_DOWN, SL_BREAKER_OPEN, false },
        { "MISCONF cannot save", SLUICE_STORE_DOWN, SL_BREAKER_OPEN, false },
        { "TRYAGAIN Multiple keys", SLUICE_STORE_DOWN, SL_BREAKER_OPEN, false },
        { "NOPERM you may not", SLUICE_STORE_DOWN, SL_BREAKER_OPEN, false },
        { "READONLY You can't write", SLUICE_STORE_DOWN, SL_BREAKER_OPEN, true },
        { "NOAUTH Authentication required.", SLUICE_STORE_DOWN, SL_BREAKER_OPEN, true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *row = rows[i].sentence;
        free_link();
        new_link(NULL, NULL, 0);
        greet();
        ask_all(0, 2);
        heard();
        say("-%s\r\n", row);
        expect_ends(row, 0, 1, rows[i].status);
        SAME(row, link_->breaker, rows[i].breaker);
        SAME(row, strcmp(heard(), "(closed)") == 0, rows[i].leaves);
        SAME(row, shared.errors[sl_redis_meaning(sl_text(row))->error], 1);
        SAME(row, shared.ends[SL_CALL_ERROR], 1);
        SAME(row, strlen(shared.why) > strlen(path), true);
        if (rows[i].leaves) {
            expect_ends(row, 1, 1, SLUICE_STORE_DOWN);
        } else { /* calls made before it are still answered */
            expect_waiting(row, 1, 1);
            say(":5\r\n");
            expect_ends(row, 1, 1, SLUICE_OK);
        }
        ask_all(2, 1);
        SAME(row, questions[2].ends, rows[i].breaker != SL_BREAKER_CLOSED);
    }
}

ON_A_LINK(a_greeting_that_is_refused_ends_the_connection)
{
    free_link();
    new_link("app", "wrong", 7);
    ask_all(0, 2);
    heard();
    say("-WRONGPASS invalid username-password pair\r\n");
    expect_ends("refused", 0, 2, SLUICE_STORE_DOWN);
    assert_string_equal(heard(), "(closed)");
    assert_int_equal(shared.errors[SL_REDIS_WRONGPASS], 1);
    assert_int_equal(shared.connects, 0);
    assert_non_null(strstr(shared.why, "no such user and password"));
    assert_null(strstr(shared.why, "wrong"));
}

ON_A_LINK(a_malformed_reply_fails_each_call_once)
{
    static const char *const rows[] = {
        ":1\r\n:2\r\n:3\r\n:4\r\n", /* one more than was asked */
        "HTTP/1.1 400 Bad Request\r\n",
        ":1\r\n*2\r\n:1\r\n?",
        "$-7\r\n",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        free_link();
        new_link(NULL, NULL, 0);
        greet();
        ask_all(0, 3);
        heard();
        say("%s", rows[i]);
        for (size_t j = 0; j < 3; j++)
            SAME(rows[i], questions[j].ends, 1);
        SAME_TEXT(rows[i], sl_text(heard()), "(closed)");
        SAME(rows[i], link_->breaker, SL_BREAKER_OPEN);
        SAME(rows[i], shared.failed_connects, 1);
    }
}

ON_A_LINK(a_connection_cut_in_the_middle_of_a_reply_fails_each_call_once)
{
    greet();
    ask_all(0, 3);
    heard();
    say(":1\r\n*2\r\n:1700000000000000\r\n:");
    hang_up();
    turn();
    expect_ends("answered", 0, 1, SLUICE_OK);
    expect_ends("cut", 1, 2, SLUICE_STORE_DOWN);
    assert_int_equal(shared.ends[SL_CALL_LOST], 2);
}

/* ---- Redis' time ---- */

/* A question with a deadline to fill in; what stood there when it arrived. */
static int64_t deadline_sent(size_t number)
{
    struct question *question = prepare(number, &script);
    sl_buffer_add(&words, SL_TEXT("$16\r\n0000000000000000\r\n"));
    question->query.words = 2;
    question->query.deadline_at = (uint32_t)(question->query.len + 5);
    question->query.len = words.len - question->query.start;
    sl_link_ask(link_, &question->query);
    sl_link_flush(link_);
    const char *text = heard();
    assert_int_equal(strlen(text), strlen("CALL q0000 0123456789012345"));
    assert_memory_equal(words.at + words.len - 18, "0000000000000000", 16); /* not in ours */
    return strtoll(text + 11, NULL, 10);
}

ON_A_LINK(deadlines_are_sent_in_redis_time)
{
    greet();
    assert_int_equal(deadline_sent(0), redis_us() + DEADLINE_US);
    pass_us(5 * MS);
    say(CLOCK_FMT, redis_us() - 2 * MS); /* read on the way: no worse than known */
    assert_int_equal(deadline_sent(1), redis_us() + DEADLINE_US);
    say(CLOCK_FMT, redis_us());
    assert_int_equal(deadline_sent(2), redis_us() + DEADLINE_US);
}

ON_A_LINK(a_deadline_is_rather_early_than_late)
{
    sl_link_open(link_);
    heard();
    pass_us(8 * MS);
    say(CLOCK_FMT, redis_us() - 3 * MS); /* when it was read we do not know: maybe just now */
    assert_int_equal(deadline_sent(0), redis_us() + DEADLINE_US - 3 * MS);
    pass_us(1 * MS);
    say(CLOCK_FMT, redis_us()); /* now we know better */
    assert_int_equal(deadline_sent(1), redis_us() + DEADLINE_US);
}

ON_A_LINK(a_clock_that_was_set_is_believed_from_then_on)
{
    greet();
    for (int64_t by_us = -3600 * S; by_us <= 3600 * S; by_us += 7200 * S) {
        deadline_sent(0);
        say(CLOCK_FMT, redis_us() + by_us);
        assert_int_equal(deadline_sent(1), redis_us() + by_us + DEADLINE_US);
        say(CLOCK_FMT, redis_us() + by_us);
    }
}

/* The script was run too late by a clock that we knew wrong: it has charged nothing. */
ON_A_LINK(a_call_that_redis_took_for_late_is_asked_again_once)
{
    greet();
    ask_all(0, 1);
    heard();
    say("*2\r\n:%" PRId64 "\r\n:-1\r\n", redis_us() + S);
    expect_waiting("again", 0, 1);
    assert_string_equal(heard(), "CALL q0000");
    say("*2\r\n:%" PRId64 "\r\n:-1\r\n", redis_us() + 2 * S);
    expect_ends("late", 0, 1, SLUICE_STORE_DOWN);
    assert_int_equal(shared.ends[SL_CALL_LATE], 1);
    assert_string_equal(heard(), "");
    ask_all(1, 1);
    say("*2\r\n:%" PRId64 "\r\n:-1\r\n", redis_us() + S);
    say(CLOCK_FMT, redis_us() + S);
    expect_ends("the other time", 1, 1, SLUICE_OK);
}

ON_A_LINK(no_clock_of_redis_is_too_strange)
{
    static const int64_t clocks[] = { 0,         -1,       INT64_C(1) << 53, -(INT64_C(1) << 53),
                                      INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < COUNT(clocks); i++) {
        free_link();
        new_link(NULL, NULL, 0);
        sl_link_open(link_);
        heard();
        say(CLOCK_FMT, clocks[i]);
        if (sl_link_is_up(link_))
            deadline_sent(0);
    }
}
