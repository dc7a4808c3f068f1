#include "wire/http/chunked.h"

#include "unit/base/unit.h"

#define MOST_BYTES 4096

/* What came of a body: how it ended, and how many bytes were used. */
struct reading {
    enum sl_chunked_end end;
    struct sl_http_wrong wrong;
    size_t used;
    size_t body_len;
    char body[MOST_BYTES + 1];
};

/* In pieces of `step` bytes, which arrive behind what is decoded, as on a
 * connection whose buffer is only as large as it must be. */
static struct reading decode(struct sluice_text bytes, size_t step, size_t most_bytes)
{
    struct reading got = { .end = SL_CHUNKED_MORE };
    struct sl_chunked chunked = { 0 };
    for (size_t piece; got.end == SL_CHUNKED_MORE && got.used < bytes.len;) {
        piece = bytes.len - got.used < step ? bytes.len - got.used : step;
        size_t len = chunked.decoded_len + piece;
        char *room = malloc(len); /* exactly: writing further is seen */
        assert_non_null(room);
        memcpy(room, got.body, chunked.decoded_len);
        memcpy(room + chunked.decoded_len, bytes.at + got.used, piece);
        char *start = room + chunked.decoded_len;
        char *at = start;
        got.end = sl_chunked_read(&chunked, room, &at, room + len, most_bytes, &got.wrong);
        assert_true(got.end != SL_CHUNKED_MORE || at == room + len);
        assert_true(chunked.decoded_len <= most_bytes && chunked.decoded_len <= MOST_BYTES);
        got.used += (size_t)(at - start);
        memcpy(got.body, room, chunked.decoded_len);
        free(room);
    }
    got.body_len = chunked.decoded_len;
    return got;
}

/* However it is cut. */
static struct reading decode_all_ways(const char *row, struct sluice_text bytes, size_t most_bytes)
{
    struct reading whole = decode(bytes, bytes.len ? bytes.len : 1, most_bytes);
    for (size_t step = 1; step < bytes.len && step < 40; step++) {
        struct reading cut = decode(bytes, step, most_bytes);
        SAME(row, cut.end, whole.end);
        SAME(row, cut.wrong.status, whole.wrong.status);
        SAME(row, cut.used, whole.used);
        SAME(row, cut.body_len, whole.body_len);
        SAME(row, memcmp(cut.body, whole.body, whole.body_len), 0);
    }
    return whole;
}

