/* Which TLS peers may connect: versions, ALPN, client certificates, sessions. */
#include "base/tls/tls.h"

#include "unit/base/tls_pair.h"

static struct paper ca, other_ca, middle;

static int make_files(void **state)
{
    if (open_folder(state) != 0)
        return -1;
    ca = paper_of("clients' CA", (struct wish){ .ca = true });
    other_ca = paper_of("some other CA", (struct wish){ .ca = true });
    middle = paper_of("a CA below", (struct wish){ .issuer = &ca, .ca = true });
    struct paper server = paper_of("localhost", (struct wish){ .issuer = &other_ca });
    save_certificate("server.pem", "w", server.certificate);
    save_key("server.key", "w", server.key, NULL);
    save_certificate("chain.pem", "w", server.certificate);
    save_certificate("chain.pem", "a", other_ca.certificate);
    save_certificate("ca.pem", "w", ca.certificate);
    save_certificate("middle.pem", "w", middle.certificate);
    paper_free(&server);
    return 0;
}

static int remove_files(void **state)
{
    paper_free(&ca);
    paper_free(&other_ca);
    paper_free(&middle);
    return close_folder(state);
}

/* The server breaks it off, and the client is told why. */
static void refused(struct sl_tls *tls, struct client client, int alert)
{
    char row[64];
    struct pair pair = pair_of(tls, client);
    snprintf(row, sizeof row, "version %x, alert %d", client.version, alert);
    SAME(row, shake_hands(&pair), SL_IO_BROKEN);
    SAME(row, alert_of(&pair), alert);
    pair_free(&pair);
}

/* ---- versions and ciphers ------------------------------------------------------ */

TEST(an_older_version_is_refused)
{
    struct sl_tls *tls = tls_of("server.pem", "server.key", NULL);
    refused(tls, (struct client){ .version = TLS1_1_VERSION }, SSL_AD_PROTOCOL_VERSION);
    sl_tls_drop(tls);
}

/* The client's order, in 1.2, is not ours. */
static const char *chosen_of(struct sl_tls *tls, const char *ciphers)
{
    static char name[64];
    struct pair pair = pair_of(tls, (struct client){ .version = TLS1_2_VERSION });
    assert_int_equal(SSL_set_cipher_list(pair.client, ciphers), 1);
    bool good = shake_hands(&pair) == SL_IO_WANT_READ;
    snprintf(name, sizeof name, "%s", good ? SSL_get_cipher_name(pair.client) : "refused");
    pair_free(&pair);
    return name;
}

TEST(the_servers_order_of_ciphers_counts)
{
    struct sl_tls *tls = tls_of("server.pem", "server.key", NULL);
    const char *best = "ECDHE-ECDSA-AES256-GCM-SHA384";
    assert_string_equal(
        chosen_of(tls, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384"), best);
    assert_string_equal(
        chosen_of(tls, "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256"), best);
    assert_string_equal(chosen_of(tls, "ECDHE-ECDSA-AES128-SHA256"), "refused"); /* CBC */
    sl_tls_drop(tls);
}

TEST(there_is_no_second_handshake_on_a_connection)
{
    struct sl_tls *tls = tls_of("server.pem", "server.key", NULL);
    struct pair pair = connected(tls, (struct client){ .version = TLS1_2_VERSION });
    assert_false(SSL_get_secure_renegotiation_support(pair.client) == 0);
    SSL_renegotiate(pair.client);
    SSL_do_handshake(pair.client);
    carry(&pair);
    char byte;
    ssize_t said = sl_tls_read(pair.server, &byte, 1);
    assert_true(said == SL_IO_WANT_READ || said == SL_IO_BROKEN);
    assert_int_equal(alert_of(&pair), SSL_AD_NO_RENEGOTIATION);
    pair_free(&pair);
    sl_tls_drop(tls);
}

TEST(the_chain_is_sent_as_it_is_in_the_file)
{
    static const struct {
        const char *certificate, *client_ca;
        int count;
    } rows[] = {
        { "server.pem", NULL, 1 },
        { "chain.pem", NULL, 2 },
        { "server.pem", "other_ca.pem", 1 }, /* what clients are checked by is not ours to show */
    };
    save_certificate("other_ca.pem", "w", other_ca.certificate);
    struct paper mine = paper_of("me", (struct wish){ .issuer = &other_ca });
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_tls *tls = tls_of(rows[i].certificate, "server.key", rows[i].client_ca);
        struct pair pair = connected(tls, (struct client){ .paper = &mine });
        SAME(rows[i].certificate, sk_X509_num(SSL_get_peer_cert_chain(pair.client)), rows[i].count);
        pair_free(&pair);
        sl_tls_drop(tls);
    }
    paper_free(&mine);
}

/* ---- ALPN ---------------------------------------------------------------------- */

TEST(http_1_1_is_chosen_where_it_is_offered)
{
    static const struct {
        const char *offered, *chosen;
    } rows[] = {
        { NULL, "" },
        { "\x08http/1.1", "http/1.1" },
        { "\x02h2\x08http/1.1", "http/1.1" },
        { "\x08http/1.1\x02h2", "http/1.1" },
    };
    struct sl_tls *tls = tls_of("server.pem", "server.key", NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pair pair = connected(tls, (struct client){ .protocols = rows[i].offered });
        const unsigned char *at = NULL;
        unsigned len = 0;
        SSL_get0_alpn_selected(pair.client, &at, &len);
        SAME_TEXT(rows[i].chosen, ((struct sluice_text){ (const char *)at, len }), rows[i].chosen);
        pair_free(&pair);
    }
    sl_tls_drop(tls);
}

TEST(other_protocols_alone_are_refused)
{
    static const char *const rows[] = { "\x02h2", "\x08http/1.0", "\x08HTTP/1.1", "\x07http/1." };
    struct sl_tls *tls = tls_of("server.pem", "server.key", NULL);
    for (size_t i = 0; i < COUNT(rows); i++)
        refused(tls, (struct client){ .protocols = rows[i] }, SSL_AD_NO_APPLICATION_PROTOCOL);
    sl_tls_drop(tls);
}

/* ---- client certificates ------------------------------------------------------- */

TEST(a_client_without_a_certificate_is_refused)
{
    struct sl_tls *tls = tls_of("server.pem", "server.key", "ca.pem");
    refused(tls, (struct client){ .version = TLS1_2_VERSION }, SSL_AD_HANDSHAKE_FAILURE);
    refused(tls, (struct client){ .version = TLS1_3_VERSION }, SSL_AD_CERTIFICATE_REQUIRED);
    sl_tls_drop(tls);
}

TEST(a_certificate_of_another_ca_or_time_is_refused)
{
    struct paper stranger = paper_of("me", (struct wish){ .issuer = &other_ca });
    struct paper alone = paper_of("me", (struct wish){ 0 });
    struct paper late =
        paper_of("me", (struct wish){ .issuer = &ca, .from_s = -2 * DAY_S, .until_s = -DAY_S });
    struct sl_tls *tls = tls_of("server.pem", "server.key", "ca.pem");
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        refused(tls, (struct client){ version, &stranger }, SSL_AD_UNKNOWN_CA);
        refused(tls, (struct client){ version, &alone }, SSL_AD_UNKNOWN_CA);
        refused(tls, (struct client){ version, &late }, SSL_AD_CERTIFICATE_EXPIRED);
    }
    sl_tls_drop(tls);
    paper_free(&stranger);
    paper_free(&alone);
    paper_free(&late);
}

