/* The caller of a decision: by a token, by a key, or anonymous; and callers refused for
 * lack of either. */
#include "unit/server/known_callers.h"

#define CHECK     "POST /v1/check"
#define AUTHORIZE "GET /v1/authorize"

#define ANY_JWT    IDENTITY(WITH_JWT(CLAIMS)) SOME_RULES
#define NEEDS_JWT  IDENTITY(WITH_JWT(CLAIMS ", required: true")) SOME_RULES
#define NEEDS_KEYS IDENTITY("api_keys: required") SOME_RULES
#define NEEDS_BOTH IDENTITY(WITH_JWT(CLAIMS ", required: true") ", api_keys: required") SOME_RULES

struct row {
    const char *line, *fields, *body;
    uint32_t status;
    const char *authenticate; /* a part of it; NULL: it is not there */
};

/* The counts of wrong ones are forgotten in between. */
static void check_rows(const char *peer, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        start_over();
        visitor_comes_from(&visitor, peer);
        struct answer *answer = answer_to_message(rows[i].line, rows[i].fields, rows[i].body);
        struct sluice_text how = field_of(answer, "WWW-Authenticate");
        const char *wanted = rows[i].authenticate;
        bool is_right = answer->status == rows[i].status && !how.at == !wanted &&
                        (!wanted || memmem(how.at, how.len, wanted, strlen(wanted)));
        if (!is_right)
            fail_msg("%s %s %s: %u %.*s", rows[i].line, rows[i].fields, rows[i].body,
                     answer->status, (int)how.len, how.len ? how.at : "");
        SAME(rows[i].fields, how.at != NULL, answer->status == 401);
    }
}

/* ---- nothing is configured ---- */

/* What stands in `Authorization` is for the API behind, and so may the key be. */
WITHOUT_TENANTS(where_nothing_is_configured_tokens_are_not_looked_at_and_keys_are_attributes,
                SOME_RULES)
{
    static const struct asking rows[] = {
        { "", "{}", "" },
        { "Authorization: Bearer rubbish\r\n", "{}", "" },
        { "Authorization: Basic YTpi\r\n", "{}", "" },
        { AS_UNKNOWN, "{}", "api_key=sha256(sk_unknown)" },
        { AS_ACME, "{\"user\": \"u\"}", "user=u api_key=sha256(sk_acme)" },
        { AS_ACME AS_ACME, "{}", "400" },
        { "Authorization: a\r\nAuthorization: b\r\n", "{}", "400" },
    };
    check_asked(CHECK, rows, COUNT(rows));
    static const struct asking authorized[] = {
        { "", NULL, "ip=192.0.2.1" },
        { "Authorization: Bearer rubbish\r\n", NULL, "ip=192.0.2.1" },
        { AS_UNKNOWN, NULL, "ip=192.0.2.1 api_key=sha256(sk_unknown)" },
    };
    check_asked(AUTHORIZE, authorized, COUNT(authorized));
}

/* ---- keys ---- */

