#include "unit/wire/heads.h"

/* ---- heads that are read --------------------------------------------------------- */

TEST(a_head_is_read_whole)
{
    struct reading *got = read_good("POST /v1/check?a=1&b=?x HTTP/1.1\r\n"
                                    "HOST:\t 127.0.0.1:8080 \t\r\n"
                                    "Content-Length:12\r\n"
                                    "content-type: application/json; charset=\"utf-8\"\r\n"
                                    "X-Empty:\r\n"
                                    "X-Blank: \t \r\n"
                                    "!#$%&'*+-.^_`|~9: \x80\xff\ta  b\r\n"
                                    "\r\n");
    const struct sl_http_head *head = &got->head;
    SAME_TEXT("", head->method, "POST");
    SAME_TEXT("", head->target, "/v1/check?a=1&b=?x");
    SAME_TEXT("", head->path, "/v1/check");
    SAME_TEXT("", head->query, "a=1&b=?x");
    assert_false(head->is_1_0);
    assert_true(head->keep_alive);
    assert_false(head->chunked);
    assert_false(head->expects_continue);
    assert_int_equal(head->length, 12);
    assert_int_equal(head->repeated, 0);
    SAME_TEXT("", head->known[SL_HTTP_HOST], "127.0.0.1:8080");
    SAME_TEXT("", head->known[SL_HTTP_CONTENT_TYPE], "application/json; charset=\"utf-8\"");
    assert_null(head->known[SL_HTTP_AUTHORIZATION].at);
    assert_int_equal(head->field_count, 6);
    SAME_TEXT("", head->fields[0].name, "HOST");
    SAME_TEXT("", head->fields[1].value, "12");
    SAME_TEXT("", head->fields[3].value, "");
    assert_non_null(head->fields[3].value.at);
    SAME_TEXT("", head->fields[4].value, "");
    SAME_TEXT("", head->fields[5].name, "!#$%&'*+-.^_`|~9");
    SAME_TEXT("", head->fields[5].value, "\x80\xff\ta  b");
    drop(got);
}

TEST(one_empty_line_before_the_head_is_let_pass)
{
    struct reading *got = read_good(END LINE HOST END);
    SAME_TEXT("", got->head.method, "GET");
    assert_int_equal(got->head.field_count, 1);
    drop(got);
}

TEST(what_is_behind_the_head_is_left_alone)
{
    static const char two[] = LINE HOST END "POST /\n\0 and so on";
    struct sl_http_search search = { 0 };
    struct sl_http_wrong wrong;
    struct sluice_text bytes = { two, sizeof two - 1 };
    assert_int_equal(sl_http_find_end(&search, bytes, &wrong), strlen(LINE HOST END));
    assert_int_equal(wrong.status, 0);
}

TEST(every_known_field_is_found_in_any_case)
{
    static const char *const names[] = {
#define NAME(constant, lower) lower,
        SL_HTTP_KNOWN(NAME)
#undef NAME
    };
    static const struct {
        const char *text;
        enum sl_http_known known;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost: v\r\n\r\n", SL_HTTP_HOST },
        { LINE HOST "AUTHORIZATION: v\r\n\r\n", SL_HTTP_AUTHORIZATION },
        { LINE HOST "connection: v\r\n\r\n", SL_HTTP_CONNECTION },
        { LINE HOST "Content-Type: v\r\n\r\n", SL_HTTP_CONTENT_TYPE },
        { LINE HOST "forWarded: v\r\n\r\n", SL_HTTP_FORWARDED },
        { LINE HOST "X-API-Key: v\r\n\r\n", SL_HTTP_X_API_KEY },
        { LINE HOST "X-Forwarded-For: v\r\n\r\n", SL_HTTP_X_FORWARDED_FOR },
        { LINE HOST "X-Forwarded-Method: v\r\n\r\n", SL_HTTP_X_FORWARDED_METHOD },
        { LINE HOST "X-Forwarded-Uri: v\r\n\r\n", SL_HTTP_X_FORWARDED_URI },
        { LINE HOST "X-Original-Method: v\r\n\r\n", SL_HTTP_X_ORIGINAL_METHOD },
        { LINE HOST "x-original-URI: v\r\n\r\n", SL_HTTP_X_ORIGINAL_URI },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reading *got = read_good(rows[i].text);
        SAME_TEXT(rows[i].text, got->head.known[rows[i].known], "v");
        for (size_t k = 0; k < SL_HTTP_KNOWN_COUNT; k++) {
            bool there = k == rows[i].known || k == SL_HTTP_HOST;
            SAME(names[k], got->head.known[k].at != NULL, there);
        }
        drop(got);
    }
}

