/* Wrong credentials are limited by built-in rules, on the store of all rules. */
#include "server/auth/auth_throttle.h"

#include "unit/server/known_callers.h"

enum { CREDENTIALS_MAX = 10, TOKENS_MAX = 30 };
#define MINUTE_US INT64_C(60000000)

static const char with_tokens[] = WITH_TOKENS SOME_RULES;
static const char behind_a_proxy[] =
    WITH_TOKENS IDENTITY("trusted_proxies: [192.0.2.1], ipv4_prefix: 24, ipv6_prefix: 48")
        SOME_RULES;
static const char with_jwt[] = WITH_TOKENS IDENTITY(WITH_JWT()) SOME_RULES;
static const char open_to_local[] = SOME_RULES;

#define BAD_JWT "Authorization: Bearer a.b.c\r\n"

static uint32_t status_for(const char *line, const char *fields, const char *body)
{
    uint32_t status = answer_to_message(line, fields, body)->status;
    SAME("Retry-After comes with 429 alone", field_of(&answers[0], "Retry-After").at != NULL,
         status == 429);
    return status;
}

static uint32_t status_as(const char *fields)
{
    struct sl_job *job;
    char *text = call_text("GET /v1/rules", fields, NULL);
    size_t count = says(text);
    free(text);
    job = sl_jobs_take(&stage.server.jobs);
    if (!job)
        return answers[0].status;
    assert_int_equal(count, 0);
    visitor.conn->job = NULL;
    sl_job_free(job);
    return 200; /* it went on to the control plane */
}

static void fail_times(int count, const char *fields)
{
    for (int i = 0; i < count; i++)
        SAME(fields, status_as(fields), 401);
}

/* ---- tokens and keys of the admin API ---- */

WITH_TENANTS(ten_wrong_ones_are_401_and_then_all_are_429, with_tokens)
{
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    assert_int_equal(status_as(AS_NOBODY), 429);
    assert_int_equal(number_of(field_of(&answers[0], "Retry-After")), 60);
    assert_true(body_has(&answers[0], "Too many wrong tokens or keys"));
    assert_int_equal(status_as(AS_ADMIN), 429); /* whatever comes with the next */
    assert_int_equal(status_as(AS_READER), 429);
    assert_int_equal(status_as(AS_ACME), 429);
    assert_int_equal(status_as(""), 401); /* which is no attempt */
    struct sl_limiter *counted = stage.workers[0].auth_throttle;
    assert_int_equal(sl_auth_throttle_counted(counted, SL_ATTEMPT_CREDENTIALS), CREDENTIALS_MAX);
    assert_int_equal(sl_auth_throttle_counted(counted, SL_ATTEMPT_TOKENS), 0);
    assert_int_equal(stage.workers[0].traffic.refused[SL_REFUSED_429], 4);
}

WITH_TENANTS(tokens_and_keys_count_together, with_tokens)
{
    for (int i = 0; i < CREDENTIALS_MAX / 2; i++) {
        assert_int_equal(status_as(AS_NOBODY), 401);
        assert_int_equal(status_as(AS_UNKNOWN), 401);
    }
    assert_int_equal(status_as(AS_ADMIN), 429);
}

WITH_TENANTS(right_ones_and_none_at_all_count_nothing, with_tokens)
{
    fail_times(CREDENTIALS_MAX - 1, AS_NOBODY);
    for (int i = 0; i < 3 * CREDENTIALS_MAX; i++) {
        assert_int_equal(status_as(AS_ADMIN), 200);
        assert_int_equal(status_as(AS_READER), 200);
        assert_int_equal(status_as(AS_ACME), 200);
        assert_int_equal(status_as(""), 401);
        assert_int_equal(status_as(AS_ADMIN AS_ADMIN), 400);
    }
    assert_int_equal(status_as(AS_NOBODY), 401); /* the tenth */
    assert_int_equal(status_as(AS_ADMIN), 429);
}

/* Where no token is configured there is nothing to guess. */
WITH_TENANTS(a_token_where_none_is_configured_counts_nothing, open_to_local)
{
    for (int i = 0; i < 3 * CREDENTIALS_MAX; i++)
        assert_int_equal(status_as(AS_NOBODY), 401);
    assert_int_equal(status_as(AS_ACME), 200);
}

