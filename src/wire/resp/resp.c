/* Reads commands of the Redis protocol: arrays and lines. */
#include "wire/resp/resp.h"

#include <stdio.h>

#include "base/check.h"

enum { DIGITS_MAX = 10 }; /* a longer number is beyond every bound */

static enum sl_resp_end refuse_command(struct sl_resp_command *out, const char *what)
{
    snprintf(out->wrong, sizeof out->wrong, "Protocol error: %s", what);
    return SL_RESP_WRONG;
}

bool sl_resp_word_is(struct sluice_text word, struct sluice_text lower)
{
    if (word.len != lower.len)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.at[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != lower.at[i])
            return false;
    }
    return true;
}

/* ---- arrays ---- */

/* Reads the number of a line such as `$12\r\n` at *at, and sets *at behind it. As Redis
 * reads it: no plus, no leading zero. */
static enum sl_resp_end read_any_number(const char **at, const char *end, int64_t *out)
{
    const char *next = *at + 1;
    bool is_negative = next < end && *next == '-';
    next += is_negative;
    const char *digits = next;
    int64_t value = 0;
    for (; next < end && *next >= '0' && *next <= '9'; next++) {
        if (next - digits == DIGITS_MAX)
            return SL_RESP_WRONG;
        value = value * 10 + (*next - '0');
    }
    if (next == end)
        return SL_RESP_MORE;
    bool has_zero = *digits == '0' && (next - digits > 1 || is_negative);
    if (*next != '\r' || next == digits || has_zero)
        return SL_RESP_WRONG;
    if (next + 1 == end)
        return SL_RESP_MORE;
    if (next[1] != '\n')
        return SL_RESP_WRONG;
    *at = next + 2;
    *out = is_negative ? -value : value;
    return SL_RESP_COMMAND;
}

/* The same, fast for one digit or two: nearly all have no more, and a command has such a line for
 * each word. */
static inline enum sl_resp_end read_number(const char **at, const char *end, int64_t *out)
{
    const char *line = *at;
    if (end - line < 5)
        return read_any_number(at, end, out);
    unsigned first = (unsigned char)line[1] - '0', second = (unsigned char)line[2] - '0';
    if (first <= 9 && line[2] == '\r' && line[3] == '\n') {
        *at = line + 4;
        *out = first;
        return SL_RESP_COMMAND;
    }
    if (first - 1 <= 8 && second <= 9 && line[3] == '\r' && line[4] == '\n') {
        *at = line + 5;
        *out = first * 10 + second;
        return SL_RESP_COMMAND;
    }
    return read_any_number(at, end, out);
}

/* Reads `*3\r\n`. A command without arguments is empty: reader->count stays 0. */
static enum sl_resp_end read_count(struct sl_resp_reader *reader, const char *bytes, size_t len,
                                   struct sl_resp_command *out)
{
    const char *at = bytes;
    int64_t count;
    enum sl_resp_end end = read_number(&at, bytes + len, &count);
    if (end == SL_RESP_MORE)
        return SL_RESP_MORE;
    if (end == SL_RESP_WRONG || count > SL_RESP_ARGS_MAX)
        return refuse_command(out, "invalid multibulk length");
    if (reader->by_strangers && count > SL_RESP_STRANGER_ARGS_MAX)
        return refuse_command(out, "unauthenticated multibulk length");
    SL_CHECK(at <= bytes + len);
    reader->at = (size_t)(at - bytes);
    reader->count = count > 0 ? (uint32_t)count : 0;
    return SL_RESP_COMMAND;
}

/* Checks the length of a bulk string that begins at offset `from` of the command. Returns what is
 * wrong, or NULL. */
static const char *bad_length(const struct sl_resp_reader *reader, int64_t from, int64_t len)
{
    if (len < 0 || from + len + 2 > SL_RESP_COMMAND_MAX_BYTES)
        return "invalid bulk length";
    if (reader->by_strangers && len > SL_RESP_STRANGER_BULK_MAX_BYTES)
        return "unauthenticated bulk length";
    return NULL;
}

static enum sl_resp_end refuse_type(struct sl_resp_command *out, char got)
{
    snprintf(out->wrong, sizeof out->wrong, "Protocol error: expected '$', got '%c'", got);
    return SL_RESP_WRONG;
}