TEST(names_that_only_look_known_are_not)
{
    struct reading *got = read_good(LINE HOST "Hose: v\r\nHos: v\r\nHostt: v\r\n"
                                              "X-Forwarded-Fox: v\r\nContent_Length: v\r\n"
                                              "Transfer-Encodinf: v\r\nTransfer_Encoding: v\r\n"
                                              "\x58-Api\x5eKey: v\r\n\r\n");
    for (size_t k = 0; k < SL_HTTP_KNOWN_COUNT; k++)
        SAME("", got->head.known[k].at != NULL, k == SL_HTTP_HOST);
    drop(got);
}

TEST(the_first_of_a_name_is_known_and_another_noted)
{
    struct reading *got = read_good(LINE HOST "X-Forwarded-For: 1\r\nx-forwarded-for: 2\r\n"
                                              "X-Forwarded-Uri:\r\nX-Forwarded-Uri: /b\r\n\r\n");
    SAME_TEXT("", got->head.known[SL_HTTP_X_FORWARDED_FOR], "1");
    SAME_TEXT("", got->head.known[SL_HTTP_X_FORWARDED_URI], "");
    assert_int_equal(got->head.repeated,
                     1u << SL_HTTP_X_FORWARDED_FOR | 1u << SL_HTTP_X_FORWARDED_URI);
    drop(got);
}

