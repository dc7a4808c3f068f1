/* TLS as non-blocking reads and writes.
 *
 *   sl_tls (an SSL_CTX) ---- counted ----> streams (an SSL each) ----> socket
 *
 * OpenSSL counts the references to a context; every SSL holds one. So a renewed
 * certificate is a new context for new connections; the old context is freed with
 * its last connection, and no connection waits for another.
 *
 * Why not SSL_set_fd? It writes with write(2), which raises SIGPIPE where the
 * peer has gone. The few lines of BIO below use send(2) and recv(2), which can
 * be told not to, and not to block either, whatever mode the socket is in.
 *
 * Why no session cache? Tickets do the same without memory and without a lock
 * among the workers. Their keys are the context's: what was resumable before a
 * certificate or a CA was replaced is not so after.
 *
 * Memory: an idle stream frees its record buffers, 16 KiB each way, and keeps
 * 14 KB (SSL_MODE_RELEASE_BUFFERS). The price is one to four allocations
 * per call.
 *
 * An end without close_notify is BROKEN, never CLOSED: any router on the way can
 * cut a connection, only the peer can say that it is done. */
#include "base/tls/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/tls/tls_files.h"

struct sl_tls_stream {
    SSL *ssl;
    int fd;
    const char *protocol; /* of a server, as ALPN has it; NULL: ALPN is ignored */
    bool broken;          /* OpenSSL allows no further call on it */
    bool
        greeted; /* the handshake is over; stored here, because OpenSSL forgets it after an error */
};

/* struct sl_tls has no body: it is OpenSSL's context under our name. */
static SSL_CTX *context_of(struct sl_tls *tls)
{
    return (SSL_CTX *)(void *)tls;
}

/* ---- the socket ---------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static BIO_METHOD *socket_method;

/* Translates the result of send or recv for OpenSSL. */
static int set_retry(BIO *bio, ssize_t count, int retry)
{
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)count;
}

static int socket_read(BIO *bio, char *at, int room)
{
    const struct sl_tls_stream *stream = BIO_get_data(bio);
    ssize_t count;
    do
        count = recv(stream->fd, at, (size_t)room, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    return set_retry(bio, count, BIO_FLAGS_READ);
}

static int socket_write(BIO *bio, const char *at, int len)
{
    const struct sl_tls_stream *stream = BIO_get_data(bio);
    ssize_t count;
    do
        count = send(stream->fd, at, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    return set_retry(bio, count, BIO_FLAGS_WRITE);
}

static long socket_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH; /* nothing is held back here */
}

static void make_socket_method(void)
{
    int type = BIO_get_new_index();
    BIO_METHOD *method =
        type > 0 ? BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "sluice socket") : NULL;
    if (method && BIO_meth_set_read(method, socket_read) &&
        BIO_meth_set_write(method, socket_write) && BIO_meth_set_ctrl(method, socket_ctrl))
        socket_method = method;
    else
        BIO_meth_free(method);
}

/* ---- settings ------------------------------------------------------------------ */

/* Accepts our protocol only: a client that offers only others would not understand
 * our answer, and gets the alert no_application_protocol. */
