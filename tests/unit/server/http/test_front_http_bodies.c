/* Bodies: longer than a block, in chunks, too long; and that what was read
 * before them is not disturbed when the buffer moves. */
#include "unit/server/on_stage.h"

/* Identities come from headers, so that requests point into the buffer. */
static const char rules[] =
    "identity: { trusted_proxies: [192.0.2.0/24], headers: { user: X-User, plan: X-Plan } }\n"
    "rules: [{ name: all, per: [user, plan], limit: 1000000/h, on_missing: deny }]\n";

enum { MIB = 1 << 20 };

#define AUTHORIZE                                                                                  \
    "GET /v1/authorize/a/long/enough/resource/to/lie/somewhere HTTP/1.1\r\nHost: a\r\n"            \
    "X-User: somebody\r\nX-Plan: golden\r\n\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static struct sl_buffer text;

static void add(const char *more)
{
    sl_buffer_add(&text, sl_text(more));
}

static void add_number(const char *format, size_t number)
{
    char line[256];
    snprintf(line, sizeof line, format, number);
    add(line);
}

static void add_many(const char *more, size_t times)
{
    for (size_t i = 0; i < times; i++)
        add(more);
}

/* A body of that length, as JSON: an object and blanks. */
static void add_body(size_t len)
{
    static const char object[] = "{\"user\": \"u\", \"plan\": \"p\"}";
    add(object);
    for (size_t i = sizeof object - 1; i < len; i++)
        sl_buffer_add(&text, SL_TEXT(" "));
}

static void add_post(size_t len)
{
    add_number("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", len);
    add_body(len);
}

/* An array of so many, each other users'. */
static void add_array(size_t count)
{
    struct sl_buffer array = sl_buffer(MIB);
    for (size_t i = 0; i < count; i++) {
        char one[96];
        snprintf(one, sizeof one, "%s{\"user\": \"u%zu\", \"plan\": \"array\"}", i ? ", " : "[", i);
        sl_buffer_add(&array, sl_text(one));
    }
    sl_buffer_add(&array, SL_TEXT("]"));
    add_number("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", array.len);
    sl_buffer_add(&text, (struct sluice_text){ array.at, array.len });
    sl_buffer_release(&array);
}

static size_t say(void)
{
    assert_false(text.failed);
    visitor_says(&visitor, (struct sluice_text){ text.at, text.len });
    sl_buffer_release(&text);
    return read_answers_of(&visitor, NULL);
}

static int open_text(void **state)
{
    text = sl_buffer((size_t)8 << 20);
    return open_stage(state);
}

#define WITH_TEXT(name) TEST_ON(name, open_text, close_stage, (void *)rules)

/* Back to where it was before it said anything. */
static void check_memory_is_back(void)
{
    assert_null(visitor.conn->in);
    assert_null(visitor.conn->out.at);
    assert_int_equal(stage.workers[0].large_bytes, 0);
}

/* ---- lengths ---- */

WITH_TEXT(a_body_of_any_length_up_to_the_most_is_read)
{
    static const size_t lengths[] = { 30,    16000, 16300, 16310,  16320,   16330,
                                      16340, 16384, 20000, 100000, MIB - 1, MIB };
    for (size_t i = 0; i < COUNT(lengths); i++) {
        add_post(lengths[i]);
        add(GET("/healthz"));
        SAME("answers", say(), 2);
        SAME("a body", answers[0].status, 200);
        SAME("behind it", answers[1].status, 200);
        SAME("counted", number_in(answers[0].body, "remaining"), 999999 - (int64_t)i);
        check_memory_is_back();
    }
}

WITH_TEXT(a_body_above_the_most_is_refused_before_it_comes)
{
    struct answer *answer =
        answer_to("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n");
    assert_int_equal(answer->status, 413);
    assert_true(answer->closes);
    assert_true(visitor.conn->is_finished && visitor.conn->lingers);
    check_memory_is_back();
}

