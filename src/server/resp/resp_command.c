/* The table of commands, for look-up and for COMMAND. The commands that decide come first: they are
 * sent most. */
#include "base/check.h"
#include "server/auth/caller.h"
#include "server/resp/resp.h"
#include "server/worker.h"

enum { SHOWN_MAX_BYTES = 128 };

const struct sl_resp_row sl_resp_rows[] = {
    { SL_TEXT("cl.throttle"), -1, SL_RESP_WRITES | SL_RESP_FAST, sl_resp_throttle, .key = 1,
      .group = "sluice", .since = "0.1.0",
      .summary = "Takes tokens of a key's bucket: key max_burst count period [quantity]" },
    { SL_TEXT("sluice.check"), -3, SL_RESP_WRITES | SL_RESP_FAST, sl_resp_check, .group = "sluice",
      .since = "0.1.0",
      .summary = "Decides a request by the rules: attribute value [attribute value ...]" },
    { SL_TEXT("sluice.peek"), -3, SL_RESP_FAST, sl_resp_peek, .group = "sluice", .since = "0.1.0",
      .summary = "The same without taking anything" },
    { SL_TEXT("sluice.reset"), -3, SL_RESP_WRITES | SL_RESP_ADMIN, sl_resp_reset_counts,
      .group = "sluice", .since = "0.1.0",
      .summary = "Forgets the counts of one identifier: [rule NAME] attribute value ..." },

    { SL_TEXT("hello"), -1, SL_RESP_OPEN | SL_RESP_FAST, sl_resp_hello, .group = "connection",
      .since = "6.0.0", .summary = "Handshakes, and chooses RESP2 or RESP3" },
    { SL_TEXT("auth"), -2, SL_RESP_OPEN | SL_RESP_FAST, sl_resp_auth, .group = "connection",
      .since = "1.0.0", .summary = "Authenticates with an API key or a token" },
    { SL_TEXT("ping"), -1, SL_RESP_FAST, sl_resp_ping, .group = "connection", .since = "1.0.0",
      .summary = "Answers" },
    { SL_TEXT("echo"), 2, SL_RESP_FAST, sl_resp_echo, .group = "connection", .since = "1.0.0",
      .summary = "Answers with what was said" },
    { SL_TEXT("select"), 2, SL_RESP_FAST, sl_resp_select, .group = "connection", .since = "1.0.0",
      .summary = "There is one database, 0" },
    { SL_TEXT("reset"), 1, SL_RESP_OPEN | SL_RESP_FAST, sl_resp_reset, .group = "connection",
      .since = "6.2.0", .summary = "Makes the connection as new" },
    { SL_TEXT("quit"), -1, SL_RESP_OPEN | SL_RESP_FAST, sl_resp_quit, .group = "connection",
      .since = "1.0.0", .summary = "Closes the connection" },
    { SL_TEXT("client"), -2, 0, .below = sl_resp_client_rows, .group = "connection",
      .since = "2.4.0", .summary = "What is known of this connection" },

    { SL_TEXT("info"), -1, 0, sl_resp_info, .group = "server", .since = "1.0.0",
      .summary = "What is known of this server" },
    { SL_TEXT("time"), 1, SL_RESP_FAST, sl_resp_time, .group = "server", .since = "2.6.0",
      .summary = "The time of this server" },
    { SL_TEXT("config"), -2, SL_RESP_ADMIN, .below = sl_resp_config_rows, .group = "server",
      .since = "2.0.0", .summary = "Settings that Redis would have" },
    { SL_TEXT("command"), -1, 0, sl_resp_commands, sl_resp_command_rows, .group = "server",
      .since = "2.8.13", .summary = "This list" },
    { .arity = 0 },
};

const struct sl_resp_row *sl_resp_find(const struct sl_resp_row *rows, struct sluice_text name)
{
    for (; rows->name.at; rows++)
        if (sl_resp_word_is(name, rows->name))
            return rows;
    return NULL;
}

/* ---- unknown commands ---- */

