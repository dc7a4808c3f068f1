/* What a caller is goes into the request: over what is only said, or against it. */
#include "unit/server/known_callers.h"

#define CHECK     "POST /v1/check"
#define AUTHORIZE "GET /v1/authorize"

#define HEADERS                                                                                    \
    "trusted_proxies: [192.0.2.0/24], headers: { user: X-User, tenant: X-Tenant, tier: X-Tier, "   \
    "api_key: X-Key-Digest, plan: X-Plan, email: X-Email }"

static const char plain[] = SOME_RULES;
static const char with_jwt[] = IDENTITY(WITH_JWT(CLAIMS)) SOME_RULES;
static const char with_subject[] = IDENTITY(WITH_JWT("")) SOME_RULES;
static const char with_headers[] = IDENTITY(WITH_JWT(CLAIMS) ", " HEADERS) SOME_RULES;
static const char with_ids[] =
    IDENTITY(WITH_JWT(CLAIMS) ", user_id: sha256(email_ip), " HEADERS) SOME_RULES;

#define ACME_KEY "api_key=sha256(sk_acme)"
#define BOLT_KEY "api_key=sha256(sk_bolt)"

/* ---- a tenant's key on a check ---- */

WITH_TENANTS(a_tenants_key_gives_tenant_and_tier, plain)
{
    static const struct asking rows[] = {
        { AS_ACME, "{}", "tenant=acme tier=pro " ACME_KEY },
        { AS_ACME_FREE, "{}", "tenant=acme tier=free api_key=sha256(sk_acme_free)" },
        { AS_BOLT, "{}", "tenant=bolt " BOLT_KEY },
        { AS_ACME, "{\"user\": \"u\", \"ip\": \"192.0.2.9\", \"x\": \"y\"}",
          "tenant=acme tier=pro user=u ip=192.0.2.9 x=y " ACME_KEY },
    };
    check_asked(CHECK, rows, COUNT(rows));
}

WITH_TENANTS(a_tenant_asks_for_itself_alone, plain)
{
    static const struct asking rows[] = {
        { AS_ACME, "{\"tenant\": \"acme\"}", "tenant=acme tier=pro " ACME_KEY },
        { AS_ACME, "{\"tenant\": \"bolt\"}", "403" },
        { AS_ACME, "{\"tenant\": \"Acme\"}", "403" },
        { AS_ACME, "{\"tenant\": \"\"}", "tenant=acme tier=pro " ACME_KEY }, /* not given */
        { AS_ACME, "{\"tenant\": null}", "tenant=acme tier=pro " ACME_KEY },
        { AS_ACME, "{\"tier\": \"pro\"}", "tenant=acme tier=pro " ACME_KEY },
        { AS_ACME, "{\"tier\": \"free\"}", "403" },
        { AS_ACME, "{\"tier\": \"unknown\"}", "403" },
        { AS_ACME_FREE, "{\"tier\": \"pro\"}", "403" },
        { AS_BOLT, "{\"tier\": \"pro\"}", "403" }, /* it has none, and chooses none */
        { AS_BOLT, "{\"tier\": \"\"}", "tenant=bolt " BOLT_KEY },
        { AS_ACME, "{\"trust_score\": 1}", "403" },
        { AS_ACME, "{\"trust_score\": 0}", "403" },
        { AS_ACME, "{\"trust_score\": null}", "tenant=acme tier=pro " ACME_KEY },
        { AS_ACME, "{\"api_key\": \"x\"}", "403" },
        { AS_ACME, "{\"api_key\": \"sk_acme\"}", "403" },
    };
    check_asked(CHECK, rows, COUNT(rows));
}

