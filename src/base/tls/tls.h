/* TLS on a non-blocking socket, by OpenSSL: 1.2 and later, ALPN,
 * client certificates where a CA for them is given. */
#ifndef SL_BASE_TLS_TLS_H
#define SL_BASE_TLS_TLS_H

#include <sys/types.h>

#include "base/text.h"

struct sl_tls;        /* certificate and settings; shared by threads, counted */
struct sl_tls_stream; /* one connection's */

/* PEM files: the server's certificate and then its chain, its key (both may be
 * one file), and the CAs of which clients must show a certificate; client_ca
 * NULL: they need none. NULL: error->text says which file is wrong and what to
 * do. Else it is empty, or a note: a certificate is out of its dates. */
struct sl_tls *sl_tls_new(const char *certificate, const char *key, const char *client_ca,
                          struct sluice_error *error);

/* What a client shows and whom it believes; NULL: nothing, and whom this system trusts. */
struct sl_tls_client {
    const char *ca, *certificate, *key;
};

/* The same for the side that connects. `section` is the setting that messages name. */
struct sl_tls *sl_tls_client_new(const char *section, const struct sl_tls_client *files,
                                 struct sluice_error *error);

/* One more holder, and one less. Any thread. Streams hold what they need. */
struct sl_tls *sl_tls_keep(struct sl_tls *tls);
void sl_tls_drop(struct sl_tls *tls);

/* What is spoken over it, with its length before it, as ALPN has it. */
#define SL_TLS_HTTP1 "\x08http/1.1"
#define SL_TLS_HTTP2 "\x02h2"

/* The server's side of a handshake on this socket, which stays the caller's. `protocol` is what
 * clients that offer some must offer; NULL: what they offer does not matter. NULL: no memory. */
struct sl_tls_stream *sl_tls_accept(struct sl_tls *tls, int fd, const char *protocol);

/* The client's; `host` is the name or address that the server's certificate must have. */
struct sl_tls_stream *sl_tls_connect(struct sl_tls *tls, int fd, const char *host);
void sl_tls_stream_free(struct sl_tls_stream *stream);

/* What is wrong with the peer's certificate; NULL: nothing that we know of. */
const char *sl_tls_why_broken(const struct sl_tls_stream *stream);

/* Has a handshake begun, by a byte of the peer's, and not ended? */
bool sl_tls_is_unfinished(const struct sl_tls_stream *stream);

/* Bytes moved, or: */
enum {
    SL_IO_CLOSED = 0,      /* the peer is done (read alone) */
    SL_IO_BROKEN = -1,     /* the connection is of no use any more */
    SL_IO_WANT_READ = -2,  /* nothing moved: call again when the socket can be read */
    SL_IO_WANT_WRITE = -3, /* … written */
};

/* Both go on with the handshake where it is not over, so either may want either.
 * Neither blocks, raises SIGPIPE or takes 0 bytes.
 *
 * Read until it wants to: bytes of a record that had no room in `at` are kept
 * here, and the socket will not say that it can be read.
 *
 * What a write wanted to move when it said WANT is sealed already: the next
 * write must begin with the same bytes. They may have moved, and more may follow.
 *
 * A connection that ends without the peer's word that he is done is BROKEN, and
 * stays so. */
ssize_t sl_tls_read(struct sl_tls_stream *stream, char *at, size_t room);
ssize_t sl_tls_write(struct sl_tls_stream *stream, const char *at, size_t len);

/* Tells the peer that nothing more comes; sent as far as it can be at once. */
void sl_tls_finish(struct sl_tls_stream *stream);

#endif
