/* What sl_keyset_load says about the files it is to read. */
#include "auth/token/keyset_internal.h"

#include "auth/token/claims.h"
#include "unit/auth/token/minting.h"

#define ALL    (BIT(HS256) | BIT(RS256) | BIT(PS256) | BIT(ES256) | BIT(EdDSA))
#define PUBLIC (ALL & ~BIT(HS256))

static struct sluice_error error;

static struct sl_keyset *load(const struct sl_identity *identity)
{
    strcpy(error.text, "as it was");
    struct sl_keyset *set = sl_keyset_load(identity, &error);
    assert_int_equal(ERR_peek_error(), 0);
    return set;
}

static struct sl_keyset *load_key(uint32_t algorithms, struct sl_jwt_key key)
{
    static struct sl_jwt_key keys[1];
    static struct sl_identity identity; /* must outlive the set */
    keys[0] = key;
    identity = (struct sl_identity){ 0 };
    identity.jwt.on = true;
    identity.jwt.algorithms = algorithms;
    identity.jwt.keys = keys;
    identity.jwt.key_count = 1;
    return load(&identity);
}

static struct sl_keyset *load_jwks(uint32_t algorithms, const char *path_of_it)
{
    static struct sl_identity identity;
    identity = (struct sl_identity){ 0 };
    identity.jwt.on = true;
    identity.jwt.algorithms = algorithms;
    identity.jwt.jwks_file = path_of_it;
    return load(&identity);
}

/* The sentence names setting and file, and says these words. */
static void was_refused(struct sl_keyset *set, const char *setting, const char *name,
                        const char *words)
{
    char quoted[160];
    snprintf(quoted, sizeof quoted, "`%s`", name[0] == '/' ? name : in_folder(name));
    assert_null(set);
    if (strncmp(error.text, setting, strlen(setting)) != 0 || !strstr(error.text, quoted) ||
        !strstr(error.text, words))
        fail_msg("\"%s\" is not of %s, or lacks \"%s\" or \"%s\"", error.text, setting, quoted,
                 words);
}

#define SECRET_REFUSED(name, words)                                                                \
    was_refused(load_key(BIT(HS256), (struct sl_jwt_key){ .secret_file = in_folder(name) }),       \
                "identity.jwt.keys: ", name, words)
#define PEM_REFUSED(name, words)                                                                   \
    was_refused(load_key(PUBLIC, (struct sl_jwt_key){ .pem_file = in_folder(name) }),              \
                "identity.jwt.keys: ", name, words)
#define JWKS_REFUSED(json, words)                                                                  \
    was_refused(load_jwks(ALL, save_text("jwks", json)), "identity.jwt.jwks_file: ", "jwks", words)

static void was_taken(struct sl_keyset *set, size_t count, uint32_t algorithms)
{
    if (!set)
        fail_msg("%s", error.text);
    assert_int_equal(set->count, count);
    assert_int_equal(set->keys[0].algorithms, algorithms);
    sl_keyset_free(set);
}

/* ---- secrets ----------------------------------------------------------------------- */

static void secret_is(const char *bytes, const char *wanted)
{
    struct sl_keyset *set = load_key(
        BIT(HS256), (struct sl_jwt_key){ .secret_file = save_text("secret", bytes), .kid = "s" });
    assert_non_null(set);
    assert_true(sl_text_is(set->keys[0].secret, wanted));
    assert_true(sl_text_is(set->keys[0].kid, "s"));
    was_taken(set, 1, BIT(HS256));
}

IN_A_FOLDER(a_secret_is_the_bytes_of_its_file_but_for_one_newline)
{
    secret_is(SECRET, SECRET);
    secret_is(SECRET "\n", SECRET);
    secret_is(SECRET "\n\n", SECRET "\n");
    secret_is("\n" SECRET " ", "\n" SECRET " ");
}

IN_A_FOLDER(a_bad_secret_is_refused)
{
    save_text("short", "0123456789abcdef0123456789abcde");
    save_text("newline", "0123456789abcdef0123456789abcde\n");
    save_text("empty", "");
    save_public("pem", "w", minted_keys.rsa);
    SECRET_REFUSED("short", "below 32 bytes");
    SECRET_REFUSED("newline", "below 32 bytes");
    SECRET_REFUSED("empty", "below 32 bytes");
    SECRET_REFUSED("pem", "name a public key as `pem_file`");
    SECRET_REFUSED("gone", "cannot be read: No such file or directory; name a file that is there");
    SECRET_REFUSED("", "Is a directory");
    was_refused(load_key(BIT(HS256), (struct sl_jwt_key){ .secret_file = "/dev/zero" }),
                "identity.jwt.keys: ", "/dev/zero", "File too large; leave in it");
}

