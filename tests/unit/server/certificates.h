/* Keys and certificates for tests, made when they run: a certificate that is checked in
 * expires on an unexpected day. */
#ifndef TEST_SERVER_CERTIFICATES_H
#define TEST_SERVER_CERTIFICATES_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "unit/store/folder.h"

enum { DAY_S = 24 * 60 * 60 };

/* A name, its key and its certificate. */
struct paper {
    EVP_PKEY *key;
    X509 *certificate;
};

/* What a certificate is to be; zero is a good one of the next days, signed by itself. */
struct wish {
    const struct paper *issuer;
    bool ca;
    long from_s, until_s; /* seconds from now */
    int rsa_bits;         /* 0: ECDSA P-256 */
};

static inline void add_constraint(X509 *certificate, bool ca)
{
    char value[] = "critical,CA:FALSE", yes[] = "critical,CA:TRUE";
    X509_EXTENSION *extension =
        X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, ca ? yes : value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static inline struct paper paper_of(const char *name, struct wish wish)
{
    static long serial = 1;
    struct paper paper = { wish.rsa_bits ? EVP_RSA_gen((unsigned)wish.rsa_bits)
                                         : EVP_EC_gen("P-256"),
                           X509_new() };
    assert_non_null(paper.key);
    X509 *made = paper.certificate;
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made), wish.from_s ? wish.from_s : -DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(made), wish.until_s ? wish.until_s : 10 * DAY_S);
    X509_set_pubkey(made, paper.key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                               (const unsigned char *)name, -1, -1, 0);
    const struct paper *issuer = wish.issuer ? wish.issuer : &paper;
    X509_set_issuer_name(made, X509_get_subject_name(issuer->certificate));
    add_constraint(made, wish.ca);
    assert_true(X509_sign(made, issuer->key, EVP_sha256()) > 0);
    return paper;
}

static inline void paper_free(struct paper *paper)
{
    EVP_PKEY_free(paper->key);
    X509_free(paper->certificate);
    *paper = (struct paper){ 0 };
}

/* The path of a file in the test's folder, good until it was called 8 times more. */
static inline const char *in_folder(const char *name)
{
    static char paths[8][128];
    static unsigned turn;
    char *out = paths[turn++ % 8];
    snprintf(out, sizeof paths[0], "%s/%s", folder, name);
    return out;
}

static inline void save_certificate(const char *name, const char *mode, const X509 *certificate)
{
    FILE *file = fopen(in_folder(name), mode);
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    fclose(file);
}

/* passphrase NULL: open. */
static inline void save_key(const char *name, const char *mode, EVP_PKEY *key,
                            const char *passphrase)
{
    FILE *file = fopen(in_folder(name), mode);
    assert_non_null(file);
    int len = passphrase ? (int)strlen(passphrase) : 0;
    assert_int_equal(PEM_write_PKCS8PrivateKey(file, key, passphrase ? EVP_aes_128_cbc() : NULL,
                                               passphrase, len, NULL, NULL),
                     1);
    fclose(file);
}

static inline void save_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

#endif