WITH_TEXT(a_body_goes_where_the_block_has_room_for_it)
{
    add_many(GET("/healthz"), 300); /* 11 KB before it */
    add_post(8000);
    assert_int_equal(visitor_put(&visitor, (struct sluice_text){ text.at, text.len }), 16384);
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 300);
    assert_int_equal(visitor.conn->in_room, SL_BLOCK_BYTES); /* moved down, not longer */
    assert_int_equal(visitor.conn->in_start, 0);
    struct sluice_text rest = { text.at + 16384, text.len - 16384 };
    visitor_says(&visitor, rest);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    assert_int_equal(answers[0].status, 200);
    sl_buffer_release(&text);
}

/* ---- what was read before ---- */

WITH_TEXT(what_was_read_before_a_long_body_is_answered_rightly)
{
    add_many(AUTHORIZE, 50);
    add_post(100000);
    add_many(AUTHORIZE, 50);
    assert_int_equal(say(), 101);
    for (int64_t i = 0; i < 101; i++) {
        SAME("status", answers[i].status, 200);
        if (i != 50)
            SAME("counted", number_of(field_of(&answers[i], "X-RateLimit-Remaining")),
                 999999 - i + (i > 50));
    }
    check_memory_is_back();
}

WITH_TEXT(what_other_connections_said_is_not_disturbed_by_a_long_body)
{
    struct visitor other = visitor_enter(&stage);
    visitor_put(&visitor, sl_text(AUTHORIZE AUTHORIZE));
    visitor_read(&visitor);
    add_many(AUTHORIZE, 10);
    add_post(500000);
    visitor_says(&other, (struct sluice_text){ text.at, text.len });
    sl_buffer_release(&text);
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 2);
    assert_int_equal(number_of(field_of(&answers[1], "X-RateLimit-Remaining")), 999998);
    assert_int_equal(read_answers_of(&other, NULL), 11);
    assert_int_equal(number_of(field_of(&answers[9], "X-RateLimit-Remaining")), 999988);
    visitor_leave(&other);
}

WITH_TEXT(arrays_behind_each_other_are_each_decided_whole)
{
    for (int i = 0; i < 3; i++) {
        add_array(1000);
        add(AUTHORIZE);
        add_array(1000);
    }
    assert_int_equal(say(), 9);
    for (size_t i = 0; i < 9; i++) {
        SAME("status", answers[i].status, 200);
        if (i % 3 == 1)
            continue;
        size_t count = 0;
        for (size_t at = 0; at + 9 < answers[i].body.len; at++)
            count += memcmp(answers[i].body.at + at, "\"allowed\"", 9) == 0;
        SAME("decisions", count, 1000);
    }
    SAME("each once per array", number_in(answers[8].body, "remaining"), 1000000 - 6);
    check_memory_is_back();
}

WITH_TEXT(an_array_of_too_many_is_refused_and_none_is_decided)
{
    add(AUTHORIZE);
    add_array(1001);
    add(AUTHORIZE);
    assert_int_equal(say(), 3);
    assert_string_equal(statuses(), "200 413 200");
    assert_false(answers[1].closes); /* where the next message begins is known */
    assert_int_equal(model.slot_count, 1);
}

/* ---- chunks ---- */

/* The body from `start` of the text on, in chunks of that many bytes. */
static void cut_into_chunks(size_t start, size_t step)
{
    struct sl_buffer chunked = sl_buffer((size_t)8 << 20);
    for (size_t at = start; at < text.len; at += step) {
        size_t count = text.len - at < step ? text.len - at : step;
        char line[64];
        snprintf(line, sizeof line, step % 2 ? "%zx\r\n" : "000%zX;an=extension\r\n", count);
        sl_buffer_add(&chunked, sl_text(line));
        sl_buffer_add(&chunked, (struct sluice_text){ text.at + at, count });
        sl_buffer_add(&chunked, SL_TEXT("\r\n"));
    }
    sl_buffer_add(&chunked, SL_TEXT("0\r\n\r\n"));
    text.len = start;
    sl_buffer_add(&text, (struct sluice_text){ chunked.at, chunked.len });
    sl_buffer_release(&chunked);
}

