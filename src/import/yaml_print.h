/* YAML that rules/tree/tree.h reads, and people too. */
#ifndef SL_IMPORT_YAML_PRINT_H
#define SL_IMPORT_YAML_PRINT_H

#include "base/buffer.h"
#include "rules/ruleset.h"

/* Can a text of a rules file be this? Not with control characters. */
bool sl_yaml_can_say(struct sluice_text text);

/* A text that can be said: as it is where nobody takes that for anything else, or in quotes. */
void sl_yaml_text(struct sl_buffer *out, struct sluice_text text);

/* `key: text`, or `key: [text, text]` over as many lines as it takes, each behind `indent`. */
void sl_yaml_texts(struct sl_buffer *out, const char *key, const struct sl_texts *texts,
                   size_t indent);

/* Any text, on the line of a comment. */
void sl_yaml_comment(struct sl_buffer *out, struct sluice_text text);

#endif
