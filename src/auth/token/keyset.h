/* The keys that tokens are checked with: read from files once, then immutable and
 * shared by all threads. docs/identity.md lists the keys that are refused. */
#ifndef SL_AUTH_TOKEN_KEYSET_H
#define SL_AUTH_TOKEN_KEYSET_H

#include "rules/ruleset.h"

struct sl_keyset;

/* Reads the files that `identity->jwt` (which is on) names; the settings must outlive the
 * set. Returns NULL with error->text, which names the file and never its content. */
struct sl_keyset *sl_keyset_load(const struct sl_identity *identity, struct sluice_error *error);
void sl_keyset_free(struct sl_keyset *set);

#endif
