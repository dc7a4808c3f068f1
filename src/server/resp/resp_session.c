/* HELLO, AUTH and the other commands that clients send before their first request. */
#include "server/resp/resp.h"
#include "server/worker.h"

/* ---- AUTH ---- */

void sl_resp_auth(struct sl_resp_ask *ask)
{
    struct sluice_text user = ask->count == 3 ? ask->args[1] : (struct sluice_text){ 0 };
    if (ask->count > 3)
        sl_resp_fail(ask, "ERR", "syntax error");
    else if (sl_resp_believe(ask, user, ask->args[ask->count - 1]))
        sl_resp_ok(ask);
}

/* ---- HELLO ---- */

struct hello {
    bool is_resp3;
    bool has_password;
    struct sluice_text user, password;
    bool has_name;
    struct sluice_text name;
};

static bool read_version(struct sl_resp_ask *ask, struct hello *out)
{
    struct sluice_text word = ask->args[1];
    uint64_t version;
    if (!sl_parse_u64(word, &version)) {
        sl_resp_fail(ask, "ERR", "Protocol version is not an integer or out of range");
        return false;
    }
    if (version != SL_RESP2 && version != SL_RESP3) {
        sl_resp_fail(ask, "NOPROTO", "unsupported protocol version");
        return false;
    }
    out->is_resp3 = version == SL_RESP3;
    return true;
}

static bool read_options(struct sl_resp_ask *ask, struct hello *out)
{
    for (size_t i = 2; i < ask->count; i++) {
        size_t left = ask->count - i - 1;
        if (sl_resp_word_is(ask->args[i], SL_TEXT("auth")) && left >= 2) {
            out->has_password = true;
            out->user = ask->args[i + 1];
            out->password = ask->args[i += 2];
        } else if (sl_resp_word_is(ask->args[i], SL_TEXT("setname")) && left >= 1) {
            out->has_name = true;
            out->name = ask->args[++i];
        } else {
            size_t len = ask->args[i].len < 64 ? ask->args[i].len : 64;
            sl_resp_fail(ask, "ERR", "Syntax error in HELLO option '%.*s'", (int)len,
                         ask->args[i].at);
            return false;
        }
    }
    return true;
}

static void answer_hello(struct sl_resp_ask *ask)
{
    struct sl_resp_out out = sl_resp_begin(ask);
    sl_resp_print_map(out, 7);
    sl_resp_print_bulk(out, SL_TEXT("server"));
    sl_resp_print_bulk(out, SL_TEXT("redis"));
    sl_resp_print_bulk(out, SL_TEXT("version"));
    sl_resp_print_bulk(out, SL_TEXT(SL_RESP_REDIS_VERSION));
    sl_resp_print_bulk(out, SL_TEXT("proto"));
    sl_resp_print_integer(out, out.form);
    sl_resp_print_bulk(out, SL_TEXT("id"));
    sl_resp_print_integer(out, (int64_t)sl_resp_id(ask));
    sl_resp_print_bulk(out, SL_TEXT("mode"));
    sl_resp_print_bulk(out, SL_TEXT("standalone"));
    sl_resp_print_bulk(out, SL_TEXT("role"));
    sl_resp_print_bulk(out, SL_TEXT("master"));
    sl_resp_print_bulk(out, SL_TEXT("modules"));
    sl_resp_print_array(out, 0);
    sl_resp_end(ask);
}

void sl_resp_hello(struct sl_resp_ask *ask)
{
    struct hello hello = { .is_resp3 = ask->session->is_resp3 };
    if (ask->count > 1 && (!read_version(ask, &hello) || !read_options(ask, &hello)))
        return;
    if (hello.has_password ? !sl_resp_believe(ask, hello.user, hello.password)
                           : sl_resp_refuse_stranger(ask))
        return;
    if (hello.has_name && !sl_resp_set_label(ask, &ask->session->name, hello.name))
        return;
    ask->session->is_resp3 = hello.is_resp3;
    answer_hello(ask);
}

/* ---- small commands ---- */

static void reply_pong(struct sl_round *round, struct sl_call *call)
{
    (void)round;
    sl_resp_print_simple(sl_resp_to(call), SL_TEXT("PONG"));
}

void sl_resp_ping(struct sl_resp_ask *ask)
{
    if (ask->count > 2)
        sl_resp_fail_count(ask);
    else if (ask->count == 2)
        sl_resp_echo(ask);
    else
        sl_resp_add(ask, reply_pong);
}

void sl_resp_echo(struct sl_resp_ask *ask)
{
    sl_resp_print_bulk(sl_resp_begin(ask), ask->args[1]);
    sl_resp_end(ask);
}

void sl_resp_select(struct sl_resp_ask *ask)
{
    uint64_t number;
    if (!sl_parse_u64(ask->args[1], &number))
        sl_resp_fail(ask, "ERR", "value is not an integer or out of range");
    else if (number != 0)
        sl_resp_fail(ask, "ERR", "DB index is out of range");
    else
        sl_resp_ok(ask);
}

void sl_resp_reset(struct sl_resp_ask *ask)
{
    struct sl_resp_session *session = ask->session;
    sl_resp_forget(session);
    session->is_resp3 = false;
    session->name.len = 0;
    sl_resp_know(ask);
    sl_resp_print_simple(sl_resp_begin(ask), SL_TEXT("RESET"));
    sl_resp_end(ask);
}

void sl_resp_quit(struct sl_resp_ask *ask)
{
    struct sl_conn *conn = ask->message.conn;
    sl_resp_ok(ask);
    sl_conn_finish(conn, conn->in_start < conn->in_end);
    conn->in_start = conn->in_end;
}
