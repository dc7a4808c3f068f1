/* The Redis protocol on a connection: pipelines, pieces, what is no command, and time. */
#include "unit/server/on_resp.h"

#define RULES                                                                                      \
    "rules: [{ name: all, per: user, algorithm: token_bucket, capacity: 3, refill_rate: 1 }]\n"

/* ---- in order ---- */

IN_RESP(a_pipeline_is_answered_in_order, RULES)
{
    assert_string_equal(said("PING\r\nCL.THROTTLE a 4 1 1\r\nECHO one\r\nCL.THROTTLE a 4 1 1\r\n"
                             "nonsense\r\nCL.THROTTLE a x 1 1\r\nPING two\r\n"),
                        "+PONG|*5|:0|:5|:4|:-1|:1|$3|one|*5|:0|:5|:3|:-1|:2|"
                        "-ERR unknown command 'nonsense', with args beginning with: |"
                        "-Cell error: Couldn't parse as integer: x|$3|two|");
    assert_int_equal(model.decide_calls, 1); /* all of them at once */
    assert_int_equal(model.largest_batch, 2);
}

IN_RESP(every_answer_has_the_form_that_was_in_force, RULES)
{
    const char *answer = said("SLUICE.PEEK user a\r\nHELLO 3\r\nSLUICE.PEEK user a\r\n"
                              "CLIENT GETNAME\r\nHELLO 2\r\nCLIENT GETNAME\r\n");
    assert_non_null(strstr(answer, "*22|$7|allowed|:1|"));
    const char *hello = strstr(answer, "%7|$6|server|$5|redis|");
    assert_non_null(hello);
    const char *map = strstr(hello, "%11|$7|allowed|#t|");
    assert_non_null(map);
    const char *second = strstr(map, "_|*14|$6|server|$5|redis|");
    assert_non_null(second);
    assert_string_equal(second + strlen(second) - 5, "|$-1|");
}

/* More than fit a round, and more than are read at once. */
IN_RESP(long_pipelines_go_through_several_rounds, RULES)
{
    enum { MANY = 3000 };
    struct sl_buffer bytes = sl_buffer(1 << 20);
    for (int i = 0; i < MANY; i++)
        sl_buffer_add(&bytes, i % 3 ? SL_TEXT("PING\r\n") : SL_TEXT("CL.THROTTLE a 4 1 60\r\n"));
    visitor_says(&visitor, (struct sluice_text){ bytes.at, bytes.len });
    const char *at = got();
    for (int i = 0; i < MANY; i++) {
        const char *start = i % 3 ? "+PONG|" : i < 15 ? "*5|:0|" : "*5|:1|";
        if (strncmp(at, start, strlen(start)) != 0)
            fail_msg("answer %d is %.20s", i, at);
        for (int lines = i % 3 ? 1 : 6; lines; lines--)
            at = strchr(at, '|') + 1;
    }
    assert_string_equal(at, "");
    sl_buffer_release(&bytes);
}

IN_RESP(whatever_the_pieces_the_answers_are_the_same, RULES)
{
    static const char bytes[] =
        "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$5\r\na\r\nb!\r\nECHO \"c\\x64\"\n\r\n*0\r\n"
        "*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n4\r\n$1\r\n1\r\n$1\r\n1\r\n";
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        start_over();
        speak_resp("192.0.2.1");
        for (size_t at = 0; at + 1 < sizeof bytes; at += piece) {
            size_t left = sizeof bytes - 1 - at;
            visitor_says(&visitor, (struct sluice_text){ bytes + at, left < piece ? left : piece });
        }
        assert_string_equal(got(), "+PONG|$5|a|b!|$2|cd|*5|:0|:5|:4|:-1|:1|");
    }
}

/* ---- long ones ---- */

IN_RESP(a_long_argument_has_room, RULES)
{
    enum { LONG = (1 << 20) - 64 };
    struct sl_buffer bytes = sl_buffer(2 << 20);
    char head[64], *text = malloc(LONG);
    memset(text, 'x', LONG);
    snprintf(head, sizeof head, "PING\r\n*2\r\n$4\r\nECHO\r\n$%d\r\n", LONG);
    sl_buffer_add(&bytes, sl_text(head));
    sl_buffer_add(&bytes, (struct sluice_text){ text, LONG });
    sl_buffer_add(&bytes, SL_TEXT("\r\nPING\r\n"));
    visitor_says(&visitor, (struct sluice_text){ bytes.at, bytes.len });
    size_t wanted = 7 + 1 + 7 + 2 + LONG + 2 + 7;
    assert_int_equal(visitor.got.len, wanted);
    assert_memory_equal(visitor.got.at + wanted - 9, "\r\n+PONG\r\n", 9);
    assert_int_equal(stage.workers[0].large_bytes, 0);
    free(text);
    sl_buffer_release(&bytes);
}

