/* Certificates and keys from PEM files into an SSL_CTX, with words for people
 * about what is wrong with a file. */
#ifndef SL_BASE_TLS_TLS_FILES_H
#define SL_BASE_TLS_TLS_FILES_H

#include <openssl/ssl.h>

#include "base/text.h"

/* A certificate first, then its chain; `key` may be the same file. `section` is what the rules
 * file calls them by: "tls". */
struct sl_tls_pair {
    const char *section, *certificate, *key;
};

/* Our own. False: error->text says which file and what to do. Else error->text is
 * left as it was, but for a note where a certificate is out of its dates. */
bool sl_tls_use_certificate(SSL_CTX *context, const struct sl_tls_pair *pair,
                            struct sluice_error *error);

/* Clients must show a certificate from one of these, and are told their names. */
bool sl_tls_use_client_ca(SSL_CTX *context, const char *client_ca, struct sluice_error *error);

/* The server must show a certificate from one of these; NULL: from one that this system
 * trusts. */
bool sl_tls_use_server_ca(SSL_CTX *context, const char *section, const char *ca,
                          struct sluice_error *error);

#endif
