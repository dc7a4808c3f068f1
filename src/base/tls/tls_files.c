/* Reads the PEM files of `tls`.
 *
 * OpenSSL can read them by name, but then says only "no start line". Here a file is
 * read first and parsed after, so that a missing file, an unreadable one, another
 * format and a damaged file each get a sentence that names the file and the cure.
 *
 * A certificate out of its dates is used all the same, with a note: a server that
 * does not start after a late renewal is worse, and clients decide whether to accept
 * such a certificate. */
#include "base/tls/tls_files.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

enum { FILE_MAX_BYTES = 1 << 20 }; /* five times all the CAs of the web */

/* A file of `tls` that is being read. */
struct pem {
    const char *section, *setting, *path; /* as in "tls", "key" */
    struct sl_buffer bytes;
    BIO *bio;
};

static struct pem pem_of(const char *section, const char *setting, const char *path)
{
    return (struct pem){ .section = section, .setting = setting, .path = path };
}

static const char *cure_of(int code)
{
    switch (code) {
    case ENOENT:
    case ENOTDIR:
        return "name a PEM file that is there";
    case EACCES:
        return "let the user that the server runs as read it";
    case EFBIG:
        return "leave in it what the server needs";
    default:
        return "name a PEM file";
    }
}

static bool open_pem(struct pem *pem, struct sluice_error *error)
{
    pem->bytes = sl_buffer(FILE_MAX_BYTES);
    pem->bio = NULL;
    int code = sl_file_read(pem->path, &pem->bytes);
    if (code)
        return sl_error_say(error, "%s.%s: `%s` cannot be read: %s; %s", pem->section, pem->setting,
                            pem->path, strerror(code), cure_of(code));
    pem->bio = BIO_new_mem_buf(pem->bytes.at ? pem->bytes.at : "", (int)pem->bytes.len);
    return pem->bio || sl_error_say(error, "%s.%s: no memory", pem->section, pem->setting);
}

static void close_pem(struct pem *pem)
{
    BIO_free(pem->bio);
    if (pem->bytes.at)
        OPENSSL_cleanse(pem->bytes.at, pem->bytes.len);
    sl_buffer_release(&pem->bytes);
}

/* Without this callback OpenSSL would ask on the terminal. */
static int no_passphrase(char *at, int room, int writing, void *asked)
{
    (void)at, (void)room, (void)writing;
    if (asked)
        *(bool *)asked = true;
    return -1;
}

static const char *openssl_says(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason ? reason : "no reason given";
}

/* ---- certificates -------------------------------------------------------------- */

/* Reads every certificate of the file, at least one; other PEM blocks are skipped. */
static bool read_certificates(struct pem *pem, STACK_OF(X509) * out, struct sluice_error *error)
{
    for (;;) {
        ERR_clear_error();
        X509 *next = PEM_read_bio_X509(pem->bio, NULL, no_passphrase, NULL);
        if (!next)
            break;
        if (!sk_X509_push(out, next)) {
            X509_free(next);
            return sl_error_say(error, "%s.%s: no memory", pem->section, pem->setting);
        }
    }
    unsigned long last = ERR_peek_last_error();
    bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
    if (!at_end)
        return sl_error_say(error, "%s.%s: certificate %d in `%s` is damaged (%s); copy it again",
                            pem->section, pem->setting, sk_X509_num(out) + 1, pem->path,
                            openssl_says());
    if (sk_X509_num(out) == 0)
        return sl_error_say(
            error,
            "%s.%s: `%s` holds no certificate in PEM (-----BEGIN CERTIFICATE-----); one in "
            "DER is turned into PEM by `openssl x509 -inform der -in FILE -out FILE.pem`",
            pem->section, pem->setting, pem->path);
    return true;
}

static void note_dates(const struct pem *pem, const X509 *certificate, struct sluice_error *error)
{
    time_t now_s = (time_t)(sl_walltime_us() / 1000000);
    const ASN1_TIME *from = X509_get0_notBefore(certificate);
    const ASN1_TIME *until = X509_get0_notAfter(certificate);
    bool expired = X509_cmp_time(until, &now_s) < 0;
    struct tm date = { 0 };
    char day[16] = "";
    if (!expired && X509_cmp_time(from, &now_s) < 0)
        return;
    ASN1_TIME_to_tm(expired ? until : from, &date);
    strftime(day, sizeof day, "%Y-%m-%d", &date);
    snprintf(error->text, sizeof error->text, "%s.%s: `%s` %s %s and is used all the same; %s",
             pem->section, pem->setting, pem->path, expired ? "expired on" : "is not valid before",
             day, expired ? "renew it" : "is the clock right?");
}

