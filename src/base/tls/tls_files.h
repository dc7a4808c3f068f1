/* Loads certificates and keys from PEM files into an SSL_CTX, with messages for people
 * if a file is wrong. */
#ifndef SL_BASE_TLS_TLS_FILES_H
#define SL_BASE_TLS_TLS_FILES_H

#include <openssl/ssl.h>

#include "base/text.h"

/* A certificate first, then its chain; `key` may be the same file. `section` is what the rules
 * file calls them by: "tls". */
struct sl_tls_pair {
    const char *section, *certificate, *key;
};

/* Loads our own. Returns false if a file is wrong; error->text says which one and what to
 * do. Else error->text stays as it was, or gets a note on a certificate out of its dates. */
bool sl_tls_use_certificate(SSL_CTX *context, const struct sl_tls_pair *pair,
                            struct sluice_error *error);

/* Clients must show a certificate from one of these CAs; their names are sent to clients. */
bool sl_tls_use_client_ca(SSL_CTX *context, const char *client_ca, struct sluice_error *error);

/* The server must show a certificate from one of these CAs; NULL: those of the system. */
bool sl_tls_use_server_ca(SSL_CTX *context, const char *section, const char *ca,
                          struct sluice_error *error);

#endif
