/* Commands off bytes: at every split the same, within bounds, and what is none in Redis' words. */
#include "wire/resp/resp.h"

#include "base/buffer.h"
#include "unit/base/unit.h"

static struct sl_resp_command command;

/* ---- reading it whole and in pieces ---- */

/* "PING|hi", or what is wrong with it, or "more". */
static const char *told(enum sl_resp_end end)
{
    static char text[4096];
    size_t len = 0;
    if (end == SL_RESP_MORE)
        return "more";
    if (end == SL_RESP_WRONG)
        return *command.wrong ? command.wrong : "silence";
    text[0] = 0;
    for (size_t i = 0; i < command.count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, i ? "|%.*s" : "%.*s",
                                (int)command.args[i].len, command.args[i].at);
    return text;
}

/* The first command of these bytes, which come in pieces of so many; each time somewhere else, as
 * in a buffer that moves. */
static enum sl_resp_end read_in(struct sluice_text bytes, size_t piece, bool by_strangers)
{
    static char rooms[2][4 << 20];
    struct sl_resp_reader reader = { .by_strangers = by_strangers };
    enum sl_resp_end end = SL_RESP_MORE;
    size_t len = 0;
    for (size_t turn = 0; len < bytes.len && end == SL_RESP_MORE; turn++) {
        len = len + piece < bytes.len ? len + piece : bytes.len;
        char *room = rooms[turn % 2];
        assert_true(len <= sizeof rooms[0]);
        memcpy(room, bytes.at, len);
        memset(rooms[1 - turn % 2], '?', len);
        end = sl_resp_read(&reader, room, len, &command);
    }
    if (end == SL_RESP_COMMAND)
        assert_int_equal(reader.at + reader.wanted + reader.count + reader.read, 0);
    return end;
}

struct row {
    const char *bytes, *told;
    size_t len; /* of the command; 0: all bytes */
};

static void check(const struct row *row, bool by_strangers)
{
    struct sluice_text bytes = sl_text(row->bytes);
    for (size_t piece = 1; piece <= bytes.len; piece++) {
        enum sl_resp_end end = read_in(bytes, piece, by_strangers);
        if (strcmp(told(end), row->told) != 0)
            fail_msg("%s in pieces of %zu: \"%s\", not \"%s\"", row->bytes, piece, told(end),
                     row->told);
        if (end == SL_RESP_COMMAND)
            SAME(row->bytes, command.len, row->len ? row->len : bytes.len);
    }
}

#define CHECK_ALL(rows, by_strangers)                                                              \
    for (size_t i = 0; i < COUNT(rows); i++)                                                       \
    check(&(rows)[i], by_strangers)

