/* Reading the files that the rules name: see files.h. */
#include "server/edition/files.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

struct sl_files *sl_files_new(void)
{
    struct sl_files *files = calloc(1, sizeof *files);
    if (files)
        files->holders = 1;
    return files;
}

struct sl_files *sl_files_keep(struct sl_files *files)
{
    atomic_fetch_add(&files->holders, 1);
    return files;
}

void sl_files_drop(struct sl_files *files)
{
    if (!files || atomic_fetch_sub(&files->holders, 1) != 1)
        return;
    if (files->tls)
        sl_tls_drop(files->tls);
    sl_keyset_free(files->keyset);
    sl_ruleset_free(files->settings_of);
    free(files);
}

/* ---- reading ---- */

/* Reads the certificate; keeps the old one where the rules name none any more. */
static bool load_tls(struct sl_files *files, const struct sl_files_config *config,
                     struct sluice_error *error)
{
    const struct sl_settings *settings = &files->settings_of->settings;
    if (!config->speaks_tls)
        return true;
    if (!settings->tls.certificate && config->old) {
        files->tls = sl_tls_keep(config->old->tls);
        return true;
    }
    files->tls =
        sl_tls_new(settings->tls.certificate, settings->tls.key, settings->tls.client_ca, error);
    if (files->tls && *error->text) {
        fprintf(stderr, "sluice: note: %s\n", error->text);
        *error->text = '\0';
    }
    return files->tls;
}

static bool load_secrets(struct sl_files *files, const struct sl_files_config *config,
                         struct sluice_error *error)
{
    const struct sl_settings *settings = &files->settings_of->settings;
    if (!sl_tokens_load(settings, config->hasher, &files->tokens, error))
        return false;
    if (!settings->identity.jwt.on)
        return true;
    files->keyset = sl_keyset_load(&settings->identity, error);
    return files->keyset;
}

struct sl_files *sl_files_load(struct sl_ruleset *rules, const struct sl_files_config *config,
                               struct sluice_error *error)
{
    struct sl_files *files = sl_files_new();
    if (!files) {
        sl_ruleset_free(rules);
        sl_error_say(error, "out of memory");
        return NULL;
    }
    files->settings_of = rules;
    if (load_tls(files, config, error) && load_secrets(files, config, error))
        return files;
    sl_files_drop(files);
    return NULL;
}

/* ---- watching ---- */

void sl_files_watch(const struct sl_settings *settings, bool speaks_tls, struct sl_watch *watch)
{
    const struct sl_identity *identity = &settings->identity;
    if (speaks_tls) {
        sl_watch_add(watch, settings->tls.certificate);
        sl_watch_add(watch, settings->tls.key);
        sl_watch_add(watch, settings->tls.client_ca);
    }
    sl_watch_add(watch, settings->admin.token_file);
    sl_watch_add(watch, settings->admin.readonly_token_file);
    sl_watch_add(watch, identity->jwt.jwks_file);
    for (size_t i = 0; i < identity->jwt.key_count; i++) {
        sl_watch_add(watch, identity->jwt.keys[i].secret_file);
        sl_watch_add(watch, identity->jwt.keys[i].pem_file);
    }
}