WITH_TENANTS(where_there_are_tenants_an_unknown_key_is_401_everywhere, SOME_RULES)
{
    static const char settle[] = "{\"reservation\": \"0000000000000001\", \"cost\": 1}";
    static const char cancel[] = "{\"reservation\": \"0000000000000001\"}";
    static const struct row rows[] = {
        { CHECK, AS_UNKNOWN, "{}", 401, "Bearer" },
        { CHECK, AS_UNKNOWN, "[{}, {}]", 401, "Bearer" },
        { CHECK, "X-API-Key:\r\n", "{}", 401, "Bearer" },
        { CHECK, "X-API-Key: SK_ACME\r\n", "{}", 401, "Bearer" },
        { CHECK, "X-API-Key: \xc3\xa9\r\n", "{}", 401, "Bearer" },
        { "POST /v1/reserve", AS_UNKNOWN, "{}", 401, "Bearer" },
        { "POST /v1/commit", AS_UNKNOWN, settle, 401, "Bearer" },
        { "POST /v1/cancel", AS_UNKNOWN, cancel, 401, "Bearer" },
        { AUTHORIZE, AS_UNKNOWN, "", 401, "Bearer" },
        { CHECK, AS_ACME, "{}", 200 },
        { CHECK, AS_ACME, "[{}, {}]", 200 },
        { AUTHORIZE, AS_ACME, "", 200 },
        { "POST /v1/commit", AS_ACME, settle, 404 },
        { CHECK, "", "{}", 200 },
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
}

WITH_TENANTS(a_key_that_is_exempt_is_known, SOME_RULES)
{
    static const struct asking rows[] = {
        { AS_UNKNOWN, "{}", "401" },
    };
    check_asked(CHECK, rows, COUNT(rows));
    char yaml[512], hex[SL_DIGEST_HEX + 1];
    struct sl_digest digest = digest_of("sk_unknown");
    sl_digest_print(&digest, hex);
    snprintf(yaml, sizeof yaml, "exempt: { api_keys: [%s] }\n" SOME_RULES, hex);
    stage_go_over(&stage, stage_edition_of(yaml, keys_of_tenants(), &model.store, 1));
    struct answer *answer = answer_to_message(CHECK, AS_UNKNOWN, "{}");
    assert_int_equal(answer->status, 200);
    assert_true(body_has(answer, "\"reason\": \"exempt\""));
    assert_int_equal(answer_to_message(CHECK, "X-API-Key: sk_x\r\n", "{}")->status, 401);
}

WITH_TENANTS(where_keys_are_required_a_caller_must_be_known, NEEDS_KEYS)
{
    static const char settle[] = "{\"reservation\": \"0000000000000001\", \"cost\": 1}";
    static const char cancel[] = "{\"reservation\": \"0000000000000001\"}";
    static const struct row rows[] = {
        { CHECK, "", "{}", 401, "Bearer" },
        { CHECK, "", "[{}]", 401, "Bearer" },
        { "POST /v1/reserve", "", "{}", 401, "Bearer" },
        { "POST /v1/commit", "", settle, 401, "Bearer" },
        { "POST /v1/cancel", "", cancel, 401, "Bearer" },
        { CHECK, "Authorization: Basic YTpi\r\n", "{}", 401, "Bearer" },
        { CHECK, AS_UNKNOWN, "{}", 401, "Bearer" },
        { CHECK, AS_ACME, "{}", 200 },
        { "POST /v1/reserve", AS_BOLT, "{}", 200 },
        { AUTHORIZE, "", "", 200 }, /* which a proxy asks */
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
}

/* Where there is no token, this machine is the admin. */
WITH_TENANTS(where_keys_are_required_this_machine_needs_none_unless_there_is_a_token, NEEDS_KEYS)
{
    static const struct row rows[] = {
        { CHECK, "", "{}", 200 },
        { CHECK, "Via: 1.1 a\r\n", "{}", 401, "Bearer" },
        { CHECK, "Origin: http://evil.example\r\n", "{}", 401, "Bearer" },
    };
    static const struct row guarded[] = {
        { CHECK, "", "{}", 401, "Bearer" },
        { CHECK, AS_ADMIN, "{}", 200 },
    };
    check_rows("127.0.0.1", rows, COUNT(rows));
    const char *yaml = in_this_folder(WITH_TOKENS NEEDS_KEYS);
    stage_go_over(&stage, stage_edition_of(yaml, keys_of_tenants(), &model.store, 1));
    check_rows("127.0.0.1", guarded, COUNT(guarded));
}

/* ---- tokens ---- */

WITHOUT_TENANTS(a_good_token_gives_its_claims, ANY_JWT)
{
    const struct asking rows[] = {
        { jwt("{\"sub\":\"u1\"}"), "{}", "user=u1" },
        { jwt("{\"sub\":\"u1\",\"org\":\"acme\",\"plan\":\"pro\",\"azp\":\"app\"}"), "{}",
          "tenant=acme tier=pro user=u1 client=app" },
        { jwt("{\"email\":\"a@b\",\"groups\":{\"first\":7},\"azp\":true}"), "{}",
          "client=true email=a@b team=7" },
    };
    check_asked(CHECK, rows, COUNT(rows));
    const struct asking authorized[] = {
        { jwt("{\"sub\":\"u1\",\"org\":\"acme\"}"), NULL, "tenant=acme user=u1 ip=192.0.2.1" },
    };
    check_asked(AUTHORIZE, authorized, COUNT(authorized));
}

WITHOUT_TENANTS(the_same_token_is_the_same_the_second_time, ANY_JWT)
{
    const char *token = jwt("{\"sub\":\"u1\",\"org\":\"acme\"}");
    for (int i = 0; i < 3; i++)
        assert_string_equal(asked(CHECK, token, "{}"), "tenant=acme user=u1");
}

/* Two in one round: the verifier has seen the second before the first is decided. */
WITHOUT_TENANTS(values_last_as_long_as_the_round, ANY_JWT)
{
    struct sl_round *round = the_round();
    static const char *const claims[] = { "{\"sub\":\"first\"}", "{\"sub\":\"second one\"}",
                                          "{\"sub\":\"3\",\"org\":\"acme\"}" };
    for (size_t i = 0; i < COUNT(claims); i++) {
        char *text = message_text(CHECK, jwt(claims[i]), "{\"a\": \"b\"}");
        assert_int_equal(visitor_put(&visitor, sl_text(text)), strlen(text));
        free(text);
    }
    visitor_read(&visitor);
    assert_int_equal(round->request_count, 3);
    assert_string_equal(request_text(&round->requests[0]), "user=first a=b");
    assert_string_equal(request_text(&round->requests[1]), "user=second one a=b");
    assert_string_equal(request_text(&round->requests[2]), "tenant=acme user=3 a=b");
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 3);
    assert_string_equal(statuses(), "200 200 200");
}

static void check_tokens_of(const char *line, const char *body)
{
    struct sluice_text text = mint_unsigned(SL_TEXT("{\"alg\":\"HS256\"}"), SL_TEXT("{}"));
    struct sluice_text forged = mint_joined(text, mint_hmac(SL_TEXT("another secret"), text));
    char wrong[512];
    snprintf(wrong, sizeof wrong, "Authorization: Bearer %.*s\r\n", (int)forged.len, forged.at);
#define BECAUSE(why) "Bearer error=\"invalid_token\", error_description=\"" why "\""
    const struct row rows[] = {
        { line, "Authorization: Bearer rubbish\r\n", body, 401,
          BECAUSE("the token does not have three parts") },
        { line, wrong, body, 401, BECAUSE("the signature is wrong") },
        { line, jwt("{\"sub\":\"u\",\"exp\":1}"), body, 401, BECAUSE("the token has expired") },
        { line, jwt("{\"sub\":{}}"), body, 401,
          BECAUSE("a claim that is used is not a string, number or boolean") },
        { line, jwt("{\"sub\":\"u\"}"), body, 200 },
        { line, "Authorization: Basic YTpi\r\n", body, 200 }, /* not a scheme of ours */
        { line, "Authorization: Bearer\r\n", body, 401,
          BECAUSE("the token does not have three parts") },
        { line, "", body, 200 },
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
    answer_to_message(line, wrong, body);
    assert_true(body_has(&answers[0], "The token is refused: the signature is wrong."));
}

WITHOUT_TENANTS(a_bad_token_is_401_with_the_reason_and_never_anonymous, ANY_JWT)
{
    check_tokens_of(CHECK, "{}");
    check_tokens_of(CHECK, "[{}]");
    check_tokens_of("POST /v1/reserve", "{}");
    check_tokens_of(AUTHORIZE, "");
}

WITH_TENANTS(where_a_token_is_required_nothing_else_will_do_but_the_admins, WITH_TOKENS NEEDS_JWT)
{
    const char *good = jwt("{\"sub\":\"u\"}");
    const struct row rows[] = {
        { CHECK, "", "{}", 401, "Bearer" },
        { CHECK, "", "[{}]", 401, "Bearer" },
        { AUTHORIZE, "", "", 401, "Bearer" },
        { CHECK, "Authorization: Basic YTpi\r\n", "{}", 401, "Bearer" },
        { CHECK, AS_ACME, "{}", 401, "Bearer" },
        { AUTHORIZE, AS_ACME, "", 401, "Bearer" },
        { CHECK, good, "{}", 200 },
        { AUTHORIZE, good, "", 200 },
        { CHECK, AS_ADMIN, "{}", 200 },
        { CHECK, AS_READER, "{}", 403 },
        { AUTHORIZE, AS_ADMIN, "", 401, "three parts" }, /* there it is a client's */
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
    const struct row local[] = { { CHECK, "", "{}", 401, "Bearer" } };
    check_rows("127.0.0.1", local, COUNT(local));
}

WITH_TENANTS(a_token_is_as_good_as_a_key_where_keys_are_required, WITH_TOKENS NEEDS_BOTH)
{
    const char *good = jwt("{\"sub\":\"u\"}");
    const struct row rows[] = {
        { CHECK, good, "{}", 200 },
        { CHECK, AS_ACME, "{}", 401, "Bearer" }, /* the token is required too */
        { CHECK, AS_ADMIN, "{}", 200 },
        { CHECK, "", "{}", 401, "Bearer" },
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
}

/* ---- the admin's token ---- */

WITH_TENANTS(the_admins_token_is_good_on_a_check_and_the_readers_is_403, WITH_TOKENS NEEDS_KEYS)
{
    static const char cancel[] = "{\"reservation\": \"0000000000000001\"}";
    static const struct row rows[] = {
        { CHECK, AS_ADMIN, "{}", 200 },
        { CHECK, AS_ADMIN, "[{}]", 200 },
        { "POST /v1/reserve", AS_ADMIN, "{}", 200 },
        { "POST /v1/cancel", AS_ADMIN, cancel, 404 },
        { CHECK, AS_READER, "{}", 403 },
        { "POST /v1/reserve", AS_READER, "{}", 403 },
        { "POST /v1/cancel", AS_READER, cancel, 403 },
        { AUTHORIZE, AS_READER, "", 200 }, /* there it is for the API behind */
        { CHECK, "", "{}", 401, "Bearer" },
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
}

WITH_TENANTS(the_admins_word_is_everything_that_the_body_says, WITH_TOKENS SOME_RULES)
{
    static const struct asking rows[] = {
        { AS_ADMIN, "{\"tenant\": \"any\", \"tier\": \"free\", \"user\": \"u\"}",
          "tenant=any tier=free user=u" },
        { AS_ADMIN AS_UNKNOWN, "{\"user\": \"u\"}", "user=u api_key=sha256(sk_unknown)" },
    };
    check_asked(CHECK, rows, COUNT(rows));
}

/* ---- wrong tokens where there are tokens ---- */

#define WRONG "Bearer error=\"invalid_token\""

/* Guessing is counted here as on the admin API. */
WITH_TENANTS(a_wrong_token_on_a_check_is_401_and_counted_where_keys_are_required,
             WITH_TOKENS NEEDS_KEYS)
{
    static const struct row rows[] = {
        { CHECK, AS_NOBODY, "{}", 401, WRONG },
        { CHECK, AS_NOBODY, "[{}]", 401, WRONG },
        { CHECK, "Authorization: Bearer\r\n", "{}", 401, WRONG },
        { "POST /v1/reserve", AS_NOBODY, "{}", 401, WRONG },
        { CHECK, AS_NOBODY AS_ACME, "{}", 401, WRONG },
        { AUTHORIZE, AS_NOBODY, "", 200 }, /* which is for the API behind */
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
    start_over();
    for (int i = 0; i < 10; i++)
        SAME("guessing", answer_to_message(CHECK, AS_NOBODY, "{}")->status, 401);
    assert_int_equal(answer_to_message(CHECK, AS_NOBODY, "{}")->status, 429);
    assert_int_equal(answer_to_message(CHECK, AS_ADMIN, "{}")->status, 429);
    assert_int_equal(answer_to_message(CHECK, AS_ACME, "{}")->status, 200);
}

/* What is to be a JSON Web Token is refused as one, and counted as one. */
WITH_TENANTS(what_is_no_json_web_token_is_a_guess_at_the_admins, WITH_TOKENS ANY_JWT)
{
    const struct row rows[] = {
        { CHECK, AS_NOBODY, "{}", 401, WRONG },
        { CHECK, "Authorization: Bearer a.b.c\r\n", "{}", 401, "base64url" },
        { CHECK, "Authorization: Bearer a.b\r\n", "{}", 401, WRONG },
        { CHECK, jwt("{\"sub\":\"u\"}"), "{}", 200 },
        { CHECK, AS_ADMIN, "{}", 200 },
        { CHECK, AS_READER, "{}", 403 },
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
    start_over();
    for (int i = 0; i < 10; i++)
        SAME("guessing", answer_to_message(CHECK, AS_NOBODY, "{}")->status, 401);
    assert_int_equal(answer_to_message(CHECK, AS_ADMIN, "{}")->status, 429);
    assert_int_equal(answer_to_message(CHECK, jwt("{\"sub\":\"u\"}"), "{}")->status, 200);
}