/* Returns NULL if a certificate is refused. A note is about the first one that needs it. */
static STACK_OF(X509) * certificates_of(struct pem pem, struct sluice_error *error)
{
    STACK_OF(X509) *all = sk_X509_new_null();
    bool good = open_pem(&pem, error);
    if (good && !all)
        good = sl_error_say(error, "%s.%s: no memory", pem.section, pem.setting);
    good = good && read_certificates(&pem, all, error);
    for (int i = 0; good && !error->text[0] && i < sk_X509_num(all); i++)
        note_dates(&pem, sk_X509_value(all, i), error);
    close_pem(&pem);
    if (good)
        return all;
    sk_X509_pop_free(all, X509_free);
    return NULL;
}

/* ---- the server's own ---------------------------------------------------------- */

static EVP_PKEY *key_of(const struct sl_tls_pair *pair, struct sluice_error *error)
{
    struct pem pem = pem_of(pair->section, "key", pair->key);
    bool asked = false;
    EVP_PKEY *key = NULL;
    if (open_pem(&pem, error)) {
        ERR_clear_error();
        key = PEM_read_bio_PrivateKey(pem.bio, NULL, no_passphrase, &asked);
        if (!key && asked)
            sl_error_say(
                error,
                "%s.key: `%s` is locked with a passphrase, and the server cannot ask for it; "
                "`openssl pkey -in FILE -out OPEN` writes it without one",
                pair->section, pair->key);
        else if (!key)
            sl_error_say(error,
                         "%s.key: `%s` holds no private key in PEM (-----BEGIN PRIVATE KEY-----)",
                         pair->section, pair->key);
    }
    close_pem(&pem);
    return key;
}

static bool use_pair(SSL_CTX *context, STACK_OF(X509) * chain, EVP_PKEY *key,
                     const struct sl_tls_pair *pair, struct sluice_error *error)
{
    X509 *own = sk_X509_shift(chain);
    bool good = X509_check_private_key(own, key) == 1;
    if (!good)
        sl_error_say(
            error,
            "%s.key: `%s` is not the key of the first certificate in `%s`; name the key that "
            "it was made with, and put the server's own certificate before its chain",
            pair->section, pair->key, pair->certificate);
    ERR_clear_error();
    if (good && SSL_CTX_use_cert_and_key(context, own, key, chain, 1) != 1)
        good =
            sl_error_say(error,
                         "%s.certificate: OpenSSL refuses `%s`: %s; make one with a key of ECDSA "
                         "P-256 or RSA 2048, signed with SHA-256",
                         pair->section, pair->certificate, openssl_says());
    X509_free(own);
    return good;
}

bool sl_tls_use_certificate(SSL_CTX *context, const struct sl_tls_pair *pair,
                            struct sluice_error *error)
{
    bool good = false;
    STACK_OF(X509) *chain =
        certificates_of(pem_of(pair->section, "certificate", pair->certificate), error);
    EVP_PKEY *private = chain ? key_of(pair, error) : NULL;
    if (private)
        good = use_pair(context, chain, private, pair, error);
    EVP_PKEY_free(private);
    sk_X509_pop_free(chain, X509_free);
    ERR_clear_error();
    return good;
}

/* ---- the peers' ---------------------------------------------------------------- */

/* Trusts every certificate of the file; with `names` their names are sent to peers. */
static bool trust(SSL_CTX *context, struct pem pem, bool names, struct sluice_error *error)
{
    STACK_OF(X509) *all = certificates_of(pem, error);
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    bool good = all != NULL;
    for (int i = 0; good && i < sk_X509_num(all); i++) {
        X509 *one = sk_X509_value(all, i);
        good = X509_STORE_add_cert(store, one) == 1 &&
               (!names || SSL_CTX_add_client_CA(context, one) == 1);
        if (!good)
            sl_error_say(error, "%s.%s: OpenSSL refuses certificate %d in `%s`: %s", pem.section,
                         pem.setting, i + 1, pem.path, openssl_says());
    }
    sk_X509_pop_free(all, X509_free);
    ERR_clear_error();
    /* An intermediate CA in the file is trusted, with or without its root. */
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    return good;
}

bool sl_tls_use_client_ca(SSL_CTX *context, const char *client_ca, struct sluice_error *error)
{
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return trust(context, pem_of("tls", "client_ca", client_ca), true, error);
}

bool sl_tls_use_server_ca(SSL_CTX *context, const char *section, const char *ca,
                          struct sluice_error *error)
{
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (ca)
        return trust(context, pem_of(section, "ca", ca), false, error);
    return SSL_CTX_set_default_verify_paths(context) == 1 ||
           sl_error_say(error, "%s: the system's certificates cannot be read", section);
}
