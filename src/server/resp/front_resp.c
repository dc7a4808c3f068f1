/* The front of the Redis protocol: finds where a command ends.
 *
 * Commands of one read go into the round one after the other. Their arguments lie in the
 * connection's buffer until the round is finished. A command that is not whole stays there, and the
 * reader knows how far it has read.
 *
 * There is no timeout between two commands: clients of Redis keep their connections for hours (TCP
 * keep-alive finds dead ones). A command that has begun has the timeouts of an HTTP message. */
#include "server/front.h"
#include "server/resp/resp.h"
#include "server/worker.h"

enum { COMMANDS_MAX = 256 }; /* in one go, before their answers are made */

enum resp_step { WAIT, NEXT, FULL };

static struct sl_resp_session *session_of(struct sl_conn *conn)
{
    return (struct sl_resp_session *)(void *)conn->own;
}

/* Every command has its own timeout, also if the one before it ended within the same packet. */
static void start_timer(struct sl_conn *conn, enum sl_timer timer)
{
    struct sl_resp_session *session = session_of(conn);
    sl_conn_await(conn, timer, session->timing != timer);
    session->timing = timer;
}

static void start_call(struct sl_resp_ask *ask)
{
    struct sl_message *message = &ask->message;
    message->call = sl_round_call(message->round, message->conn);
    message->call->form = (uint16_t)(ask->session->is_resp3 ? SL_RESP3 : SL_RESP2) |
                          (ask->session->secret ? SL_RESP_FAMILIAR : 0);
    message->told_ip = (struct sluice_text){ 0 };
}

/* ---- malformed commands ---- */

/* Answers a malformed command and closes: where the next command begins is unknown. */
static enum resp_step finish_session(struct sl_resp_ask *ask, const char *wrong)
{
    struct sl_conn *conn = ask->message.conn;
    sl_count_add(&conn->worker->traffic.malformed_commands, 1);
    if (*wrong) {
        start_call(ask);
        sl_resp_fail(ask, "ERR", "%s", wrong);
    }
    conn->in_start = conn->in_end;
    sl_conn_finish(conn, true);
    return WAIT;
}

/* ---- room ---- */

/* The buffer grows with the bytes that have come, not with the length that a client announces. */
static size_t room_for(const struct sl_resp_reader *reader, size_t have)
{
    size_t longer = have + have / 2 + SL_BLOCK_BYTES / 2;
    size_t wanted = reader->wanted && reader->wanted < longer ? reader->wanted : longer;
    return wanted < SL_CONN_IN_MAX_BYTES ? wanted : SL_CONN_IN_MAX_BYTES;
}

/* Waits for the rest of a command. Earlier calls may point into the buffer, so they are finished
 * before it moves. */
static enum resp_step wait_for_more(struct sl_resp_ask *ask)
{
    struct sl_conn *conn = ask->message.conn;
    const struct sl_resp_reader *reader = &ask->session->reader;
    start_timer(conn, reader->count ? SL_TIMER_BODY : SL_TIMER_HEAD);
    if (conn->in_end < conn->in_room)
        return WAIT;
    if (ask->message.round->call_count > 0)
        return FULL;
    if (sl_conn_expect(conn, room_for(reader, conn->in_end - conn->in_start)))
        return WAIT;
    return finish_session(ask, "There is no memory left for a command of that size; try again.");
}

/* ---- reading ---- */

/* Must the round be finished, and the connection wait, before this command is read? Where the store
 * answers later, earlier commands of the connection may wait for the store, or be about to, and no
 * answer may overtake theirs. An inline command is split in place, so it is read only when it will
 * not be read again. */
static bool must_wait(const struct sl_conn *conn, const struct sl_resp_command *command)
{
    if (!conn->has_asked || !conn->worker->store_io.channel)
        return false;
    return !command || sl_resp_word_is(command->args[0], SL_TEXT("sluice.reset"));
}

