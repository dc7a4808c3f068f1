/* Loading keys from files.
 *
 * A file is read whole, and then understood here rather than by OpenSSL's readers of
 * PEM, which accept anything useful they find: a private key for its public half, the
 * first of several keys, a certificate. A file that is not exactly one public key is refused,
 * with a sentence that names the file and the cure, and never its content. */
#include "auth/token/keyset_internal.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "auth/token/claims.h"
#include "auth/token/jwk.h"
#include "base/check.h"
#include "base/error.h"
#include "base/file.h"

enum { KEY_FILE_MAX_BYTES = 64 << 10, JWKS_MAX_BYTES = 1 << 20 };

/* A file while it is read. */
struct source {
    const char *setting, *path;
    struct sluice_error *error;
};

#define SAY(source, words)                                                                         \
    sl_error_say((source)->error, "%s: `%s` %s", (source)->setting, (source)->path, words)

static const char *cure_for(int code)
{
    switch (code) {
    case ENOENT:
    case ENOTDIR:
        return "name a file that is there";
    case EACCES:
        return "let the user that the server runs as read it";
    case EFBIG:
        return "leave in it what is needed to check tokens";
    default:
        return "name a file with a key";
    }
}

static bool read_file(const struct source *source, size_t most_bytes, struct sl_buffer *out)
{
    *out = sl_buffer(most_bytes);
    int code = sl_file_read(source->path, out);
    return code == 0 || sl_error_say(source->error, "%s: `%s` cannot be read: %s; %s",
                                     source->setting, source->path, strerror(code), cure_for(code));
}

static void wipe_and_free(struct sl_buffer *bytes)
{
    if (bytes->at)
        OPENSSL_cleanse(bytes->at, bytes->len);
    sl_buffer_release(bytes);
}

static struct sluice_text buffer_text(const struct sl_buffer *bytes)
{
    return (struct sluice_text){ bytes->at ? bytes->at : "", bytes->len };
}

/* ---- secrets ----------------------------------------------------------------------- */

/* Editors and `echo` end a file with a newline that is not part of the secret. */
static struct sluice_text without_newline(struct sluice_text text)
{
    if (text.len && text.at[text.len - 1] == '\n')
        text.len--;
    return text;
}

static bool use_secret(struct sl_arena *arena, const struct source *source,
                       struct sluice_text secret, struct sl_token_key *key)
{
    const char *wrong;
    key->algorithms = sl_secret_algorithms(secret, &wrong);
    if (!key->algorithms)
        return SAY(source, wrong);
    key->secret = (struct sluice_text){ sl_arena_copy(arena, secret), secret.len };
    return true;
}

static bool read_secret(struct sl_arena *arena, const struct source *source,
                        struct sl_token_key *key)
{
    struct sl_buffer bytes;
    bool good = read_file(source, KEY_FILE_MAX_BYTES, &bytes) &&
                use_secret(arena, source, without_newline(buffer_text(&bytes)), key);
    wipe_and_free(&bytes);
    return good;
}

/* ---- PEM --------------------------------------------------------------------------- */

/* The fault of a block of a PEM file, by the block's name. NULL: it is the public key. */
static const char *wrong_block(const char *name)
{
    if (strstr(name, "PRIVATE KEY"))
        return "holds a private key, which does not belong here; "
               "`openssl pkey -in FILE -pubout` writes its public key";
    if (strcmp(name, PEM_STRING_RSA_PUBLIC) == 0)
        return "holds a key in PKCS #1; "
               "`openssl rsa -RSAPublicKey_in -in FILE -pubout` writes it as PUBLIC KEY";
    if (strstr(name, "CERTIFICATE"))
        return "holds a certificate; `openssl x509 -in FILE -pubkey -noout` writes its public key";
    if (strcmp(name, PEM_STRING_PUBLIC) != 0)
        return "holds something else than a public key (-----BEGIN PUBLIC KEY-----)";
    return NULL;
}