TEST(commands_are_read_however_they_come)
{
    static const struct row rows[] = {
        { "*1\r\n$4\r\nPING\r\n", "PING" },
        { "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", "ECHO|hi" },
        { "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "ECHO|" },
        { "*2\r\n$4\r\nECHO\r\n$6\r\n*1\r\n$1\r\n", "ECHO|*1\r\n$1" },
        { "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n", "PING", 14 },
        { "PING\r\n", "PING" },
        { "PING\n", "PING" },
        { "  ECHO   hi \t\r\n", "ECHO|hi" },
        { "ECHO hi\nPING\n", "ECHO|hi", 8 },
        { "ECHO \"a b\"\r\n", "ECHO|a b" },
    };
    CHECK_ALL(rows, false);
    CHECK_ALL(rows, true);
}

TEST(what_is_empty_is_no_mistake)
{
    static const struct row rows[] = {
        { "\r\n", "" },    { "\n", "" },         { "   \r\n", "" },           { "*0\r\n", "" },
        { "*-1\r\n", "" }, { "*-1000\r\n", "" }, { "*0\r\nPING\r\n", "", 4 },
    };
    CHECK_ALL(rows, false);
}

TEST(what_is_not_whole_waits)
{
    static const char whole[] = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$10\r\n0123456789\r\n";
    char line[] = "ECHO 'a b' c";
    assert_int_equal(read_in(sl_text(line), 1, false), SL_RESP_MORE);
    for (size_t len = 1; len + 1 < sizeof whole; len++)
        if (read_in((struct sluice_text){ whole, len }, len, false) != SL_RESP_MORE)
            fail_msg("a command out of its first %zu bytes", len);
    struct sl_resp_reader reader = { 0 };
    assert_int_equal(sl_resp_read(&reader, line, 0, &command), SL_RESP_MORE);
}

/* ---- what is none ---- */

TEST(what_is_no_command_is_told_in_the_words_of_redis)
{
    static const struct row rows[] = {
        { "*x\r\n", "Protocol error: invalid multibulk length" },
        { "*\r\n", "Protocol error: invalid multibulk length" },
        { "*+1\r\n", "Protocol error: invalid multibulk length" },
        { "*01\r\n", "Protocol error: invalid multibulk length" },
        { "*-0\r\n", "Protocol error: invalid multibulk length" },
        { "*1 \r\n", "Protocol error: invalid multibulk length" },
        { "*1\rx", "Protocol error: invalid multibulk length" },
        { "*1\n$4\r\nPING\r\n", "Protocol error: invalid multibulk length" },
        { "*1025\r\n", "Protocol error: invalid multibulk length" },
        { "*99999999999\r\n", "Protocol error: invalid multibulk length" },
        { "*1\r\n:4\r\n", "Protocol error: expected '$', got ':'" },
        { "*1\r\n\r\n", "Protocol error: expected '$', got '\r'" },
        { "*1\r\n*1\r\n$1\r\na\r\n", "Protocol error: expected '$', got '*'" },
        { "*1\r\n$-1\r\n", "Protocol error: invalid bulk length" },
        { "*1\r\n$x\r\n", "Protocol error: invalid bulk length" },
        { "*1\r\n$04\r\nPING\r\n", "Protocol error: invalid bulk length" },
        { "*1\r\n$1048577\r\n", "Protocol error: invalid bulk length" },
        { "*1\r\n$99999999999\r\n", "Protocol error: invalid bulk length" },
        { "*1\r\n$4\r\nPINGxx", "Protocol error: expected CRLF behind a bulk string" },
        { "*1\r\n$4\r\nPING\rx", "Protocol error: expected CRLF behind a bulk string" },
        { "ECHO \"a\r\n", "Protocol error: unbalanced quotes in request" },
        { "ECHO 'a'b\r\n", "Protocol error: unbalanced quotes in request" },
    };
    CHECK_ALL(rows, false);
}

TEST(a_browser_is_left_without_a_word)
{
    static const struct row rows[] = {
        { "POST / HTTP/1.1\r\n", "silence" },
        { "post /\n", "silence" },
        { "Host: example.com\r\n", "silence" },
        { "POSTED a\r\n", "POSTED|a" },
        { "SLUICE.RESET /g HTTP/1.1\r\n", "silence" }, /* a method may be any word */
        { "SLUICE.RESET /g HTTP/1.0\n", "silence" },
        { "  PING HTTP/1.1\r\n", "silence" },
        { "PRI * HTTP/2.0\r\n", "silence" },
        { "HTTP/1.1 200 OK\r\n", "HTTP/1.1|200|OK" },
        { "ECHO \"see HTTP/1.1\"\r\n", "ECHO|see HTTP/1.1" },
        { "ECHO /HTTP/1.1\r\n", "ECHO|/HTTP/1.1" },
        { "*1 / HTTP/1.1\r\n", "Protocol error: invalid multibulk length" }, /* also this one */
        { "*2\r\n$4\r\nECHO\r\n$8\r\nHTTP/1.1\r\n", "ECHO|HTTP/1.1" },
    };
    CHECK_ALL(rows, false);
    CHECK_ALL(rows, true);
}

/* A page's words may follow within them, as lines of their own. */
TEST(bytes_of_another_protocol_are_closed_without_a_reply)
{
    static const struct row rows[] = {
        { "\x16\x03\x01\x02", "silence" }, /* TLS */
        { "\x16\x03\nPING\r\n", "silence" },
        { "\x01\x01\nPING\r\n", "silence" }, /* STUN */
        { "\x1f\n", "silence" },
        { "\b\n", "silence" },
        { "\x0e\n", "silence" },
        { "\t\v\f PING\n", "PING" },
        { "\xc3\xa9\n", "\xc3\xa9" },
    };
    CHECK_ALL(rows, false);
    assert_int_equal(read_in((struct sluice_text){ "\0PING\n", 6 }, 1, false), SL_RESP_WRONG);
    assert_string_equal(command.wrong, "");
}

/* ---- bounds ---- */

static struct sluice_text array_of(struct sl_buffer *room, size_t count, size_t each)
{
    static char bytes[2 << 20];
    char head[64];
    sl_buffer_clear(room);
    memset(bytes, 'a', each);
    snprintf(head, sizeof head, "*%zu\r\n", count);
    sl_buffer_add(room, sl_text(head));
    for (size_t i = 0; i < count; i++) {
        snprintf(head, sizeof head, "$%zu\r\n", each);
        sl_buffer_add(room, sl_text(head));
        sl_buffer_add(room, (struct sluice_text){ bytes, each });
        sl_buffer_add(room, SL_TEXT("\r\n"));
    }
    assert_false(room->failed);
    return (struct sluice_text){ room->at, room->len };
}

TEST(bounds_are_where_they_are_said_to_be)
{
    static const struct {
        size_t count, each;
        bool by_strangers;
        const char *wrong;
    } rows[] = {
        { SL_RESP_ARGS_MAX, 1, false, NULL },
        { SL_RESP_ARGS_MAX + 1, 1, false, "Protocol error: invalid multibulk length" },
        { 1, SL_RESP_COMMAND_MAX_BYTES - 16, false, NULL },
        { 1, SL_RESP_COMMAND_MAX_BYTES - 15, false, "Protocol error: invalid bulk length" },
        { 3, SL_RESP_COMMAND_MAX_BYTES / 3 - 16, false, NULL },
        { 3, SL_RESP_COMMAND_MAX_BYTES / 3 + 1, false, "Protocol error: invalid bulk length" },
        { 10, 16 << 10, true, NULL },
        { 11, 1, true, "Protocol error: unauthenticated multibulk length" },
        { 1, (16 << 10) + 1, true, "Protocol error: unauthenticated bulk length" },
    };
    struct sl_buffer room = sl_buffer(4 << 20);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text bytes = array_of(&room, rows[i].count, rows[i].each);
        for (int in_pieces = 0; in_pieces < 2; in_pieces++) {
            size_t piece = in_pieces ? 4099 : bytes.len;
            enum sl_resp_end end = read_in(bytes, piece, rows[i].by_strangers);
            if (rows[i].wrong)
                assert_string_equal(command.wrong, rows[i].wrong);
            SAME(rows[i].wrong ? rows[i].wrong : "whole", end,
                 rows[i].wrong ? SL_RESP_WRONG : SL_RESP_COMMAND);
        }
    }
    sl_buffer_release(&room);
}

