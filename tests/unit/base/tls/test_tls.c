/* Bytes through a stream: pieces, ends and breaks. Which peers may connect is in
 * test_tls_peers.c, the files in test_tls_files.c. */
#include "base/tls/tls.h"

#include <pthread.h>

#include "unit/base/tls_pair.h"

static struct sl_tls *tls;

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

static int open_server(void **state)
{
    if (open_folder(state) != 0)
        return -1;
    struct paper server = paper_of("localhost", (struct wish){ 0 });
    save_certificate("server.pem", "w", server.certificate);
    save_key("server.key", "w", server.key, NULL);
    paper_free(&server);
    tls = tls_of("server.pem", "server.key", NULL);
    return 0;
}

static int close_server(void **state)
{
    sl_tls_drop(tls);
    return close_folder(state);
}

TEST(a_handshake_and_words_both_ways)
{
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct pair pair = connected(tls, (struct client){ .version = versions[i] });
        they_talk(&pair);
        assert_int_equal(SSL_version(pair.client), versions[i]);
        pair_free(&pair);
    }
}

TEST(a_write_goes_on_with_the_handshake_too)
{
    struct pair pair = pair_of(tls, (struct client){ 0 });
    assert_int_equal(sl_tls_write(pair.server, "early", 5), SL_IO_WANT_READ);
    ssize_t said = SL_IO_WANT_READ;
    for (int round = 0; round < ROUNDS_MAX && said == SL_IO_WANT_READ; round++) {
        SSL_do_handshake(pair.client);
        carry(&pair);
        said = sl_tls_write(pair.server, "early", 5);
    }
    assert_int_equal(said, 5);
    char heard[8];
    carry(&pair);
    assert_int_equal(SSL_read(pair.client, heard, sizeof heard), 5);
    client_says(&pair, "late");
    pair_free(&pair);
}

TEST(bytes_may_come_one_by_one)
{
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct pair pair = pair_of(tls, (struct client){ .version = versions[i] });
        char heard[16];
        bool shaken = false;
        while (!shaken) {
            shaken = SSL_do_handshake(pair.client) == 1;
            assert_true(BIO_pending(SSL_get_wbio(pair.client)) > 0 || shaken);
            while (carry_there(&pair, 1))
                assert_int_equal(sl_tls_read(pair.server, heard, sizeof heard), SL_IO_WANT_READ);
            carry_back(&pair);
        }
        assert_int_equal(SSL_write(pair.client, "slowly", 6), 6);
        while (BIO_pending(SSL_get_wbio(pair.client)) > 1) {
            carry_there(&pair, 1);
            assert_int_equal(sl_tls_read(pair.server, heard, sizeof heard), SL_IO_WANT_READ);
        }
        carry_there(&pair, 1);
        assert_int_equal(sl_tls_read(pair.server, heard, sizeof heard), 6);
        assert_memory_equal(heard, "slowly", 6);
        pair_free(&pair);
    }
}

TEST(a_record_larger_than_the_room_is_read_in_parts)
{
    struct pair pair = connected(tls, (struct client){ 0 });
    char sent[1000], heard[1007];
    size_t len = 0;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)(i * 7);
    assert_int_equal(SSL_write(pair.client, sent, sizeof sent), sizeof sent);
    carry(&pair);
    ssize_t count;
    while ((count = sl_tls_read(pair.server, heard + len, 7)) > 0) {
        len += (size_t)count;
        assert_true(len <= sizeof sent);
    }
    assert_int_equal(count, SL_IO_WANT_READ);
    assert_int_equal(len, sizeof sent);
    assert_memory_equal(heard, sent, sizeof sent);
    pair_free(&pair);
}

/* What the client has got, compared with what it should have. */
static void client_drains(struct pair *pair, const char *wanted, size_t *len)
{
    char heard[4096];
    int count;
    do {
        carry_back(pair);
        ERR_clear_error();
        count = SSL_read(pair->client, heard, sizeof heard);
        if (count > 0) {
            assert_memory_equal(heard, wanted + *len, (size_t)count);
            *len += (size_t)count;
        }
    } while (count > 0 || recv(pair->far, heard, 1, MSG_PEEK | MSG_DONTWAIT) > 0);
}

