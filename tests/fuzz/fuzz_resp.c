/* Any bytes as what a client says in the Redis protocol, from its first byte to the answers.
 *
 *   byte 0         which rules and visitor: see front_stages.h
 *   byte 1         where the pieces are cut
 *   the rest       what the client says
 *
 *   the reader finds the same commands whether it gets all at once or byte by byte, and each is
 *   what a plain walk over its framing finds;
 *   each reply is RESP as a strict client reads it, and there is one for each command;
 *   said at once or in pieces, the answers are the same;
 *   memory stays within its bounds, and all of it is given back. */
#include <stdlib.h>

#include "fuzz/front_stages.h"
#include "unit/server/answers.h"
#include "wire/resp/resp.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { DEPTH_MAX = 8 };

/* ---- the reader by itself ----------------------------------------------------------------- */

static struct sl_resp_command command, other;

/* The digits up to the end of a line. */
static size_t number_at(const char *at)
{
    size_t number = 0;
    for (; *at != '\r'; at++)
        number = number * 10 + (size_t)(*at - '0');
    return number;
}

/* An array's arguments by its lengths, each of them once more. */
static void check_array(const char *at)
{
    const char *end = at + command.len;
    SL_CHECK(*at++ == '*' && number_at(at) == command.count);
    for (size_t i = 0; i < command.count; i++) {
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        SL_CHECK(*at == '$' && number_at(at + 1) == command.args[i].len);
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        SL_CHECK(command.args[i].at == at);
        at += command.args[i].len;
        SL_CHECK(at[0] == '\r' && at[1] == '\n');
    }
}

static void check_same_command(void)
{
    SL_CHECK(command.len == other.len && command.count == other.count);
    for (size_t i = 0; i < command.count; i++)
        SL_CHECK(sl_text_equal(command.args[i], other.args[i]));
}

/* The first command, byte by byte, in a copy that is exactly as long. */
static enum sl_resp_end read_slowly(struct sluice_text said, bool by_strangers, char **kept)
{
    struct sl_resp_reader reader = { .by_strangers = by_strangers };
    enum sl_resp_end end = SL_RESP_MORE;
    *kept = NULL;
    for (size_t len = 1; len <= said.len && end == SL_RESP_MORE; len++) {
        free(*kept);
        *kept = malloc(len);
        SL_CHECK(*kept != NULL);
        memcpy(*kept, said.at, len);
        end = sl_resp_read(&reader, *kept, len, &other);
        SL_CHECK(reader.at <= len);
    }
    return end;
}

static void check_reader(struct sluice_text said, bool by_strangers)
{
    enum { SLOWLY_MAX_BYTES = 512 };
    while (said.len && said.len <= SLOWLY_MAX_BYTES) {
        struct sl_resp_reader reader = { .by_strangers = by_strangers };
        char *copy = malloc(said.len), *kept;
        SL_CHECK(copy != NULL);
        memcpy(copy, said.at, said.len);
        enum sl_resp_end end = sl_resp_read(&reader, copy, said.len, &command);
        SL_CHECK(read_slowly(said, by_strangers, &kept) == end);
        if (end == SL_RESP_COMMAND) {
            check_same_command();
            if (*said.at == '*' && command.count)
                check_array(copy);
            SL_CHECK(command.len > 0 && command.len <= said.len);
            cut(&said, command.len);
        } else if (end == SL_RESP_WRONG) {
            SL_CHECK(strcmp(command.wrong, other.wrong) == 0);
        }
        free(copy);
        free(kept);
        if (end != SL_RESP_COMMAND)
            return;
    }
}

/* ---- how many answers there should be ------------------------------------------------------ */

/* On a connection that needs no AUTH. */
static size_t count_answers(struct sluice_text said, bool *ends)
{
    char *copy = malloc(said.len + 1), *at = copy;
    SL_CHECK(copy != NULL);
    if (said.len)
        memcpy(copy, said.at, said.len);
    size_t count = 0, left = said.len;
    *ends = false;
    while (left && !*ends) {
        struct sl_resp_reader reader = { 0 };
        enum sl_resp_end end = sl_resp_read(&reader, at, left, &command);
        if (end == SL_RESP_MORE)
            break;
        count += end == SL_RESP_WRONG ? *command.wrong != 0 : command.count > 0;
        *ends = end == SL_RESP_WRONG ||
                (command.count && sl_resp_word_is(command.args[0], SL_TEXT("quit")));
        at += command.len;
        left -= *ends ? left : command.len;
    }
    free(copy);
    return count;
}

/* ---- replies --------------------------------------------------------------------------------- */

struct replies {
    const char *at, *end;
};

static struct sluice_text take_line(struct replies *in)
{
    const char *end = memmem(in->at, (size_t)(in->end - in->at), "\r\n", 2);
    SL_CHECK(end != NULL);
    struct sluice_text line = { in->at, (size_t)(end - in->at) };
    in->at = end + 2;
    for (size_t i = 0; i < line.len; i++)
        SL_CHECK(line.at[i] != '\r' && line.at[i] != '\n');
    return line;
}

