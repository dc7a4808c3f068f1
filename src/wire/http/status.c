/* The table of HTTP statuses and their phrases. */
#include "wire/http/status.h"

#include "base/check.h"
#include "wire/json/decision.h"

/* The statuses that the server chooses; `deny_status` may be any other. */
#define STATUSES(X)                                                                                \
    X(200, "OK")                                                                                   \
    X(201, "Created")                                                                              \
    X(304, "Not Modified")                                                                         \
    X(400, "Bad Request")                                                                          \
    X(401, "Unauthorized")                                                                         \
    X(403, "Forbidden")                                                                            \
    X(404, "Not Found")                                                                            \
    X(405, "Method Not Allowed")                                                                   \
    X(408, "Request Timeout")                                                                      \
    X(409, "Conflict")                                                                             \
    X(412, "Precondition Failed")                                                                  \
    X(413, "Content Too Large")                                                                    \
    X(414, "URI Too Long")                                                                         \
    X(415, "Unsupported Media Type")                                                               \
    X(417, "Expectation Failed")                                                                   \
    X(422, "Unprocessable Content")                                                                \
    X(429, "Too Many Requests")                                                                    \
    X(431, "Request Header Fields Too Large")                                                      \
    X(500, "Internal Server Error")                                                                \
    X(501, "Not Implemented")                                                                      \
    X(503, "Service Unavailable")                                                                  \
    X(505, "HTTP Version Not Supported")

const char *sl_status_phrase(uint32_t status)
{
    switch (status) {
#define PHRASE(number, phrase)                                                                     \
    case number:                                                                                   \
        return phrase;
        STATUSES(PHRASE)
#undef PHRASE
    default:
        return "Denied";
    }
}

void sl_status_line_print(struct sl_buffer *out, uint32_t status)
{
    SL_CHECK(status >= 100 && status <= 999);
    switch (status) {
#define LINE(number, phrase)                                                                       \
    case number:                                                                                   \
        sl_buffer_add(out, SL_TEXT("HTTP/1.1 " #number " " phrase "\r\n"));                        \
        return;
        STATUSES(LINE)
#undef LINE
    default:
        sl_buffer_add(out, SL_TEXT("HTTP/1.1 "));
        sl_buffer_add_i64(out, status);
        sl_buffer_add(out, SL_TEXT(" Denied\r\n"));
    }
}

void sl_problem_print(struct sl_buffer *out, uint32_t status, const char *detail)
{
    SL_CHECK(status >= 400 && status <= 999);
    sl_buffer_add(out, SL_TEXT("{\"type\": \"about:blank\", \"title\": \""));
    sl_buffer_add(out, sl_text(sl_status_phrase(status)));
    sl_buffer_add(out, SL_TEXT("\", \"status\": "));
    sl_buffer_add_i64(out, status);
    sl_buffer_add(out, SL_TEXT(", \"detail\": "));
    sl_json_print_string(out, sl_text(detail));
    sl_buffer_add(out, SL_TEXT("}"));
}
