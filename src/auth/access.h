/* Who may do what: roles, tokens and API keys. Immutable, a part of an edition.
 *
 * No token or key is kept, only digests; those are compared in constant time. */
#ifndef SL_AUTH_ACCESS_H
#define SL_AUTH_ACCESS_H

#include "base/sha256.h"
#include "registry/registry.h"
#include "rules/ruleset.h"

enum sl_role { SL_ROLE_NOBODY, SL_ROLE_TENANT, SL_ROLE_READER, SL_ROLE_ADMIN };

/* The tokens that `admin` names. */
struct sl_tokens {
    bool has_admin;
    struct sl_digest admin[2]; /* of the file and of the environment */
    size_t admin_count;
    bool has_reader;
    struct sl_digest reader;
};

/* Reads them. False: error->text, without a byte of them. */
bool sl_tokens_load(const struct sl_settings *settings, struct sl_sha256 *hasher,
                    struct sl_tokens *out, struct sluice_error *error);

/* NOBODY: it is none of them. */
enum sl_role sl_tokens_role(const struct sl_tokens *tokens, const struct sl_digest *token);

/* Whose an API key is. */
struct sl_keyring;

struct sl_key_owner {
    struct sluice_text tenant;
    struct sluice_text tier; /* the key's own, else the tenant's; null `at`: none */
};

/* Copies what it needs. NULL: no memory. */
struct sl_keyring *sl_keyring_new(const struct sl_tenant *tenants, size_t count);
void sl_keyring_free(struct sl_keyring *ring);
bool sl_keyring_has_tenants(const struct sl_keyring *ring);
const struct sl_key_owner *sl_keyring_find(const struct sl_keyring *ring,
                                           const struct sl_digest *key);

#endif
