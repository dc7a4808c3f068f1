#include "auth/client_address.h"

#include "unit/base/unit.h"
#include "wire/http/forwarded.h"

static struct sl_address address_of(const char *text)
{
    struct sl_address address;
    if (!sl_address_parse(sl_text(text), &address))
        fail_msg("`%s` is no address", text);
    return address;
}

/* 10.0.0.0/8 and 2001:db8:f::/48 are trusted. */
static const struct sl_identity *proxies(void)
{
    static struct sl_network networks[2];
    static const struct sl_identity identity = { .trusted_proxies = networks,
                                                 .trusted_proxy_count = COUNT(networks) };
    assert_true(sl_network_parse(SL_TEXT("10.0.0.0/8"), &networks[0]));
    assert_true(sl_network_parse(SL_TEXT("2001:db8:f::/48"), &networks[1]));
    return &identity;
}

static const struct sl_identity none_configured;

/* A head with these lines, "name: value" each, as the reader of heads leaves it. */
static void fill_head(struct sl_http_head *head, const char *const *lines)
{
    *head = (struct sl_http_head){ 0 };
    for (size_t i = 0; lines[i]; i++) {
        const char *colon = strchr(lines[i], ':');
        assert_non_null(colon);
        assert_true(i < SL_HTTP_FIELDS_MAX);
        struct sl_http_field *field = &head->fields[head->field_count++];
        field->name = (struct sluice_text){ lines[i], (size_t)(colon - lines[i]) };
        field->value = sl_text(colon + 1 + strspn(colon + 1, " "));
        enum sl_http_known known = SL_HTTP_KNOWN_COUNT;
        if (sl_http_name_is(field->name, SL_TEXT("forwarded")))
            known = SL_HTTP_FORWARDED;
        if (sl_http_name_is(field->name, SL_TEXT("x-forwarded-for")))
            known = SL_HTTP_X_FORWARDED_FOR;
        if (known != SL_HTTP_KNOWN_COUNT && !head->known[known].at)
            head->known[known] = field->value;
        else if (known != SL_HTTP_KNOWN_COUNT)
            head->repeated |= UINT32_C(1) << known;
    }
}

enum { LINES_MAX = 8 };

struct row {
    const char *peer; /* none: a Unix socket */
    const char *lines[LINES_MAX];
    const char *client;
};

static void check_client(const struct sl_identity *identity, const struct row *row)
{
    static struct sl_http_head head;
    char text[SL_ADDRESS_PRINT_MAX];
    fill_head(&head, row->lines);
    struct sl_address peer = { 0 };
    if (row->peer)
        peer = address_of(row->peer);
    struct sl_address client = sl_peer_client(identity, row->peer ? &peer : NULL, &head);
    sl_address_print(&client, text);
    SAME_TEXT(row->lines[0] ? row->lines[0] : row->peer, sl_text(text), row->client);
}

static void check_rows(const struct sl_identity *identity, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_client(identity, &rows[i]);
}

/* ---- trusted proxies ---------------------------------------------------------------- */

