/* What other files than the rules say: certificate, keys of tokens, tokens. Read when the
 * rules are; the editions that the API makes until then share them. */
#ifndef SL_SERVER_EDITION_FILES_H
#define SL_SERVER_EDITION_FILES_H

#include <stdatomic.h>

#include "auth/access.h"
#include "auth/token/keyset.h"
#include "base/tls/tls.h"
#include "server/edition/file_watch.h"

struct sl_files {
    _Atomic uint32_t holders;
    struct sl_tls *tls;       /* NULL: no listener speaks it */
    struct sl_keyset *keyset; /* NULL: no JSON Web Tokens */
    struct sl_tokens tokens;
    /* The settings that the keys were read by. They outlive the rules they came with. */
    struct sl_ruleset *settings_of;
};

/* Held once. NULL: no memory. Filled in by whoever reads them. */
struct sl_files *sl_files_new(void);
struct sl_files *sl_files_keep(struct sl_files *files);
void sl_files_drop(struct sl_files *files);

struct sl_files_config {
    bool speaks_tls;
    const struct sl_files *old; /* whose certificate stays where the rules name none; or NULL */
    struct sl_sha256 *hasher;
};

/* Reads what these settings name, and takes the rules they are of over, also if it fails.
 * Held once. NULL: error->text. */
struct sl_files *sl_files_load(struct sl_ruleset *rules, const struct sl_files_config *config,
                               struct sluice_error *error);

/* Adds them all to those that are watched. */
void sl_files_watch(const struct sl_settings *settings, bool speaks_tls, struct sl_watch *watch);

#endif