static void add_chunked(size_t len, size_t step)
{
    add("POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    size_t start = text.len;
    add_body(len);
    cut_into_chunks(start, step);
}

WITH_TEXT(a_body_in_chunks_is_the_same_whatever_their_length)
{
    static const struct {
        size_t len, step;
    } rows[] = {
        { 30, 1 },          { 30, 2 },        { 16384, 7 },   { 20000, 10 }, { 20000, 19999 },
        { 100000, 100000 }, { 100000, 4099 }, { MIB, 65536 }, { MIB, MIB },  { MIB, 1021 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        add_many(AUTHORIZE, 20);
        add_chunked(rows[i].len, rows[i].step);
        add_many(AUTHORIZE, 20);
        SAME("answers", say(), 41);
        for (size_t j = 0; j < 41; j++)
            SAME("status", answers[j].status, 200);
        SAME("counted", number_in(answers[20].body, "remaining"), 999999 - (int64_t)i);
        SAME("user", number_of(field_of(&answers[40], "X-RateLimit-Remaining")),
             1000000 - 40 * (int64_t)(i + 1));
        check_memory_is_back();
    }
}

WITH_TEXT(chunks_above_the_most_are_refused_as_soon_as_that_is_known)
{
    add("POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n");
    assert_int_equal(say(), 1);
    assert_int_equal(answers[0].status, 413);
    start_over();
    add_chunked(MIB, 65536);
    text.len -= 5; /* its end */
    assert_int_equal(say(), 0);
    add("1\r\n");
    assert_int_equal(say(), 1);
    assert_int_equal(answers[0].status, 413);
    assert_true(answers[0].closes);
    check_memory_is_back();
}

WITH_TEXT(a_wrong_chunk_is_refused_behind_what_was_right)
{
    add_many(AUTHORIZE, 3);
    add("POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nx\r\n");
    add(AUTHORIZE);
    assert_int_equal(say(), 4);
    assert_string_equal(statuses(), "200 200 200 400");
    assert_true(visitor.conn->is_finished && visitor.conn->lingers);
}

/* ---- memory for all ---- */

/* Or a few short heads would take all memory from other connections. */
WITH_TEXT(a_body_that_is_only_announced_takes_no_memory)
{
    for (int i = 0; i < 3; i++) {
        says("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
        assert_int_equal(visitor.conn->in_room, SL_BLOCK_BYTES);
        assert_int_equal(stage.workers[0].large_bytes, 0);
        start_over();
    }
    add_post(MIB);
    visitor_says(&visitor, (struct sluice_text){ text.at, 100000 });
    sl_buffer_release(&text);
    assert_true(visitor.conn->in_room >= 100000 && visitor.conn->in_room < 300000);
}

WITH_TEXT(long_buffers_of_all_connections_are_bounded)
{
    enum { MANY = 70 };
    static struct visitor visitors[MANY];
    size_t refused = 0, first = 0;
    add_post(MIB);
    for (size_t i = 0; i < MANY; i++) {
        visitors[i] = visitor_enter(&stage);
        visitor_says(&visitors[i], (struct sluice_text){ text.at, text.len - 1 });
        if (read_answers_of(&visitors[i], NULL) == 0)
            continue;
        SAME("refused", answers[0].status, 503);
        SAME("refused", answers[0].closes, true);
        first = refused++ ? first : i;
    }
    assert_true(first > 60 && first < 64 && refused == MANY - first);
    assert_true(stage.workers[0].large_bytes <= (size_t)64 << 20);
    visitor_leave(&visitors[0]); /* then there is room again */
    assert_int_equal(say(), 1);
    assert_int_equal(answers[0].status, 200);
    for (size_t i = 1; i < MANY; i++)
        visitor_leave(&visitors[i]);
    check_memory_is_back();
}
