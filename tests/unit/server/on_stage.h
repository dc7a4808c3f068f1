/* One visitor on a stage, with a store whose clock stands still; and what the
 * visitor was answered, as a list. */
#ifndef TEST_SERVER_ON_STAGE_H
#define TEST_SERVER_ON_STAGE_H

#include "unit/limiter/model_store.h"
#include "unit/server/answers.h"
#include "unit/server/stage.h"

static struct model model;
static struct stage stage;
static struct visitor visitor;

enum { ANSWERS_MAX = 4096 };
static struct answer answers[ANSWERS_MAX];
static size_t answer_count;

/* *state: the rules. */
static inline int open_stage(void **state)
{
    model_open(&model);
    stage_open(&stage, *state, &model.store);
    visitor = visitor_enter(&stage);
    return 0;
}

static inline int close_stage(void **unused)
{
    (void)unused;
    visitor_leave(&visitor);
    stage_close(&stage);
    model_close(&model.store);
    return 0;
}

/* A test with these rules. */
#define ON_STAGE(name, rules) TEST_ON(name, open_stage, close_stage, (void *)(rules))

static inline struct sl_round *the_round(void)
{
    return &stage.workers[0].round;
}

/* Another visitor in place of the one before, and a store without keys. */
static inline void start_over(void)
{
    visitor_leave(&visitor);
    model_close(&model.store);
    model_open(&model);
    visitor = visitor_enter(&stage);
}

/* All that `visitor` got since the last time; `to_head` says which were asked with
 * HEAD, a letter each ('H'), NULL: none. Lines that ask for a body count. */
static inline size_t read_answers_of(struct visitor *of, const char *to_head)
{
    struct sluice_text rest = { of->got.at, of->got.len };
    answer_count = 0;
    while (rest.len) {
        bool is_head = to_head && strlen(to_head) > answer_count && to_head[answer_count] == 'H';
        assert_true(answer_count < ANSWERS_MAX);
        if (!next_answer(&rest, is_head, &answers[answer_count]))
            fail_msg("no whole answer: %.*s", (int)rest.len, rest.at);
        answer_count++;
    }
    of->got.len = 0; /* its bytes stay until something more is sent */
    return answer_count;
}

static inline size_t says(const char *text)
{
    visitor_says(&visitor, sl_text(text));
    return read_answers_of(&visitor, NULL);
}

/* The only answer to this. */
static inline struct answer *answer_to(const char *text)
{
    size_t count = says(text);
    if (count != 1)
        fail_msg("%zu answers to %s", count, text);
    return &answers[0];
}

/* "200 404", of what was read last. */
static inline const char *statuses(void)
{
    static char text[ANSWERS_MAX * 4 + 1];
    size_t len = 0;
    for (size_t i = 0; i < answer_count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, i ? " %u" : "%u", answers[i].status);
    text[len] = 0;
    return text;
}

static inline bool body_has(const struct answer *answer, const char *what)
{
    return answer->body.len && memmem(answer->body.at, answer->body.len, what, strlen(what));
}

/* The digits that a text begins with; -1: it has none. */
static inline int64_t number_of(struct sluice_text text)
{
    uint64_t number;
    size_t len = 0;
    while (len < text.len && text.at[len] >= '0' && text.at[len] <= '9')
        len++;
    return sl_parse_u64((struct sluice_text){ text.at, len }, &number) ? (int64_t)number : -1;
}

/* A number behind `"name": `, the first of that name; -1: there is none. */
static inline int64_t number_in(struct sluice_text body, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\": ", name);
    const char *at = body.len ? memmem(body.at, body.len, wanted, strlen(wanted)) : NULL;
    if (!at)
        return -1;
    at += strlen(wanted);
    return number_of((struct sluice_text){ at, body.len - (size_t)(at - body.at) });
}

/* A message with a body of that length; the caller's to free. */
static inline char *post(const char *target, const char *body)
{
    char *text;
    assert_true(asprintf(&text, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n%s",
                         target, strlen(body), body) > 0);
    return text;
}

static inline size_t posts(const char *target, const char *body)
{
    char *text = post(target, body);
    size_t count = says(text);
    free(text);
    return count;
}

static inline struct answer *answer_to_post(const char *target, const char *body)
{
    assert_int_equal(posts(target, body), 1);
    return &answers[0];
}

#endif