static bool use_block(const struct source *source, const char *name, struct sluice_text der,
                      struct sl_token_key *key)
{
    const char *wrong = wrong_block(name);
    if (!wrong && key->public)
        wrong = "holds two public keys; name each in a file of its own";
    if (wrong)
        return SAY(source, wrong);
    const unsigned char *at = (const unsigned char *)der.at;
    key->public = d2i_PUBKEY(NULL, &at, (long)der.len);
    if (!key->public || at != (const unsigned char *)der.at + der.len)
        return SAY(source, "holds a public key that is damaged; copy it again");
    return true;
}

/* Reads the next block, if there is one; text between blocks is passed over. */
static bool read_block(const struct source *source, BIO *bio, struct sl_token_key *key,
                       bool *there_was)
{
    char *name = NULL, *header = NULL;
    unsigned char *der = NULL;
    long len = 0;
    ERR_clear_error();
    *there_was = PEM_read_bio(bio, &name, &header, &der, &len) == 1;
    if (!*there_was) {
        unsigned long last = ERR_peek_last_error();
        return (ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE) ||
               SAY(source, "is damaged PEM; copy it again");
    }
    bool good = use_block(source, name, (struct sluice_text){ (char *)der, (size_t)len }, key);
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(der, (size_t)len);
    return good;
}

static bool read_blocks(const struct source *source, BIO *bio, struct sl_token_key *key)
{
    for (bool there_was = true; there_was;)
        if (!read_block(source, bio, key, &there_was))
            return false;
    return key->public ||
           SAY(source, "holds no public key in PEM (-----BEGIN PUBLIC KEY-----); one in DER is "
                       "turned into PEM by `openssl pkey -pubin -inform der -in FILE`");
}

static bool read_pem(const struct source *source, uint32_t algorithms, struct sl_token_key *key)
{
    struct sl_buffer bytes;
    const char *wrong;
    bool good = read_file(source, KEY_FILE_MAX_BYTES, &bytes);
    BIO *bio = good ? BIO_new_mem_buf(buffer_text(&bytes).at, (int)bytes.len) : NULL;
    if (good && !bio)
        good = SAY(source, "cannot be read: there is no memory");
    good = good && read_blocks(source, bio, key);
    BIO_free(bio);
    wipe_and_free(&bytes);
    if (!good)
        return false;
    key->algorithms = sl_public_key_algorithms(key->public, &wrong);
    if (!key->algorithms)
        return SAY(source, wrong);
    key->algorithms &= algorithms;
    return key->algorithms ||
           SAY(source, "is a key that none of identity.jwt.algorithms takes; name one that does "
                       "(RS256 or PS256 for RSA, ES256 for P-256, EdDSA for Ed25519)");
}

/* ---- sets -------------------------------------------------------------------------- */

static struct sl_keyset *new_set(const struct sl_identity *identity, size_t keys,
                                 struct sluice_error *error)
{
    struct sl_keyset *set = calloc(1, sizeof *set);
    if (!set) {
        sl_error_say(error, "identity.jwt: there is no memory for its keys");
        return NULL;
    }
    set->identity = identity;
    set->keys = sl_arena_take(&set->arena, (keys + 1) * sizeof *set->keys);
    return set;
}

static bool read_key(struct sl_keyset *set, const struct sl_jwt_key *from,
                     struct sluice_error *error)
{
    struct sl_token_key *key = &set->keys[set->count++]; /* released with the set, good or not */
    key->kid = sl_text(from->kid);
    struct source source = { "identity.jwt.keys", NULL, error };
    source.path = from->secret_file ? from->secret_file : from->pem_file;
    return from->secret_file ? read_secret(&set->arena, &source, key)
                             : read_pem(&source, set->identity->jwt.algorithms, key);
}

static struct sl_keyset *load_keys(const struct sl_identity *identity, struct sluice_error *error)
{
    struct sl_keyset *set = new_set(identity, identity->jwt.key_count, error);
    for (size_t i = 0; set && i < identity->jwt.key_count; i++) {
        if (read_key(set, &identity->jwt.keys[i], error))
            continue;
        sl_keyset_free(set);
        set = NULL;
    }
    return set;
}

