/* Answers of the Redis protocol that need no decision, and errors: see resp.h. */
#include "server/resp/resp.h"

#include <stdio.h>

enum { LONG_BYTES = SL_BLOCK_BYTES }; /* a longer answer is sent at once */

/* ---- answers that are ready ---- */

struct sl_resp_out sl_resp_to(const struct sl_call *call)
{
    return (struct sl_resp_out){ sl_conn_out(call->conn),
                                 (enum sl_resp_form)(call->form & SL_RESP_FORM) };
}

static void reply_ready(struct sl_round *round, struct sl_call *call)
{
    (void)round;
    struct sl_resp_out out = sl_resp_to(call);
    if (call->answer.at)
        sl_buffer_add(out.bytes, call->answer);
    else
        sl_resp_print_error(out, "ERR", SL_TEXT("out of memory"));
}

struct sl_resp_out sl_resp_begin(struct sl_resp_ask *ask)
{
    struct sl_buffer *scratch = &ask->message.round->scratch;
    sl_buffer_clear(scratch);
    return (struct sl_resp_out){ scratch, ask->session->is_resp3 ? SL_RESP3 : SL_RESP2 };
}

void sl_resp_end(struct sl_resp_ask *ask)
{
    struct sl_round *round = ask->message.round;
    struct sluice_text answer = { round->scratch.at, round->scratch.len };
    answer.at = round->scratch.failed ? NULL : sl_round_copy(round, answer);
    ask->message.call->answer = answer;
    ask->message.call->reply = reply_ready;
    ask->ready_bytes += answer.len;
    if (answer.len > LONG_BYTES) /* else a round would hold such an answer of every connection */
        sl_round_add_now(round, ask->message.call);
    else
        sl_round_add(round, ask->message.call);
}

void sl_resp_add(struct sl_resp_ask *ask, sl_reply *reply)
{
    ask->message.call->reply = reply;
    sl_round_add(ask->message.round, ask->message.call);
}

static void reply_ok(struct sl_round *round, struct sl_call *call)
{
    (void)round;
    sl_resp_print_simple(sl_resp_to(call), SL_TEXT("OK"));
}

void sl_resp_ok(struct sl_resp_ask *ask)
{
    sl_resp_add(ask, reply_ok);
}

/* ---- errors ---- */

void sl_resp_fail(struct sl_resp_ask *ask, const char *code, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t shown = (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    sl_round_drop(ask->message.round, ask->message.call);
    sl_resp_print_error(sl_resp_begin(ask), code, (struct sluice_text){ text, shown });
    sl_resp_end(ask);
}

void sl_resp_fail_count(struct sl_resp_ask *ask)
{
    struct sluice_text outer = ask->args[0], name = ask->row->name;
    const struct sl_resp_row *parent = sl_resp_find(sl_resp_rows, outer);
    if (parent && parent != ask->row)
        sl_resp_fail(ask, "ERR", "wrong number of arguments for '%s|%s' command", parent->name.at,
                     name.at);
    else
        sl_resp_fail(ask, "ERR", "wrong number of arguments for '%s' command", name.at);
}

/* The secret was right before and is not any more; for a token the reason is known. */
static void print_not_any_more(const struct sl_call *call)
{
    char text[640];
    bool has_reason = call->authenticate && strstr(call->authenticate, "error_description=");
    snprintf(text, sizeof text, "%s AUTH again.",
             has_reason && call->detail ? call->detail
                                        : "This connection's password is not good for this, or not "
                                          "any more.");
    sl_resp_print_error(sl_resp_to(call), "NOAUTH", sl_text(text));
}

static void print_refused(const struct sl_call *call)
{
    struct sl_resp_out out = sl_resp_to(call);
    if (call->form & SL_RESP_AUTH)
        sl_resp_print_error(out, "WRONGPASS",
                            SL_TEXT("invalid username-password pair or user is disabled."));
    else if (call->form & SL_RESP_FAMILIAR)
        print_not_any_more(call);
    else
        sl_resp_print_error(out, "NOAUTH", SL_TEXT("Authentication required."));
}

void sl_resp_problem(struct sl_round *round, struct sl_call *call)
{
    (void)round;
    const char *detail = call->detail ? call->detail : "There is no memory left; try again.";
    if (call->status == 401)
        print_refused(call);
    else
        sl_resp_print_error(sl_resp_to(call), call->status == 403 ? "NOPERM" : "ERR",
                            sl_text(detail));
}
