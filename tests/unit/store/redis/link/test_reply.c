#include "store/redis/link/reply.h"

#include "unit/base/unit.h"

static struct sl_reply_reader *reader;

static int open_reader(void **unused)
{
    (void)unused;
    reader = sl_reply_reader_new();
    return reader ? 0 : -1;
}

static int close_reader(void **unused)
{
    (void)unused;
    sl_reply_reader_free(reader);
    reader = NULL;
    return 0;
}

static void begin_anew(void)
{
    close_reader(NULL);
    assert_int_equal(open_reader(NULL), 0);
}

/* Exactly as large as what is fed: reading one byte further is seen. */
static void feed(const char *at, size_t len)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, at, len);
    assert_true(sl_reply_reader_feed(reader, copy, len));
    free(copy);
}

/* "1 2 'abc' ''", an error with a ! in front; an array in another is "[" and how long it is */
static const char *printed(const struct sl_redis_reply *reply)
{
    static char text[1024];
    size_t len = 0;
    if (reply->is_error)
        len += (size_t)snprintf(text + len, sizeof text - len, "! ");
    for (size_t i = 0; i < reply->value_count; i++) {
        bool is_array =
            reply->values[i] >= SL_REPLY_ARRAY && reply->values[i] < SL_REPLY_ARRAY + 99;
        len += (size_t)snprintf(text + len, sizeof text - len,
                                is_array ? "[%" PRId64 " " : "%" PRId64 " ",
                                reply->values[i] - (is_array ? SL_REPLY_ARRAY : 0));
    }
    for (size_t i = 0; i < reply->text_count; i++) {
        struct sluice_text one = sl_reply_text(reply, i);
        len += (size_t)snprintf(text + len, sizeof text - len, "'%.*s' ", (int)one.len, one.at);
    }
    text[len ? len - 1 : 0] = 0;
    return text;
}

static void expect_reply(const char *row, const char *wanted)
{
    struct sl_redis_reply *reply = NULL;
    SAME(row, sl_reply_reader_next(reader, &reply), SL_READ_REPLY);
    SAME_TEXT(row, sl_text(printed(reply)), wanted);
}

static void expect_more(const char *row)
{
    struct sl_redis_reply *reply = NULL;
    SAME(row, sl_reply_reader_next(reader, &reply), SL_READ_MORE);
}

static const struct {
    const char *wire, *wanted;
} replies[] = {
    { ":0\r\n", "0" },
    { ":7\r\n", "7" },
    { ":-1\r\n", "-1" },
    { ":9223372036854775807\r\n", "9223372036854775807" },
    { ":-9223372036854775808\r\n", "-9223372036854775808" },
    { "+OK\r\n", "'OK'" },
    { "+\r\n", "''" },
    { "$3\r\nabc\r\n", "'abc'" },
    { "$0\r\n\r\n", "''" },
    { "$5\r\na\r\nbc\r\n", "'a\r\nbc'" },
    { "$-1\r\n", "''" },
    { "*-1\r\n", "''" },
    { "*0\r\n", "" },
    { "*1\r\n:5\r\n", "5" },
    { "*2\r\n:1700000000000000\r\n:1\r\n", "1700000000000000 1" },
    { "*4\r\n$4\r\ncost\r\n$1\r\n2\r\n$7\r\ncharged\r\n$-1\r\n", "'cost' '2' 'charged' ''" },
    { "*3\r\n:1\r\n$1\r\na\r\n:2\r\n", "1 2 'a'" },
    { "*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n$1\r\nx\r\n", "[2 1 2 [1 'x'" },
    { "*1\r\n*1\r\n*1\r\n:9\r\n", "[1 [1 9" },
    { "*3\r\n*0\r\n:4\r\n*-1\r\n", "[0 4 ''" },
    { "-ERR no\r\n", "! 'ERR no'" },
    { "-LOADING\r\n", "! 'LOADING'" },
    { "*2\r\n:1\r\n-OOM inside\r\n", "! 1 'OOM inside'" },
};

#define ON_A_READER(name) TEST_WITH(name, open_reader, close_reader)

ON_A_READER(every_reply_is_read_whatever_arrives_at_once)
{
    for (size_t i = 0; i < COUNT(replies); i++) {
        const char *wire = replies[i].wire;
        size_t len = strlen(wire);
        for (size_t cut = 0; cut <= len; cut++) {
            feed(wire, cut);
            if (cut < len)
                expect_more(wire);
            feed(wire + cut, len - cut);
            expect_reply(wire, replies[i].wanted);
            expect_more(wire);
        }
    }
}