/* Also if there are others behind it, for which there is no room yet. */
IN_RESP(a_long_argument_may_be_the_first, RULES)
{
    enum { LONG = 20000 };
    char *text = malloc(LONG + 200);
    size_t len = (size_t)sprintf(text, "PING\r\n*5\r\n$11\r\nCL.THROTTLE\r\n$%d\r\n", LONG);
    memset(text + len, 'k', LONG);
    strcpy(text + len + LONG, "\r\n$1\r\n4\r\n$1\r\n1\r\n$1\r\n1\r\n");
    struct sluice_text bytes = sl_text(text);
    for (int turns = 0; bytes.len && turns < 10; turns++) {
        size_t count = visitor_put(&visitor, bytes);
        assert_true(count > 0);
        bytes.at += count;
        bytes.len -= count;
        visitor_turn(&visitor);
    }
    assert_string_equal(got(), "+PONG|*5|:0|:5|:4|:-1|:1|");
    free(text);
}

/* The round keeps no more than one of them, however many connections ask. */
IN_RESP(a_long_answer_does_not_wait_for_the_round, RULES)
{
    static const size_t lens[] = { SL_BLOCK_BYTES / 2, 2 * SL_BLOCK_BYTES };
    for (size_t i = 0; i < COUNT(lens); i++) {
        char head[64], *text = calloc(1, lens[i] + 1);
        memset(text, 'x', lens[i]);
        snprintf(head, sizeof head, "PING\r\n*2\r\n$4\r\nECHO\r\n$%zu\r\n", lens[i]);
        visitor_says(&visitor, sl_text(head));
        visitor_says(&visitor, sl_text(text));
        assert_int_equal(visitor_put(&visitor, SL_TEXT("\r\n")), 2);
        visitor_read(&visitor);
        assert_int_equal(the_round()->call_count, lens[i] > SL_BLOCK_BYTES ? 0 : 1);
        visitor_turn(&visitor);
        assert_true(visitor.got.len > 7 + lens[i]);
        visitor.got.len = 0;
        free(text);
    }
}

/* Long answers to short commands do not pile up while the client does not read. */
IN_RESP(answers_of_one_read_are_bounded, RULES)
{
    enum { TIMES = 200 };
    static const char *const lines[] = { "COMMAND\r\n", "COMMAND DOCS\r\n", "CLIENT HELP\r\n" };
    for (size_t i = 0; i < COUNT(lines); i++) {
        visitor_says(&visitor, sl_text(lines[i]));
        size_t one = visitor.got.len;
        for (int k = 0; k < TIMES; k++)
            visitor_put(&visitor, sl_text(lines[i]));
        visitor_read(&visitor);
        sl_round_finish(the_round());
        assert_in_range(visitor.conn->out.len, SL_CONN_OUT_HIGH_BYTES,
                        SL_CONN_OUT_HIGH_BYTES + one);
        visitor_turn(&visitor);
        assert_int_equal(visitor.got.len, one + TIMES * one);
        visitor.got.len = 0;
    }
}

/* A client that announces a lot has no more room than it has sent bytes. */
IN_RESP(room_is_given_as_bytes_come, RULES)
{
    assert_string_equal(said("*2\r\n$4\r\nECHO\r\n$1000000\r\nabc"), "");
    assert_int_equal(visitor.conn->in_room, SL_BLOCK_BYTES);
}

/* ---- what is no command ---- */

IN_RESP(what_is_no_command_ends_it_behind_the_answers_before, RULES)
{
    assert_string_equal(said("PING\r\nCL.THROTTLE a 4 1 1\r\n*1\r\n:1\r\nPING\r\n"),
                        "+PONG|*5|:0|:5|:4|:-1|:1|-ERR Protocol error: expected '$', got ':'|");
    assert_true(visitor.conn->is_finished && visitor.conn->lingers);
    assert_string_equal(said("PING\r\n"), "");
    assert_int_equal(sl_count_read(&stage.workers[0].traffic.malformed_commands), 1);
    assert_int_equal(sl_count_read(&stage.workers[0].traffic.commands), 2);
}

