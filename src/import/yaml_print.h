/* Printing YAML that rules/tree/tree.h reads, and that people can read. */
#ifndef SL_IMPORT_YAML_PRINT_H
#define SL_IMPORT_YAML_PRINT_H

#include "base/buffer.h"
#include "rules/ruleset.h"

/* Returns true if a rules file can have this text: it has no control characters. */
bool sl_yaml_can_say(struct sluice_text text);

/* Prints such a text: plain where no parser takes that for anything else, or in quotes. */
void sl_yaml_text(struct sl_buffer *out, struct sluice_text text);

/* Prints `key: text`, or `key: [text, text]` over as many lines as it needs, each behind `indent`.
 */
void sl_yaml_texts(struct sl_buffer *out, const char *key, const struct sl_texts *texts,
                   size_t indent);

/* Prints any text, on the line of a comment. */
void sl_yaml_comment(struct sl_buffer *out, struct sluice_text text);

#endif