IN_A_FOLDER(no_error_tells_what_is_in_a_file)
{
    save_text("short", "hunter2");
    SECRET_REFUSED("short", "below 32 bytes");
    assert_null(strstr(error.text, "hunter2"));
    JWKS_REFUSED("{\"keys\":[{\"kty\":\"oct\",\"kid\":\"hunter1\",\"k\":\"hunter2\"}]}",
                 "key 1 in");
    assert_null(strstr(error.text, "hunter"));
    JWKS_REFUSED("hunter2", "no JSON Web Key Set");
    assert_null(strstr(error.text, "hunter"));
}

/* ---- PEM --------------------------------------------------------------------------- */

IN_A_FOLDER(a_public_key_in_pem_is_taken)
{
    struct sl_jwt_key key = { .pem_file = save_public("key", "w", minted_keys.rsa) };
    was_taken(load_key(PUBLIC, key), 1, BIT(RS256) | BIT(PS256));
    was_taken(load_key(BIT(PS256) | BIT(ES256), key), 1, BIT(PS256));
    save_public("key", "w", minted_keys.p256);
    was_taken(load_key(PUBLIC, key), 1, BIT(ES256));
    save_public("key", "w", minted_keys.ed25519);
    was_taken(load_key(PUBLIC, key), 1, BIT(EdDSA));
    save_text("key", "# words before it are passed over\n");
    save_public("key", "a", minted_keys.ed25519);
    was_taken(load_key(PUBLIC, key), 1, BIT(EdDSA));
}

static void save_private(const char *name, EVP_PKEY *key, const char *passphrase)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PKCS8PrivateKey(file, key, passphrase ? EVP_aes_128_cbc() : NULL,
                                               passphrase, passphrase ? (int)strlen(passphrase) : 0,
                                               NULL, NULL),
                     1);
    fclose(file);
}

IN_A_FOLDER(a_private_key_is_refused_in_any_form)
{
    save_private("private", minted_keys.rsa, NULL);
    PEM_REFUSED("private", "holds a private key, which does not belong here");
    PEM_REFUSED("private", "openssl pkey -in FILE -pubout");
    save_private("private", minted_keys.ed25519, NULL);
    PEM_REFUSED("private", "holds a private key");
    save_private("private", minted_keys.p256, "passphrase");
    PEM_REFUSED("private", "holds a private key"); /* and OpenSSL asks for no passphrase */
    FILE *file = fopen(in_folder("old"), "w");
    assert_int_equal(
        PEM_write_PrivateKey_ex(file, minted_keys.p256, NULL, NULL, 0, NULL, NULL, NULL, NULL), 1);
    fclose(file);
    PEM_REFUSED("old", "holds a private key");
    save_private("both", minted_keys.rsa, NULL);
    save_public("both", "a", minted_keys.rsa);
    PEM_REFUSED("both", "holds a private key");
    save_public("after", "w", minted_keys.rsa);
    file = fopen(in_folder("after"), "a");
    PEM_write_PKCS8PrivateKey(file, minted_keys.rsa, NULL, NULL, 0, NULL, NULL);
    fclose(file);
    PEM_REFUSED("after", "holds a private key");
}