WITH_TENANTS(a_minute_after_the_first_they_begin_again, with_tokens)
{
    assert_int_equal(status_as(AS_NOBODY), 401);
    model.now_us += MINUTE_US / 2;
    fail_times(CREDENTIALS_MAX - 1, AS_NOBODY);
    assert_int_equal(status_as(AS_ADMIN), 429);
    assert_int_equal(number_of(field_of(&answers[0], "Retry-After")), 30);
    model.now_us += MINUTE_US / 2 - 1;
    assert_int_equal(status_as(AS_ADMIN), 429);
    assert_int_equal(number_of(field_of(&answers[0], "Retry-After")), 1);
    model.now_us += 1;
    assert_int_equal(status_as(AS_ADMIN), 200);
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    assert_int_equal(status_as(AS_ADMIN), 429);
}

/* Knocking on prolongs nothing. */
WITH_TENANTS(being_refused_is_no_attempt, with_tokens)
{
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    for (int i = 0; i < 5; i++) {
        model.now_us += MINUTE_US / 10;
        assert_int_equal(status_as(AS_NOBODY), 429);
    }
    model.now_us += MINUTE_US / 2;
    assert_int_equal(status_as(AS_ADMIN), 200);
}

WITH_TENANTS(every_address_has_its_own_count, with_tokens)
{
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    assert_int_equal(status_as(AS_ADMIN), 429);
    visitor_comes_from(&visitor, "192.0.2.2");
    assert_int_equal(status_as(AS_ADMIN), 200);
    visitor_comes_from(&visitor, NULL); /* a peer of the Unix socket is one */
    assert_int_equal(status_as(AS_ADMIN), 200);
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    assert_int_equal(status_as(AS_ADMIN), 429);
    visitor_comes_from(&visitor, "192.0.2.1");
    assert_int_equal(status_as(AS_ADMIN), 429);
}

/* A whole network of version 6 is one subscriber's. */
WITH_TENANTS(addresses_are_cut_as_the_rules_say, with_tokens)
{
    visitor_comes_from(&visitor, "2001:db8:0:1::1");
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    visitor_comes_from(&visitor, "2001:db8:0:1:ffff::2");
    assert_int_equal(status_as(AS_ADMIN), 429);
    visitor_comes_from(&visitor, "2001:db8:0:2::1");
    assert_int_equal(status_as(AS_ADMIN), 200);
}

WITH_TENANTS(a_trusted_proxy_says_whose_attempt_it_was, behind_a_proxy)
{
#define FROM(address) "X-Forwarded-For: " address "\r\n"
    fail_times(CREDENTIALS_MAX, FROM("198.51.100.1") AS_NOBODY);
    assert_int_equal(status_as(FROM("198.51.100.1") AS_ADMIN), 429);
    assert_int_equal(status_as(FROM("198.51.100.200") AS_ADMIN), 429); /* the same /24 */
    assert_int_equal(status_as(FROM("198.51.101.1") AS_ADMIN), 200);
    assert_int_equal(status_as(FROM("2001:db8::1") AS_ADMIN), 200);
    assert_int_equal(status_as(AS_ADMIN), 200);
    fail_times(CREDENTIALS_MAX, FROM("2001:db8::1") AS_NOBODY);
    assert_int_equal(status_as(FROM("2001:db8:0:ffff::1") AS_ADMIN), 429); /* the same /48 */
    assert_int_equal(status_as(FROM("2001:db8:1::1") AS_ADMIN), 200);
    visitor_comes_from(&visitor, "192.0.2.200"); /* not a trusted proxy */
    fail_times(CREDENTIALS_MAX, FROM("203.0.113.7") AS_NOBODY);
    assert_int_equal(status_as(FROM("203.0.114.7") AS_ADMIN), 429);
#undef FROM
}

/* Guessing on several servers, which share the store, is guessing once. */
WITH_TENANTS(failed_attempts_are_counted_in_the_store_that_nodes_share, with_tokens)
{
    static struct stage other;
    static struct visitor there;
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    memset(&other, 0, sizeof other);
    stage_open_workers(&other, in_this_folder(with_tokens), &model.store, 1);
    there = visitor_enter(&other);
    char *text = call_text("GET /v1/rules", AS_ADMIN, NULL);
    visitor_says(&there, sl_text(text));
    assert_int_equal(read_answers_of(&there, NULL), 1);
    assert_int_equal(answers[0].status, 429);
    free(text);
    visitor_leave(&there);
    stage_close(&other);
}

/* The rules say that a failed store lets pass, and so it is with these. */
WITH_TENANTS(a_failed_store_bars_no_address, with_tokens)
{
    fail_times(CREDENTIALS_MAX, AS_NOBODY);
    model.status = SLUICE_STORE_DOWN;
    assert_int_equal(status_as(AS_NOBODY), 401);
    assert_int_equal(status_as(AS_ADMIN), 200);
    model.status = SLUICE_OK;
    assert_int_equal(status_as(AS_ADMIN), 429);
}

