/* Answers as a strict client reads them: a status line, fields, a body of exactly
 * the length they tell. What is not that stops the program. */
#ifndef TEST_SERVER_ANSWERS_H
#define TEST_SERVER_ANSWERS_H

#include <stdio.h>
#include <strings.h>

#include "base/check.h"
#include "base/text.h"
#include "base/text/number.h"

struct answer {
    uint32_t status;
    struct sluice_text head; /* its lines, with CRLF each */
    struct sluice_text body;
    size_t length; /* as told; of the body, unless HEAD asked */
    bool closes;
};

static inline struct sluice_text cut(struct sluice_text *from, size_t len)
{
    struct sluice_text taken = { from->at, len };
    SL_CHECK(len <= from->len);
    from->at += len;
    from->len -= len;
    return taken;
}

/* A line without its CRLF. False: it is not whole. */
static inline bool cut_line(struct sluice_text *from, struct sluice_text *out)
{
    const char *end = from->len ? memmem(from->at, from->len, "\r\n", 2) : NULL;
    if (!end)
        return false;
    *out = cut(from, (size_t)(end - from->at));
    cut(from, 2);
    for (size_t i = 0; i < out->len; i++)
        SL_CHECK(out->at[i] >= ' ' && out->at[i] <= '~');
    return true;
}

static inline uint32_t read_status_line(struct sluice_text line)
{
    uint64_t status;
    SL_CHECK(line.len > 13 && memcmp(line.at, "HTTP/1.1 ", 9) == 0 && line.at[12] == ' ');
    SL_CHECK(sl_parse_u64((struct sluice_text){ line.at + 9, 3 }, &status));
    SL_CHECK(status >= 100 && status <= 599 && line.at[13] != ' ');
    return (uint32_t)status;
}

static inline void check_field(struct sluice_text line)
{
    const char *colon = memchr(line.at, ':', line.len);
    SL_CHECK(colon && colon > line.at);
    for (const char *at = line.at; at < colon; at++)
        SL_CHECK((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '-');
    size_t name = (size_t)(colon - line.at);
    SL_CHECK(line.len > name + 2 && colon[1] == ' ' && colon[2] != ' ');
    SL_CHECK(line.at[line.len - 1] != ' ');
}

/* How often it is there, and its last value. */
static inline size_t find_fields(const struct answer *answer, const char *name,
                                 struct sluice_text *value)
{
    struct sluice_text rest = answer->head, line;
    size_t count = 0, len = strlen(name);
    *value = (struct sluice_text){ 0 };
    while (cut_line(&rest, &line)) {
        if (line.len <= len || line.at[len] != ':' || strncasecmp(line.at, name, len) != 0)
            continue;
        *value = (struct sluice_text){ line.at + len + 2, line.len - len - 2 };
        count++;
    }
    return count;
}

/* Its value; a null `at`: it is not there. Twice is an error. */
static inline struct sluice_text field_of(const struct answer *answer, const char *name)
{
    struct sluice_text value;
    SL_CHECK(find_fields(answer, name, &value) <= 1);
    return value;
}

static inline void read_fields(struct answer *answer)
{
    uint64_t length;
    struct sluice_text connection = field_of(answer, "Connection");
    if (answer->status < 200) {
        SL_CHECK(answer->status == 100 && answer->head.len == 0);
        return;
    }
    SL_CHECK(field_of(answer, "Date").at != NULL && !field_of(answer, "Transfer-Encoding").at);
    if (answer->status == 304) { /* none but that of the body that the client has */
        SL_CHECK(!field_of(answer, "Content-Length").at);
        length = 0;
    } else {
        SL_CHECK(sl_parse_u64(field_of(answer, "Content-Length"), &length));
    }
    SL_CHECK((length > 0) == (field_of(answer, "Content-Type").at != NULL));
    answer->length = length;
    answer->closes = sl_text_is(connection, "close");
    SL_CHECK(answer->closes || !connection.at || sl_text_is(connection, "keep-alive"));
}

/* The next answer, which is cut off. False: there is no whole one. */
static inline bool next_answer(struct sluice_text *rest, bool to_head, struct answer *out)
{
    struct sluice_text from = *rest, line;
    struct answer answer = { 0 };
    if (!cut_line(&from, &line))
        return false;
    answer.status = read_status_line(line);
    answer.head.at = from.at;
    do {
        answer.head.len = (size_t)(from.at - answer.head.at);
        if (!cut_line(&from, &line))
            return false;
        if (line.len)
            check_field(line);
    } while (line.len);
    read_fields(&answer);
    size_t body = to_head ? 0 : answer.length;
    if (body > from.len)
        return false;
    answer.body = cut(&from, body);
    *rest = from;
    *out = answer;
    return true;
}

#endif