ON_A_READER(a_reply_is_read_byte_by_byte)
{
    for (size_t i = 0; i < COUNT(replies); i++) {
        const char *wire = replies[i].wire;
        for (size_t at = 0; wire[at]; at++) {
            feed(wire + at, 1);
            if (wire[at + 1])
                expect_more(wire);
        }
        expect_reply(wire, replies[i].wanted);
    }
}

/* All of them in one stream, cut at every byte of it. */
ON_A_READER(several_in_a_row_come_out_one_after_another)
{
    char all[1024] = "";
    for (size_t i = 0; i < COUNT(replies); i++)
        strcat(all, replies[i].wire);
    size_t len = strlen(all);
    for (size_t cut = 0; cut <= len; cut++) {
        size_t got = 0;
        struct sl_redis_reply *reply = NULL;
        feed(all, cut);
        for (; sl_reply_reader_next(reader, &reply) == SL_READ_REPLY; got++)
            SAME_TEXT(all, sl_text(printed(reply)), replies[got].wanted);
        feed(all + cut, len - cut);
        for (; got < COUNT(replies); got++)
            expect_reply(replies[got].wire, replies[got].wanted);
        expect_more("at the end");
    }
}

ON_A_READER(an_error_is_not_held_against_the_next_reply)
{
    feed("-ERR no\r\n:1\r\n", 13);
    expect_reply("error", "! 'ERR no'");
    expect_reply("after it", "1");
}

ON_A_READER(a_text_that_is_not_there_is_empty)
{
    struct sl_redis_reply *reply = NULL;
    feed("*2\r\n$1\r\na\r\n$-1\r\n", 16);
    assert_int_equal(sl_reply_reader_next(reader, &reply), SL_READ_REPLY);
    SAME_TEXT("first", sl_reply_text(reply, 0), "a");
    for (size_t i = 1; i < 4; i++) {
        assert_non_null(sl_reply_text(reply, i).at);
        assert_int_equal(sl_reply_text(reply, i).len, 0);
    }
    assert_int_equal(sl_reply_text(reply, SIZE_MAX).len, 0);
}