static size_t shown_len(struct sluice_text word)
{
    return word.len < SHOWN_MAX_BYTES ? word.len : SHOWN_MAX_BYTES;
}

/* In Redis' words, with as much of the arguments as Redis shows. */
static void fail_unknown(struct sl_resp_ask *ask)
{
    char shown[2 * SHOWN_MAX_BYTES] = "";
    size_t len = 0;
    for (size_t i = 1; i < ask->count && len < SHOWN_MAX_BYTES; i++) {
        size_t room = SHOWN_MAX_BYTES - len;
        size_t take = ask->args[i].len < room ? ask->args[i].len : room;
        shown[len++] = '\'';
        memcpy(shown + len, ask->args[i].at, take);
        len += take;
        memcpy(shown + len, "' ", 2);
        len += 2;
    }
    struct sl_resp_out out = sl_resp_begin(ask);
    char text[4 * SHOWN_MAX_BYTES];
    static const char start[] = "unknown command '", middle[] = "', with args beginning with: ";
    struct sluice_text name = { ask->args[0].at, shown_len(ask->args[0]) };
    char *at = mempcpy(text, start, sizeof start - 1);
    at = mempcpy(at, name.at, name.len);
    at = mempcpy(at, middle, sizeof middle - 1);
    at = mempcpy(at, shown, len);
    sl_resp_print_error(out, "ERR", (struct sluice_text){ text, (size_t)(at - text) });
    sl_resp_end(ask);
}

void sl_resp_upper(const struct sl_resp_row *row, char out[SL_RESP_NAME_MAX_BYTES])
{
    SL_CHECK(row->name.len < SL_RESP_NAME_MAX_BYTES);
    for (size_t i = 0; i <= row->name.len; i++) {
        char c = row->name.at[i];
        out[i] = (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
    }
}

static void fail_below(struct sl_resp_ask *ask, const struct sl_resp_row *row)
{
    char upper[SL_RESP_NAME_MAX_BYTES];
    sl_resp_upper(row, upper);
    sl_resp_fail(ask, "ERR", "unknown subcommand '%.*s'. Try %s HELP.",
                 (int)shown_len(ask->args[1]), ask->args[1].at, upper);
}

/* ---- running ---- */

bool sl_resp_is_stranger(const struct sl_resp_ask *ask)
{
    return !ask->session->secret && sl_caller_must_say(&ask->message);
}

bool sl_resp_refuse_stranger(struct sl_resp_ask *ask)
{
    if (!ask->session->reader.by_strangers)
        return false;
    sl_message_refuse(&ask->message, 401, NULL);
    return true;
}

static bool has_right_count(const struct sl_resp_ask *ask)
{
    int arity = ask->row->arity;
    return arity > 0 ? ask->count == (size_t)arity : ask->count >= (size_t)-arity;
}

/* Programs send one command again and again, spelled alike. */
static const struct sl_resp_row *find_again(struct sl_resp_session *session,
                                            struct sluice_text word)
{
    const struct sl_resp_row *last = session->last;
    if (last && word.len == last->name.len && memcmp(word.at, session->last_word, word.len) == 0)
        return last;
    const struct sl_resp_row *row = sl_resp_find(sl_resp_rows, word);
    if (row) {
        SL_CHECK(word.len < sizeof session->last_word);
        memcpy(session->last_word, word.at, word.len);
        session->last = row;
    }
    return row;
}

void sl_resp_run(struct sl_resp_ask *ask)
{
    ask->row = find_again(ask->session, ask->args[0]);
    if (!ask->row) {
        fail_unknown(ask);
        return;
    }
    if (ask->row->below && ask->count > 1) {
        const struct sl_resp_row *below = sl_resp_find(ask->row->below, ask->args[1]);
        if (!below) {
            fail_below(ask, ask->row);
            return;
        }
        ask->row = below;
    }
    if (!has_right_count(ask))
        sl_resp_fail_count(ask);
    else if (ask->row->flags & SL_RESP_OPEN || !sl_resp_refuse_stranger(ask))
        ask->row->run(ask);
}
