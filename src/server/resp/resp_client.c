/* CLIENT: names and facts of a connection. Libraries send much of this before their first command.
 * Subcommands that we have no use for are refused or have no effect: see docs/resp.md. */
#include <stdatomic.h>
#include <stdio.h>

#include "server/resp/resp.h"
#include "server/worker.h"

uint64_t sl_resp_id(struct sl_resp_ask *ask)
{
    struct sl_server *server = ask->message.conn->worker->server;
    if (!ask->session->id)
        ask->session->id = atomic_fetch_add(&server->resp_clients, 1) + 1;
    return ask->session->id;
}

/* ---- names ---- */

/* Names stand in lists whose words are separated by blanks. */
static bool is_plain(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < '!' || text.at[i] > '~')
            return false;
    return true;
}

/* Keeps the beginning of a long name: Redis takes any, and a client whose name is refused does not
 * go on. */
bool sl_resp_set_label(struct sl_resp_ask *ask, struct sl_resp_label *label,
                       struct sluice_text text)
{
    if (!is_plain(text)) {
        sl_resp_fail(ask, "ERR",
                     "Client names cannot contain spaces, newlines or special characters.");
        return false;
    }
    label->len = text.len < sizeof label->text ? text.len : sizeof label->text;
    memcpy(label->text, text.at, label->len);
    return true;
}

static struct sluice_text text_of(const struct sl_resp_label *label)
{
    return (struct sluice_text){ label->text, label->len };
}

static void set_name(struct sl_resp_ask *ask)
{
    if (sl_resp_set_label(ask, &ask->session->name, ask->args[2]))
        sl_resp_ok(ask);
}

static void get_name(struct sl_resp_ask *ask)
{
    struct sl_resp_out out = sl_resp_begin(ask);
    if (ask->session->name.len)
        sl_resp_print_bulk(out, text_of(&ask->session->name));
    else
        sl_resp_print_null(out);
    sl_resp_end(ask);
}

static void set_library(struct sl_resp_ask *ask)
{
    struct sl_resp_label *label = NULL;
    if (sl_resp_word_is(ask->args[2], SL_TEXT("lib-name")))
        label = &ask->session->library;
    else if (sl_resp_word_is(ask->args[2], SL_TEXT("lib-ver")))
        label = &ask->session->library_version;
    if (!label)
        sl_resp_fail(ask, "ERR", "Unrecognized option '%.*s'",
                     (int)(ask->args[2].len < 64 ? ask->args[2].len : 64), ask->args[2].at);
    else if (sl_resp_set_label(ask, label, ask->args[3]))
        sl_resp_ok(ask);
}

/* ---- facts ---- */

static void tell_id(struct sl_resp_ask *ask)
{
    sl_resp_print_integer(sl_resp_begin(ask), (int64_t)sl_resp_id(ask));
    sl_resp_end(ask);
}

/* Libraries expect these numbers, whether they mean something here or not. */
#define NOTHING                                                                                    \
    "age=0 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 "        \
    "multi-mem=0 obl=0 oll=0 omem=0 tot-mem=0 events=r"

/* This connection's line of a list. */
static void tell_line(struct sl_resp_ask *ask)
{
    const struct sl_resp_session *session = ask->session;
    const struct sl_conn *conn = ask->message.conn;
    char line[768];
    int len = snprintf(
        line, sizeof line,
        "id=%llu addr=%s fd=%d name=%.*s " NOTHING " cmd=client|%s user=default "
        "resp=%d lib-name=%.*s lib-ver=%.*s\n",
        (unsigned long long)sl_resp_id(ask), conn->is_local ? "unix" : conn->peer_text, conn->fd,
        (int)session->name.len, session->name.text, ask->row->name.at,
        session->is_resp3 ? SL_RESP3 : SL_RESP2, (int)session->library.len, session->library.text,
        (int)session->library_version.len, session->library_version.text);
    sl_resp_print_verbatim(sl_resp_begin(ask), (struct sluice_text){ line, (size_t)len });
    sl_resp_end(ask);
}

/* ---- what has no effect ---- */

/* Nothing is evicted here, or touched by a look. */
static void turn_on_or_off(struct sl_resp_ask *ask)
{
    if (sl_resp_word_is(ask->args[2], SL_TEXT("on")) ||
        sl_resp_word_is(ask->args[2], SL_TEXT("off")))
        sl_resp_ok(ask);
    else
        sl_resp_fail(ask, "ERR", "syntax error");
}

/* Replies cannot be turned off. */
static void turn_replies_on(struct sl_resp_ask *ask)
{
    if (sl_resp_word_is(ask->args[2], SL_TEXT("on")))
        sl_resp_ok(ask);
    else
        sl_resp_fail(ask, "ERR", "syntax error: every command is answered here");
}

const struct sl_resp_row sl_resp_client_rows[] = {
    { SL_TEXT("setname"), 3, 0, set_name, .since = "2.6.9", .summary = "Names this connection" },
    { SL_TEXT("getname"), 2, 0, get_name, .since = "2.6.9", .summary = "That name" },
    { SL_TEXT("id"), 2, 0, tell_id, .since = "5.0.0", .summary = "The number of this connection" },
    { SL_TEXT("setinfo"), 4, 0, set_library, .since = "7.2.0",
      .summary = "Names the library that is used" },
    { SL_TEXT("info"), 2, 0, tell_line, .since = "6.2.0", .summary = "All that is known of it" },
    { SL_TEXT("list"), -2, 0, tell_line, .since = "2.4.0",
      .summary = "The same: others are not listed" },
    { SL_TEXT("no-evict"), 3, 0, turn_on_or_off, .since = "7.0.0", .summary = "Has no effect" },
    { SL_TEXT("no-touch"), 3, 0, turn_on_or_off, .since = "7.2.0", .summary = "Has no effect" },
    { SL_TEXT("reply"), 3, 0, turn_replies_on, .since = "3.2.0", .summary = "ON is how it is" },
    { SL_TEXT("help"), 2, 0, sl_resp_help, .since = "5.0.0", .summary = "This list" },
    { .arity = 0 },
};
