/* Prints a decision as a map. Most of it is names: literals with their lengths. A map is written in
 * place, because asking for room forty times takes longer than writing. */
#include "wire/json/decision.h"
#include "base/check.h"
#include "wire/resp/print.h"

enum {
    MEMBERS = 11,
    ROW_MEMBERS = 8,
    LINE_MAX_BYTES = 1 + SL_DIGITS_MAX + 2,   /* a type, a number, an end */
    NAME_MAX_BYTES = LINE_MAX_BYTES + 14 + 2, /* the longest of ours */
    PAIR_MAX_BYTES = NAME_MAX_BYTES + LINE_MAX_BYTES,
    TEXTS_BYTES = 3 * 2 /* a text also has a CRLF behind its bytes */
};

#define NAME(len, name) SL_TEXT("$" #len "\r\n" name "\r\n")

/* Where the next byte goes. */
struct pen {
    char *at;
    enum sl_resp_form form;
};

static inline void put_bytes(struct pen *pen, struct sluice_text text)
{
    pen->at = (char *)memcpy(pen->at, text.at, text.len) + text.len;
}

static inline void put_line(struct pen *pen, char type, int64_t number)
{
    *pen->at = type;
    pen->at = sl_digits_put(pen->at + 1, number);
    put_bytes(pen, SL_TEXT("\r\n"));
}

static inline void put_null(struct pen *pen)
{
    put_bytes(pen, pen->form == SL_RESP3 ? SL_TEXT("_\r\n") : SL_TEXT("$-1\r\n"));
}

static inline void put_map(struct pen *pen, int64_t pairs)
{
    if (pen->form == SL_RESP3)
        put_line(pen, '%', pairs);
    else
        put_line(pen, '*', 2 * pairs);
}

static inline void put_text(struct pen *pen, struct sluice_text key, struct sluice_text value)
{
    put_bytes(pen, key);
    if (!value.at) {
        put_null(pen);
        return;
    }
    put_line(pen, '$', (int64_t)value.len);
    put_bytes(pen, value);
    put_bytes(pen, SL_TEXT("\r\n"));
}

static inline void put_number(struct pen *pen, struct sluice_text key, int64_t number)
{
    put_bytes(pen, key);
    put_line(pen, ':', number);
}

/* A negative limit or time means that there is none. */
static inline void put_maybe(struct pen *pen, struct sluice_text key, int64_t number)
{
    put_bytes(pen, key);
    if (number == SLUICE_NONE)
        put_null(pen);
    else
        put_line(pen, ':', number);
}

static inline void put_bool(struct pen *pen, struct sluice_text key, bool value)
{
    put_bytes(pen, key);
    if (pen->form == SL_RESP3)
        put_bytes(pen, value ? SL_TEXT("#t\r\n") : SL_TEXT("#f\r\n"));
    else
        put_bytes(pen, value ? SL_TEXT(":1\r\n") : SL_TEXT(":0\r\n"));
}

static void add_row(struct sl_resp_out out, const struct sluice_explained *row)
{
    struct sluice_text rule = sl_text(row->rule), algorithm = sl_text(row->algorithm);
    size_t most =
        LINE_MAX_BYTES + ROW_MEMBERS * PAIR_MAX_BYTES + TEXTS_BYTES + rule.len + algorithm.len;
    char *start = sl_buffer_begin(out.bytes, most);
    struct pen pen = { start, out.form };
    if (!pen.at)
        return;
    put_map(&pen, ROW_MEMBERS);
    put_text(&pen, NAME(4, "rule"), rule);
    put_text(&pen, NAME(9, "algorithm"), algorithm);
    put_bool(&pen, NAME(6, "shadow"), row->shadow);
    put_bool(&pen, NAME(7, "allowed"), row->allowed);
    put_number(&pen, NAME(5, "limit"), row->limit);
    put_number(&pen, NAME(9, "remaining"), row->remaining);
    put_maybe(&pen, NAME(11, "reset_at_us"), row->reset_at_us);
    put_number(&pen, NAME(14, "retry_after_us"), row->retry_after_us);
    SL_CHECK((size_t)(pen.at - start) <= most);
    sl_buffer_end(out.bytes, pen.at);
}

static void add_members(struct sl_resp_out out, const struct sluice_decision *decision,
                        int64_t count)
{
    struct sluice_text rule = sl_text(decision->rule), algorithm = sl_text(decision->algorithm);
    struct sluice_text reason = sl_text(sl_reason_name(decision->reason));
    size_t most = LINE_MAX_BYTES + MEMBERS * PAIR_MAX_BYTES + TEXTS_BYTES + rule.len +
                  algorithm.len + reason.len;
    char *start = sl_buffer_begin(out.bytes, most);
    struct pen pen = { start, out.form };
    if (!pen.at)
        return;
    put_map(&pen, count);
    put_bool(&pen, NAME(7, "allowed"), decision->allowed);
    put_text(&pen, NAME(4, "rule"), rule);
    put_text(&pen, NAME(9, "algorithm"), algorithm);
    put_text(&pen, NAME(6, "reason"), reason);
    put_maybe(&pen, NAME(5, "limit"), decision->limit);
    put_number(&pen, NAME(9, "remaining"), decision->remaining);
    put_maybe(&pen, NAME(11, "reset_at_us"), decision->reset_at_us);
    put_number(&pen, NAME(14, "retry_after_us"), decision->retry_after_us);
    put_number(&pen, NAME(8, "delay_us"), decision->delay_us);
    put_maybe(&pen, NAME(8, "reset_at"), sl_whole_seconds(decision->reset_at_us));
    put_number(&pen, NAME(11, "retry_after"), sl_whole_seconds(decision->retry_after_us));
    SL_CHECK((size_t)(pen.at - start) <= most);
    sl_buffer_end(out.bytes, pen.at);
}

void sl_resp_print_decision(struct sl_resp_out out, const struct sluice_decision *decision,
                            const struct sluice_explained *rows, size_t row_count)
{
    SL_CHECK(out.bytes && decision);
    add_members(out, decision, rows ? MEMBERS + 1 : MEMBERS);
    if (!rows)
        return;
    sl_buffer_add(out.bytes, NAME(5, "rules"));
    sl_resp_print_array(out, row_count);
    for (size_t i = 0; i < row_count; i++)
        add_row(out, &rows[i]);
}
