#include "auth/token/claims.h"

#include "unit/base/unit.h"

#define S_US INT64_C(1000000)

static const int64_t now_us = 1700000000 * S_US;

/* The refusal of claims at a time; a token that is taken leaves its span. */
static enum sl_refusal refusal_at(const struct sl_identity *identity, const char *json,
                                  int64_t at_us, struct sl_token_span *span)
{
    static struct sl_claims claims;
    enum sl_refusal refusal = sl_claims_read(sl_text(json), identity, at_us, &claims);
    if (refusal == SL_ACCEPTED && span)
        *span = claims.span;
    assert_int_equal(claims.json != NULL, refusal == SL_ACCEPTED);
    sl_claims_release(&claims);
    return refusal;
}

/* ---- times ------------------------------------------------------------------------- */

TEST(times_end_and_begin_at_their_microsecond)
{
    static const struct {
        const char *json;
        int64_t leeway_us;
        int64_t edge_us;            /* the first at which the answer is another */
        enum sl_refusal at, before; /* the edge */
    } rows[] = {
        { "{\"exp\":1700000000}", 0, 1700000000 * S_US, SL_REFUSED_EXPIRED, SL_ACCEPTED },
        { "{\"exp\":1700000000}", 60 * S_US, 1700000060 * S_US, SL_REFUSED_EXPIRED, SL_ACCEPTED },
        { "{\"exp\":1700000000}", 1, 1700000000 * S_US + 1, SL_REFUSED_EXPIRED, SL_ACCEPTED },
        { "{\"exp\":1700000000.5}", 0, 1700000000 * S_US + 500000, SL_REFUSED_EXPIRED,
          SL_ACCEPTED },
        { "{\"exp\":1700000000.000001}", 0, 1700000000 * S_US + 1, SL_REFUSED_EXPIRED,
          SL_ACCEPTED },
        { "{\"exp\":1700000000.999999}", 0, 1700000001 * S_US - 1, SL_REFUSED_EXPIRED,
          SL_ACCEPTED },
        { "{\"exp\":1.7e9}", 0, 1700000000 * S_US, SL_REFUSED_EXPIRED, SL_ACCEPTED },
        { "{\"exp\":0}", 0, 0, SL_REFUSED_EXPIRED, SL_ACCEPTED },
        { "{\"exp\":-1.5}", 0, -1500000, SL_REFUSED_EXPIRED, SL_ACCEPTED },
        { "{\"nbf\":1700000000}", 0, 1700000000 * S_US, SL_ACCEPTED, SL_REFUSED_NBF },
        { "{\"nbf\":1700000000}", 60 * S_US, 1699999940 * S_US, SL_ACCEPTED, SL_REFUSED_NBF },
        { "{\"nbf\":1700000000.25}", 0, 1700000000 * S_US + 250000, SL_ACCEPTED, SL_REFUSED_NBF },
        { "{\"iat\":1700000000}", 0, 1700000000 * S_US, SL_ACCEPTED, SL_REFUSED_IAT },
        { "{\"iat\":1700000000}", 60 * S_US, 1699999940 * S_US, SL_ACCEPTED, SL_REFUSED_IAT },
        { "{\"iat\":5,\"nbf\":7}", 0, 7 * S_US, SL_ACCEPTED, SL_REFUSED_NBF },
        { "{\"iat\":7,\"nbf\":5}", 0, 7 * S_US, SL_ACCEPTED, SL_REFUSED_IAT },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_identity identity = { .jwt.leeway_us = rows[i].leeway_us };
        const char *json = rows[i].json;
        SAME(json, refusal_at(&identity, json, rows[i].edge_us, NULL), rows[i].at);
        SAME(json, refusal_at(&identity, json, rows[i].edge_us + 1, NULL), rows[i].at);
        SAME(json, refusal_at(&identity, json, rows[i].edge_us - 1, NULL), rows[i].before);
    }
}

TEST(the_span_is_what_was_checked)
{
    struct sl_identity identity = { .jwt.leeway_us = 10 * S_US };
    struct sl_token_span span;
    assert_int_equal(refusal_at(&identity, "{}", now_us, &span), SL_ACCEPTED);
    assert_true(span.from_us == INT64_MIN && span.until_us == INT64_MAX);
    assert_int_equal(
        refusal_at(&identity, "{\"iat\":90,\"nbf\":100,\"exp\":200.5}", 150 * S_US, &span),
        SL_ACCEPTED);
    assert_int_equal(span.from_us, 90 * S_US);
    assert_int_equal(span.until_us, 210500000);
}

