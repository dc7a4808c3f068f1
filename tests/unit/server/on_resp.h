/* One visitor that speaks the Redis protocol, on the stages of on_stage.h, at_control.h and
 * known_callers.h; what it is answered, with `|` for the end of a line. */
#ifndef TEST_SERVER_ON_RESP_H
#define TEST_SERVER_ON_RESP_H

#include "unit/server/known_callers.h"
#include "wire/resp/resp.h"

static inline void speak_resp(const char *address)
{
    visitor_leave(&visitor);
    visitor = visitor_enter_by(&stage, &sl_front_resp);
    visitor_comes_from(&visitor, address);
}

static inline int open_resp(void **state)
{
    int status = open_stage(state);
    speak_resp("192.0.2.1");
    return status;
}

static inline int open_resp_control(void **state)
{
    int status = open_control(state);
    speak_resp("127.0.0.1");
    return status;
}

static inline int open_resp_callers(void **state)
{
    int status = open_callers(state);
    speak_resp("192.0.2.1");
    return status;
}

#define IN_RESP(name, rules) TEST_ON(name, open_resp, close_stage, (void *)(rules))
#define RESP_AT_CONTROL(name, rules)                                                               \
    TEST_ON(name, open_resp_control, close_control, (void *)(rules))
#define RESP_WITH_TENANTS(name, rules)                                                             \
    TEST_ON(name, open_resp_callers, close_callers, (void *)(rules))

/* What was got since the last time. Controls, but for the ends of lines, are `?`. */
static inline const char *got(void)
{
    static char text[1 << 17];
    size_t len = 0;
    for (size_t i = 0; i < visitor.got.len && len + 1 < sizeof text; i++) {
        char c = visitor.got.at[i];
        if (c == '\r' && i + 1 < visitor.got.len && visitor.got.at[i + 1] == '\n')
            continue;
        text[len++] = (char)(c == '\n' ? '|' : c < ' ' ? '?' : c);
    }
    text[len] = 0;
    visitor.got.len = 0;
    return text;
}

/* The answer to these very bytes. */
static inline const char *said(const char *bytes)
{
    visitor_says(&visitor, sl_text(bytes));
    return got();
}

/* A command as programs send it, made of an inline command. */
static inline size_t array_text(const char *line, char *out, size_t room)
{
    static struct sl_resp_command words;
    char copy[2048];
    size_t len = 0;
    assert_true(strlen(line) < sizeof copy);
    memcpy(copy, line, strlen(line));
    assert_true(sl_resp_split(copy, strlen(line), &words));
    len += (size_t)snprintf(out, room, "*%zu\r\n", words.count);
    for (size_t i = 0; i < words.count; i++) {
        struct sluice_text word = words.args[i];
        len += (size_t)snprintf(out + len, room - len, "$%zu\r\n", word.len);
        assert_true(len + word.len + 3 < room);
        memcpy(out + len, word.at, word.len);
        memcpy(out + len + word.len, "\r\n", 3);
        len += word.len + 2;
    }
    return len;
}

static inline const char *told(const char *line)
{
    static char bytes[8192];
    size_t len = array_text(line, bytes, sizeof bytes);
    visitor_says(&visitor, (struct sluice_text){ bytes, len });
    return got();
}

/* Rows of a command and all that is answered. */
struct talk {
    const char *line, *answer;
};

static inline void check_talk(const struct talk *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *answer = told(rows[i].line);
        if (strcmp(answer, rows[i].answer) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].line, answer, rows[i].answer);
    }
}

/* Of an answer that is long. */
static inline void check_has(const char *line, const char *part)
{
    const char *answer = told(line);
    if (!strstr(answer, part))
        fail_msg("%s: no \"%s\" in \"%s\"", line, part, answer);
}

#endif
