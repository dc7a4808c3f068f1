/* A head, read as a connection reads it, for the tests of http_head. */
#ifndef TEST_WIRE_HEADS_H
#define TEST_WIRE_HEADS_H

#include "unit/base/unit.h"
#include "wire/http/head.h"

/* A head that was read, in memory exactly as long: reading further is seen. */
struct reading {
    char *bytes;
    struct sl_http_head head;
    struct sl_http_wrong wrong;
    bool good;
};

/* Byte by byte, as from the slowest client; what it says must be what all bytes
 * at once say, and as soon as they can say it. */
static inline void trickle(const char *row, struct sluice_text bytes, size_t end,
                           const struct sl_http_wrong *wanted)
{
    struct sl_http_search search = { 0 };
    struct sl_http_wrong wrong = { 999, "as it was" };
    size_t found = 0, len = 0;
    while (len < bytes.len && !found && (len == 0 || !wrong.status))
        found = sl_http_find_end(&search, (struct sluice_text){ bytes.at, ++len }, &wrong);
    SAME(row, found, end);
    SAME(row, wrong.status, wanted->status);
    if (found)
        SAME(row, len, end);
}

static inline struct reading *read_text(const char *row, struct sluice_text text)
{
    struct reading *got = malloc(sizeof *got);
    assert_non_null(got);
    memset(got, 0xa5, sizeof *got); /* nothing may count on zeros */
    got->bytes = malloc(text.len ? text.len : 1);
    assert_non_null(got->bytes);
    memcpy(got->bytes, text.at, text.len);
    struct sluice_text bytes = { got->bytes, text.len };

    struct sl_http_search search = { 0 };
    size_t end = sl_http_find_end(&search, bytes, &got->wrong);
    trickle(row, bytes, end, &got->wrong);
    got->good =
        end && sl_http_read_head((struct sluice_text){ got->bytes, end }, &got->head, &got->wrong);
    return got;
}

static inline struct reading *read_good(const char *text)
{
    struct reading *got = read_text(text, sl_text(text));
    SAME_TEXT(text, sl_text(got->good ? "" : got->wrong.detail), "");
    SAME(text, got->good, true);
    return got;
}

static inline void drop(struct reading *got)
{
    free(got->bytes);
    free(got);
}

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: a\r\n"
#define END  "\r\n"

#endif