TEST(times_beyond_all_clocks_do_not_overflow)
{
    static const struct {
        const char *json;
        enum sl_refusal wanted;
    } rows[] = {
        { "{\"exp\":9223372036854775807}", SL_ACCEPTED },
        { "{\"exp\":9223372036854}", SL_ACCEPTED },
        { "{\"exp\":1e300}", SL_ACCEPTED },
        { "{\"exp\":-9223372036854775808}", SL_REFUSED_EXPIRED },
        { "{\"exp\":-1e300}", SL_REFUSED_EXPIRED },
        { "{\"exp\":1e-300}", SL_REFUSED_EXPIRED },
        { "{\"exp\":1e400}", SL_REFUSED_CLAIMS_NUMBER },
        { "{\"exp\":99999999999999999999}", SL_REFUSED_CLAIMS_NUMBER },
        { "{\"nbf\":9223372036854775807}", SL_REFUSED_NBF },
        { "{\"nbf\":1e300}", SL_REFUSED_NBF },
        { "{\"nbf\":-1e300}", SL_ACCEPTED },
        { "{\"iat\":-9223372036854775808}", SL_ACCEPTED },
        { "{\"iat\":9223372036854775}", SL_REFUSED_IAT },
    };
    struct sl_identity identity = { .jwt.leeway_us = 3600 * S_US };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i].json, refusal_at(&identity, rows[i].json, now_us, NULL), rows[i].wanted);
}

TEST(a_time_is_a_number)
{
    static const char *const values[] = { "\"1800000000\"", "null", "true", "[]", "{}", "\"\"" };
    struct sl_identity identity = { 0 };
    for (size_t i = 0; i < COUNT(values); i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"exp\":%s}", values[i]);
        SAME(json, refusal_at(&identity, json, now_us, NULL), SL_REFUSED_EXP_NOT_NUMBER);
        snprintf(json, sizeof json, "{\"nbf\":%s}", values[i]);
        SAME(json, refusal_at(&identity, json, now_us, NULL), SL_REFUSED_NBF_NOT_NUMBER);
        snprintf(json, sizeof json, "{\"iat\":%s}", values[i]);
        SAME(json, refusal_at(&identity, json, now_us, NULL), SL_REFUSED_IAT_NOT_NUMBER);
    }
}

/* ---- issuer and audience ----------------------------------------------------------- */

TEST(issuer_and_audience_are_those_configured)
{
    static const struct {
        const char *json;
        enum sl_refusal wanted;
    } rows[] = {
        { "{\"iss\":\"i\",\"aud\":\"a\"}", SL_ACCEPTED },
        { "{\"iss\":\"i\",\"aud\":[\"a\"]}", SL_ACCEPTED },
        { "{\"iss\":\"i\",\"aud\":[\"b\",\"a\",\"c\"]}", SL_ACCEPTED },
        { "{\"aud\":\"a\"}", SL_REFUSED_ISS_MISSING },
        { "{\"iss\":\"I\",\"aud\":\"a\"}", SL_REFUSED_ISS },
        { "{\"iss\":\"i/\",\"aud\":\"a\"}", SL_REFUSED_ISS },
        { "{\"iss\":\"\",\"aud\":\"a\"}", SL_REFUSED_ISS },
        { "{\"iss\":null,\"aud\":\"a\"}", SL_REFUSED_ISS_NOT_TEXT },
        { "{\"iss\":[\"i\"],\"aud\":\"a\"}", SL_REFUSED_ISS_NOT_TEXT },
        { "{\"iss\":\"i\"}", SL_REFUSED_AUD_MISSING },
        { "{\"iss\":\"i\",\"aud\":\"b\"}", SL_REFUSED_AUD },
        { "{\"iss\":\"i\",\"aud\":\"aa\"}", SL_REFUSED_AUD },
        { "{\"iss\":\"i\",\"aud\":[]}", SL_REFUSED_AUD },
        { "{\"iss\":\"i\",\"aud\":[\"b\",\"c\"]}", SL_REFUSED_AUD },
        { "{\"iss\":\"i\",\"aud\":[1,2]}", SL_REFUSED_AUD_NOT_TEXT },
        { "{\"iss\":\"i\",\"aud\":[\"a\",1]}", SL_REFUSED_AUD_NOT_TEXT },
        { "{\"iss\":\"i\",\"aud\":[[\"a\"]]}", SL_REFUSED_AUD_NOT_TEXT },
        { "{\"iss\":\"i\",\"aud\":{\"a\":\"a\"}}", SL_REFUSED_AUD_NOT_TEXT },
        { "{\"iss\":\"i\",\"aud\":null}", SL_REFUSED_AUD_NOT_TEXT },
        { "{\"iss\":\"i\",\"aud\":7}", SL_REFUSED_AUD_NOT_TEXT },
    };
    static const struct sl_identity identity = { .jwt = { .issuer = "i", .audience = "a" } };
    static const struct sl_identity any;
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i].json, refusal_at(&identity, rows[i].json, now_us, NULL), rows[i].wanted);
        SAME(rows[i].json, refusal_at(&any, rows[i].json, now_us, NULL), SL_ACCEPTED);
    }
}

/* ---- attributes -------------------------------------------------------------------- */

