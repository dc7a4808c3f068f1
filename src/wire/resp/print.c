/* Prints replies of the Redis protocol in RESP2 or RESP3. */
#include "wire/resp/print.h"

#include "base/check.h"
#include "base/text/number.h"

#define CRLF SL_TEXT("\r\n")

/* Adds a line such as `:12` in one piece: most of an answer is such lines. */
static void add_number(struct sl_buffer *bytes, char type, int64_t number)
{
    char line[1 + SL_DIGITS_MAX + 2];
    line[0] = type;
    char *end = sl_digits_put(line + 1, number);
    *end++ = '\r';
    *end++ = '\n';
    SL_CHECK(end <= line + sizeof line);
    sl_buffer_add(bytes, (struct sluice_text){ line, (size_t)(end - line) });
}

void sl_resp_print_integer(struct sl_resp_out out, int64_t number)
{
    add_number(out.bytes, ':', number);
}

void sl_resp_print_bulk(struct sl_resp_out out, struct sluice_text text)
{
    SL_CHECK(text.at || text.len == 0);
    add_number(out.bytes, '$', (int64_t)text.len);
    sl_buffer_add(out.bytes, text);
    sl_buffer_add(out.bytes, CRLF);
}

void sl_resp_print_bool(struct sl_resp_out out, bool value)
{
    if (out.form == SL_RESP3)
        sl_buffer_add(out.bytes, value ? SL_TEXT("#t\r\n") : SL_TEXT("#f\r\n"));
    else
        sl_buffer_add(out.bytes, value ? SL_TEXT(":1\r\n") : SL_TEXT(":0\r\n"));
}

void sl_resp_print_null(struct sl_resp_out out)
{
    sl_buffer_add(out.bytes, out.form == SL_RESP3 ? SL_TEXT("_\r\n") : SL_TEXT("$-1\r\n"));
}

void sl_resp_print_simple(struct sl_resp_out out, struct sluice_text text)
{
    sl_buffer_add(out.bytes, SL_TEXT("+"));
    sl_buffer_add(out.bytes, text);
    sl_buffer_add(out.bytes, CRLF);
}

void sl_resp_print_error(struct sl_resp_out out, const char *code, struct sluice_text text)
{
    SL_CHECK(code && *code);
    sl_buffer_add(out.bytes, SL_TEXT("-"));
    sl_buffer_add(out.bytes, sl_text(code));
    sl_buffer_add(out.bytes, SL_TEXT(" "));
    for (size_t i = 0; i < text.len; i++) {
        bool is_control = (unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f;
        sl_buffer_add(out.bytes,
                      is_control ? SL_TEXT(" ") : (struct sluice_text){ text.at + i, 1 });
    }
    sl_buffer_add(out.bytes, CRLF);
}

void sl_resp_print_verbatim(struct sl_resp_out out, struct sluice_text text)
{
    if (out.form == SL_RESP2) {
        sl_resp_print_bulk(out, text);
        return;
    }
    add_number(out.bytes, '=', (int64_t)text.len + 4);
    sl_buffer_add(out.bytes, SL_TEXT("txt:"));
    sl_buffer_add(out.bytes, text);
    sl_buffer_add(out.bytes, CRLF);
}

void sl_resp_print_array(struct sl_resp_out out, size_t count)
{
    add_number(out.bytes, '*', (int64_t)count);
}

void sl_resp_print_set(struct sl_resp_out out, size_t count)
{
    add_number(out.bytes, out.form == SL_RESP3 ? '~' : '*', (int64_t)count);
}

void sl_resp_print_map(struct sl_resp_out out, size_t pairs)
{
    if (out.form == SL_RESP3)
        add_number(out.bytes, '%', (int64_t)pairs);
    else
        sl_resp_print_array(out, 2 * pairs);
}