WITH_TENANTS(in_an_array_one_contradiction_is_enough, plain)
{
    static const struct {
        const char *line, *body;
        uint32_t status;
    } rows[] = {
        { CHECK, "[{}, {\"tenant\": \"acme\"}]", 200 },
        { CHECK, "[{}, {\"tenant\": \"bolt\"}]", 403 },
        { CHECK, "[{\"tier\": \"free\"}, {}]", 403 },
        { CHECK, "[{}, {\"trust_score\": 0.5}]", 403 },
        { "POST /v1/reserve", "{\"tenant\": \"bolt\"}", 403 },
        { "POST /v1/reserve", "{\"trust_score\": 0.5}", 403 },
        { "POST /v1/reserve", "{\"tenant\": \"acme\"}", 200 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t calls = model.decide_calls;
        SAME(rows[i].body, answer_to_message(rows[i].line, AS_ACME, rows[i].body)->status,
             rows[i].status);
        SAME(rows[i].body, model.decide_calls > calls, rows[i].status == 200); /* or none of it */
    }
}

WITH_TENANTS(a_contradiction_is_a_problem_that_says_what_to_leave_out, plain)
{
    struct answer *answer = answer_to_message(CHECK, AS_ACME, "{\"tenant\": \"bolt\"}");
    assert_int_equal(answer->status, 403);
    SAME_TEXT("type", field_of(answer, "Content-Type"), "application/problem+json");
    assert_true(body_has(answer, "contradicts its credentials"));
    assert_null(field_of(answer, "WWW-Authenticate").at);
}

/* The key in the header is what was shown; the body only says so. */
WITHOUT_TENANTS(a_caller_that_is_no_tenant_may_name_any_tenant_but_not_another_key, plain)
{
    static const struct asking rows[] = {
        { "", "{\"api_key\": \"x\"}", "api_key=x" },
        { "", "{\"tenant\": \"acme\", \"tier\": \"pro\", \"trust_score\": 1}",
          "tenant=acme tier=pro" },
        { AS_UNKNOWN, "{\"tenant\": \"acme\", \"tier\": \"pro\"}",
          "tenant=acme tier=pro api_key=sha256(sk_unknown)" },
        { AS_UNKNOWN, "{\"api_key\": \"x\"}", "api_key=sha256(sk_unknown)" },
    };
    check_asked(CHECK, rows, COUNT(rows));
}

/* ---- a token on a check ---- */

WITHOUT_TENANTS(a_body_may_repeat_a_claim_and_not_contradict_it, with_jwt)
{
    const char *token = jwt("{\"sub\":\"u1\",\"org\":\"acme\",\"groups\":{\"first\":\"t1\"}}");
    const struct asking rows[] = {
        { token, "{}", "tenant=acme user=u1 team=t1" },
        { token, "{\"user\": \"u1\"}", "tenant=acme user=u1 team=t1" },
        { token, "{\"user\": \"u2\"}", "403" },
        { token, "{\"user\": \"\"}", "tenant=acme user=u1 team=t1" },
        { token, "{\"tenant\": \"bolt\"}", "403" },
        { token, "{\"team\": \"t1\"}", "tenant=acme user=u1 team=t1" },
        { token, "{\"team\": \"t2\"}", "403" },
        /* What it could have said and does not; what no claim is for. */
        { token, "{\"tier\": \"free\"}", "403" },
        { token, "{\"method\": \"GET\", \"x\": \"y\"}", "tenant=acme user=u1 x=y team=t1" },
        { token, "{\"trust_score\": 0.5}", "403" },
        { token, "{\"x\": \"y\", \"team\": null}", "tenant=acme user=u1 x=y team=t1" },
    };
    check_asked(CHECK, rows, COUNT(rows));
}

WITHOUT_TENANTS(without_claims_in_the_settings_user_is_sub, with_subject)
{
    const struct asking rows[] = {
        { jwt("{\"sub\":\"u1\",\"org\":\"acme\"}"), "{}", "user=u1" },
        { jwt("{\"sub\":\"u1\"}"), "{\"user\": \"u2\"}", "403" },
        { jwt("{\"org\":\"acme\"}"), "{\"user\": \"u2\"}", "403" },
        { jwt("{}"), "{}", "" },
    };
    check_asked(CHECK, rows, COUNT(rows));
}

/* ---- both ---- */

WITH_TENANTS(a_token_of_another_tenant_than_the_keys_is_403_on_every_route, with_jwt)
{
    char ours[2048], others[2048], nobodys[2048];
    snprintf(ours, sizeof ours, "%s" AS_ACME, jwt("{\"sub\":\"u\",\"org\":\"acme\"}"));
    snprintf(others, sizeof others, "%s" AS_ACME, jwt("{\"sub\":\"u\",\"org\":\"bolt\"}"));
    snprintf(nobodys, sizeof nobodys, "%s" AS_ACME, jwt("{\"sub\":\"u\"}"));
    const struct asking rows[] = {
        { ours, "{}", "tenant=acme tier=pro user=u " ACME_KEY },
        { others, "{}", "403" },
        { nobodys, "{}", "tenant=acme tier=pro user=u " ACME_KEY },
        { nobodys, "{\"tenant\": \"bolt\"}", "403" },
    };
    check_asked(CHECK, rows, COUNT(rows));
    const struct asking authorized[] = {
        { ours, NULL, "tenant=acme tier=pro user=u ip=192.0.2.1 " ACME_KEY },
        { others, NULL, "403" },
        { nobodys, NULL, "tenant=acme tier=pro user=u ip=192.0.2.1 " ACME_KEY },
    };
    check_asked(AUTHORIZE, authorized, COUNT(authorized));
}

/* ---- headers of a trusted proxy ---- */

WITH_TENANTS(claims_and_keys_win_over_headers, with_headers)
{
#define IP "ip=192.0.2.1"
    static const char said[] = "X-User: h\r\nX-Tenant: bolt\r\nX-Tier: free\r\nX-Key-Digest: d\r\n"
                               "X-Plan: gold\r\n";
    char with_token[2048], with_key[512];
    snprintf(with_token, sizeof with_token, "%s%s", said, jwt("{\"sub\":\"u1\",\"org\":\"acme\"}"));
    snprintf(with_key, sizeof with_key, "%s" AS_ACME, said);
    const struct asking rows[] = {
        { said, NULL, "tenant=bolt tier=free user=h " IP " api_key=d plan=gold" },
        { with_token, NULL, "tenant=acme tier=free user=u1 " IP " api_key=d plan=gold" },
        { with_key, NULL, "tenant=acme tier=pro user=h " IP " " ACME_KEY " plan=gold" },
        { "X-Tier: pro\r\n" AS_BOLT, NULL, "tenant=bolt tier=pro " IP " " BOLT_KEY },
    };
    check_asked(AUTHORIZE, rows, COUNT(rows));
    visitor_comes_from(&visitor, "198.51.100.1"); /* not a trusted proxy */
    assert_string_equal(asked(AUTHORIZE, said, ""), "ip=198.51.100.1");
#undef IP
}

/* The header is not the token's word, whose tenant alone could contradict the key's. */
WITH_TENANTS(a_header_is_overruled_by_a_key_whether_or_not_there_is_a_token, with_headers)
{
    char fields[2048];
    snprintf(fields, sizeof fields, "X-Tenant: bolt\r\n" AS_ACME "%s", jwt("{\"sub\":\"u\"}"));
    assert_string_equal(asked(AUTHORIZE, "X-Tenant: bolt\r\n" AS_ACME, ""),
                        "tenant=acme tier=pro ip=192.0.2.1 " ACME_KEY);
    assert_string_equal(asked(AUTHORIZE, fields, ""),
                        "tenant=acme tier=pro user=u ip=192.0.2.1 " ACME_KEY);
}

/* A token's tier is not the body's: only its issuer has chosen it. */
WITH_TENANTS(a_tokens_tier_is_the_requests_where_the_key_has_none, with_headers)
{
    char fields[2048];
    snprintf(fields, sizeof fields, "%s" AS_BOLT, jwt("{\"sub\":\"u\",\"plan\":\"pro\"}"));
    assert_string_equal(asked(AUTHORIZE, fields, ""),
                        "tenant=bolt tier=pro user=u ip=192.0.2.1 " BOLT_KEY);
    assert_string_equal(asked(CHECK, fields, "{}"), "tenant=bolt tier=pro user=u " BOLT_KEY);
}

/* ---- identity.user_id ---- */

/* Of email + "_" + ip, by OpenSSL's own command. */
static const char *id_of(const char *email, const char *ip)
{
    static char hex[4][SL_DIGEST_HEX + 1];
    static unsigned turn;
    char text[256], *out = hex[turn++ % 4];
    struct sl_digest digest;
    unsigned len;
    snprintf(text, sizeof text, "%s_%s", email, ip);
    assert_int_equal(EVP_Digest(text, strlen(text), digest.byte, &len, EVP_sha256(), NULL), 1);
    sl_digest_print(&digest, out);
    return out;
}

static void check_id(const char *line, const char *fields, const char *body, const char *wanted)
{
    char user[128];
    const char *got = asked(line, fields, body);
    const char *at = strstr(got, "user=");
    user[0] = 0;
    if (at)
        snprintf(user, sizeof user, "%.*s", (int)strcspn(at + 5, " "), at + 5);
    if (strcmp(user, wanted) != 0)
        fail_msg("%s %s %s: %s", line, fields, body, got);
}

WITH_TENANTS(a_user_id_is_made_of_email_and_address_wherever_they_come_from, with_ids)
{
    const char *token = jwt("{\"sub\":\"u1\",\"email\":\"a@b\"}");
    char proxied[512];
    snprintf(proxied, sizeof proxied, "%s", "X-Email: a@b\r\nX-User: h\r\n");
    check_id(CHECK, "", "{\"email\": \"a@b\", \"ip\": \"203.0.113.5\"}",
             id_of("a@b", "203.0.113.5"));
    check_id(CHECK, "", "{\"email\": \"a@b\", \"ip\": \"203.0.113.5\", \"user\": \"said\"}",
             id_of("a@b", "203.0.113.5"));
    check_id(CHECK, "", "{\"email\": \"a@b\", \"ip\": \"2001:DB8:0:0::1\"}",
             id_of("a@b", "2001:db8::1"));
    check_id(CHECK, "", "{\"email\": \"a@b\", \"user\": \"said\"}", "said");
    check_id(CHECK, "", "{\"ip\": \"203.0.113.5\", \"user\": \"said\"}", "said");
    check_id(CHECK, "", "{\"ip\": \"203.0.113.5\"}", "");
    check_id(CHECK, token, "{\"ip\": \"203.0.113.5\"}", id_of("a@b", "203.0.113.5"));
    check_id(CHECK, token, "{}", "u1");
    check_id(CHECK, AS_ACME, "{\"email\": \"a@b\", \"ip\": \"203.0.113.5\"}",
             id_of("a@b", "203.0.113.5"));
    check_id(AUTHORIZE, token, "", id_of("a@b", "192.0.2.1"));
    check_id(AUTHORIZE, proxied, "", id_of("a@b", "192.0.2.1"));
    check_id(AUTHORIZE, "", "", "");
}

WITHOUT_TENANTS(every_request_of_an_array_has_an_id_of_its_own, with_ids)
{
    answer_to_message(CHECK, "",
                      "[{\"email\": \"a\", \"ip\": \"192.0.2.1\"}, {\"user\": \"u\"}, "
                      "{\"email\": \"b\", \"ip\": \"192.0.2.1\"}]");
    assert_int_equal(answers[0].status, 200);
    /* Decided, and not yet overwritten. */
    SAME_TEXT("first", the_round()->requests[0].user, id_of("a", "192.0.2.1"));
    SAME_TEXT("third", the_round()->requests[2].user, id_of("b", "192.0.2.1"));
}