ON_A_READER(what_is_not_redis_is_wrong_and_stays_wrong)
{
    static const char *const garbage[] = {
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "hello\r\n",
        "\r\n",
        "\x16\x03\x01\x02",
        ":one\r\n",
        ":\r\n",
        ":99999999999999999999\r\n",
        "$x\r\n",
        "$-2\r\n",
        "*x\r\n",
        "*-2\r\n",
        "*2\r\n:1\r\n?\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    };
    for (size_t i = 0; i < COUNT(garbage); i++) {
        struct sl_redis_reply *reply = NULL;
        feed(garbage[i], strlen(garbage[i]));
        SAME(garbage[i], sl_reply_reader_next(reader, &reply), SL_READ_WRONG);
        sl_reply_reader_feed(reader, ":1\r\n", 4);
        SAME(garbage[i], sl_reply_reader_next(reader, &reply), SL_READ_WRONG);
        begin_anew();
    }
}

ON_A_READER(garbage_behind_a_reply_does_not_spoil_it)
{
    struct sl_redis_reply *reply = NULL;
    feed(":1\r\nhello\r\n", 11);
    expect_reply("before", "1");
    assert_int_equal(sl_reply_reader_next(reader, &reply), SL_READ_WRONG);
}

/* Feeds `piece` again and again, until the reader has enough of it. */
static size_t feeds_until_wrong(const char *head, const char *piece, size_t most)
{
    struct sl_redis_reply *reply = NULL;
    feed(head, strlen(head));
    for (size_t i = 0; i < most; i++) {
        feed(piece, strlen(piece));
        enum sl_read read = sl_reply_reader_next(reader, &reply);
        if (read == SL_READ_WRONG)
            return i + 1;
        assert_int_equal(read, SL_READ_MORE);
    }
    return most;
}

/* As many pieces as make a thousand elements. */
static char *a_thousand(const char *element)
{
    char *piece = calloc(1000, strlen(element) + 1);
    assert_non_null(piece);
    for (size_t i = 0, len = 0; i < 1000; i++, len += strlen(element))
        memcpy(piece + len, element, strlen(element));
    return piece;
}

ON_A_READER(far_more_elements_than_a_call_asks_for_are_wrong)
{
    static const char *const elements[] = { ":1\r\n", "$-1\r\n", "$2\r\nab\r\n" };
    for (size_t i = 0; i < COUNT(elements); i++) {
        char *piece = a_thousand(elements[i]);
        SAME(elements[i], feeds_until_wrong("*2000000000\r\n", piece, 2000) < 1100, true);
        free(piece);
        begin_anew();
    }
}

ON_A_READER(more_bytes_than_a_call_asks_for_are_wrong)
{
    size_t len = 64 << 10;
    char *text = malloc(len + 32);
    assert_non_null(text);
    int head = snprintf(text, 32, "$%zu\r\n", len);
    memset(text + head, 'x', len);
    memcpy(text + head + (int)len, "\r\n", 3);
    size_t feeds = feeds_until_wrong("*1000\r\n", text, 200);
    assert_in_range(feeds, 60, 70); /* 4 MiB */
    free(text);
}

/* hiredis keeps whatever comes until a text is whole. */
ON_A_READER(a_text_that_never_ends_is_wrong)
{
    static const char *const heads[] = { "+", "-", "$4611686018427387904\r\n",
                                         "*1\r\n$99999999\r\n" };
    enum { PIECE = 1 << 20 };
    char *piece = malloc(PIECE);
    assert_non_null(piece);
    memset(piece, 'x', PIECE);
    for (size_t i = 0; i < COUNT(heads); i++) {
        size_t fed = 0;
        struct sl_redis_reply *reply = NULL;
        feed(heads[i], strlen(heads[i]));
        while (fed < 64 && sl_reply_reader_feed(reader, piece, PIECE) &&
               sl_reply_reader_next(reader, &reply) == SL_READ_MORE)
            fed++;
        SAME(heads[i], fed <= 8, true); /* MiB */
        begin_anew();
    }
    free(piece);
}

ON_A_READER(as_many_as_ten_thousand_rules_make_are_read)
{
    enum { VALUES = 70002 };
    struct sl_redis_reply *reply = NULL;
    char *piece = a_thousand(":1\r\n");
    feed("*70002\r\n", 8);
    for (size_t i = 0; i < VALUES / 1000; i++)
        feed(piece, 4000);
    feed(piece, 8);
    assert_int_equal(sl_reply_reader_next(reader, &reply), SL_READ_REPLY);
    assert_int_equal(reply->value_count, VALUES);
    free(piece);
}

/* ---- packed ---- */

ON_A_READER(a_text_of_packed_numbers_becomes_numbers)
{
    static const struct {
        const char *wire;
        size_t len;
        const char *wanted;
    } rows[] = {
#define ROW(wire, wanted) { wire, sizeof wire - 1, wanted }
        ROW("$8\r\n\1\0\0\0\0\0\0\0\r\n", "1"),
        ROW("$8\r\n\0\1\0\0\0\0\0\0\r\n", "256"),
        ROW("$8\r\n\xff\xff\xff\xff\xff\xff\xff\xff\r\n", "-1"),
        ROW("$8\r\n\xff\xff\xff\xff\xff\xff\xff\x7f\r\n", "9223372036854775807"),
        ROW("$8\r\n\0\0\0\0\0\0\0\x80\r\n", "-9223372036854775808"),
        ROW("$16\r\n\2\0\0\0\0\0\0\0\r\n\0\0\0\0\0\0\r\n", "2 2573"),
#undef ROW
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_redis_reply *reply = NULL;
        feed(rows[i].wire, rows[i].len);
        SAME(rows[i].wanted, sl_reply_reader_next(reader, &reply), SL_READ_REPLY);
        sl_reply_unpack(reply);
        reply->text_count = 0; /* looked at the numbers alone */
        SAME_TEXT("unpacked", sl_text(printed(reply)), rows[i].wanted);
    }
}

ON_A_READER(what_is_not_packed_is_left_as_it_is)
{
    for (size_t i = 0; i < COUNT(replies); i++) {
        struct sl_redis_reply *reply = NULL;
        feed(replies[i].wire, strlen(replies[i].wire));
        SAME(replies[i].wire, sl_reply_reader_next(reader, &reply), SL_READ_REPLY);
        sl_reply_unpack(reply);
        SAME_TEXT(replies[i].wire, sl_text(printed(reply)), replies[i].wanted);
    }
}

TEST(no_reader_is_freed_without_harm)
{
    sl_reply_reader_free(NULL);
}
