/* Roles, tokens and API keys: which requests may do what. Immutable, a part of an edition.
 *
 * Tokens and keys themselves are not stored, only digests; those are compared in constant time. */
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

/* Reads them. Returns false with error->text, which has no byte of a token in it. */
bool sl_tokens_load(const struct sl_settings *settings, struct sl_sha256 *hasher,
                    struct sl_tokens *out, struct sluice_error *error);

/* Returns the role of the token; an unknown token has none. */
enum sl_role sl_tokens_role(const struct sl_tokens *tokens, const struct sl_digest *token);

/* API keys, each with the tenant that owns it. */
struct sl_keyring;

struct sl_key_owner {
    struct sluice_text tenant;
    struct sluice_text tier; /* the key's own tier, else the tenant's; null `at`: none */
};

/* Copies the texts that it needs. Returns NULL if there is no memory. */
struct sl_keyring *sl_keyring_new(const struct sl_tenant *tenants, size_t count);
void sl_keyring_free(struct sl_keyring *ring);
bool sl_keyring_has_tenants(const struct sl_keyring *ring);
const struct sl_key_owner *sl_keyring_find(const struct sl_keyring *ring,
                                           const struct sl_digest *key);

#endif
