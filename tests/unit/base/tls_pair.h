/* A server's stream and OpenSSL's client, with the test as the wire between
 * them: it alone decides how many bytes arrive, and when the line is cut.
 *
 *   sl_tls_stream -- socket pair -- the test -- memory -- client */
#ifndef TEST_SERVER_TLS_PAIR_H
#define TEST_SERVER_TLS_PAIR_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/tls/tls.h"
#include "unit/server/certificates.h"

enum { ROUNDS_MAX = 100 };

/* What the client is; zero is one of any version without a certificate. */
struct client {
    int version; /* TLS1_2_VERSION …; 0: any */
    const struct paper *paper;
    const char *protocols; /* ALPN, as on the wire */
    SSL_SESSION *session;  /* to go on with */
};

struct pair {
    int fd, far; /* the server's end, the test's end */
    struct sl_tls_stream *server;
    SSL *client;
};

static _Thread_local int last_alert; /* that a client was sent; -1: none */

static inline void note_alert(const SSL *client, int where, int what)
{
    (void)client;
    if (where == SSL_CB_READ_ALERT)
        last_alert = what & 0xff;
}

static inline SSL *client_of(const struct client *wish)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, wish->version ? wish->version : TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(context, wish->version);
    if (wish->version == TLS1_1_VERSION)
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0"); /* or it would not even ask */
    if (wish->paper) {
        assert_int_equal(SSL_CTX_use_certificate(context, wish->paper->certificate), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(context, wish->paper->key), 1);
    }
    SSL *client = SSL_new(context);
    SSL_CTX_free(context);
    assert_non_null(client);
    if (wish->protocols)
        SSL_set_alpn_protos(client, (const unsigned char *)wish->protocols,
                            (unsigned)strlen(wish->protocols));
    if (wish->session)
        assert_int_equal(SSL_set_session(client, wish->session), 1);
    SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(client), -1); /* empty is "not yet" */
    SSL_set_connect_state(client);
    SSL_set_info_callback(client, note_alert);
    last_alert = -1;
    return client;
}

static inline struct pair pair_of(struct sl_tls *tls, struct client wish)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    struct pair pair = { fds[0], fds[1], sl_tls_accept(tls, fds[0], SL_TLS_HTTP1),
                         client_of(&wish) };
    assert_non_null(pair.server);
    return pair;
}

static inline void cut(struct pair *pair)
{
    close(pair->far);
    pair->far = -1;
}

static inline void pair_free(struct pair *pair)
{
    sl_tls_stream_free(pair->server);
    SSL_free(pair->client);
    close(pair->fd);
    if (pair->far >= 0)
        close(pair->far);
    ERR_clear_error();
}

/* Carries at most so many bytes of what the client has sent. How many? */
static inline size_t carry_there(struct pair *pair, size_t most)
{
    char bytes[4096];
    int count = BIO_read(SSL_get_wbio(pair->client), bytes,
                         (int)(most < sizeof bytes ? most : sizeof bytes));
    if (count <= 0)
        return 0;
    assert_int_equal(send(pair->far, bytes, (size_t)count, MSG_NOSIGNAL), count);
    return (size_t)count;
}

static inline size_t carry_back(struct pair *pair)
{
    char bytes[4096];
    ssize_t count = recv(pair->far, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0)
        return 0;
    assert_int_equal(BIO_write(SSL_get_rbio(pair->client), bytes, (int)count), count);
    return (size_t)count;
}

/* Everything, both ways, as it stands. */
static inline void carry(struct pair *pair)
{
    while (carry_there(pair, SIZE_MAX) || carry_back(pair))
        ;
}

/* Lets both work until nothing more happens; what the server said last. */
static inline ssize_t shake_hands(struct pair *pair)
{
    ssize_t said = SL_IO_WANT_READ;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        char byte;
        ERR_clear_error();
        SSL_do_handshake(pair->client);
        bool moved = carry_there(pair, SIZE_MAX) > 0;
        if (said == SL_IO_WANT_READ)
            said = sl_tls_read(pair->server, &byte, 1);
        moved = carry_back(pair) > 0 || moved;
        if (!moved)
            return said;
    }
    fail_msg("a handshake without end");
    return SL_IO_BROKEN;
}

/* The client's words arrive at the server. */
static inline void client_says(struct pair *pair, const char *words)
{
    char heard[256];
    size_t len = strlen(words);
    assert_int_equal(SSL_write(pair->client, words, (int)len), len);
    carry(pair);
    assert_int_equal(sl_tls_read(pair->server, heard, sizeof heard), len);
    assert_memory_equal(heard, words, len);
    assert_int_equal(sl_tls_read(pair->server, heard, sizeof heard), SL_IO_WANT_READ);
}

static inline void server_says(struct pair *pair, const char *words)
{
    char heard[256];
    size_t len = strlen(words);
    assert_int_equal(sl_tls_write(pair->server, words, len), len);
    carry(pair);
    ERR_clear_error();
    assert_int_equal(SSL_read(pair->client, heard, sizeof heard), len);
    assert_memory_equal(heard, words, len);
}

static inline void they_talk(struct pair *pair)
{
    client_says(pair, "may I?");
    server_says(pair, "you may");
}

static inline struct pair connected(struct sl_tls *tls, struct client wish)
{
    struct pair pair = pair_of(tls, wish);
    assert_int_equal(shake_hands(&pair), SL_IO_WANT_READ);
    they_talk(&pair);
    return pair;
}

/* The alert that the client was sent, or -1. */
static inline int alert_of(struct pair *pair)
{
    char byte;
    carry(pair);
    SSL_read(pair->client, &byte, 1); /* goes on with the handshake, too */
    return last_alert;
}

/* Of files in the test's folder; client_ca may be NULL. */
static inline struct sl_tls *tls_of(const char *certificate, const char *key, const char *client_ca)
{
    struct sluice_error error;
    struct sl_tls *tls = sl_tls_new(in_folder(certificate), in_folder(key),
                                    client_ca ? in_folder(client_ca) : NULL, &error);
    if (!tls)
        print_error("%s\n", error.text);
    assert_non_null(tls);
    return tls;
}

#endif