TEST(a_line_has_a_bound_whether_or_not_it_ends)
{
    static char line[SL_RESP_INLINE_MAX_BYTES + 8];
    memset(line, 'a', sizeof line);
    for (int by_strangers = 0; by_strangers < 2; by_strangers++) {
        size_t most = by_strangers ? 16 << 10 : SL_RESP_INLINE_MAX_BYTES;
        for (size_t ends = 0; ends < 2; ends++) {
            line[most] = ends ? '\n' : 'a';
            enum sl_resp_end end =
                read_in((struct sluice_text){ line, most + ends }, 1000, by_strangers);
            assert_int_equal(end, ends ? SL_RESP_COMMAND : SL_RESP_MORE);
            line[most] = 'a';
            line[most + 1] = ends ? '\n' : 'a';
            end = read_in((struct sluice_text){ line, most + 1 + ends }, most + 2, by_strangers);
            assert_int_equal(end, SL_RESP_WRONG);
            assert_string_equal(command.wrong, "Protocol error: too big inline request");
            line[most + 1] = 'a';
        }
    }
}

TEST(words_of_a_line_have_a_bound)
{
    char line[2 * SL_RESP_ARGS_MAX + 8] = "";
    for (size_t i = 0; i <= SL_RESP_ARGS_MAX; i++)
        memcpy(line + 2 * i, "a ", 2);
    line[2 * SL_RESP_ARGS_MAX] = '\n';
    assert_int_equal(read_in((struct sluice_text){ line, 2 * SL_RESP_ARGS_MAX + 1 }, 64, false),
                     SL_RESP_COMMAND);
    assert_int_equal(command.count, SL_RESP_ARGS_MAX);
    memcpy(line + 2 * SL_RESP_ARGS_MAX, "a\n", 2);
    assert_int_equal(read_in((struct sluice_text){ line, 2 * SL_RESP_ARGS_MAX + 2 }, 64, false),
                     SL_RESP_WRONG);
    assert_string_equal(command.wrong, "Protocol error: invalid multibulk length");
}

/* Of a large argument that comes byte by byte, earlier bytes are not read again: if they
 * change meanwhile, the reader does not notice. */
TEST(each_byte_is_looked_at_once)
{
    struct sl_buffer room = sl_buffer(4 << 20);
    struct sluice_text bytes = array_of(&room, 2, 100000);
    struct sl_resp_reader reader = { 0 };
    size_t head = 4 + 9 + 100000 + 2 + 9;
    assert_int_equal(sl_resp_read(&reader, room.at, head, &command), SL_RESP_MORE);
    assert_int_equal(reader.wanted, bytes.len);
    memset(room.at + 1, '?', 100); /* its first lines */
    for (size_t len = head; len < bytes.len; len += 997)
        assert_int_equal(sl_resp_read(&reader, room.at, len, &command), SL_RESP_MORE);
    sl_buffer_release(&room);
}
