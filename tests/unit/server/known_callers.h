/* A stage whose rules name real files of tokens and keys, with tenants that have API keys;
 * and what a message made of its request, before it is decided.
 *
 * `$` in the rules is the folder of the files: admin, reader, secret (of HS256). */
#ifndef TEST_SERVER_KNOWN_CALLERS_H
#define TEST_SERVER_KNOWN_CALLERS_H

#include "unit/auth/token/minting.h"
#include "unit/server/at_control.h"

#define ADMIN_TOKEN  "the-token-of-the-admin"
#define READER_TOKEN "the-token-of-the-reader"

/* Settings, to be put together. */
#define WITH_TOKENS "admin: { token_file: $/admin, readonly_token_file: $/reader }\n"
#define WITH_READER "admin: { readonly_token_file: $/reader }\n"
#define WITH_JWT(more)                                                                             \
    "jwt: { algorithms: [HS256], keys: [{ secret_file: $/secret }], leeway: 0s" more " }"
#define CLAIMS                                                                                     \
    ", claims: { user: sub, tenant: org, tier: plan, client: azp, email: email, team: "            \
    "groups.first }"
#define IDENTITY(what) "identity: { " what " }\n"
#define SOME_RULES                                                                                 \
    "tiers: { pro: { scale: 10 }, free: { scale: 1 } }\n"                                          \
    "rules: [{ name: all, per: global, limit: 1000000/h }]\n"

/* ---- the stage ---- */

static inline const char *in_this_folder(const char *yaml)
{
    static char text[8192];
    size_t len = 0;
    for (; *yaml; yaml++) {
        size_t more = *yaml == '$' ? strlen(folder) : 1;
        assert_true(len + more < sizeof text);
        memcpy(text + len, *yaml == '$' ? folder : yaml, more);
        len += more;
    }
    text[len] = 0;
    return text;
}

static inline struct sl_digest digest_of(const char *key)
{
    struct sl_digest digest;
    sl_sha256_of(stage.workers[0].hasher, sl_text(key), &digest);
    return digest;
}

/* acme is of tier pro, bolt of none. */
static inline struct sl_keyring *keys_of_tenants(void)
{
    struct sl_tenant_key acme[] = { { .digest = digest_of("sk_acme") },
                                    { .digest = digest_of("sk_acme_free"), .tier = "free" } };
    struct sl_tenant_key bolt = { .digest = digest_of("sk_bolt") };
    struct sl_tenant tenants[] = {
        { .name = "acme", .tier = "pro", .keys = acme, .key_count = 2 },
        { .name = "bolt", .keys = &bolt, .key_count = 1 },
    };
    return sl_keyring_new(tenants, 2);
}

/* The control plane is away: only this test takes jobs. */
static inline int open_strangers(void **state)
{
    const char *yaml = *state;
    if (open_folder(state) != 0)
        return -1;
    save_text("admin", ADMIN_TOKEN "\n");
    save_text("reader", READER_TOKEN "\n");
    save_text("secret", SECRET);
    *state = (void *)(uintptr_t)in_this_folder(yaml);
    open_control(state);
    desk.is_away = true;
    visitor_comes_from(&visitor, "192.0.2.1");
    return 0;
}

static inline int open_callers(void **state)
{
    if (open_strangers(state) != 0)
        return -1;
    stage_go_over(&stage, stage_edition_of(*state, keys_of_tenants(), &model.store, 1));
    return 0;
}

static inline int close_callers(void **state)
{
    close_control(state);
    return close_folder(state);
}

/* A test with these rules, with tenants or without. */
#define WITH_TENANTS(name, yaml)    TEST_ON(name, open_callers, close_callers, (void *)(yaml))
#define WITHOUT_TENANTS(name, yaml) TEST_ON(name, open_strangers, close_callers, (void *)(yaml))

/* ---- what they send ---- */

/* "Authorization: Bearer TOKEN\r\n" of a token with these claims; good until the fourth
 * call after it. */