TEST(loopback_is_one_address_of_ipv6_and_a_network_of_ipv4)
{
    static const struct {
        const char *text;
        bool loopback;
    } rows[] = {
        { "127.0.0.1", true }, { "127.0.0.0", true },   { "127.255.255.255", true },
        { "::1", true },       { "126.0.0.1", false },  { "128.0.0.1", false },
        { "::", false },       { "::2", false },        { "::7f00:1", false },
        { "1::1", false },     { "10.0.0.127", false }, { "::ffff:127.0.0.1", true },
        { "7f00::1", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_address address = address_of(rows[i].text);
        SAME(rows[i].text, sl_address_is_loopback(&address), rows[i].loopback);
        SAME(rows[i].text, sl_peer_is_trusted(&none_configured, &address), rows[i].loopback);
    }
}

TEST(configured_proxies_are_trusted_and_loopback_no_longer)
{
    static const struct {
        const char *text;
        bool trusted;
    } rows[] = {
        { "10.0.0.0", true },      { "10.255.255.255", true },  { "11.0.0.0", false },
        { "2001:db8:f::9", true }, { "2001:db8:10::9", false }, { "127.0.0.1", false },
        { "::1", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_address address = address_of(rows[i].text);
        SAME(rows[i].text, sl_peer_is_trusted(proxies(), &address), rows[i].trusted);
    }
}

/* ---- one header ------------------------------------------------------------------- */

TEST(a_peer_that_is_not_trusted_is_the_client)
{
    static const struct row rows[] = {
        { "192.0.2.9", { NULL }, "192.0.2.9" },
        { "192.0.2.9", { "X-Forwarded-For: 198.51.100.1" }, "192.0.2.9" },
        { "192.0.2.9", { "Forwarded: for=198.51.100.1" }, "192.0.2.9" },
        { "127.0.0.1", { "X-Forwarded-For: 198.51.100.1" }, "127.0.0.1" },
        { "::", { "X-Forwarded-For: 198.51.100.1" }, "::" },
    };
    check_rows(proxies(), rows, COUNT(rows));
}

TEST(the_first_address_from_the_right_that_is_not_trusted_is_the_client)
{
    static const struct row rows[] = {
        { "10.0.0.1", { NULL }, "10.0.0.1" },
        { "10.0.0.1", { "X-Forwarded-For: 192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1", { "X-Forwarded-For: 9.9.9.9, 192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1", { "X-Forwarded-For: 9.9.9.9, 192.0.2.1, 10.0.0.2" }, "192.0.2.1" },
        { "10.0.0.1", { "x-forwarded-for: 9.9.9.9, 192.0.2.1:80, [2001:db8:f::1]" }, "192.0.2.1" },
        { "10.0.0.1", { "Forwarded: for=9.9.9.9, for=192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1", { "FORWARDED: for=9.9.9.9, for=192.0.2.1, for=10.9.9.9" }, "192.0.2.1" },
        { "10.0.0.1", { "Forwarded: for=\"a, for=192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1", { "Forwarded: for=9.9.9.9;x=\", for=192.0.2.1;x=\"\"" }, "192.0.2.1" },
        { "2001:db8:f::1", { "X-Forwarded-For: 2001:db8::1" }, "2001:db8::1" },
        { "10.0.0.1", { "X-Forwarded-For: 127.0.0.1" }, "127.0.0.1" },
    };
    check_rows(proxies(), rows, COUNT(rows));
}

TEST(where_all_are_trusted_the_leftmost_is_the_client)
{
    static const struct row rows[] = {
        { "10.0.0.1", { "X-Forwarded-For: 10.0.0.3, 10.0.0.2" }, "10.0.0.3" },
        { "10.0.0.1", { "X-Forwarded-For: 10.0.0.3", "X-Forwarded-For: 10.0.0.2" }, "10.0.0.3" },
        { "10.0.0.1", { "X-Forwarded-For:" }, "10.0.0.1" },
        { "10.0.0.1", { "Forwarded: , ," }, "10.0.0.1" },
    };
    check_rows(proxies(), rows, COUNT(rows));
}

TEST(lines_are_one_list_in_their_order)
{
    static const struct row rows[] = {
        { "10.0.0.1", { "X-Forwarded-For: 9.9.9.9", "X-Forwarded-For: 192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1",
          { "X-Forwarded-For: 8.8.8.8", "Host: a", "X-Forwarded-For: 9.9.9.9, 192.0.2.1",
            "X-Forwarded-Fox: 7.7.7.7", "x-forwarded-for: 10.0.0.2", "X-Forwarded-For:" },
          "192.0.2.1" },
        { "10.0.0.1", { "Forwarded: for=\"a", "Forwarded: for=192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1",
          { "Forwarded: for=192.0.2.1;x=\"", "Forwarded: \";for=10.0.0.2" },
          "10.0.0.1" }, /* a string does not go on in the next line */
    };
    check_rows(proxies(), rows, COUNT(rows));
}

TEST(where_a_proxy_names_no_address_its_own_is_the_last_known)
{
    static const struct row rows[] = {
        { "10.0.0.1", { "X-Forwarded-For: unknown" }, "10.0.0.1" },
        { "10.0.0.1", { "X-Forwarded-For: 9.9.9.9, unknown" }, "10.0.0.1" },
        { "10.0.0.1", { "X-Forwarded-For: 9.9.9.9, garbage, 10.0.0.2" }, "10.0.0.2" },
        { "10.0.0.1", { "X-Forwarded-For: 9.9.9.9", "X-Forwarded-For: ?" }, "10.0.0.1" },
        { "10.0.0.1", { "Forwarded: for=9.9.9.9, for=_hidden" }, "10.0.0.1" },
        { "10.0.0.1", { "Forwarded: for=9.9.9.9, proto=http, for=10.0.0.2" }, "10.0.0.2" },
        { "10.0.0.1", { "Forwarded: for=9.9.9.9", "Forwarded: for=\"" }, "10.0.0.1" },
    };
    check_rows(proxies(), rows, COUNT(rows));
}

TEST(without_configured_proxies_loopback_may_forward)
{
    static const struct row rows[] = {
        { "127.0.0.1", { "X-Forwarded-For: 9.9.9.9, 192.0.2.1" }, "192.0.2.1" },
        { "::1", { "Forwarded: for=192.0.2.1, for=127.0.0.1" }, "192.0.2.1" },
        { "10.0.0.1", { "X-Forwarded-For: 192.0.2.1" }, "10.0.0.1" },
    };
    check_rows(&none_configured, rows, COUNT(rows));
}

TEST(a_unix_socket_is_trusted_and_local)
{
    static const struct row rows[] = {
        { NULL, { "Host: a" }, "127.0.0.1" },
        { NULL, { "X-Forwarded-For: 9.9.9.9, 192.0.2.1" }, "192.0.2.1" },
        { NULL, { "Forwarded: for=unknown" }, "127.0.0.1" },
    };
    check_rows(proxies(), rows, COUNT(rows));
    check_rows(&none_configured, rows, COUNT(rows));
}

TEST(sixty_four_elements_are_looked_at)
{
    static const char trusted[] = ", 10.0.0.2";
    static char line[1024];
    for (int count = SL_FORWARDED_MAX - 2; count <= SL_FORWARDED_MAX; count++) {
        int len = snprintf(line, sizeof line, "X-Forwarded-For: 192.0.2.1");
        for (int i = 0; i < count; i++)
            len += snprintf(line + len, sizeof line - (size_t)len, trusted);
        assert_true(len < (int)sizeof line);
        struct row row = { "10.0.0.1", { line }, NULL };
        row.client = count < SL_FORWARDED_MAX ? "192.0.2.1" : "10.0.0.2";
        check_client(proxies(), &row);
    }
}

/* ---- both headers ----------------------------------------------------------------- */

TEST(two_headers_that_lead_to_one_address_are_believed)
{
    static const struct row rows[] = {
        { "10.0.0.1", { "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1",
          { "X-Forwarded-For: 8.8.8.8, 192.0.2.1:80", "Forwarded: for=9.9.9.9, for=192.0.2.1" },
          "192.0.2.1" },
        { "10.0.0.1", /* the nearer proxy writes only one of them */
          { "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1, 10.0.0.2" },
          "192.0.2.1" },
        { "10.0.0.1", { "Forwarded: for=unknown", "X-Forwarded-For: unknown" }, "10.0.0.1" },
        { "10.0.0.1", { "Forwarded: for=unknown", "X-Forwarded-For: 10.0.0.1" }, "10.0.0.1" },
    };
    check_rows(proxies(), rows, COUNT(rows));
}

TEST(two_headers_that_contradict_each_other_give_no_address)
{
    static const struct row rows[] = {
        { "10.0.0.1", { "Forwarded: for=9.9.9.9", "X-Forwarded-For: 192.0.2.1" }, "0.0.0.0" },
        { "10.0.0.1", { "X-Forwarded-For: 9.9.9.9", "Forwarded: for=192.0.2.1" }, "0.0.0.0" },
        { "10.0.0.1", { "X-Forwarded-For: 192.0.2.1", "Forwarded: for=unknown" }, "0.0.0.0" },
        { "10.0.0.1", { "X-Forwarded-For: 192.0.2.1", "Forwarded: \"" }, "0.0.0.0" },
        { "10.0.0.1", { "X-Forwarded-For: 192.0.2.1", "Forwarded: for=10.0.0.1" }, "0.0.0.0" },
        { "10.0.0.1", { "X-Forwarded-For: 10.0.0.2", "Forwarded: for=10.0.0.3" }, "0.0.0.0" },
        { "10.0.0.1", /* what is known ends at a proxy: a client may not go on from there */
          { "X-Forwarded-For: 10.0.0.2", "Forwarded: for=9.9.9.9, for=10.0.0.2" },
          "0.0.0.0" },
        { "10.0.0.1", { "X-Forwarded-For: unknown", "Forwarded: for=9.9.9.9" }, "0.0.0.0" },
        { NULL, { "X-Forwarded-For: 192.0.2.1", "Forwarded: for=9.9.9.9" }, "0.0.0.0" },
        { "192.0.2.1", /* neither is asked */
          { "X-Forwarded-For: 8.8.8.8", "Forwarded: for=9.9.9.9" },
          "192.0.2.1" },
    };
    check_rows(proxies(), rows, COUNT(rows));
}

TEST(an_empty_header_says_nothing)
{
    static const struct row rows[] = {
        { "10.0.0.1", { "Forwarded:", "X-Forwarded-For: 192.0.2.1" }, "192.0.2.1" },
        { "10.0.0.1", { "Forwarded: for=192.0.2.1", "X-Forwarded-For: , " }, "192.0.2.1" },
        { "10.0.0.1", { "Forwarded: ,", "X-Forwarded-For:" }, "10.0.0.1" },
    };
    check_rows(proxies(), rows, COUNT(rows));
}

/* A value out of pieces, some of them poisonous. */
static void make_up(uint64_t *seed, const char *const *pieces, size_t piece_count, char out[256])
{
    size_t len = 0;
    out[0] = 0;
    for (int64_t left = unit_up_to(seed, 6); left > 0; left--) {
        const char *piece = pieces[unit_up_to(seed, (int64_t)piece_count - 1)];
        len += (size_t)snprintf(out + len, 256 - len, "%s", piece);
    }
}

TEST(a_client_can_only_turn_the_answer_into_no_address)
{
    static const char *const pieces[] = {
        "for=", "10.0.0.2", "10.0.0.3",    "9.9.9.9",      ",",         ", ", "\"", "\\",
        ";",    "unknown",  "for=9.9.9.9", "for=10.0.0.2", "192.0.2.1",
    };
    uint64_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        char forged[256], x_line[320], line[320];
        make_up(&seed, pieces, COUNT(pieces), forged);
        /* The proxy appends to X-Forwarded-For, and passes Forwarded on; and the
         * other way round. */
        snprintf(x_line, sizeof x_line, "X-Forwarded-For: %s, 192.0.2.1, 10.0.0.2", forged);
        make_up(&seed, pieces, COUNT(pieces), forged);
        snprintf(line, sizeof line, "Forwarded: %s", forged);
        if (i % 2) {
            snprintf(x_line, sizeof x_line, "X-Forwarded-For: %s", forged);
            make_up(&seed, pieces, COUNT(pieces), forged);
            snprintf(line, sizeof line, "Forwarded: %s, for=192.0.2.1, for=10.0.0.2", forged);
        }
        static struct sl_http_head head;
        fill_head(&head, (const char *const[]){ line, x_line, NULL });
        struct sl_address peer = address_of("10.0.0.1");
        struct sl_address client = sl_peer_client(proxies(), &peer, &head);
        char text[SL_ADDRESS_PRINT_MAX];
        sl_address_print(&client, text);
        if (strcmp(text, "192.0.2.1") != 0 && strcmp(text, "0.0.0.0") != 0)
            fail_msg("%s\n%s\nis %s", line, x_line, text);
    }
}