/* ---- keys on a check ---- */

#define CHECK "POST /v1/check"

WITH_TENANTS(unknown_keys_on_a_check_count_by_the_address_the_peer_names, with_tokens)
{
    for (int i = 0; i < CREDENTIALS_MAX; i++)
        assert_int_equal(status_for(CHECK, AS_UNKNOWN, "{\"ip\": \"203.0.113.1\"}"), 401);
    assert_int_equal(status_for(CHECK, AS_UNKNOWN, "{\"ip\": \"203.0.113.1\"}"), 429);
    assert_int_equal(status_for(CHECK, AS_UNKNOWN, "{\"ip\": \"203.0.113.2\"}"), 401);
    assert_int_equal(status_for(CHECK, AS_ACME, "{\"ip\": \"203.0.113.1\"}"), 200);
    assert_int_equal(status_for(CHECK, AS_ADMIN AS_UNKNOWN, "{\"ip\": \"203.0.113.1\"}"), 200);
    assert_int_equal(status_as(AS_ADMIN), 200); /* the admin API has a count of its own */
}

/* ---- JSON Web Tokens ---- */

WITH_TENANTS(thirty_bad_tokens_are_401_and_then_they_are_429, with_jwt)
{
    const char *good = jwt("{\"sub\":\"u\"}");
    for (int i = 0; i < TOKENS_MAX; i++)
        assert_int_equal(status_for(CHECK, BAD_JWT, "{}"), 401);
    assert_int_equal(status_for(CHECK, BAD_JWT, "{}"), 429);
    assert_int_equal(status_for(CHECK, good, "{}"), 429); /* its signature is not checked */
    assert_int_equal(status_for("GET /v1/authorize", good, ""), 429);
    assert_int_equal(status_for(CHECK, "", "{}"), 200);
    assert_int_equal(status_as(AS_ADMIN), 200); /* another count than that of keys */
    model.now_us += MINUTE_US;
    assert_int_equal(status_for(CHECK, good, "{}"), 200);
}

WITH_TENANTS(a_token_that_was_verified_before_still_passes, with_jwt)
{
    char good[2048];
    strcpy(good, jwt("{\"sub\":\"u\"}"));
    assert_int_equal(status_for(CHECK, good, "{}"), 200);
    for (int i = 0; i < TOKENS_MAX; i++)
        assert_int_equal(status_for(CHECK, BAD_JWT, "{}"), 401);
    assert_int_equal(status_for(CHECK, BAD_JWT, "{}"), 429);
    assert_int_equal(status_for(CHECK, good, "{}"), 200);
    assert_int_equal(status_for(CHECK, AS_ADMIN, "{}"), 200);
}

/* Or the bad tokens of one user would bar all others of the service that asks. */
WITH_TENANTS(on_a_check_they_count_by_the_address_in_its_body, with_jwt)
{
    const char *good = jwt("{\"sub\":\"u\"}");
    static const char *const lines[] = { CHECK, "POST /v1/reserve" };
    for (int i = 0; i < TOKENS_MAX; i++)
        assert_int_equal(status_for(lines[i % 2], BAD_JWT, "{\"ip\": \"203.0.113.1\"}"), 401);
    assert_int_equal(status_for(CHECK, BAD_JWT, "{\"ip\": \"203.0.113.1\"}"), 429);
    assert_int_equal(status_for("POST /v1/reserve", good, "{\"ip\": \"203.0.113.1\"}"), 429);
    assert_int_equal(status_for(CHECK, BAD_JWT, "{\"ip\": \"203.0.113.2\"}"), 401);
    assert_int_equal(status_for(CHECK, BAD_JWT, "{}"), 401);
    assert_int_equal(status_for("GET /v1/authorize", BAD_JWT, ""), 401);
    visitor_comes_from(&visitor, "192.0.2.2"); /* no service can bar another service's users */
    assert_int_equal(status_for(CHECK, good, "{\"ip\": \"203.0.113.1\"}"), 200);
}

/* ---- the rules themselves ---- */

TEST(the_rules_can_be_made_for_every_prefix)
{
    for (uint32_t bits = 1; bits <= 128; bits++) {
        struct sl_identity identity = { .ipv4_prefix = bits > 32 ? 32 : bits, .ipv6_prefix = bits };
        struct sl_ruleset *rules = sl_auth_throttle_rules(&identity);
        assert_non_null(rules);
        assert_int_equal(rules->settings.identity.ipv6_prefix, bits);
        assert_int_equal(rules->rule_count, 3);
        sl_ruleset_free(rules);
    }
}