TEST(chunks_become_a_body)
{
    static const struct {
        const char *text, *body;
        size_t behind; /* bytes behind the body, of the next message */
    } rows[] = {
        { "0\r\n\r\n", "" },
        { "5\r\nhello\r\n0\r\n\r\n", "hello" },
        { "5\r\nhello\r\n0\r\n\r\nGET /", "hello", 5 },
        { "5\r\nhello\r\n7\r\n, world\r\n1\r\n!\r\n0\r\n\r\n", "hello, world!" },
        { "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789" },
        { "0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n", "hello" },
        { "2\r\n\r\n\r\n0\r\n\r\n", "\r\n" },
        { "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n" },
        { "5;\r\nhello\r\n0\r\n\r\n", "hello" },
        { "5;a=\"b c\";d\t= ~\r\nhello\r\n0;x\r\n\r\n", "hello" },
        { "0\r\nExpires: never\r\nX-Empty:\r\n\r\n", "" },
        { "1\r\na\r\n0\r\nX: \t\x80 b\r\n\r\n\r\n", "a", 2 },
        { "0\r\nTransfer-Encoding: chunked\r\nHost: b\r\nContent-Length: 5\r\n\r\n", "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reading got = decode_all_ways(rows[i].text, sl_text(rows[i].text), MOST_BYTES);
        SAME(rows[i].text, got.end, SL_CHUNKED_DONE);
        SAME(rows[i].text, got.used, strlen(rows[i].text) - rows[i].behind);
        struct sluice_text body = { got.body, got.body_len };
        SAME_TEXT(rows[i].text, body, rows[i].body);
    }
}

static const struct {
    struct sluice_text text;
    uint32_t status;
    size_t used; /* up to the byte that is wrong */
    const char *says;
} bads[] = {
    { SL_TEXT("\r\n"), 400, 0, "begins with its size" },
    { SL_TEXT("g\r\n"), 400, 0, "begins with its size" },
    { SL_TEXT(" 5\r\n"), 400, 0, "begins with its size" },
    { SL_TEXT("-5\r\n"), 400, 0, "begins with its size" },
    { SL_TEXT(";a\r\n"), 400, 0, "begins with its size" },
    { SL_TEXT("0x5\r\n"), 400, 1, "followed by CR LF" },
    { SL_TEXT("5 \r\nhello"), 400, 1, "followed by CR LF" },
    { SL_TEXT("5 ;a\r\nhello"), 400, 1, "followed by CR LF" },
    { SL_TEXT("5,\r\nhello"), 400, 1, "followed by CR LF" },
    { SL_TEXT("5\nhello"), 400, 1, "followed by CR LF" },
    { SL_TEXT("5\0\r\nhello"), 400, 1, "followed by CR LF" },
    { SL_TEXT("5\rhello"), 400, 2, "bare CR" },
    { SL_TEXT("5\r\r\nhello"), 400, 2, "bare CR" },
    { SL_TEXT("5;a\nhello"), 400, 3, "extension" },
    { SL_TEXT("5;\x80\r\nhello"), 400, 2, "extension" },
    { SL_TEXT("5;\0\r\nhello"), 400, 2, "extension" },
    { SL_TEXT("5;\x7f\r\nhello"), 400, 2, "extension" },
    { SL_TEXT("5;a\rb\r\nhello"), 400, 4, "bare CR" },
    { SL_TEXT("5\r\nhello0\r\n\r\n"), 400, 8, "ends with CR LF" },
    { SL_TEXT("5\r\nhello\n0\r\n\r\n"), 400, 8, "ends with CR LF" },
    { SL_TEXT("5\r\nhello\r0\r\n\r\n"), 400, 9, "bare CR" },
    { SL_TEXT("5\r\nhello\r\n\r\n0\r\n\r\n"), 400, 10, "begins with its size" },
    { SL_TEXT("0\r\n\n"), 400, 3, "Behind the last chunk" },
    { SL_TEXT("0\r\n\rX"), 400, 4, "bare CR" },
    { SL_TEXT("0\r\n X: a\r\n\r\n"), 400, 3, "Behind the last chunk" },
    { SL_TEXT("0\r\n: a\r\n\r\n"), 400, 3, "Behind the last chunk" },
    { SL_TEXT("0\r\nX : a\r\n\r\n"), 400, 4, "Behind the last chunk" },
    { SL_TEXT("0\r\nX\r\n\r\n"), 400, 4, "Behind the last chunk" },
    { SL_TEXT("0\r\nX: a\r\n b\r\n\r\n"), 400, 9, "Behind the last chunk" },
    { SL_TEXT("0\r\nGET / HTTP/1.1\r\n\r\n"), 400, 6, "Behind the last chunk" },
    { SL_TEXT("0\r\nX: a\nY: b\r\n\r\n"), 400, 7, "control characters" },
    { SL_TEXT("0\r\nX: \0\r\n\r\n"), 400, 6, "control characters" },
    { SL_TEXT("0\r\nX: a\rY: b\r\n\r\n"), 400, 8, "bare CR" },
    { SL_TEXT("1001\r\n"), 413, 3, "too large" },
    { SL_TEXT("fff\r\n"), 0, 5, "" },
    { SL_TEXT("1000\r\n"), 0, 6, "" },
    { SL_TEXT("00000000000000005\r\nhello"), 413, 16, "too large" },
    { SL_TEXT("ffffffffffffffff\r\n"), 413, 3, "too large" },
};

TEST(bad_chunks_are_refused_and_say_why)
{
    for (size_t i = 0; i < COUNT(bads); i++) {
        const char *row = bads[i].text.at;
        struct reading got = decode_all_ways(row, bads[i].text, MOST_BYTES);
        SAME(row, got.end, bads[i].status ? SL_CHUNKED_WRONG : SL_CHUNKED_MORE);
        SAME(row, got.wrong.status, bads[i].status);
        SAME(row, got.used, bads[i].used);
        if (bads[i].status && !strstr(got.wrong.detail, bads[i].says))
            SAME_TEXT(row, sl_text(got.wrong.detail), bads[i].says);
    }
}

TEST(a_body_has_as_many_bytes_as_it_may)
{
    static const char body[] = "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n";
    struct reading got = decode_all_ways("10", sl_text(body), 10);
    assert_int_equal(got.end, SL_CHUNKED_DONE);
    got = decode_all_ways("9", sl_text(body), 9);
    assert_int_equal(got.end, SL_CHUNKED_WRONG);
    assert_int_equal(got.wrong.status, 413);
    assert_int_equal(got.used, 10); /* the second size, before any of its bytes */
    got = decode_all_ways("0", SL_TEXT("0\r\n\r\n"), 0);
    assert_int_equal(got.end, SL_CHUNKED_DONE);
    got = decode_all_ways("0", SL_TEXT("1\r\n"), 0);
    assert_int_equal(got.wrong.status, 413);
}

TEST(the_largest_size_is_counted_without_overflow)
{
    struct reading got = decode_all_ways("all", SL_TEXT("ffffffffffffffff\r\nabc"), SIZE_MAX);
    assert_int_equal(got.end, SL_CHUNKED_MORE);
    assert_int_equal(got.body_len, 3);
    got = decode_all_ways("more", SL_TEXT("10000000000000000\r\nabc"), SIZE_MAX);
    assert_int_equal(got.wrong.status, 413);
}

/* `first`, `count` times `fill`, `last`. */
static struct reading decode_filled(const char *first, size_t count, const char *last)
{
    char text[8192];
    size_t first_len = strlen(first), last_len = strlen(last);
    assert_true(first_len + count + last_len < sizeof text);
    memcpy(text, first, first_len);
    memset(text + first_len, 'a', count);
    memcpy(text + first_len + count, last, last_len);
    return decode_all_ways(first, (struct sluice_text){ text, first_len + count + last_len },
                           MOST_BYTES);
}

TEST(the_line_of_a_size_has_256_bytes_at_most)
{
    struct reading got = decode_filled("0;", 254, "\r\n\r\n");
    assert_int_equal(got.end, SL_CHUNKED_DONE);
    got = decode_filled("0;", 255, "\r\n\r\n");
    assert_int_equal(got.wrong.status, 400);
    got = decode_filled("1;", 254, "\r\na\r\n0\r\n\r\n");
    assert_int_equal(got.end, SL_CHUNKED_DONE); /* each line anew */
}

TEST(trailers_have_4096_bytes_at_most)
{
    struct reading got = decode_filled("0\r\nX:", 4094, "\r\n\r\n");
    assert_int_equal(got.end, SL_CHUNKED_DONE);
    got = decode_filled("0\r\nX:", 4095, "\r\n\r\n");
    assert_int_equal(got.wrong.status, 431);
    got = decode_filled("0\r\nX:", 4093, "\r\nY:\r\n\r\n");
    assert_int_equal(got.wrong.status, 431); /* of all lines together */
    got = decode_filled("0\r\n", 4097, ":\r\n\r\n");
    assert_int_equal(got.wrong.status, 431); /* of a name without an end */
}

TEST(a_body_that_is_done_stays_done)
{
    char text[] = "0\r\n\r\nGET";
    struct sl_chunked chunked = { 0 };
    struct sl_http_wrong wrong = { 0 };
    char *at = text;
    const char *end = text + strlen(text);
    assert_int_equal(sl_chunked_read(&chunked, text, &at, end, 10, &wrong), SL_CHUNKED_DONE);
    assert_int_equal(sl_chunked_read(&chunked, text, &at, end, 10, &wrong), SL_CHUNKED_DONE);
    assert_string_equal(at, "GET");
    assert_int_equal(wrong.status, 0);
}

TEST(what_is_wrong_is_wrong_again)
{
    char text[] = "5x";
    struct sl_chunked chunked = { 0 };
    char *at = text;
    for (int i = 0; i < 2; i++) {
        struct sl_http_wrong wrong = { 0 };
        assert_int_equal(sl_chunked_read(&chunked, text, &at, text + 2, 10, &wrong),
                         SL_CHUNKED_WRONG);
        assert_int_equal(wrong.status, 400);
        assert_ptr_equal(at, text + 1);
    }
}
