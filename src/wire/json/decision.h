/* A decision as JSON, for every protocol that speaks it. */
#ifndef SL_WIRE_JSON_DECISION_H
#define SL_WIRE_JSON_DECISION_H

#include "base/buffer.h"

/* Appends the object, without a newline. `rows` may be NULL: no `rules`. */
void sl_json_print_decision(struct sl_buffer *out, const struct sluice_decision *decision,
                            const struct sluice_explained *rows, size_t row_count);

/* Appends text as a JSON string, quotes included: on one line and valid whatever is in it. Controls
 * are escaped, bytes that are no UTF-8 become U+FFFD. */
void sl_json_print_string(struct sl_buffer *out, struct sluice_text text);

/* The name people see, as in "rate_limit_exceeded". */
const char *sl_reason_name(enum sluice_reason reason);

/* Whole seconds, rounded up; -1 stays -1. */
int64_t sl_whole_seconds(int64_t us);

struct sl_explained_rows {
    const struct sluice_explained *at; /* NULL: it is not explained */
    size_t count;
};

/* A decision's status, and its JSON with `error` where it is a denial. `before` are
 * members that come first, as in `{"a": 1,`; or nothing. */
uint32_t sl_decision_status(const struct sluice_decision *decision);
void sl_denial_print(struct sl_buffer *out, struct sluice_text before,
                     const struct sluice_decision *decision, struct sl_explained_rows rows);

#endif
