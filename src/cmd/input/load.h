/* Files the commands share: a rules file read whole, and what it names. */
#ifndef SL_CMD_INPUT_LOAD_H
#define SL_CMD_INPUT_LOAD_H

#include "base/buffer.h"
#include "rules/ruleset.h"
#include "rules/tree/tree.h"
#include "store/store.h"

/* Reads a rules file to the end, into a buffer of SL_RULES_FILE_MAX_BYTES. False
 * after saying why it cannot be read. */
bool sl_load_file(const char *path, struct sl_buffer *out);

/* The same; false: in *report. */
bool sl_load_text(const char *path, struct sl_buffer *out, struct sl_report *report);

/* The rules, or NULL after every problem went to standard error. */
struct sl_ruleset *sl_load_rules(const char *path);

/* Opens the store that `url` names, for these rules; NULL after saying why not. */
struct sl_store *sl_load_store(const struct sl_store_url *url, const struct sl_ruleset *rules);

/* Why the store failed, and where to look. Said once, however often it does. */
void sl_say_store_failed(const struct sl_store_url *url, struct sl_store *store, int status);

#endif
