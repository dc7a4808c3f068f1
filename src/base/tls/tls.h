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
 * NULL: they need none. Returns NULL if a file is wrong; error->text
 * says which one and what to do. Else error->text is empty, or a note that a
 * certificate is out of its dates. */
struct sl_tls *sl_tls_new(const char *certificate, const char *key, const char *client_ca,
                          struct sluice_error *error);

/* The CAs that a client trusts (NULL: those of the system), and the certificate that it
 * shows (NULL: none). */
struct sl_tls_client {
    const char *ca, *certificate, *key;
};

/* The same for the side that connects. `section` is the setting that messages name. */
struct sl_tls *sl_tls_client_new(const char *section, const struct sl_tls_client *files,
                                 struct sluice_error *error);

/* Add and drop a reference, from any thread. Streams hold references of their own. */
struct sl_tls *sl_tls_keep(struct sl_tls *tls);
void sl_tls_drop(struct sl_tls *tls);

/* Protocols for ALPN, with their length in front. */
#define SL_TLS_HTTP1 "\x08http/1.1"
#define SL_TLS_HTTP2 "\x02h2"

/* Starts the server's side of a handshake on this socket, which stays the caller's. Clients that
 * offer protocols must offer `protocol`; NULL: any will do. Returns NULL if there is no memory. */
struct sl_tls_stream *sl_tls_accept(struct sl_tls *tls, int fd, const char *protocol);

/* Starts the client's side; the server's certificate must be for `host`, a name or an address. */
struct sl_tls_stream *sl_tls_connect(struct sl_tls *tls, int fd, const char *host);
void sl_tls_stream_free(struct sl_tls_stream *stream);

/* Returns what is wrong with the peer's certificate; NULL if nothing is known to be. */
const char *sl_tls_why_broken(const struct sl_tls_stream *stream);

/* Returns true if the peer has sent a byte and the handshake has not ended. */
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
 * Read until WANT: bytes of a record that had no room in `at` stay in the stream, and
 * the socket does not become readable for them.
 *
 * The bytes of a write that returned WANT are encrypted already: the next write must
 * begin with the same bytes. Their address may change, and more may follow.
 *
 * A connection that ends without close_notify is BROKEN, and stays so. */
ssize_t sl_tls_read(struct sl_tls_stream *stream, char *at, size_t room);
ssize_t sl_tls_write(struct sl_tls_stream *stream, const char *at, size_t len);

/* Tells the peer that nothing more comes; sent as far as it can be at once. */
void sl_tls_finish(struct sl_tls_stream *stream);

#endif