TEST(a_full_socket_wants_to_write_and_takes_the_rest_from_elsewhere)
{
    enum { ALL = 1 << 20 };
    struct pair pair = connected(tls, (struct client){ 0 });
    char *first = malloc(ALL), *second = malloc(ALL);
    uint64_t seed = 1;
    for (size_t i = 0; i < ALL; i++)
        first[i] = second[i] = (char)unit_random(&seed);
    size_t sent = 0, heard = 0, stops = 0;
    while (sent < ALL) {
        /* In turns from two places, and what follows a stop is longer than what was stopped. */
        size_t piece = ALL - sent < 20000 ? ALL - sent : stops % 2 ? ALL - sent : 20000;
        ssize_t count = sl_tls_write(pair.server, (stops % 2 ? second : first) + sent, piece);
        if (count > 0) {
            sent += (size_t)count;
            continue;
        }
        assert_int_equal(count, SL_IO_WANT_WRITE);
        stops++;
        client_drains(&pair, first, &heard);
    }
    client_drains(&pair, first, &heard);
    assert_int_equal(heard, ALL);
    assert_true(stops > 1);
    they_talk(&pair);
    free(first);
    free(second);
    pair_free(&pair);
}

TEST(close_notify_is_an_orderly_end)
{
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct pair pair = connected(tls, (struct client){ .version = versions[i] });
        char byte;
        SSL_shutdown(pair.client);
        carry(&pair);
        assert_int_equal(sl_tls_read(pair.server, &byte, 1), SL_IO_CLOSED);
        assert_int_equal(sl_tls_read(pair.server, &byte, 1), SL_IO_CLOSED);
        server_says(&pair, "an answer to the last words"); /* one way is closed, not both */
        sl_tls_finish(pair.server);
        cut(&pair);
        assert_int_equal(sl_tls_read(pair.server, &byte, 1), SL_IO_CLOSED);
        pair_free(&pair);
    }
}

TEST(a_cut_is_no_orderly_end)
{
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct pair pair = connected(tls, (struct client){ .version = versions[i] });
        char bytes[100];
        cut(&pair); /* between two records */
        assert_int_equal(sl_tls_read(pair.server, bytes, 1), SL_IO_BROKEN);
        assert_int_equal(sl_tls_read(pair.server, bytes, 1), SL_IO_BROKEN);
        assert_int_equal(sl_tls_write(pair.server, "x", 1), SL_IO_BROKEN);
        pair_free(&pair);

        pair = connected(tls, (struct client){ .version = versions[i] });
        assert_int_equal(SSL_write(pair.client, "cut in the middle", 17), 17);
        carry_there(&pair, 20);
        shutdown(pair.far, SHUT_WR);
        assert_int_equal(sl_tls_read(pair.server, bytes, sizeof bytes), SL_IO_BROKEN);
        pair_free(&pair);

        pair = connected(tls, (struct client){ .version = versions[i] });
        assert_int_equal(SSL_write(pair.client, "whole, then cut", 15), 15);
        carry_there(&pair, SIZE_MAX);
        shutdown(pair.far, SHUT_WR);
        assert_int_equal(sl_tls_read(pair.server, bytes, sizeof bytes), 15);
        assert_int_equal(sl_tls_read(pair.server, bytes, sizeof bytes), SL_IO_BROKEN);
        pair_free(&pair);
    }
}

TEST(a_cut_in_the_handshake_breaks_it)
{
    for (size_t bytes = 0; bytes < 150; bytes += 7) {
        struct pair pair = pair_of(tls, (struct client){ 0 });
        char byte;
        SSL_do_handshake(pair.client);
        if (bytes)
            assert_int_equal(carry_there(&pair, bytes), bytes);
        assert_int_equal(sl_tls_read(pair.server, &byte, 1), SL_IO_WANT_READ);
        cut(&pair);
        assert_int_equal(sl_tls_read(pair.server, &byte, 1), SL_IO_BROKEN);
        assert_int_equal(sl_tls_is_unfinished(pair.server), bytes > 0); /* else it has not begun */
        sl_tls_finish(pair.server);
        pair_free(&pair);
    }
}