static bool is_kid_taken(const struct sl_keyset *set, struct sluice_text kid)
{
    for (size_t i = 0; kid.at && i < set->count; i++)
        if (set->keys[i].kid.at && sl_text_equal(set->keys[i].kid, kid))
            return true;
    return false;
}

static bool add_jwk(struct sl_keyset *set, const struct source *source, const json_t *keys,
                    size_t i)
{
    struct sl_token_key key = { 0 };
    const char *wrong =
        sl_jwk_read(&set->arena, json_array_get(keys, i), set->identity->jwt.algorithms, &key);
    if (!wrong && key.algorithms == 0)
        return true;
    if (!wrong && is_kid_taken(set, key.kid))
        wrong = "has the `kid` of another key already; give each its own";
    if (wrong) {
        sl_token_key_release(&key);
        return sl_error_say(source->error, "%s: key %zu in `%s` %s", source->setting, i + 1,
                            source->path, wrong);
    }
    set->keys[set->count++] = key;
    return true;
}

static bool add_jwks(struct sl_keyset *set, const struct source *source, const json_t *keys)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (!add_jwk(set, source, keys, i))
            return false;
    return set->count > 0 ||
           SAY(source, "holds no key that can be used; add one of identity.jwt.algorithms whose "
                       "`use` is sig");
}

static const char *wrong_json(enum sl_strict_wrong wrong)
{
    switch (wrong) {
    case SL_STRICT_NO_MEMORY:
        return "cannot be read: there is no memory";
    case SL_STRICT_TWICE:
        return "has an object with a member twice; leave one of them in";
    case SL_STRICT_TOO_DEEP:
        return "is nested deeper than 8, and no JSON Web Key Set";
    default:
        return "is no JSON Web Key Set: an object such as {\"keys\": [...]}, in JSON";
    }
}

struct sl_keyset *sl_keyset_of_jwks(const struct sl_identity *identity, const char *name,
                                    struct sluice_text json, struct sluice_error *error)
{
    struct source source = { "identity.jwt.jwks_file", name, error };
    enum sl_strict_wrong wrong = SL_STRICT_NOT_JSON;
    struct sl_keyset *set = NULL;
    json_t *root = sl_strict_json(json, &wrong);
    const json_t *keys = json_object_get(root, "keys");
    if (!root || !json_is_array(keys))
        SAY(&source, wrong_json(root ? SL_STRICT_NOT_JSON : wrong));
    else if (json_array_size(keys) > SL_KEYS_MAX)
        SAY(&source, "holds more than 100 keys; leave in it what tokens are checked with");
    else
        set = new_set(identity, json_array_size(keys), error);
    if (set && !add_jwks(set, &source, keys)) {
        sl_keyset_free(set);
        set = NULL;
    }
    json_decref(root);
    ERR_clear_error();
    return set;
}

static struct sl_keyset *load_jwks_file(const struct sl_identity *identity,
                                        struct sluice_error *error)
{
    struct source source = { "identity.jwt.jwks_file", identity->jwt.jwks_file, error };
    struct sl_keyset *set = NULL;
    struct sl_buffer bytes;
    if (read_file(&source, JWKS_MAX_BYTES, &bytes))
        set = sl_keyset_of_jwks(identity, source.path, buffer_text(&bytes), error);
    wipe_and_free(&bytes);
    return set;
}

struct sl_keyset *sl_keyset_load(const struct sl_identity *identity, struct sluice_error *error)
{
    SL_CHECK(identity->jwt.on && identity->jwt.key_count <= SL_KEYS_MAX);
    if (identity->jwt.claim_count > SL_CLAIMS_MAX) {
        sl_error_say(error, "identity.jwt.claims: there are %zu; at most %d can be used",
                     identity->jwt.claim_count, SL_CLAIMS_MAX);
        return NULL;
    }
    struct sl_keyset *set =
        identity->jwt.jwks_file ? load_jwks_file(identity, error) : load_keys(identity, error);
    ERR_clear_error();
    return set;
}

void sl_keyset_free(struct sl_keyset *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        sl_token_key_release(&set->keys[i]);
    sl_arena_release(&set->arena);
    free(set);
}
