/* Replies of the Redis protocol, appended to bytes. What RESP2 has no type for is told in
 * another: a map as an array of names and values, a boolean as 1 or 0. */
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

/* A word of ours, such as OK. */
void sl_resp_print_simple(struct sl_resp_out out, struct sluice_text text);

/* `code` is its first word, such as "ERR". The text may hold anything: it stays on its line. */
void sl_resp_print_error(struct sl_resp_out out, const char *code, struct sluice_text text);

/* Text for people. */
void sl_resp_print_verbatim(struct sl_resp_out out, struct sluice_text text);

/* That many values follow, or pairs of name and value. */
void sl_resp_print_array(struct sl_resp_out out, size_t count);
void sl_resp_print_set(struct sl_resp_out out, size_t count);
void sl_resp_print_map(struct sl_resp_out out, size_t pairs);

/* A decision: the members of its JSON under the same names, in the same order. `rows` may be
 * NULL: no `rules`. decision.c */
void sl_resp_print_decision(struct sl_resp_out out, const struct sluice_decision *decision,
                            const struct sluice_explained *rows, size_t row_count);

#endif