static enum resp_step read_command(struct sl_resp_ask *ask, struct sl_resp_command *command)
{
    struct sl_conn *conn = ask->message.conn;
    struct sl_resp_reader *reader = &ask->session->reader;
    struct sluice_text bytes = sl_conn_bytes(conn);
    if (sl_resp_is_inline(bytes) && must_wait(conn, NULL))
        return FULL;
    reader->by_strangers = sl_resp_is_stranger(ask);
    enum sl_resp_end end = sl_resp_read(reader, conn->in + conn->in_start, bytes.len, command);
    if (end == SL_RESP_MORE)
        return wait_for_more(ask);
    if (end == SL_RESP_WRONG)
        return finish_session(ask, command->wrong);
    if (command->count && must_wait(conn, command))
        return FULL;
    conn->in_start += command->len;
    ask->session->timing = SL_TIMER_NONE;
    if (command->count == 0)
        return NEXT;
    ask->count = command->count;
    start_call(ask);
    sl_resp_run(ask);
    ask->session->has_last |= conn->worker->is_draining;
    return NEXT;
}

static void begin_command(struct sl_resp_ask *ask, struct sl_conn *conn, struct sl_round *round)
{
    ask->message = (struct sl_message){ .round = round, .conn = conn, .head = &ask->head };
    ask->session = session_of(conn);
    ask->ready_bytes = 0;
    sl_resp_know(ask);
}

/* Is so much answered that the client must read first? A few bytes may ask for a long answer, and
 * many connections may send them in one turn. */
static bool is_enough(const struct sl_resp_ask *ask, int commands)
{
    return commands == COMMANDS_MAX || ask->ready_bytes >= SL_CONN_OUT_HIGH_BYTES;
}

/* When the server ends and the last command was answered, the connection ends, even if the next
 * command has begun: else a client that always has begun one would be served for ever. */
static void end_if_draining(const struct sl_resp_ask *ask)
{
    struct sl_conn *conn = ask->message.conn;
    if (!ask->session->has_last || !sl_conn_is_open(conn))
        return;
    conn->in_start = conn->in_end;
    sl_conn_finish(conn, true);
}

static enum sl_front_end read_commands(struct sl_conn *conn, struct sl_round *round)
{
    struct sl_resp_command
        command; /* neither is zeroed: they are large, and little of them is used */
    struct sl_resp_ask ask;
    begin_command(&ask, conn, round);
    ask.args = command.args;
    for (int i = 0; sl_conn_is_open(conn); i++) {
        if (conn->in_start == conn->in_end) {
            sl_conn_await(conn, SL_TIMER_REST, false);
            if (ask.session->has_last)
                sl_conn_finish(conn, true);
            break;
        }
        if (is_enough(&ask, i) || !sl_round_has_room(round, 1))
            return SL_FRONT_FULL;
        enum resp_step step = read_command(&ask, &command);
        if (step == FULL)
            return SL_FRONT_FULL;
        if (step == WAIT) {
            end_if_draining(&ask);
            break;
        }
        sl_count_add(&conn->worker->traffic.commands, 1);
    }
    return SL_FRONT_MORE;
}

/* ---- the rest of the seam ---- */

static void print_last_error(struct sl_conn *conn, struct sluice_text text)
{
    sl_resp_print_error((struct sl_resp_out){ &conn->out, SL_RESP2 }, "ERR", text);
}

static void answer_late(struct sl_conn *conn)
{
    print_last_error(conn, SL_TEXT("Protocol error: the command did not arrive in time"));
}

static void answer_full(struct sl_conn *conn)
{
    print_last_error(conn, SL_TEXT("max number of clients reached"));
}

static void close_session(struct sl_conn *conn)
{
    sl_resp_forget(session_of(conn));
}

const struct sl_front sl_front_resp = {
    .schemes = { "redis", "rediss" },
    .state_bytes = sizeof(struct sl_resp_session),
    .stays = true,
    .read = read_commands,
    .late = answer_late,
    .refuse = answer_full,
    .problem = sl_resp_problem,
    .close = close_session,
};
