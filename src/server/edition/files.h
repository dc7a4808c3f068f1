/* The files that the rules name: certificate, keys of tokens, admin tokens. They are read together
 * with the rules; editions that the API makes until the next reload share them. */
#ifndef SL_SERVER_EDITION_FILES_H
#define SL_SERVER_EDITION_FILES_H

#include <stdatomic.h>

#include "auth/access.h"
#include "auth/token/keyset.h"
#include "base/tls/tls.h"
#include "server/edition/file_watch.h"

struct sl_files {
    _Atomic uint32_t holders;
    struct sl_tls *tls;       /* NULL: no listener has TLS */
    struct sl_keyset *keyset; /* NULL: no JSON Web Tokens */
    struct sl_tokens tokens;
    /* The settings that the keys were read by. They outlive the rules that they came with. */
    struct sl_ruleset *settings_of;
};

/* Empty, with one reference, to be filled in by its reader. NULL: no memory. */
struct sl_files *sl_files_new(void);
struct sl_files *sl_files_keep(struct sl_files *files);
void sl_files_drop(struct sl_files *files);

struct sl_files_config {
    bool speaks_tls;
    const struct sl_files *old; /* its certificate stays where the rules name none; or NULL */
    struct sl_sha256 *hasher;
};

/* Reads the files that the rules' settings name. Takes over the rules, also if it fails. One
 * reference is held. NULL: see error->text. */
struct sl_files *sl_files_load(struct sl_ruleset *rules, const struct sl_files_config *config,
                               struct sluice_error *error);

/* Adds all of them to the watched files. */
void sl_files_watch(const struct sl_settings *settings, bool speaks_tls, struct sl_watch *watch);

#endif
