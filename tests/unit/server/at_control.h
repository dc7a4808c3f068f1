/* One visitor from this machine, the admin where there is no token, on a stage with a
 * control plane; and short ways to call the admin API. */
#ifndef TEST_SERVER_AT_CONTROL_H
#define TEST_SERVER_AT_CONTROL_H

#include "unit/server/control_on_stage.h"
#include "unit/server/on_stage.h"

static struct desk desk;

/* *state: the rules. */
static inline int open_control(void **state)
{
    const char *yaml = *state;
    open_stage(state);
    desk_open(&desk, &stage, yaml, 0);
    visitor_comes_from(&visitor, "127.0.0.1");
    return 0;
}

static inline int close_control(void **unused)
{
    close_stage(unused);
    desk_close(&desk);
    return 0;
}

#define AT_CONTROL(name, rules) TEST_ON(name, open_control, close_control, (void *)(rules))

/* A message of the admin API; `fields` with CRLF each; body NULL: none. The caller's to
 * free. */
static inline char *call_text(const char *line, const char *fields, const char *body)
{
    char *text, length[96] = "";
    if (body)
        snprintf(length, sizeof length, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                 strlen(body));
    assert_true(asprintf(&text, "%s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n%s", line, length,
                         fields, body ? body : "") > 0);
    return text;
}

/* The only answer to "PUT /v1/rules/a" and the like. */
static inline struct answer *answer_to_call(const char *line, const char *fields, const char *body)
{
    char *text = call_text(line, fields, body);
    struct answer *answer = answer_to(text);
    free(text);
    return answer;
}

static inline uint32_t status_of(const char *line, const char *body)
{
    return answer_to_call(line, "", body)->status;
}

#endif
