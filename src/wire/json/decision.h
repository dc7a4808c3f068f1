/* Decisions as JSON, for every protocol that answers in JSON. */
#ifndef SL_WIRE_JSON_DECISION_H
#define SL_WIRE_JSON_DECISION_H

#include "base/buffer.h"

/* Appends the object, without a newline. `rows` may be NULL: no `rules`. */
void sl_json_print_decision(struct sl_buffer *out, const struct sluice_decision *decision,
                            const struct sluice_explained *rows, size_t row_count);

/* Appends text as a JSON string with its quotes: one line, and valid for any bytes. Controls are
 * escaped, bytes that are no UTF-8 become U+FFFD. */
void sl_json_print_string(struct sl_buffer *out, struct sluice_text text);

/* Returns the name that users see, such as "rate_limit_exceeded". */
const char *sl_reason_name(enum sluice_reason reason);

/* Rounds up to whole seconds; -1 stays -1. */
int64_t sl_whole_seconds(int64_t us);

struct sl_explained_rows {
    const struct sluice_explained *at; /* NULL: no explanation */
    size_t count;
};

/* The HTTP status of a decision; and its JSON, with `error` if it is a denial. `before` is empty,
 * or the start of the object with its first members, such as `{"a": 1,`. */
uint32_t sl_decision_status(const struct sluice_decision *decision);
void sl_denial_print(struct sl_buffer *out, struct sluice_text before,
                     const struct sluice_decision *decision, struct sl_explained_rows rows);

#endif
