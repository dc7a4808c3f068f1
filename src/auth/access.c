/* Loading admin tokens, and looking up API keys.
 *
 * Keys are looked up by the digest's first bytes in an open table. That lookup need not take
 * constant time: to come close to a digest, a client would have to find a key that hashes
 * close to another's. */
#include "auth/access.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

enum { TOKEN_MIN_BYTES = 16, TOKEN_FILE_MAX_BYTES = 4096 };

/* ---- tokens ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct sluice_text trim_blanks(struct sluice_text text)
{
    while (text.len && is_blank(text.at[0]))
        text.at++, text.len--;
    while (text.len && is_blank(text.at[text.len - 1]))
        text.len--;
    return text;
}

/* Accepts a token that a client can send behind `Bearer `, and that is not short by accident. */
static bool digest_token(struct sluice_text text, const char *where, struct sl_sha256 *hasher,
                         struct sl_digest *out, struct sluice_error *error)
{
    struct sluice_text token = trim_blanks(text);
    if (token.len < TOKEN_MIN_BYTES)
        return sl_error_say(error,
                            "the token in %s is too short: at least %d bytes, such as `openssl "
                            "rand -hex 32` prints",
                            where, TOKEN_MIN_BYTES);
    for (size_t i = 0; i < token.len; i++)
        if (token.at[i] <= ' ' || token.at[i] > '~')
            return sl_error_say(error,
                                "the token in %s has a byte that cannot be sent in a header; use "
                                "letters and digits",
                                where);
    sl_sha256_of(hasher, token, out);
    return true;
}

static bool load_file(const char *path, struct sl_sha256 *hasher, struct sl_digest *out,
                      struct sluice_error *error)
{
    struct sl_buffer text = sl_buffer(TOKEN_FILE_MAX_BYTES);
    char where[512];
    snprintf(where, sizeof where, "`%s`", path);
    int wrong = sl_file_read(path, &text);
    bool good = wrong == 0 ? digest_token((struct sluice_text){ text.at, text.len }, where, hasher,
                                          out, error)
                           : sl_error_say(error, "cannot read the token in %s: %s", where,
                                          wrong == EFBIG ? "it is too large" : strerror(wrong));
    if (text.at)
        explicit_bzero(text.at, text.room);
    sl_buffer_release(&text);
    return good;
}

static bool load_variable(const char *name, struct sl_sha256 *hasher, struct sl_digest *out,
                          struct sluice_error *error)
{
    char where[512];
    const char *value = getenv(name);
    if (!value)
        return sl_error_say(error, "`admin.token_env`: there is no environment variable `%s`",
                            name);
    snprintf(where, sizeof where, "the environment variable `%s`", name);
    return digest_token(sl_text(value), where, hasher, out, error);
}

bool sl_tokens_load(const struct sl_settings *settings, struct sl_sha256 *hasher,
                    struct sl_tokens *out, struct sluice_error *error)
{
    struct sl_tokens tokens = { 0 };
    const char *file = settings->admin.token_file, *variable = settings->admin.token_env;
    const char *reader = settings->admin.readonly_token_file;
    if (file && !load_file(file, hasher, &tokens.admin[tokens.admin_count++], error))
        return false;
    if (variable && !load_variable(variable, hasher, &tokens.admin[tokens.admin_count++], error))
        return false;
    if (reader && !load_file(reader, hasher, &tokens.reader, error))
        return false;
    tokens.has_admin = tokens.admin_count > 0;
    tokens.has_reader = reader;
    *out = tokens;
    return true;
}

enum sl_role sl_tokens_role(const struct sl_tokens *tokens, const struct sl_digest *token)
{
    bool is_admin = false;
    for (size_t i = 0; i < tokens->admin_count; i++)
        is_admin |= sl_digest_equal(&tokens->admin[i], token);
    if (is_admin)
        return SL_ROLE_ADMIN;
    bool is_reader = tokens->has_reader && sl_digest_equal(&tokens->reader, token);
    return is_reader ? SL_ROLE_READER : SL_ROLE_NOBODY;
}

/* ---- keys ---- */

struct key_entry {
    struct sl_digest key;
    struct sl_key_owner owner; /* a null tenant: the entry is free */
};

struct sl_keyring {
    struct sl_arena arena;
    struct key_entry *entries;
    size_t mask;
    bool has_tenants;
};

static size_t find_place(const struct sl_keyring *ring, const struct sl_digest *key)
{
    uint64_t bits;
    memcpy(&bits, key->byte, sizeof bits);
    return bits & ring->mask;
}

static struct sluice_text copy_text(struct sl_arena *arena, const char *text)
{
    return text ? sl_text(sl_arena_copy(arena, sl_text(text))) : (struct sluice_text){ 0 };
}

static void add_key(struct sl_keyring *ring, const struct sl_tenant *tenant, size_t number)
{
    const struct sl_tenant_key *key = &tenant->keys[number];
    size_t place = find_place(ring, &key->digest);
    while (ring->entries[place].owner.tenant.at)
        place = (place + 1) & ring->mask;
    ring->entries[place].key = key->digest;
    ring->entries[place].owner.tenant = copy_text(&ring->arena, tenant->name);
    ring->entries[place].owner.tier = copy_text(&ring->arena, key->tier ? key->tier : tenant->tier);
}

struct sl_keyring *sl_keyring_new(const struct sl_tenant *tenants, size_t count)
{
    struct sl_keyring *ring = calloc(1, sizeof *ring);
    size_t keys = 0, room = 2;
    if (!ring)
        return NULL;
    for (size_t i = 0; i < count; i++)
        keys += tenants[i].key_count;
    while (room < 2 * keys)
        room *= 2;
    ring->mask = room - 1;
    ring->has_tenants = count > 0;
    ring->entries = sl_arena_take(&ring->arena, room * sizeof *ring->entries);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < tenants[i].key_count; j++)
            add_key(ring, &tenants[i], j);
    return ring;
}

void sl_keyring_free(struct sl_keyring *ring)
{
    if (!ring)
        return;
    sl_arena_release(&ring->arena);
    free(ring);
}

bool sl_keyring_has_tenants(const struct sl_keyring *ring)
{
    return ring->has_tenants;
}

const struct sl_key_owner *sl_keyring_find(const struct sl_keyring *ring,
                                           const struct sl_digest *key)
{
    size_t place = find_place(ring, key);
    for (; ring->entries[place].owner.tenant.at; place = (place + 1) & ring->mask)
        if (sl_digest_equal(&ring->entries[place].key, key))
            return &ring->entries[place].owner;
    return NULL;
}