TEST(a_peer_that_went_away_raises_no_signal)
{
    for (int said_goodbye = 0; said_goodbye < 2; said_goodbye++) {
        struct pair pair = connected(tls, (struct client){ 0 });
        if (said_goodbye) {
            char byte;
            SSL_shutdown(pair.client);
            carry(&pair);
            assert_int_equal(sl_tls_read(pair.server, &byte, 1), SL_IO_CLOSED);
        }
        cut(&pair);
        /* SIGPIPE would end this program. */
        assert_int_equal(sl_tls_write(pair.server, "hello?", 6), SL_IO_BROKEN);
        assert_int_equal(sl_tls_write(pair.server, "hello?", 6), SL_IO_BROKEN);
        pair_free(&pair);

        pair = connected(tls, (struct client){ 0 });
        cut(&pair);
        sl_tls_finish(pair.server);
        pair_free(&pair);
    }
}

TEST(finishing_tells_the_client)
{
    struct pair pair = connected(tls, (struct client){ 0 });
    char byte;
    sl_tls_finish(pair.server);
    carry(&pair);
    int result = SSL_read(pair.client, &byte, 1);
    assert_int_equal(SSL_get_error(pair.client, result), SSL_ERROR_ZERO_RETURN);
    pair_free(&pair);
    pair = pair_of(tls, (struct client){ 0 });
    sl_tls_finish(pair.server); /* nothing was said yet: nothing to end */
    pair_free(&pair);
}

TEST(what_is_no_tls_breaks_it)
{
    static const char *const rows[] = {
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /v1/check HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
        "\x16\x03\x01\xff\xff and more than a record may have",
        "\x80\x2e\x01\x03\x01 an old client's first words, and more of them",
        "hello, is anybody there?",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pair pair = pair_of(tls, (struct client){ 0 });
        char byte;
        send(pair.far, rows[i], strlen(rows[i]), MSG_NOSIGNAL);
        SAME(rows[i], sl_tls_read(pair.server, &byte, 1), SL_IO_BROKEN);
        SAME(rows[i], sl_tls_read(pair.server, &byte, 1), SL_IO_BROKEN);
        SAME(rows[i], sl_tls_is_unfinished(pair.server), true);
        pair_free(&pair);
    }
}

TEST(a_changed_byte_breaks_it)
{
    struct pair pair = connected(tls, (struct client){ 0 });
    char record[256], heard[16];
    assert_int_equal(SSL_write(pair.client, "pay 10", 6), 6);
    int len = BIO_read(SSL_get_wbio(pair.client), record, sizeof record);
    record[len - 1] ^= 1;
    assert_int_equal(send(pair.far, record, (size_t)len, MSG_NOSIGNAL), len);
    assert_false(sl_tls_is_unfinished(pair.server));
    assert_int_equal(sl_tls_read(pair.server, heard, sizeof heard), SL_IO_BROKEN);
    assert_false(sl_tls_is_unfinished(pair.server)); /* the handshake was well */
    pair_free(&pair);
}

TEST(an_older_openssl_error_is_not_taken_for_ours)
{
    struct pair pair = connected(tls, (struct client){ 0 });
    char byte;
    ERR_raise(ERR_LIB_USER, 1);
    assert_int_equal(sl_tls_read(pair.server, &byte, 1), SL_IO_WANT_READ);
    they_talk(&pair);
    pair_free(&pair);
}

/* The last stream goes on after its thread has let go. */
static void *connects_often(void *own)
{
    enum { TIMES = 10 };
    for (int i = 0; i < TIMES; i++) {
        struct pair pair = pair_of(own, (struct client){ 0 });
        if (i == TIMES - 1)
            sl_tls_drop(own);
        assert_int_equal(shake_hands(&pair), SL_IO_WANT_READ);
        they_talk(&pair);
        pair_free(&pair);
    }
    return NULL;
}

TEST(threads_connect_while_their_holders_drop_it)
{
    pthread_t threads[2];
    struct sl_tls *shared = tls_of("server.pem", "server.key", NULL);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, connects_often, sl_tls_keep(shared)), 0);
    sl_tls_drop(shared);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

TESTS_WITH(open_server, close_server)