static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *unused)
{
    (void)unused;
    const struct sl_tls_stream *stream = BIO_get_data(SSL_get_rbio(ssl));
    const unsigned char *own = (const unsigned char *)stream->protocol;
    unsigned char *chosen;
    if (!own)
        return SSL_TLSEXT_ERR_NOACK;
    int found = SSL_select_next_proto(&chosen, out_len, own, own[0] + 1u, offered, offered_len);
    if (found != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static bool configure(SSL_CTX *context)
{
    static const unsigned char name[] = "sluice";
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    /* From 1.2 only suites with forward secrecy and authenticated encryption; 1.3
     * has no others. Without a session id context, OpenSSL refuses to resume if
     * clients show certificates. */
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
           SSL_CTX_set_session_id_context(context, name, sizeof name - 1) == 1;
}

struct sl_tls *sl_tls_new(const char *certificate, const char *key, const char *client_ca,
                          struct sluice_error *error)
{
    pthread_once(&once, make_socket_method);
    error->text[0] = '\0';
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!socket_method || !context || !configure(context))
        snprintf(error->text, sizeof error->text, "tls: OpenSSL cannot be set up here");
    else if (sl_tls_use_certificate(context, &(struct sl_tls_pair){ "tls", certificate, key },
                                    error) &&
             (!client_ca || sl_tls_use_client_ca(context, client_ca, error)))
        return (struct sl_tls *)(void *)context;
    SSL_CTX_free(context);
    ERR_clear_error();
    return NULL;
}

/* Each stream checks the peer's name. */
struct sl_tls *sl_tls_client_new(const char *section, const struct sl_tls_client *files,
                                 struct sluice_error *error)
{
    pthread_once(&once, make_socket_method);
    error->text[0] = '\0';
    struct sl_tls_pair pair = { section, files->certificate, files->key };
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!socket_method || !context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
        snprintf(error->text, sizeof error->text, "%s: OpenSSL cannot be set up here", section);
    else if (sl_tls_use_server_ca(context, section, files->ca, error) &&
             (!files->certificate || sl_tls_use_certificate(context, &pair, error))) {
        SSL_CTX_set_mode(context,
                         SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        return (struct sl_tls *)(void *)context;
    }
    SSL_CTX_free(context);
    ERR_clear_error();
    return NULL;
}

struct sl_tls *sl_tls_keep(struct sl_tls *tls)
{
    SL_CHECK(SSL_CTX_up_ref(context_of(tls)) == 1);
    return tls;
}

void sl_tls_drop(struct sl_tls *tls)
{
    SSL_CTX_free(context_of(tls));
}

/* ---- streams ------------------------------------------------------------------- */

static struct sl_tls_stream *new_stream(struct sl_tls *tls, int fd)
{
    struct sl_tls_stream *stream = calloc(1, sizeof *stream);
    BIO *bio = BIO_new(socket_method);
    SSL *ssl = SSL_new(context_of(tls));
    if (!stream || !bio || !ssl) {
        SSL_free(ssl);
        BIO_free(bio);
        free(stream);
        ERR_clear_error();
        return NULL;
    }
    *stream = (struct sl_tls_stream){ .ssl = ssl, .fd = fd };
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return stream;
}

struct sl_tls_stream *sl_tls_accept(struct sl_tls *tls, int fd, const char *protocol)
{
    struct sl_tls_stream *stream = new_stream(tls, fd);
    if (!stream)
        return NULL;
    stream->protocol = protocol;
    SSL_set_accept_state(stream->ssl);
    return stream;
}

/* An address is no name: it is not sent as SNI, and is compared with other parts of a certificate.
 */
static bool expect_peer(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *wanted = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host) == 1)
        return true;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct sl_tls_stream *sl_tls_connect(struct sl_tls *tls, int fd, const char *host)
{
    struct sl_tls_stream *stream = new_stream(tls, fd);
    if (stream && !expect_peer(stream->ssl, host)) {
        sl_tls_stream_free(stream);
        stream = NULL;
    }
    if (stream)
        SSL_set_connect_state(stream->ssl);
    ERR_clear_error();
    return stream;
}

const char *sl_tls_why_broken(const struct sl_tls_stream *stream)
{
    long result = SSL_get_verify_result(stream->ssl);
    return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}

void sl_tls_stream_free(struct sl_tls_stream *stream)
{
    if (!stream)
        return;
    SSL_free(stream->ssl);
    free(stream);
}

/* Returns why a call moved nothing. SSL_get_error reads the thread's error queue too,
 * so that must have been empty before the call. */
static ssize_t why_nothing_moved(struct sl_tls_stream *stream, int result)
{
    switch (SSL_get_error(stream->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return SL_IO_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return SL_IO_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return SL_IO_CLOSED;
    default:
        stream->broken = true;
        return SL_IO_BROKEN;
    }
}

bool sl_tls_is_unfinished(const struct sl_tls_stream *stream)
{
    return !stream->greeted && BIO_number_read(SSL_get_rbio(stream->ssl)) > 0;
}

/* Returns the bytes moved, or why not; and notes the end of the handshake. */
static ssize_t moved_or_why(struct sl_tls_stream *stream, int result)
{
    if (!stream->greeted)
        stream->greeted = SSL_is_init_finished(stream->ssl);
    return result > 0 ? result : why_nothing_moved(stream, result);
}

ssize_t sl_tls_read(struct sl_tls_stream *stream, char *at, size_t room)
{
    SL_CHECK(room > 0); /* or 0 bytes would look like the end */
    if (stream->broken)
        return SL_IO_BROKEN;
    ERR_clear_error();
    int result = SSL_read(stream->ssl, at, room < INT_MAX ? (int)room : INT_MAX);
    return moved_or_why(stream, result);
}

ssize_t sl_tls_write(struct sl_tls_stream *stream, const char *at, size_t len)
{
    SL_CHECK(len > 0);
    if (stream->broken)
        return SL_IO_BROKEN;
    ERR_clear_error();
    int result = SSL_write(stream->ssl, at, len < INT_MAX ? (int)len : INT_MAX);
    ssize_t reason = moved_or_why(stream, result);
    if (reason > 0)
        return reason;
    /* The peer said it was done, and then went away. */
    stream->broken = stream->broken || reason == SL_IO_CLOSED;
    return stream->broken ? SL_IO_BROKEN : reason;
}

void sl_tls_finish(struct sl_tls_stream *stream)
{
    if (stream->broken || !SSL_is_init_finished(stream->ssl))
        return;
    ERR_clear_error();
    if (SSL_shutdown(stream->ssl) < 0)
        why_nothing_moved(stream, -1);
    ERR_clear_error();
}
