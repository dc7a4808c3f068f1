/* Loading for several commands: a rules file, and the store that it names. */
#ifndef SL_CMD_INPUT_LOAD_H
#define SL_CMD_INPUT_LOAD_H

#include "base/buffer.h"
#include "rules/ruleset.h"
#include "rules/tree/tree.h"
#include "store/store.h"

/* Reads a rules file to the end, into a buffer of SL_RULES_FILE_MAX_BYTES. Returns
 * false, with a message, if it cannot be read. */
bool sl_load_file(const char *path, struct sl_buffer *out);

/* The same, with the message in *report. */
bool sl_load_text(const char *path, struct sl_buffer *out, struct sl_report *report);

/* Returns the rules, or NULL with every problem on standard error. */
struct sl_ruleset *sl_load_rules(const char *path);

/* Opens the store that `url` names, for these rules. Returns NULL with a message. */
struct sl_store *sl_load_store(const struct sl_store_url *url, const struct sl_ruleset *rules);

/* Prints why the store failed, and where to look. Call it once, however often it fails. */
void sl_say_store_failed(const struct sl_store_url *url, struct sl_store *store, int status);

#endif
