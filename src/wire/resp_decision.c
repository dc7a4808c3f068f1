/* A decision as a map. Most of it is names, which are literals with their lengths. */
#include "wire/json_decision.h"
#include "wire/resp_print.h"

enum { MEMBERS = 11, ROW_MEMBERS = 8 };

#define NAME(len, name) SL_TEXT("$" #len "\r\n" name "\r\n")

static void add_name(struct sl_resp_out out, struct sluice_text key, const char *name)
{
    sl_buffer_add(out.bytes, key);
    if (name)
        sl_resp_print_bulk(out, sl_text(name));
    else
        sl_resp_print_null(out);
}

static void add_number(struct sl_resp_out out, struct sluice_text key, int64_t number)
{
    sl_buffer_add(out.bytes, key);
    sl_resp_print_integer(out, number);
}

/* Limits and times have no negative values: there is none. */
static void add_maybe(struct sl_resp_out out, struct sluice_text key, int64_t number)
{
    sl_buffer_add(out.bytes, key);
    if (number == SLUICE_NONE)
        sl_resp_print_null(out);
    else
        sl_resp_print_integer(out, number);
}

static void add_bool(struct sl_resp_out out, struct sluice_text key, bool value)
{
    sl_buffer_add(out.bytes, key);
    sl_resp_print_bool(out, value);
}

static void add_row(struct sl_resp_out out, const struct sluice_explained *row)
{
    sl_resp_print_map(out, ROW_MEMBERS);
    add_name(out, NAME(4, "rule"), row->rule);
    add_name(out, NAME(9, "algorithm"), row->algorithm);
    add_bool(out, NAME(6, "shadow"), row->shadow);
    add_bool(out, NAME(7, "allowed"), row->allowed);
    add_number(out, NAME(5, "limit"), row->limit);
    add_number(out, NAME(9, "remaining"), row->remaining);
    add_maybe(out, NAME(11, "reset_at_us"), row->reset_at_us);
    add_number(out, NAME(14, "retry_after_us"), row->retry_after_us);
}

void sl_resp_print_decision(struct sl_resp_out out, const struct sluice_decision *decision,
                            const struct sluice_explained *rows, size_t row_count)
{
    sl_resp_print_map(out, rows ? MEMBERS + 1 : MEMBERS);
    add_bool(out, NAME(7, "allowed"), decision->allowed);
    add_name(out, NAME(4, "rule"), decision->rule);
    add_name(out, NAME(9, "algorithm"), decision->algorithm);
    add_name(out, NAME(6, "reason"), sl_reason_name(decision->reason));
    add_maybe(out, NAME(5, "limit"), decision->limit);
    add_number(out, NAME(9, "remaining"), decision->remaining);
    add_maybe(out, NAME(11, "reset_at_us"), decision->reset_at_us);
    add_number(out, NAME(14, "retry_after_us"), decision->retry_after_us);
    add_number(out, NAME(8, "delay_us"), decision->delay_us);
    add_maybe(out, NAME(8, "reset_at"), sl_whole_seconds(decision->reset_at_us));
    add_number(out, NAME(11, "retry_after"), sl_whole_seconds(decision->retry_after_us));
    if (!rows)
        return;
    sl_buffer_add(out.bytes, NAME(5, "rules"));
    sl_resp_print_array(out, row_count);
    for (size_t i = 0; i < row_count; i++)
        add_row(out, &rows[i]);
}