TEST(a_certificate_of_the_right_ca_is_let_in)
{
    struct paper mine = paper_of("me", (struct wish){ .issuer = &ca });
    struct sl_tls *tls = tls_of("server.pem", "server.key", "ca.pem");
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        struct pair pair = connected(tls, (struct client){ version, &mine });
        pair_free(&pair);
    }
    sl_tls_drop(tls);
    paper_free(&mine);
}

TEST(an_intermediate_ca_is_trusted_without_its_root)
{
    struct paper below = paper_of("me", (struct wish){ .issuer = &middle });
    struct paper beside = paper_of("me", (struct wish){ .issuer = &ca });
    struct sl_tls *tls = tls_of("server.pem", "server.key", "middle.pem");
    struct pair pair = connected(tls, (struct client){ .paper = &below });
    pair_free(&pair);
    refused(tls, (struct client){ .paper = &beside }, SSL_AD_UNKNOWN_CA);
    sl_tls_drop(tls);
    paper_free(&below);
    paper_free(&beside);
}

TEST(the_client_is_told_which_cas_are_taken)
{
    struct paper mine = paper_of("me", (struct wish){ .issuer = &ca });
    save_certificate("both.pem", "w", ca.certificate);
    save_certificate("both.pem", "a", middle.certificate);
    struct sl_tls *tls = tls_of("server.pem", "server.key", "both.pem");
    struct pair pair = connected(tls, (struct client){ .paper = &mine });
    const STACK_OF(X509_NAME) *names = SSL_get0_peer_CA_list(pair.client);
    assert_int_equal(sk_X509_NAME_num(names), 2);
    assert_int_equal(
        X509_NAME_cmp(sk_X509_NAME_value(names, 0), X509_get_subject_name(ca.certificate)), 0);
    pair_free(&pair);
    sl_tls_drop(tls);
    paper_free(&mine);
}

/* ---- sessions ------------------------------------------------------------------ */

static SSL_SESSION *session_of(struct sl_tls *tls, struct client client)
{
    struct pair pair = connected(tls, client);
    SSL_SESSION *session = SSL_get1_session(pair.client);
    SSL_shutdown(pair.client);
    pair_free(&pair);
    assert_true(SSL_SESSION_is_resumable(session));
    return session;
}

static bool is_resumed(struct sl_tls *tls, struct client client)
{
    struct pair pair = connected(tls, client);
    bool resumed = SSL_session_reused(pair.client);
    pair_free(&pair);
    return resumed;
}

TEST(a_ticket_is_good_for_the_same_certificate_alone)
{
    struct paper mine = paper_of("me", (struct wish){ .issuer = &ca });
    const char *const cas[] = { NULL, "ca.pem" };
    for (size_t i = 0; i < COUNT(cas); i++) {
        struct sl_tls *tls = tls_of("server.pem", "server.key", cas[i]);
        struct sl_tls *renewed = tls_of("server.pem", "server.key", cas[i]);
        for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
            struct client client = { version, &mine };
            client.session = session_of(tls, client);
            assert_true(is_resumed(tls, client));
            SSL_SESSION_free(client.session);
            client.session = NULL;
            client.session = session_of(tls, client);
            assert_false(is_resumed(renewed, client));
            SSL_SESSION_free(client.session);
        }
        sl_tls_drop(tls);
        sl_tls_drop(renewed);
    }
    paper_free(&mine);
}

TESTS_WITH(make_files, remove_files)
