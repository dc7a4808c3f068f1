#include "auth/token/jwt.h"

#include "unit/auth/token/minting.h"

static uint8_t room[SL_TOKEN_MAX_BYTES];

TEST(a_token_is_three_parts_decoded)
{
    struct sl_jwt jwt;
    assert_int_equal(sl_jwt_split(SL_TEXT("Zm9v.YmFyIQ.AAEC"), room, &jwt), SL_ACCEPTED);
    assert_true(sl_text_is(jwt.signed_text, "Zm9v.YmFyIQ"));
    assert_true(sl_text_is(jwt.header, "foo"));
    assert_true(sl_text_is(jwt.claims, "bar!"));
    assert_true(sl_text_equal(jwt.signature, SL_TEXT("\0\1\2")));
}

TEST(anything_but_three_parts_is_refused)
{
    static const struct {
        const char *token;
        enum sl_refusal wanted;
    } rows[] = {
        { "", SL_REFUSED_PARTS },
        { "Zm9v", SL_REFUSED_PARTS },
        { ".", SL_REFUSED_PARTS },
        { "Zm9v.Zm9v", SL_REFUSED_PARTS },
        { "Zm9v.Zm9v.Zm9v.Zm9v", SL_REFUSED_PARTS },
        { "Zm9v.Zm9v.Zm9v.", SL_REFUSED_PARTS },
        { ".Zm9v.Zm9v.Zm9v", SL_REFUSED_PARTS },
        { "Zm9v.Zm9v.Zm9v.Zm9v.Zm9v", SL_REFUSED_PARTS },
        { "...", SL_REFUSED_PARTS },
        { "....", SL_REFUSED_PARTS },
        { "..", SL_REFUSED_EMPTY_PART },
        { ".Zm9v.Zm9v", SL_REFUSED_EMPTY_PART },
        { "Zm9v..Zm9v", SL_REFUSED_EMPTY_PART },
        { "Zm9v.Zm9v.", SL_REFUSED_EMPTY_PART },
        { "Zm9v.Zm9v.Zm9=", SL_REFUSED_BASE64 },
        { "Zm9.Zm9v.Zm9v", SL_REFUSED_BASE64 },
        { "Zm9v.Zm9.Zm9v", SL_REFUSED_BASE64 },
        { "Zm9v.Zm9v.Zm9", SL_REFUSED_BASE64 },
        { "Zm9v. .Zm9v", SL_REFUSED_BASE64 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_jwt jwt = { .claims = SL_TEXT("as it was") };
        SAME(rows[i].token, sl_jwt_split(sl_text(rows[i].token), room, &jwt), rows[i].wanted);
        assert_true(sl_text_is(jwt.claims, "as it was"));
    }
    struct sl_jwt jwt;
    assert_int_equal(sl_jwt_split((struct sluice_text){ 0 }, room, &jwt), SL_REFUSED_PARTS);
}

/* In a room of its own, so that a byte too many is seen. */
TEST(a_token_has_8_kib_and_fits_its_room)
{
    char *token = malloc(SL_TOKEN_MAX_BYTES + 1);
    uint8_t *exact = malloc(SL_TOKEN_MAX_BYTES);
    struct sl_jwt jwt;
    assert_true(token && exact);
    memset(token, 'A', SL_TOKEN_MAX_BYTES + 1);
    token[4] = token[9] = '.';
    struct sluice_text text = { token, SL_TOKEN_MAX_BYTES + 1 };
    assert_int_equal(sl_jwt_split(text, exact, &jwt), SL_REFUSED_TOO_LONG);
    text.len--;
    assert_int_equal(sl_jwt_split(text, exact, &jwt), SL_ACCEPTED);
    assert_int_equal(jwt.signature.len, (SL_TOKEN_MAX_BYTES - 10) * 3 / 4);
    free(token);
    free(exact);
}

static enum sl_refusal header_of(const char *json, struct sl_jwt_header *out)
{
    return sl_jwt_header_read(sl_text(json), out);
}

TEST(a_header_names_algorithm_and_key)
{
    static const struct {
        const char *json;
        enum sl_jwt_algorithm algorithm;
        const char *kid;
    } rows[] = {
        { "{\"alg\":\"HS256\"}", SL_JWT_HS256, NULL },
        { "{\"alg\":\"RS256\",\"kid\":\"k\"}", SL_JWT_RS256, "k" },
        { "{\"alg\":\"PS256\",\"kid\":\"\"}", SL_JWT_PS256, "" },
        { "{\"alg\":\"ES256\",\"kid\":\"\\u00e9\"}", SL_JWT_ES256, "\xc3\xa9" },
        { "{\"alg\":\"EdDSA\",\"jku\":\"https://evil.example/\",\"jwk\":{},\"x5c\":[],\"x5u\":1}",
          SL_JWT_EdDSA, NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_jwt_header header;
        SAME(rows[i].json, header_of(rows[i].json, &header), SL_ACCEPTED);
        SAME(rows[i].json, header.algorithm, rows[i].algorithm);
        SAME(rows[i].json, header.kid.at != NULL, rows[i].kid != NULL);
        if (rows[i].kid)
            SAME_TEXT(rows[i].json, header.kid, rows[i].kid);
        sl_jwt_header_release(&header);
    }
}

TEST(typ_is_that_of_a_token)
{
    static const struct {
        const char *typ;
        enum sl_refusal wanted;
    } rows[] = {
        { "\"JWT\"", SL_ACCEPTED },
        { "\"jwt\"", SL_ACCEPTED },
        { "\"Jwt\"", SL_ACCEPTED },
        { "\"at+jwt\"", SL_ACCEPTED },
        { "\"AT+JWT\"", SL_ACCEPTED },
        { "\"secevent+jwt\"", SL_ACCEPTED },
        { "\"application/jwt\"", SL_ACCEPTED },
        { "\"Application/at+JWT\"", SL_ACCEPTED },
        { "\"\"", SL_REFUSED_TYP },
        { "\"JWE\"", SL_REFUSED_TYP },
        { "\"JOSE\"", SL_REFUSED_TYP },
        { "\"JWTX\"", SL_REFUSED_TYP },
        { "\"+jwt\"", SL_REFUSED_TYP },
        { "\"atjwt\"", SL_REFUSED_TYP },
        { "\"at+jwt2\"", SL_REFUSED_TYP },
        { "\"text/jwt\"", SL_REFUSED_TYP },
        { "\"application/\"", SL_REFUSED_TYP },
        { "\"application/+jwt\"", SL_REFUSED_TYP },
        { "\"application/json\"", SL_REFUSED_TYP },
        { "\"JWT \"", SL_REFUSED_TYP },
        { "null", SL_REFUSED_TYP },
        { "1", SL_REFUSED_TYP },
        { "[\"JWT\"]", SL_REFUSED_TYP },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char json[100];
        struct sl_jwt_header header;
        snprintf(json, sizeof json, "{\"alg\":\"ES256\",\"typ\":%s}", rows[i].typ);
        SAME(rows[i].typ, header_of(json, &header), rows[i].wanted);
        if (rows[i].wanted == SL_ACCEPTED)
            sl_jwt_header_release(&header);
    }
}