IN_A_FOLDER(what_is_not_one_public_key_is_refused)
{
    save_text("empty", "");
    save_text("words", "no key at all\n");
    save_text("damaged", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
    save_text("cut", "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI\n");
    save_text("certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    save_text("pkcs1", "-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----\n");
    save_text("other", "-----BEGIN DH PARAMETERS-----\nAAAA\n-----END DH PARAMETERS-----\n");
    save_public("two", "w", minted_keys.rsa);
    save_public("two", "a", minted_keys.rsa2);
    PEM_REFUSED("empty", "holds no public key in PEM");
    PEM_REFUSED("words", "holds no public key in PEM");
    PEM_REFUSED("damaged", "holds a public key that is damaged");
    PEM_REFUSED("cut", "is damaged PEM");
    PEM_REFUSED("certificate", "openssl x509 -in FILE -pubkey -noout");
    PEM_REFUSED("pkcs1", "openssl rsa -RSAPublicKey_in -in FILE -pubout");
    PEM_REFUSED("other", "holds something else than a public key");
    PEM_REFUSED("two", "holds two public keys");
    PEM_REFUSED("gone", "name a file that is there");
    was_refused(load_key(PUBLIC, (struct sl_jwt_key){ .pem_file = "/dev/zero" }),
                "identity.jwt.keys: ", "/dev/zero", "File too large");
}

IN_A_FOLDER(a_key_of_der_with_more_behind_it_is_refused)
{
    unsigned char *der = NULL;
    int len = i2d_PUBKEY(minted_keys.ed25519, &der);
    char block[200];
    assert_true(len > 0);
    unsigned char longer[100] = { 0 };
    memcpy(longer, der, (size_t)len);
    EVP_EncodeBlock((unsigned char *)block, longer, len + 1);
    char pem[400];
    snprintf(pem, sizeof pem, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", block);
    save_text("longer", pem);
    PEM_REFUSED("longer", "holds a public key that is damaged");
    save_bytes("der", (struct sluice_text){ (char *)der, (size_t)len });
    PEM_REFUSED("der", "openssl pkey -pubin -inform der");
    OPENSSL_free(der);
}

IN_A_FOLDER(weak_and_other_keys_are_refused)
{
    EVP_PKEY *weak = mint_rsa(1024, 65537);
    save_public("weak", "w", weak);
    save_public("p384", "w", minted_keys.p384);
    save_public("rsa", "w", minted_keys.rsa);
    PEM_REFUSED("weak", "below 2048 bits");
    PEM_REFUSED("p384", "another curve than P-256");
    was_refused(load_key(BIT(ES256), (struct sl_jwt_key){ .pem_file = in_folder("rsa") }),
                "identity.jwt.keys: ", "rsa", "none of identity.jwt.algorithms takes");
    EVP_PKEY_free(weak);
}

IN_A_FOLDER(every_key_of_the_list_is_read)
{
    struct sl_jwt_key keys[] = {
        { .kid = "a", .pem_file = save_public("a", "w", minted_keys.rsa) },
        { .secret_file = save_text("s", SECRET) },
        { .kid = "b", .pem_file = save_public("b", "w", minted_keys.p256) },
    };
    struct sl_identity identity = { .jwt = { .on = true, .algorithms = ALL, .keys = keys } };
    identity.jwt.key_count = COUNT(keys);
    struct sl_keyset *set = load(&identity);
    assert_non_null(set);
    assert_true(sl_text_is(set->keys[0].kid, "a") && set->keys[0].public);
    assert_true(!set->keys[1].kid.at && sl_text_is(set->keys[1].secret, SECRET));
    assert_int_equal(set->keys[2].algorithms, BIT(ES256));
    was_taken(set, 3, BIT(RS256) | BIT(PS256));
    save_text("b", "");
    assert_null(load(&identity));
    assert_non_null(strstr(error.text, in_folder("b")));
}

/* ---- JWKS -------------------------------------------------------------------------- */

static const char *set_of(const char *a, const char *b, const char *c)
{
    static char json[12000];
    snprintf(json, sizeof json, "{\"keys\":[%s%s%s%s%s]}", a, b ? "," : "", b ? b : "",
             c ? "," : "", c ? c : "");
    return json;
}

IN_A_FOLDER(a_set_of_usable_and_other_keys_is_taken)
{
    const char *json = set_of("{\"kty\":\"PQ\"}", mint_jwk(minted_keys.rsa, ",\"use\":\"enc\""),
                              mint_jwk(minted_keys.p256, ",\"kid\":\"k\""));
    was_taken(load_jwks(ALL, save_text("jwks", json)), 1, BIT(ES256));
    json = set_of(mint_jwk(NULL, ",\"kid\":\"a\""), mint_jwk(minted_keys.ed25519, ",\"kid\":\"b\""),
                  mint_jwk(minted_keys.rsa, ""));
    was_taken(load_jwks(ALL, save_text("jwks", json)), 3, BIT(HS256));
    was_taken(load_jwks(PUBLIC, in_folder("jwks")), 2, BIT(EdDSA)); /* the secret is passed over */
}

IN_A_FOLDER(what_is_no_set_is_refused)
{
    static const char *const rows[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"keys\":{}}",
        "{\"keys\":null}",
        "{\"Keys\":[]}",
        "{\"keys\":[]",
        "{\"keys\":[{\"kid\":\"\xff\"}]}",
        "{\"keys\":[{\"kid\":\"\\u0000\"}]}",
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        JWKS_REFUSED(rows[i], "no JSON Web Key Set");
    JWKS_REFUSED(mint_jwk(minted_keys.rsa, ""), "no JSON Web Key Set"); /* a key alone */
    JWKS_REFUSED("{\"keys\":[],\"keys\":[]}", "a member twice");
    JWKS_REFUSED("{\"keys\":[{\"kty\":\"oct\",\"kty\":\"oct\"}]}", "a member twice");
    JWKS_REFUSED("{\"keys\":[[[[[[[[]]]]]]]]}", "deeper than 8");
    JWKS_REFUSED("{\"keys\":[1]}", "key 1 in");
    was_refused(load_jwks(ALL, in_folder("gone")), "identity.jwt.jwks_file: ", "gone",
                "name a file that is there");
    was_refused(load_jwks(ALL, "/dev/zero"), "identity.jwt.jwks_file: ", "/dev/zero",
                "File too large");
}

IN_A_FOLDER(a_set_without_a_usable_key_is_refused)
{
    JWKS_REFUSED("{\"keys\":[]}", "holds no key that can be used");
    JWKS_REFUSED("{\"keys\":[{\"kty\":\"PQ\"}]}", "holds no key that can be used");
    save_text("jwks", set_of(mint_jwk(NULL, ""), mint_jwk(minted_keys.rsa, ""), NULL));
    was_refused(load_jwks(BIT(EdDSA), in_folder("jwks")), "identity.jwt.jwks_file: ", "jwks",
                "holds no key that can be used");
}

IN_A_FOLDER(one_bad_key_spoils_the_set)
{
    const char *good = mint_jwk(minted_keys.p256, "");
    JWKS_REFUSED(set_of(good, mint_jwk(minted_keys.rsa, ",\"d\":\"AQAB\""), NULL),
                 "is a private key");
    assert_non_null(strstr(error.text, "key 2 in"));
    JWKS_REFUSED(set_of(good, good, "{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}"), "below 32 bytes");
    assert_non_null(strstr(error.text, "key 3 in"));
}

IN_A_FOLDER(a_kid_is_of_one_key)
{
    JWKS_REFUSED(set_of(mint_jwk(minted_keys.rsa, ",\"kid\":\"k\""),
                        mint_jwk(minted_keys.p256, ",\"kid\":\"k\""), NULL),
                 "has the `kid` of another key already");
    JWKS_REFUSED(set_of(mint_jwk(minted_keys.rsa, ",\"kid\":\"\""),
                        mint_jwk(minted_keys.rsa2, ",\"kid\":\"\""), NULL),
                 "has the `kid` of another key already");
    /* One that is passed over does not count, nor do keys without any. */
    const char *json = set_of(mint_jwk(minted_keys.rsa, ",\"kid\":\"k\",\"use\":\"enc\""),
                              mint_jwk(minted_keys.rsa, ",\"kid\":\"k\""), NULL);
    was_taken(load_jwks(ALL, save_text("jwks", json)), 1, BIT(RS256) | BIT(PS256));
    json = set_of(mint_jwk(minted_keys.rsa, ""), mint_jwk(minted_keys.rsa2, ""), NULL);
    was_taken(load_jwks(ALL, save_text("jwks", json)), 2, BIT(RS256) | BIT(PS256));
}

IN_A_FOLDER(a_set_has_at_most_100_keys)
{
    static char json[200 * 300];
    const char *key = mint_jwk(minted_keys.ed25519, "");
    for (int count = 100; count <= 101; count++) {
        size_t len = (size_t)sprintf(json, "{\"keys\":[");
        for (int i = 0; i < count; i++)
            len += (size_t)sprintf(json + len, "%s%s", i ? "," : "", key);
        sprintf(json + len, "]}");
        if (count == 100)
            was_taken(load_jwks(ALL, save_text("jwks", json)), 100, BIT(EdDSA));
        else
            JWKS_REFUSED(json, "more than 100 keys");
    }
}

IN_A_FOLDER(more_claims_than_there_is_room_for_are_refused)
{
    static struct sl_claim_map map[SL_CLAIMS_MAX + 1];
    struct sl_jwt_key key = { .secret_file = save_text("s", SECRET) };
    struct sl_identity identity = { .jwt = { .on = true,
                                             .algorithms = BIT(HS256),
                                             .keys = &key,
                                             .key_count = 1,
                                             .claims = map,
                                             .claim_count = SL_CLAIMS_MAX } };
    was_taken(load(&identity), 1, BIT(HS256));
    identity.jwt.claim_count++;
    assert_null(load(&identity));
    assert_non_null(strstr(error.text, "identity.jwt.claims: there are 65; at most 64"));
}

TESTS_WITH(mint_keys, drop_keys)
