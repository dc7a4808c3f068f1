/* Replies of the Redis protocol, appended to a buffer. A type that RESP2 lacks becomes another:
 * a map an array of names and values, a boolean 1 or 0. */
#ifndef SL_WIRE_RESP_PRINT_H
#define SL_WIRE_RESP_PRINT_H

#include "base/buffer.h"

enum sl_resp_form { SL_RESP2 = 2, SL_RESP3 = 3 };

struct sl_resp_out {
    struct sl_buffer *bytes;
    enum sl_resp_form form;
};

void sl_resp_print_integer(struct sl_resp_out out, int64_t number);
void sl_resp_print_bulk(struct sl_resp_out out, struct sluice_text text);
void sl_resp_print_bool(struct sl_resp_out out, bool value);
void sl_resp_print_null(struct sl_resp_out out);

/* A constant word, such as OK. */
void sl_resp_print_simple(struct sl_resp_out out, struct sluice_text text);

/* `code` is the first word, such as "ERR". The text may hold any bytes: control characters become
 * spaces. */
void sl_resp_print_error(struct sl_resp_out out, const char *code, struct sluice_text text);

/* Text for people. */
void sl_resp_print_verbatim(struct sl_resp_out out, struct sluice_text text);

/* The heads of values: the caller prints that many values, or pairs of name and value, next. */
void sl_resp_print_array(struct sl_resp_out out, size_t count);
void sl_resp_print_set(struct sl_resp_out out, size_t count);
void sl_resp_print_map(struct sl_resp_out out, size_t pairs);

/* A decision, with the names and the order of its JSON. `rows` may be NULL: no `rules`.
 * decision.c */
void sl_resp_print_decision(struct sl_resp_out out, const struct sluice_decision *decision,
                            const struct sluice_explained *rows, size_t row_count);

#endif