/* Reads `$2\r\nhi\r\n` at reader->at. */
static enum sl_resp_end read_bulk(struct sl_resp_reader *reader, const char *bytes, size_t len,
                                  struct sl_resp_command *out)
{
    const char *at = bytes + reader->at, *end = bytes + len;
    int64_t bulk_len;
    if (at == end)
        return SL_RESP_MORE;
    if (*at != '$')
        return refuse_type(out, *at);
    enum sl_resp_end how = read_number(&at, end, &bulk_len);
    if (how == SL_RESP_MORE)
        return SL_RESP_MORE;
    const char *wrong =
        how == SL_RESP_WRONG ? "invalid bulk length" : bad_length(reader, at - bytes, bulk_len);
    if (wrong)
        return refuse_command(out, wrong);
    if (end - at < bulk_len + 2) {
        reader->wanted = (size_t)(at - bytes + bulk_len + 2);
        return SL_RESP_MORE;
    }
    if (at[bulk_len] != '\r' || at[bulk_len + 1] != '\n')
        return refuse_command(out, "expected CRLF behind a bulk string");
    SL_CHECK(reader->read < SL_RESP_ARGS_MAX);
    out->args[reader->read++] = (struct sluice_text){ at, (size_t)bulk_len };
    reader->at = (size_t)(at - bytes + bulk_len + 2);
    reader->wanted = 0;
    return SL_RESP_COMMAND;
}

static enum sl_resp_end read_array(struct sl_resp_reader *reader, const char *bytes, size_t len,
                                   struct sl_resp_command *out)
{
    if (reader->count == 0) {
        enum sl_resp_end end = read_count(reader, bytes, len, out);
        if (end != SL_RESP_COMMAND)
            return end;
    }
    while (reader->read < reader->count) {
        enum sl_resp_end end = read_bulk(reader, bytes, len, out);
        if (end != SL_RESP_COMMAND)
            return end;
    }
    out->count = reader->count;
    out->len = reader->at;
    return SL_RESP_COMMAND;
}

static void start_over(struct sl_resp_reader *reader)
{
    *reader = (struct sl_resp_reader){ .by_strangers = reader->by_strangers };
}

/* ---- lines ---- */

/* Returns true for the first line of a browser's request: a web page may have made the browser
 * connect here. The page may choose method and path (`SLUICE.RESET /g HTTP/1.1`), but not the
 * line's end; `POST` and `Host:` are what Redis looks for. */
static bool is_http(const struct sl_resp_command *command)
{
    static const char version[] = "HTTP/";
    SL_CHECK(command->count > 0);
    struct sluice_text first = command->args[0], last = command->args[command->count - 1];
    return sl_resp_word_is(first, SL_TEXT("post")) || sl_resp_word_is(first, SL_TEXT("host:")) ||
           (last.len >= sizeof version - 1 && memcmp(last.at, version, sizeof version - 1) == 0);
}

/* Returns true for the first byte of a TLS handshake, in which a web page may have put lines of its
 * own (in the session ticket of its own server), or of a WebRTC message: no typed line begins so.
 */
static bool is_binary(char first)
{
    return (unsigned char)first < ' ' && !(first >= '\t' && first <= '\r');
}

static enum sl_resp_end end_silently(struct sl_resp_command *out)
{
    out->wrong[0] = '\0';
    return SL_RESP_WRONG;
}

static enum sl_resp_end read_line(struct sl_resp_reader *reader, char *bytes, size_t len,
                                  struct sl_resp_command *out)
{
    size_t most = reader->by_strangers ? SL_RESP_STRANGER_BULK_MAX_BYTES : SL_RESP_INLINE_MAX_BYTES;
    if (is_binary(*bytes))
        return end_silently(out);
    char *newline = memchr(bytes + reader->at, '\n', len - reader->at);
    size_t line_len = newline ? (size_t)(newline - bytes) : len;
    reader->at = line_len;
    if (line_len > most)
        return refuse_command(out, "too big inline request");
    if (!newline)
        return SL_RESP_MORE;
    out->len = line_len + 1;
    line_len -= line_len && bytes[line_len - 1] == '\r';
    if (!sl_resp_split(bytes, line_len, out))
        return refuse_command(out, out->count == SL_RESP_ARGS_MAX ? "invalid multibulk length"
                                                                  : "unbalanced quotes in request");
    return out->count && is_http(out) ? end_silently(out) : SL_RESP_COMMAND;
}

/* ---- a command ---- */

enum sl_resp_end sl_resp_read(struct sl_resp_reader *reader, char *bytes, size_t len,
                              struct sl_resp_command *out)
{
    enum sl_resp_end end;
    SL_CHECK(reader->at <= len && reader->read <= reader->count);
    if (len == 0)
        return SL_RESP_MORE;
    if (*bytes != '*') {
        end = read_line(reader, bytes, len, out);
    } else {
        bool is_resumed = reader->at > 0;
        end = read_array(reader, bytes, len, out);
        if (end == SL_RESP_COMMAND && is_resumed) {
            start_over(reader);
            end = read_array(reader, bytes, len, out);
        }
    }
    if (end == SL_RESP_COMMAND) {
        SL_CHECK(out->len > 0 && out->len <= len && out->count <= SL_RESP_ARGS_MAX);
        start_over(reader);
    }
    SL_CHECK(reader->at <= len);
    return end;
}