static inline const char *jwt(const char *claims)
{
    static char fields[4][2048];
    static unsigned turn;
    char *out = fields[turn++ % 4];
    struct sluice_text token = mint(NULL, SL_JWT_HS256, "{\"alg\":\"HS256\"}", claims);
    snprintf(out, sizeof fields[0], "Authorization: Bearer %.*s\r\n", (int)token.len, token.at);
    return out;
}

#define AS_ADMIN     "Authorization: Bearer " ADMIN_TOKEN "\r\n"
#define AS_READER    "Authorization: Bearer " READER_TOKEN "\r\n"
#define AS_NOBODY    "Authorization: Bearer nobody-has-this-token\r\n"
#define AS_ACME      "X-API-Key: sk_acme\r\n"
#define AS_ACME_FREE "X-API-Key: sk_acme_free\r\n"
#define AS_BOLT      "X-API-Key: sk_bolt\r\n"
#define AS_UNKNOWN   "X-API-Key: sk_unknown\r\n"

/* A whole message; the caller's to free. */
static inline char *message_text(const char *line, const char *fields, const char *body)
{
    char *text;
    assert_true(asprintf(&text,
                         "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n%s\r\n%s",
                         line, strlen(body), fields, body) > 0);
    return text;
}

static inline struct answer *answer_to_message(const char *line, const char *fields,
                                               const char *body)
{
    char *text = message_text(line, fields, body);
    struct answer *answer = answer_to(text);
    free(text);
    return answer;
}

/* ---- what becomes of it ---- */

static inline size_t add_text(char *out, size_t room, const char *name, struct sluice_text value)
{
    static const char *const keys[] = { "sk_acme", "sk_acme_free", "sk_bolt", "sk_unknown" };
    if (sl_text_missing(value))
        return 0;
    for (size_t i = 0; i < COUNT(keys); i++) {
        char hex[SL_DIGEST_HEX + 1];
        struct sl_digest digest = digest_of(keys[i]);
        sl_digest_print(&digest, hex);
        if (sl_text_is(value, hex))
            return (size_t)snprintf(out, room, "%s=sha256(%s) ", name, keys[i]);
    }
    return (size_t)snprintf(out, room, "%s=%.*s ", name, (int)value.len, value.at);
}

/* "tenant=acme user=u1": of this request. */
static inline const char *request_text(const struct sluice_request *request)
{
    static char text[2048];
    size_t len = 0;
    text[0] = 0;
#define ADD(name, value) len += add_text(text + len, sizeof text - len, name, value)
    ADD("tenant", request->tenant);
    ADD("tier", request->tier);
    ADD("user", request->user);
    ADD("ip", request->ip);
    ADD("client", request->client);
    for (size_t i = 0; i < request->other_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)request->others[i].name.len,
                 request->others[i].name.at);
        ADD(name, request->others[i].value);
    }
#undef ADD
    if (len)
        text[len - 1] = 0;
    return text;
}

/* What the message asks, as request_text; "403" and the like where it is refused. */
static inline const char *asked(const char *line, const char *fields, const char *body)
{
    static char text[2048];
    struct sl_round *round = the_round();
    char *message = message_text(line, fields, body);
    assert_int_equal(visitor_put(&visitor, sl_text(message)), strlen(message));
    visitor_read(&visitor);
    text[0] = 0;
    if (round->request_count == 1)
        snprintf(text, sizeof text, "%s", request_text(&round->requests[0]));
    bool is_asked = round->request_count == 1;
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    SAME(message, is_asked, answers[0].status == 200 || answers[0].status == 503);
    if (!is_asked)
        snprintf(text, sizeof text, "%u", answers[0].status);
    free(message);
    return text;
}

struct asking {
    const char *fields, *body, *asked;
};

static inline void check_asked(const char *line, const struct asking *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = asked(line, rows[i].fields, rows[i].body ? rows[i].body : "");
        if (strcmp(got, rows[i].asked) != 0)
            fail_msg("%s %s %s: \"%s\", not \"%s\"", line, rows[i].fields,
                     rows[i].body ? rows[i].body : "", got, rows[i].asked);
    }
}

#endif