IN_RESP(a_browser_hears_nothing, RULES)
{
    assert_string_equal(said("PING\r\nPOST /v1/check HTTP/1.1\r\nHost: a\r\n\r\nPING\r\n"),
                        "+PONG|");
    assert_true(visitor.conn->is_finished);
    speak_resp("192.0.2.1");
    assert_string_equal(said("PING /g HTTP/1.1\r\nHost: a\r\n\r\nPING\r\n"), "");
    assert_true(visitor.conn->is_finished);
    speak_resp("192.0.2.1");
    assert_string_equal(said("\x16\x03\x01\nPING\r\n"), "");
    assert_true(visitor.conn->is_finished);
}

IN_RESP(errors_of_a_command_end_nothing, RULES)
{
    static const struct talk rows[] = {
        { "get a", "-ERR unknown command 'get', with args beginning with: 'a' |" },
        { "GET a b", "-ERR unknown command 'GET', with args beginning with: 'a' 'b' |" },
        { "'\\r\\n+OK' \"a\\r\\n\"",
          "-ERR unknown command '\\r\\n+OK', with args beginning with: 'a  ' |" },
        { "ECHO", "-ERR wrong number of arguments for 'echo' command|" },
        { "Echo a b", "-ERR wrong number of arguments for 'echo' command|" },
        { "THROTTLE a 1 1 1",
          "-ERR unknown command 'THROTTLE', with args beginning with: 'a' '1' '1' '1' |" },
        { "PING", "+PONG|" },
    };
    check_talk(rows, COUNT(rows));
    assert_false(visitor.conn->is_finished);
}

/* As much of the arguments as Redis shows: 128 bytes. */
IN_RESP(a_long_unknown_command_is_cut, RULES)
{
    char line[512] = "", wanted[512];
    memset(line, 'n', 200);
    line[200] = ' ';
    memset(line + 201, 'a', 100);
    line[301] = ' ';
    memset(line + 302, 'b', 100);
    snprintf(wanted, sizeof wanted,
             "-ERR unknown command '%.128s', with args beginning with: '%.100s' '%.25s' |", line,
             line + 201, line + 302);
    assert_string_equal(told(line), wanted);
}

IN_RESP(quit_answers_and_ends, RULES)
{
    assert_string_equal(said("PING\r\nQUIT\r\nPING\r\n"), "+PONG|+OK|");
    assert_true(visitor.conn->is_finished);
}

/* ---- time ---- */

IN_RESP(a_command_has_its_time_and_rest_has_no_end, RULES)
{
    struct sl_conn *conn = visitor.conn;
    said("PING\r\n");
    assert_int_equal(conn->timer, SL_TIMER_REST);
    said("*2\r\n");
    assert_int_equal(conn->timer, SL_TIMER_BODY);
    said("$4\r\nECHO\r\n$2\r\nhi\r\n");
    assert_int_equal(conn->timer, SL_TIMER_REST);
    said("PIN");
    assert_int_equal(conn->timer, SL_TIMER_HEAD);
    said("G\r\n*");
    assert_int_equal(conn->timer, SL_TIMER_HEAD);
}

IN_RESP(a_client_that_is_late_or_one_too_many_is_told, RULES)
{
    sl_front_resp.late(visitor.conn);
    visitor_settle(&visitor);
    assert_string_equal(got(), "-ERR Protocol error: the command did not arrive in time|");
    sl_front_resp.refuse(visitor.conn);
    visitor_settle(&visitor);
    assert_string_equal(got(), "-ERR max number of clients reached|");
}

IN_RESP(a_server_that_ends_answers_once_more, RULES)
{
    said("PING\r\n");
    stage.workers[0].is_draining = true;
    sl_conn_set_timer(visitor.conn, visitor.conn->timer); /* as the worker does to all */
    assert_int_equal(visitor.conn->timer, SL_TIMER_DRAIN);
    assert_string_equal(said("PING\r\nPING\r\n"), "+PONG|+PONG|");
    assert_true(visitor.conn->is_finished);
}

/* ---- a store that fails ---- */

IN_RESP(a_failure_is_a_decision, RULES)
{
    model.status = SLUICE_STORE_DOWN;
    check_has("SLUICE.CHECK user a", "$7|allowed|:1|");
    stage_go_over(&stage, stage_edition("on_store_failure: deny\n" RULES, &model.store, 1));
    const char *answer = told("SLUICE.CHECK user a");
    assert_non_null(strstr(answer, "$7|allowed|:0|"));
    assert_non_null(strstr(answer, "$6|reason|$17|store_unavailable|"));
}
