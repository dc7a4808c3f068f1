/* What two readers could understand in two ways, and other nonsense. */
#include "unit/wire/heads.h"

static const struct bad {
    struct sluice_text text;
    uint32_t status;
    const char *says; /* somewhere in the detail */
} bads[] = {
    /* the request line */
    { SL_TEXT("\r\n\r\n"), 400, "empty lines" },
    { SL_TEXT("\r\n\r\n" LINE HOST END), 400, "empty lines" },
    { SL_TEXT(" " LINE HOST END), 400, "method" },
    { SL_TEXT("GET\r\n" HOST END), 400, "method" },
    { SL_TEXT("G\tET / HTTP/1.1\r\n" HOST END), 400, "method" },
    { SL_TEXT("G(T / HTTP/1.1\r\n" HOST END), 400, "method" },
    { SL_TEXT("G\x80T / HTTP/1.1\r\n" HOST END), 400, "method" },
    { SL_TEXT("\0GET / HTTP/1.1\r\n" HOST END), 400, "method" },
    { SL_TEXT("\r\n\rGET / HTTP/1.1\r\n" HOST END), 400, "method" },
    { SL_TEXT("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n" HOST END), 400, "32" },
    { SL_TEXT("GET\t/ HTTP/1.1\r\n" HOST END), 400, "method" },
    { SL_TEXT("GET  / HTTP/1.1\r\n" HOST END), 400, "single spaces" },
    { SL_TEXT("GET /  HTTP/1.1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1.1 \r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET /\tHTTP/1.1\r\n" HOST END), 400, "visible ASCII" },
    { SL_TEXT("GET /a b HTTP/1.1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET /\xc3\xa4 HTTP/1.1\r\n" HOST END), 400, "visible ASCII" },
    { SL_TEXT("GET /\x7f HTTP/1.1\r\n" HOST END), 400, "visible ASCII" },
    { SL_TEXT("GET /\0 HTTP/1.1\r\n" HOST END), 400, "visible ASCII" },
    { SL_TEXT("GET /a#b HTTP/1.1\r\n" HOST END), 400, "fragment" },
    { SL_TEXT("GET /\r\n" HOST END), 400, "single spaces" },
    { SL_TEXT("GET / \r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / H\r\n\r\n"), 400, "HTTP/1.1" },
    { SL_TEXT("GET / http/1.1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1.1x\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1.\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1,1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1.:\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/11.1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/+1.1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1.1\rX: a\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/:.1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP//.1\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1./\r\n" HOST END), 400, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/9.9\r\n" HOST END), 505, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/1.2\r\n" HOST END), 505, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/0.9\r\n" HOST END), 505, "HTTP/1.1" },
    { SL_TEXT("GET / HTTP/3.0\r\n" HOST END), 505, "HTTP/1.1" },
    { SL_TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505, "HTTP/1.1" },
    { SL_TEXT("CONNECT a:80 HTTP/1.1\r\n" HOST END), 400, "CONNECT" },

    /* how lines end */
    { SL_TEXT("\n"), 400, "bare LF" },
    { SL_TEXT("\r\n\n"), 400, "bare LF" },
    { SL_TEXT("GET / HTTP/1.1\n"), 400, "bare LF" },
    { SL_TEXT(LINE "Host: a\n"), 400, "bare LF" },
    { SL_TEXT(LINE "Host: a\r\n\n"), 400, "bare LF" },
    { SL_TEXT(LINE "Host: a\n\r\n"), 400, "bare LF" },
    { SL_TEXT(LINE "Host: a\rX: b\r\n\r\n"), 400, "bare CR" },
    { SL_TEXT(LINE "Host: a\r\r\n\r\n"), 400, "bare CR" },
    { SL_TEXT(LINE HOST "\rX: b\r\n\r\n"), 400, "bare CR" },
    { SL_TEXT(LINE HOST "\r\r\n\r\n"), 400, "bare CR" },

    /* names and values */
    { SL_TEXT(LINE " Host: a\r\n\r\n"), 400, "begin with a blank" },
    { SL_TEXT(LINE "\tHost: a\r\n\r\n"), 400, "begin with a blank" },
    { SL_TEXT(LINE HOST "X: a\r\n b\r\n\r\n"), 400, "begin with a blank" },
    { SL_TEXT(LINE HOST "X: a\r\n\tb\r\n\r\n"), 400, "begin with a blank" },
    { SL_TEXT(LINE HOST "X: a\r\n \r\n\r\n"), 400, "begin with a blank" },
    { SL_TEXT(LINE "Host : a\r\n\r\n"), 400, "without a blank" },
    { SL_TEXT(LINE "Host\t: a\r\n\r\n"), 400, "without a blank" },
    { SL_TEXT(LINE HOST ": a\r\n\r\n"), 400, "a name before its colon" },
    { SL_TEXT(LINE HOST "X\r\n\r\n"), 400, "`Name: value`" },
    { SL_TEXT(LINE HOST "X(a): b\r\n\r\n"), 400, "`Name: value`" },
    { SL_TEXT(LINE HOST "(a): b\r\n\r\n"), 400, "`Name: value`" },
    { SL_TEXT(LINE HOST "X\x80: b\r\n\r\n"), 400, "`Name: value`" },
    { SL_TEXT(LINE HOST "X\0: b\r\n\r\n"), 400, "`Name: value`" },
    { SL_TEXT(LINE HOST "X: a\0b\r\n\r\n"), 400, "control characters" },
    { SL_TEXT(LINE HOST "X: a\x1f\r\n\r\n"), 400, "control characters" },
    { SL_TEXT(LINE HOST "X: \vabcdefghijkl\r\n\r\n"), 400, "control characters" },
    { SL_TEXT(LINE HOST "X: abcdefghijkl\x7f\r\n\r\n"), 400, "control characters" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: \x0b"
                        "chunked\r\n\r\n"),
      400, "control characters" },

    /* Host */
    { SL_TEXT(LINE END), 400, "wants a `Host`" },
    { SL_TEXT(LINE HOST HOST END), 400, "more than one `Host`" },
    { SL_TEXT("GET / HTTP/1.0\r\n" HOST "host: b\r\n" END), 400, "more than one `Host`" },
    { SL_TEXT(LINE "Host:\r\n\r\n"), 400, "`Host` is" },
    { SL_TEXT("GET / HTTP/1.0\r\nHost: \r\n\r\n"), 400, "`Host` is" },
    { SL_TEXT(LINE "Host: a b\r\n\r\n"), 400, "`Host` is" },
    { SL_TEXT(LINE "Host: a@b\r\n\r\n"), 400, "`Host` is" },

    /* where the body ends */
    { SL_TEXT(LINE HOST "Content-Length:\r\n\r\n"), 400, "digits only" },
    { SL_TEXT(LINE HOST "Content-Length: +5\r\n\r\n"), 400, "digits only" },
    { SL_TEXT(LINE HOST "Content-Length: -5\r\n\r\n"), 400, "digits only" },
    { SL_TEXT(LINE HOST "Content-Length: 5, 5\r\n\r\n"), 400, "digits only" },
    { SL_TEXT(LINE HOST "Content-Length: 0x5\r\n\r\n"), 400, "digits only" },
    { SL_TEXT(LINE HOST "Content-Length: 5 5\r\n\r\n"), 400, "digits only" },
    { SL_TEXT(LINE HOST "Content-Length: 1000000000000000000\r\n\r\n"), 413, "too large" },
    { SL_TEXT(LINE HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400, "more than one" },
    { SL_TEXT(LINE HOST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n"), 400, "more than one" },
    { SL_TEXT(LINE HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, "both" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: x\r\nContent-Length: 5\r\n\r\n"), 400, "both" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400,
      "more than one" },
    { SL_TEXT("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, "HTTP/1.0" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501, "`chunked`" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: chunked, identity\r\n\r\n"), 501, "`chunked`" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: identity\r\n\r\n"), 501, "`chunked`" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: chunked;q=1\r\n\r\n"), 501, "`chunked`" },
    { SL_TEXT(LINE HOST "Transfer-Encoding: xchunked\r\n\r\n"), 501, "`chunked`" },
    { SL_TEXT(LINE HOST "Transfer-Encoding:\r\n\r\n"), 501, "`chunked`" },

    { SL_TEXT(LINE HOST "Expect: 200-ok\r\n\r\n"), 417, "`100-continue`" },
    { SL_TEXT(LINE HOST "Expect: 100-continue, x\r\n\r\n"), 417, "`100-continue`" },
    { SL_TEXT(LINE HOST "Expect: 100-continue\r\nExpect: x\r\n\r\n"), 417, "`100-continue`" },
    { SL_TEXT("GET / HTTP/1.0\r\nExpect: x\r\n\r\n"), 417, "`100-continue`" },
};

TEST(a_bad_head_is_refused_and_says_why)
{
    for (size_t i = 0; i < COUNT(bads); i++) {
        struct reading *got = read_text(bads[i].text.at, bads[i].text);
        SAME(bads[i].text.at, got->good, false);
        SAME(bads[i].text.at, got->wrong.status, bads[i].status);
        if (!strstr(got->wrong.detail, bads[i].says))
            SAME_TEXT(bads[i].text.at, sl_text(got->wrong.detail), bads[i].says);
        drop(got);
    }
}

TEST(a_bare_lf_is_told_before_the_head_is_complete)
{
    struct sl_http_search search = { 0 };
    struct sl_http_wrong wrong;
    struct sluice_text bytes = SL_TEXT(LINE "Host: a\nX");
    assert_int_equal(sl_http_find_end(&search, bytes, &wrong), 0);
    assert_int_equal(wrong.status, 400);
    assert_int_equal(sl_http_find_end(&search, bytes, &wrong), 0);
    assert_int_equal(wrong.status, 400);
}

TEST(bytes_that_are_no_complete_head_are_refused_by_the_reader_too)
{
    static const char *const rows[] = {
        "",
        "\r\n",
        "\r\n\r\n",
        "GET / HTTP/1.1\r\n",
        LINE HOST,
        LINE HOST "\r",
        "\n\n\n",
        "GET / H\n\n",
        LINE HOST END HOST,
        LINE HOST END END,
        "X\n" LINE HOST END,
        "\rX" LINE HOST END,
        LINE "Host: a\n" END END,
        "GET / HTTP/1.1\n" HOST END,
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_http_head head;
        struct sl_http_wrong wrong = { 0 };
        size_t len = strlen(rows[i]);
        char *bytes = malloc(len ? len : 1);
        memcpy(bytes, rows[i], len);
        SAME(rows[i], sl_http_read_head((struct sluice_text){ bytes, len }, &head, &wrong), false);
        SAME(rows[i], wrong.status, 400);
        free(bytes);
    }
}