/* The one value of a claim of this name; "(none)", "(refused)". */
static const char *value_of(const char *json, const char *claim)
{
    static char text[256];
    static struct sl_claims claims;
    const struct sl_claim_map map = { .source = claim };
    const struct sl_identity identity = { .jwt = { .claims = &map, .claim_count = 1 } };
    enum sl_refusal refusal = sl_claims_read(sl_text(json), &identity, now_us, &claims);
    if (refusal != SL_ACCEPTED) {
        SAME(json, refusal, SL_REFUSED_CLAIM_KIND);
        return "(refused)";
    }
    assert_int_equal(claims.count, 1);
    snprintf(text, sizeof text, "%.*s", (int)claims.values[0].len,
             claims.values[0].at ? claims.values[0].at : "");
    bool none = claims.values[0].at == NULL;
    sl_claims_release(&claims);
    return none ? "(none)" : text;
}

TEST(values_are_written_as_json_writes_them)
{
    static const char *const rows[][2] = {
        { "\"text\"", "text" },
        { "\"\"", "" },
        { "\"\\u00e9\\n\\\"\"", "\xc3\xa9\n\"" },
        { "true", "true" },
        { "false", "false" },
        { "0", "0" },
        { "-7", "-7" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "0.1", "0.1" },
        { "1.0", "1.0" },
        { "1e2", "100.0" },
        { "0.30000000000000004", "0.30000000000000004" },
        { "123456.789", "123456.789" },
        { "-2.5E-3", "-0.0025" },
        { "1e300", "1e300" },
        { "-2.2250738585072014e-308", "-2.2250738585072014e-308" },
        { "1.7976931348623157e308", "1.7976931348623157e308" },
        { "null", "(refused)" },
        { "[]", "(refused)" },
        { "[\"a\"]", "(refused)" },
        { "{}", "(refused)" },
        { "{\"a\":1}", "(refused)" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"c\":%s}", rows[i][0]);
        SAME_TEXT(rows[i][0], sl_text(value_of(json, "c")), rows[i][1]);
    }
}

TEST(claims_below_are_found_by_dots)
{
    static const char json[] =
        "{\"realm\":{\"tier\":\"gold\",\"x.y\":1,\"deep\":{\"er\":{\"\":2}}},"
        "\"http://a.example/t\":\"top\",\"a.b\":\"whole\",\"a\":{\"b\":"
        "\"below\",\"c\":\"also\"},\"list\":[{\"t\":1}],\"text\":\"x\"}";
    static const char *const rows[][2] = {
        { "realm.tier", "gold" },
        { "http://a.example/t", "top" },
        { "a.b", "whole" },
        { "a.c", "also" },
        { "realm.deep.er.", "2" },
        { "realm.x.y", "(none)" }, /* only at the top a dot may be part of a name */
        { "realm.none", "(none)" },
        { "none.tier", "(none)" },
        { "none", "(none)" },
        { "text.t", "(none)" },
        { "list.t", "(none)" },
        { "list.0.t", "(none)" },
        { ".realm.tier", "(none)" },
        { "realm..tier", "(none)" },
        { "realm.", "(none)" },
        { ".", "(none)" },
        { "realm", "(refused)" },
        { "realm.deep", "(refused)" },
        { "list", "(refused)" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME_TEXT(rows[i][0], sl_text(value_of(json, rows[i][0])), rows[i][1]);
}

TEST(without_a_map_the_value_is_sub)
{
    static struct sl_claims claims;
    static const struct sl_identity identity;
    assert_int_equal(sl_claims_read(SL_TEXT("{\"sub\":\"u1\"}"), &identity, now_us, &claims),
                     SL_ACCEPTED);
    assert_int_equal(claims.count, 1);
    assert_true(sl_text_is(claims.values[0], "u1"));
    sl_claims_release(&claims);
    assert_int_equal(sl_claims_read(SL_TEXT("{}"), &identity, now_us, &claims), SL_ACCEPTED);
    assert_int_equal(claims.count, 1);
    assert_null(claims.values[0].at);
    sl_claims_release(&claims);
}

TEST(rows_of_the_map_stay_in_order)
{
    static struct sl_claims claims;
    struct sl_claim_map map[SL_CLAIMS_MAX];
    const struct sl_identity identity = { .jwt = { .claims = map, .claim_count = COUNT(map) } };
    for (size_t i = 0; i < COUNT(map); i++)
        map[i] = (struct sl_claim_map){ .source = (const char *[]){ "a", "n", "no", "r" }[i % 4] };
    assert_int_equal(
        sl_claims_read(SL_TEXT("{\"r\":0.5,\"n\":12,\"a\":\"x\"}"), &identity, now_us, &claims),
        SL_ACCEPTED);
    assert_int_equal(claims.count, COUNT(map));
    for (size_t i = 0; i < COUNT(map); i++)
        assert_true(sl_text_is(claims.values[i], (const char *[]){ "x", "12", "", "0.5" }[i % 4]));
    sl_claims_release(&claims);
}

TEST(only_claims_that_are_used_are_looked_at)
{
    static const struct sl_identity identity;
    assert_int_equal(
        refusal_at(&identity, "{\"sub\":\"u\",\"iss\":7,\"aud\":{},\"org\":[]}", now_us, NULL),
        SL_ACCEPTED);
}