static long number_of(struct sluice_text line)
{
    char digits[32], *end;
    SL_CHECK(line.len > 1 && line.len < sizeof digits);
    memcpy(digits, line.at + 1, line.len - 1);
    digits[line.len - 1] = 0;
    long number = strtol(digits, &end, 10);
    SL_CHECK(!*end);
    return number;
}

static void take_reply(struct replies *in, int depth)
{
    struct sluice_text line = take_line(in);
    SL_CHECK(line.len && depth < DEPTH_MAX);
    switch (*line.at) {
    case '$':
        if (sl_text_is(line, "$-1"))
            return;
        /* fall through */
    case '=': {
        long len = number_of(line);
        SL_CHECK(len >= 0 && in->end - in->at >= len + 2);
        in->at += len + 2;
        SL_CHECK(in->at[-2] == '\r' && in->at[-1] == '\n');
        return;
    }
    case '*':
    case '~':
    case '%':
        for (long left = number_of(line) * (*line.at == '%' ? 2 : 1); left > 0; left--)
            take_reply(in, depth + 1);
        return;
    case ':':
        number_of(line);
        return;
    case '#':
        SL_CHECK(sl_text_is(line, "#t") || sl_text_is(line, "#f"));
        return;
    default:
        SL_CHECK(*line.at == '+' || *line.at == '-' || sl_text_is(line, "_"));
    }
}

static size_t count_replies(const struct visitor *visitor)
{
    if (visitor->got.len == 0)
        return 0;
    struct replies in = { visitor->got.at, visitor->got.at + visitor->got.len };
    size_t count = 0;
    for (; in.at < in.end; count++)
        take_reply(&in, 0);
    return count;
}

/* ---- saying it ---------------------------------------------------------------------------------
 */

static uint64_t seed;

/* From 1 to `most`, and often little. */
static size_t draw(size_t most)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t bound = seed >> 60 < 8 ? 4 : seed >> 60 < 12 ? 64 : most;
    return 1 + (size_t)(seed >> 20) % (bound < most ? bound : most);
}

/* The client waits for no delay: held answers are released. A turn with room and bytes always
 * moves. */
static void say(struct visitor *visitor, struct sluice_text bytes)
{
    struct sl_conn *conn = visitor->conn;
    while (bytes.len && !conn->is_finished) {
        cut(&bytes, visitor_put(visitor, bytes));
        visitor_turn(visitor);
        while (conn->held_from != SIZE_MAX)
            visitor_hold_ends(visitor);
        SL_CHECK(!conn->job);
        SL_CHECK(!conn->in || conn->in_end < conn->in_room || conn->in_start > 0);
        SL_CHECK(conn->in_room <= SL_CONN_IN_MAX_BYTES);
        SL_CHECK(conn->worker->round.call_count == 0 && conn->worker->round.request_count == 0);
    }
}

static struct visitor say_all(enum variant variant, struct sluice_text said, bool in_pieces)
{
    struct stage *stage = stage_of(variant);
    struct visitor visitor = visitor_enter_by(stage, &sl_front_resp);
    visitor_comes_from(&visitor, settings[variant].peer);
    start_store(variant == FAILING);
    stage->server.resp_clients = 0;
    while (said.len)
        say(&visitor, cut(&said, in_pieces ? draw(said.len) : said.len));
    visitor_forgets_time(&visitor);
    return visitor;
}

static void leave(struct visitor *a, struct visitor *b)
{
    struct sl_worker *worker = a->conn->worker;
    visitor_leave(a);
    visitor_leave(b);
    SL_CHECK(worker->large_bytes == 0 && worker->blocks.free_count <= 8);
    uv_run(&worker->loop, UV_RUN_NOWAIT); /* holds that have ended */
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* In any case of letters. */
static bool has(struct sluice_text text, const char *lower)
{
    size_t len = strlen(lower);
    for (size_t i = 0; i + len <= text.len; i++)
        if (sl_resp_word_is((struct sluice_text){ text.at + i, len }, sl_text(lower)))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2)
        return 0;
    enum variant variant = bytes[0] % VARIANTS;
    struct sluice_text said = { (const char *)bytes + 2, len - 2 };
    bool is_open = variant != DRAINING && variant != REQUIRED, ends;
    seed = bytes[1];
    check_reader(said, false);
    check_reader(said, true);
    size_t wanted = count_answers(said, &ends);
    struct visitor whole = say_all(variant, said, false), pieces = say_all(variant, said, true);
    size_t count = count_replies(&whole);
    SL_CHECK(!is_open || (count == wanted && count_replies(&pieces) == wanted));
    SL_CHECK(!is_open || whole.conn->is_finished == ends);
    /* Time goes on, and counts too. */
    bool is_same = variant != DRAINING && !has(said, "info") && !has(said, "time");
    if (is_same)
        SL_CHECK(whole.got.len == pieces.got.len &&
                 (!whole.got.len || !memcmp(whole.got.at, pieces.got.at, whole.got.len)));
    leave(&whole, &pieces);
    return 0;
}