TEST(a_connection_is_kept_as_version_and_field_say)
{
    static const struct {
        const char *text;
        bool keep_alive;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", true },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: CLOSE\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: te ,\tClose\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: te\r\nConnection: x, close\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed, x-close, close x\r\n\r\n", true },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection:\r\n\r\n", true },
        { "GET / HTTP/1.1\r\nHost: a\r\nX-Connection: close\r\n\r\n", true },
        { "GET / HTTP/1.0\r\n\r\n", false },
        { "GET / HTTP/1.0\r\nConnection: x\r\n\r\n", false },
        { "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true },
        { "GET / HTTP/1.0\r\nConnection: x\r\nConnection: , keep-alive\r\n\r\n", true },
        { "GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false },
        { "GET / HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reading *got = read_good(rows[i].text);
        SAME(rows[i].text, got->head.keep_alive, rows[i].keep_alive);
        SAME(rows[i].text, got->head.is_1_0, strstr(rows[i].text, "1.0") != NULL);
        drop(got);
    }
}

TEST(a_body_ends_by_its_length_or_its_chunks)
{
    static const struct {
        const char *text;
        uint64_t length;
        bool chunked;
    } rows[] = {
        { LINE HOST END, 0 },
        { LINE HOST "Content-Length: 0\r\n\r\n", 0 },
        { LINE HOST "Content-Length: 007\r\n\r\n", 7 },
        { LINE HOST "Content-Length: 999999999999999999\r\n\r\n", UINT64_C(999999999999999999) },
        { LINE HOST "Transfer-Encoding: chunked\r\n\r\n", 0, true },
        { LINE HOST "transfer-encoding: \t Chunked \r\n\r\n", 0, true },
        { "PUT / HTTP/1.0\r\nContent-Length: 5\r\n\r\n", 5 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reading *got = read_good(rows[i].text);
        SAME(rows[i].text, got->head.length, rows[i].length);
        SAME(rows[i].text, got->head.chunked, rows[i].chunked);
        drop(got);
    }
}

TEST(only_http_1_1_expects_to_be_told_to_continue)
{
    struct reading *got = read_good(LINE HOST "Expect: 100-Continue\r\n\r\n");
    assert_true(got->head.expects_continue);
    drop(got);
    got = read_good("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
    assert_false(got->head.expects_continue);
    drop(got);
}

/* ---- bounds ----------------------------------------------------------------------- */

/* `first`, `count` times `fill`, `last`. */
static struct sluice_text filled(const char *first, char fill, size_t count, const char *last)
{
    size_t first_len = strlen(first), last_len = strlen(last);
    char *bytes = malloc(first_len + count + last_len);
    assert_non_null(bytes);
    memcpy(bytes, first, first_len);
    memset(bytes + first_len, fill, count);
    memcpy(bytes + first_len + count, last, last_len);
    return (struct sluice_text){ bytes, first_len + count + last_len };
}

static void expect_status(const char *row, struct sluice_text text, uint32_t status)
{
    struct reading *got = read_text(row, text);
    SAME(row, got->good ? 0 : got->wrong.status, status);
    drop(got);
    free((void *)(uintptr_t)text.at);
}

TEST(a_target_has_8192_bytes_at_most)
{
    expect_status("most", filled("GET /", 'a', 8191, " HTTP/1.1\r\n" HOST END), 0);
    expect_status("one more", filled("GET /", 'a', 8192, " HTTP/1.1\r\n" HOST END), 414);
}

TEST(a_head_has_16383_bytes_at_most)
{
    size_t rest = strlen(LINE HOST "X: " END END);
    size_t most = SL_HTTP_HEAD_MAX_BYTES - rest;
    expect_status("most", filled(LINE HOST "X: ", 'a', most, END END), 0);
    expect_status("one more", filled(LINE HOST "X: ", 'a', most + 1, END END), 431);
    expect_status("no end", filled(LINE HOST "X: ", 'a', 17000, ""), 431);
    expect_status("no end of the request line", filled("GET /", 'a', 17000, ""), 414);
    expect_status("with an empty line", filled("\r\nGET /", 'a', 17000, ""), 414);
    expect_status("a bare LF just inside", filled(LINE "X: ", 'a', 16383 - 20, "\n"), 400);
    expect_status("a bare LF just outside", filled(LINE "X: ", 'a', 16383 - 19, "\n"), 431);
}

TEST(the_reader_keeps_to_that_bound_too)
{
    struct sluice_text text = filled(LINE HOST "X: ", 'a', SL_HTTP_HEAD_MAX_BYTES, END END);
    struct sl_http_head head;
    struct sl_http_wrong wrong = { 0 };
    assert_false(sl_http_read_head(text, &head, &wrong));
    assert_int_equal(wrong.status, 431);
    free((void *)(uintptr_t)text.at);
}

TEST(a_head_too_large_is_told_by_its_last_byte)
{
    struct sluice_text text = filled(LINE, 'a', 17000, "");
    struct sl_http_search search = { 0 };
    struct sl_http_wrong wrong;
    text.len = SL_HTTP_HEAD_MAX_BYTES - 1;
    assert_int_equal(sl_http_find_end(&search, text, &wrong), 0);
    assert_int_equal(wrong.status, 0);
    text.len = SL_HTTP_HEAD_MAX_BYTES;
    assert_int_equal(sl_http_find_end(&search, text, &wrong), 0);
    assert_int_equal(wrong.status, 431);
    free((void *)(uintptr_t)text.at);
}

TEST(a_head_has_100_fields_at_most)
{
    for (size_t count = 99; count <= 101; count++) {
        char text[2048] = LINE HOST;
        for (size_t i = 1; i < count; i++)
            strcat(text, "a:b\r\n");
        strcat(text, END);
        struct reading *got = read_text(text, sl_text(text));
        SAME(text, got->good, count <= 100);
        if (got->good)
            SAME(text, got->head.field_count, count);
        else
            SAME(text, got->wrong.status, 431);
        drop(got);
    }
}

TEST(a_method_has_32_bytes_at_most)
{
    expect_status("most", filled("", 'M', 32, " / HTTP/1.1\r\n" HOST END), 0);
    expect_status("one more", filled("", 'M', 33, " / HTTP/1.1\r\n" HOST END), 400);
}

/* The reader of values takes eight bytes at a time: each byte at each place. */
TEST(any_byte_anywhere_in_a_value_is_judged_alike)
{
    for (int byte = 0; byte < 256; byte++) {
        for (size_t place = 0; place < 18; place++) {
            char text[] = LINE HOST "X: abcdefghijklmnopqr\r\n\r\n";
            text[strlen(LINE HOST "X: ") + place] = (char)byte;
            struct sl_http_head head;
            struct sl_http_wrong wrong;
            struct sluice_text whole = { text, sizeof text - 1 };
            bool clean = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
            SAME(text, sl_http_read_head(whole, &head, &wrong), clean);
        }
    }
}

TEST(a_list_holds_its_tokens_without_case)
{
    static const struct {
        const char *list;
        bool has;
    } rows[] = {
        { "", false },        { ",", false },      { "close", true },     { "CLOSE", true },
        { " close\t", true }, { "a,close", true }, { "close,a", true },   { "a, ,Close ,b", true },
        { "a close", false }, { "closed", false }, { "clos", false },     { "\"close\"", false },
        { "close;x", false }, { "a,,", false },    { ",,close,,", true }, { "a,b", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].list, sl_http_list_has(sl_text(rows[i].list), SL_TEXT("close")), rows[i].has);
    assert_false(sl_http_list_has((struct sluice_text){ 0 }, SL_TEXT("close")));
}

TEST(names_compare_without_the_case_of_letters_only)
{
    assert_true(sl_http_name_is(SL_TEXT("X-Api-KEY"), SL_TEXT("x-api-key")));
    assert_true(sl_http_name_is(SL_TEXT(""), SL_TEXT("")));
    assert_false(sl_http_name_is(SL_TEXT("x^"), SL_TEXT("x~")));
    assert_false(sl_http_name_is(SL_TEXT("@"), SL_TEXT("`")));
    assert_false(sl_http_name_is(SL_TEXT("host"), SL_TEXT("hos")));
    assert_false(sl_http_name_is(SL_TEXT("hos"), SL_TEXT("host")));
}
