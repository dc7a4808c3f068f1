/* Forged tokens, each wrong in one way and refused for just that: apart from it, each is
 * like a token that is accepted. */
#include "unit/auth/token/forging.h"

/* An object's members, in a header that is right otherwise. */
#define RS_WITH(members) "{\"alg\":\"RS256\"," members "}"
#define RS_IS(value)     "{\"alg\":" value "}"

WITH_VERIFIER(a_token_in_another_form_is_refused)
{
    static const struct row rows[] = {
        { "padding", ES, .damage = pad_signature, .wanted = SL_REFUSED_BASE64 },
        { "padding of the header", ES, .damage = pad_header, .wanted = SL_REFUSED_BASE64 },
        { "a plus", ES, .damage = put_plus, .wanted = SL_REFUSED_BASE64 },
        { "a slash", ES, .damage = put_slash, .wanted = SL_REFUSED_BASE64 },
        { "a newline at the end", RS, .damage = end_with_newline, .wanted = SL_REFUSED_BASE64 },
        { "a space before", RS, .damage = begin_with_space, .wanted = SL_REFUSED_BASE64 },
        { "a newline within", RS, .damage = break_claims, .wanted = SL_REFUSED_BASE64 },
        { "stray bits", ES, .damage = set_stray_bits, .wanted = SL_REFUSED_BASE64 },
        { "an empty signature", RS, .damage = drop_signature, .wanted = SL_REFUSED_EMPTY_PART },
        { "an empty header", RS, .damage = drop_header, .wanted = SL_REFUSED_EMPTY_PART },
        { "empty claims", RS, .damage = drop_claims, .wanted = SL_REFUSED_EMPTY_PART },
        { "two parts", RS, .damage = drop_signature_and_dot, .wanted = SL_REFUSED_PARTS },
        { "four parts", RS, .damage = add_part, .wanted = SL_REFUSED_PARTS },
        { "five parts", RS, .damage = add_two_parts, .wanted = SL_REFUSED_PARTS },
        { "a dot at the end", RS, .damage = end_with_dot, .wanted = SL_REFUSED_PARTS },
    };
    check_rows(rows, COUNT(rows));
}

WITH_VERIFIER(a_header_that_says_too_much_or_too_little_is_refused)
{
    static const struct row rows[] = {
        { "not JSON", RS, "{alg:RS256}", .wanted = SL_REFUSED_HEADER_NOT_JSON },
        { "more behind it", RS, "{\"alg\":\"RS256\"} ,", .wanted = SL_REFUSED_HEADER_NOT_JSON },
        { "a list", RS, "[\"alg\",\"RS256\"]", .wanted = SL_REFUSED_HEADER_NOT_OBJECT },
        { "a string", RS, "\"RS256\"", .wanted = SL_REFUSED_HEADER_NOT_OBJECT },
        { "null", RS, "null", .wanted = SL_REFUSED_HEADER_NOT_OBJECT },
        { "not UTF-8", RS, RS_WITH("\"a\":\"\xff\""), .wanted = SL_REFUSED_HEADER_NOT_UTF8 },
        { "a NUL in kid", RS, RS_WITH("\"kid\":\"rsa\\u0000\""), .wanted = SL_REFUSED_HEADER_NUL },
        { "a number without end", RS, RS_WITH("\"a\":1e999"), .wanted = SL_REFUSED_HEADER_NUMBER },
        { "alg twice", RS, RS_WITH("\"alg\":\"RS256\""), .wanted = SL_REFUSED_HEADER_TWICE },
        { "alg twice, once escaped", RS, RS_WITH("\"\\u0061lg\":\"RS256\""),
          .wanted = SL_REFUSED_HEADER_TWICE },
        { "nine deep", RS, RS_WITH("\"a\":[[[[[[[[]]]]]]]]"),
          .wanted = SL_REFUSED_HEADER_TOO_DEEP },
        { "crit of an unknown extension", RS, RS_WITH("\"crit\":[\"x\"],\"x\":1"),
          .wanted = SL_REFUSED_CRIT },
        { "crit of a known name", RS, RS_WITH("\"crit\":[\"alg\"]"), .wanted = SL_REFUSED_CRIT },
        { "an empty crit", RS, RS_WITH("\"crit\":[]"), .wanted = SL_REFUSED_CRIT },
        { "crit that is no list", RS, RS_WITH("\"crit\":\"x\""), .wanted = SL_REFUSED_CRIT },
        { "crit that is null", RS, RS_WITH("\"crit\":null"), .wanted = SL_REFUSED_CRIT },
        { "b64 false", RS, RS_WITH("\"b64\":false"), .wanted = SL_REFUSED_B64 },
        { "b64 true", RS, RS_WITH("\"b64\":true"), .wanted = SL_REFUSED_B64 },
        { "zip", RS, RS_WITH("\"zip\":\"DEF\""), .wanted = SL_REFUSED_ZIP },
        { "enc", RS, RS_WITH("\"enc\":\"A256GCM\""), .wanted = SL_REFUSED_ENC },
        { "typ of another token", RS, RS_WITH("\"typ\":\"JWE\""), .wanted = SL_REFUSED_TYP },
        { "typ that is a number", RS, RS_WITH("\"typ\":1"), .wanted = SL_REFUSED_TYP },
    };
    check_rows(rows, COUNT(rows));
}

WITH_VERIFIER(an_algorithm_that_is_not_the_keys_is_refused)
{
    static const struct row rows[] = {
        { "no alg", RS, "{}", .wanted = SL_REFUSED_ALG_MISSING },
        { "no alg, but Alg", RS, "{\"Alg\":\"RS256\"}", .wanted = SL_REFUSED_ALG_MISSING },
        { "alg null", RS, RS_IS("null"), .wanted = SL_REFUSED_ALG_NOT_TEXT },
        { "alg a list", RS, RS_IS("[\"RS256\"]"), .wanted = SL_REFUSED_ALG_NOT_TEXT },
        { "alg a number", RS, RS_IS("256"), .wanted = SL_REFUSED_ALG_NOT_TEXT },
        { "none", RS, RS_IS("\"none\""), .wanted = SL_REFUSED_ALG },
        { "None", RS, RS_IS("\"None\""), .wanted = SL_REFUSED_ALG },
        { "NONE", RS, RS_IS("\"NONE\""), .wanted = SL_REFUSED_ALG },
        { "nOnE", RS, RS_IS("\"nOnE\""), .wanted = SL_REFUSED_ALG },
        { "none without a signature", RS, RS_IS("\"none\""), .damage = drop_signature,
          .wanted = SL_REFUSED_EMPTY_PART },
        { "none, two parts", RS, RS_IS("\"none\""), .damage = drop_signature_and_dot,
          .wanted = SL_REFUSED_PARTS },
        { "empty", RS, RS_IS("\"\""), .wanted = SL_REFUSED_ALG },
        { "lower case", RS, RS_IS("\"rs256\""), .wanted = SL_REFUSED_ALG },
        { "a space behind", RS, RS_IS("\"RS256 \""), .wanted = SL_REFUSED_ALG },
        { "RS512", RS, RS_IS("\"RS512\""), .wanted = SL_REFUSED_ALG },
        { "ES256K", ES, RS_IS("\"ES256K\""), .wanted = SL_REFUSED_ALG },
        { "PS256, which is not configured", RS, RS_IS("\"PS256\""), .sign = by_pss,
          .wanted = SL_REFUSED_ALG },
        { "HS256 by the RSA key as PEM", RS, RS_IS("\"HS256\""), .sign = by_the_pem,
          .wanted = SL_REFUSED_SIGNATURE },
        { "HS256 by the RSA key as DER", RS, RS_IS("\"HS256\""), .sign = by_the_der,
          .wanted = SL_REFUSED_SIGNATURE },
        { "HS256 by the RSA key as JWK", RS, RS_IS("\"HS256\""), .sign = by_the_jwk,
          .wanted = SL_REFUSED_SIGNATURE },
        { "HS256 by the PEM and its kid", RS, "{\"alg\":\"HS256\",\"kid\":\"rsa\"}",
          .sign = by_the_pem, .wanted = SL_REFUSED_ALG_OF_KEY },
        { "HS256 by the DER and its kid", RS, "{\"alg\":\"HS256\",\"kid\":\"rsa\"}",
          .sign = by_the_der, .wanted = SL_REFUSED_ALG_OF_KEY },
        { "RS256 by the kid of the secret", RS, RS_WITH("\"kid\":\"hs\""),
          .wanted = SL_REFUSED_ALG_OF_KEY },
        { "RS256 by the kid of P-256", RS, RS_WITH("\"kid\":\"p256\""),
          .wanted = SL_REFUSED_ALG_OF_KEY },
        { "ES256 by the kid of Ed25519", ES, "{\"alg\":\"ES256\",\"kid\":\"ed25519\"}",
          .wanted = SL_REFUSED_ALG_OF_KEY },
        { "an unknown kid", RS, RS_WITH("\"kid\":\"other\""), .wanted = SL_REFUSED_KID },
        { "an empty kid", RS, RS_WITH("\"kid\":\"\""), .wanted = SL_REFUSED_KID },
        { "kid of a path", RS, RS_WITH("\"kid\":\"../../../dev/null\""), .wanted = SL_REFUSED_KID },
        { "kid null", RS, RS_WITH("\"kid\":null"), .wanted = SL_REFUSED_KID_NOT_TEXT },
        { "kid a number", RS, RS_WITH("\"kid\":1"), .wanted = SL_REFUSED_KID_NOT_TEXT },
    };
    check_rows(rows, COUNT(rows));
}

WITH_VERIFIER(a_signature_by_no_known_key_is_refused)
{
    static const struct row rows[] = {
        { "other claims", RS, .damage = exchange_claims, .wanted = SL_REFUSED_SIGNATURE },
        { "another RSA key", RS, .sign = by_another_rsa_key, .wanted = SL_REFUSED_SIGNATURE },
        { "another P-256 key", ES, .sign = by_another_p256_key, .wanted = SL_REFUSED_SIGNATURE },
        { "another secret", HS, .sign = by_another_secret, .wanted = SL_REFUSED_SIGNATURE },
        { "an empty secret", HS, .sign = by_no_secret, .wanted = SL_REFUSED_SIGNATURE },
        { "RSA with SHA-1", RS, .sign = by_sha1, .wanted = SL_REFUSED_SIGNATURE },
        { "PSS under RS256", RS, .sign = by_pss, .wanted = SL_REFUSED_SIGNATURE },
        { "RSA, a byte short", RS, .sign = one_byte_short, .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "RSA, a byte long", RS, .sign = one_byte_long, .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "RSA, a zero before it", RS, .sign = a_zero_before_it,
          .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "HMAC of 16 bytes", HS, .sign = hmac_cut_to_16, .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "ECDSA in DER", ES, .sign = in_der, .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "r is zero", ES, .sign = with_r_zero, .wanted = SL_REFUSED_SIGNATURE },
        { "s is zero", ES, .sign = with_s_zero, .wanted = SL_REFUSED_SIGNATURE },
        { "r and s are zero", ES, .sign = of_zeros, .wanted = SL_REFUSED_SIGNATURE },
        { "r and s of 33 bytes", ES, .sign = with_r_and_s_too_long,
          .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "s of 31 bytes", ES, .sign = with_s_too_short, .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "ES256 by P-384", ES, .sign = by_p384, .wanted = SL_REFUSED_SIGNATURE_LENGTH },
        { "ES256 by P-384, cut", ES, .sign = by_p384_in_64_bytes, .wanted = SL_REFUSED_SIGNATURE },
        { "Ed25519 with a bit turned", ED, .sign = ed25519_with_a_bit_turned,
          .wanted = SL_REFUSED_SIGNATURE },
        { "Ed25519 of another text", ED, .sign = ed25519_of_another_text,
          .wanted = SL_REFUSED_SIGNATURE },
        { "Ed25519 of zeros", ED, .sign = of_zeros, .wanted = SL_REFUSED_SIGNATURE },
    };
    check_rows(rows, COUNT(rows));
}

/* Claims with one of another value. */
#define TO_US "\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\","

WITH_VERIFIER(claims_that_are_not_for_us_or_now_are_refused)
{
    static const struct row rows[] = {
        { "not JSON", RS, NULL, "{sub:u1}", .wanted = SL_REFUSED_CLAIMS_NOT_JSON },
        { "a list", RS, NULL, "[" GOOD_CLAIMS "]", .wanted = SL_REFUSED_CLAIMS_NOT_OBJECT },
        { "sub twice", RS, NULL, "{\"sub\":\"u1\",\"sub\":\"u2\"," ABOUT "}",
          .wanted = SL_REFUSED_CLAIMS_TWICE },
        { "a member twice below", RS, NULL, "{\"a\":[{\"b\":1,\"b\":1}]," ABOUT "}",
          .wanted = SL_REFUSED_CLAIMS_TWICE },
        { "nine deep", RS, NULL, "{\"a\":[[[[[[[[]]]]]]]]," ABOUT "}",
          .wanted = SL_REFUSED_CLAIMS_TOO_DEEP },
        { "not UTF-8", RS, NULL, "{\"sub\":\"\xc3(\"," ABOUT "}",
          .wanted = SL_REFUSED_CLAIMS_NOT_UTF8 },
        { "a NUL in sub", RS, NULL, "{\"sub\":\"admin\\u0000x\"," ABOUT "}",
          .wanted = SL_REFUSED_CLAIMS_NUL },
        { "a NUL in a name", RS, NULL, "{\"sub\\u0000\":\"u1\"," ABOUT "}",
          .wanted = SL_REFUSED_CLAIMS_NUL },
        { "exp over", RS, NULL, "{" TO_US "\"exp\":1699999940}", .wanted = SL_REFUSED_EXPIRED },
        { "exp zero", RS, NULL, "{" TO_US "\"exp\":0}", .wanted = SL_REFUSED_EXPIRED },
        { "exp negative", RS, NULL, "{" TO_US "\"exp\":-1e300}", .wanted = SL_REFUSED_EXPIRED },
        { "exp a string", RS, NULL, "{" TO_US "\"exp\":\"1700000600\"}",
          .wanted = SL_REFUSED_EXP_NOT_NUMBER },
        { "exp null", RS, NULL, "{" TO_US "\"exp\":null}", .wanted = SL_REFUSED_EXP_NOT_NUMBER },
        { "exp 1e400", RS, NULL, "{" TO_US "\"exp\":1e400}", .wanted = SL_REFUSED_CLAIMS_NUMBER },
        { "exp of 20 digits", RS, NULL, "{" TO_US "\"exp\":99999999999999999999}",
          .wanted = SL_REFUSED_CLAIMS_NUMBER },
        { "exp as large as can be", RS, NULL, "{" TO_US "\"exp\":9223372036854775807}",
          .wanted = SL_ACCEPTED },
        { "exp 1e300", RS, NULL, "{" TO_US "\"exp\":1e300}", .wanted = SL_ACCEPTED },
        { "nbf in the future", RS, NULL, "{" TO_US "\"nbf\":1700000061}",
          .wanted = SL_REFUSED_NBF },
        { "nbf 1e300", RS, NULL, "{" TO_US "\"nbf\":1e300}", .wanted = SL_REFUSED_NBF },
        { "nbf a string", RS, NULL, "{" TO_US "\"nbf\":\"0\"}",
          .wanted = SL_REFUSED_NBF_NOT_NUMBER },
        { "iat in the future", RS, NULL, "{" TO_US "\"iat\":1700000060.5}",
          .wanted = SL_REFUSED_IAT },
        { "iat true", RS, NULL, "{" TO_US "\"iat\":true}", .wanted = SL_REFUSED_IAT_NOT_NUMBER },
        { "no iss", RS, NULL, "{\"aud\":\"api\"}", .wanted = SL_REFUSED_ISS_MISSING },
        { "another iss", RS, NULL, "{\"iss\":\"" ISSUER ".evil.example\",\"aud\":\"api\"}",
          .wanted = SL_REFUSED_ISS },
        { "iss a list", RS, NULL, "{\"iss\":[\"" ISSUER "\"],\"aud\":\"api\"}",
          .wanted = SL_REFUSED_ISS_NOT_TEXT },
        { "no aud", RS, NULL, "{\"iss\":\"" ISSUER "\"}", .wanted = SL_REFUSED_AUD_MISSING },
        { "another aud", RS, NULL, "{\"iss\":\"" ISSUER "\",\"aud\":\"api2\"}",
          .wanted = SL_REFUSED_AUD },
        { "a list without it", RS, NULL, "{\"iss\":\"" ISSUER "\",\"aud\":[\"a\",\"b\"]}",
          .wanted = SL_REFUSED_AUD },
        { "an empty list", RS, NULL, "{\"iss\":\"" ISSUER "\",\"aud\":[]}",
          .wanted = SL_REFUSED_AUD },
        { "a list of numbers", RS, NULL, "{\"iss\":\"" ISSUER "\",\"aud\":[1]}",
          .wanted = SL_REFUSED_AUD_NOT_TEXT },
        { "a list with it and a number", RS, NULL, "{\"iss\":\"" ISSUER "\",\"aud\":[\"api\",1]}",
          .wanted = SL_REFUSED_AUD_NOT_TEXT },
        { "sub an object", RS, NULL, "{\"sub\":{\"id\":1}," ABOUT "}",
          .wanted = SL_REFUSED_CLAIM_KIND },
        { "sub a list", RS, NULL, "{\"sub\":[\"u1\"]," ABOUT "}", .wanted = SL_REFUSED_CLAIM_KIND },
        { "sub null", RS, NULL, "{\"sub\":null," ABOUT "}", .wanted = SL_REFUSED_CLAIM_KIND },
    };
    check_rows(rows, COUNT(rows));
}

WITH_VERIFIER(more_than_8_kib_are_refused)
{
    static char claims[8000];
    snprintf(claims, sizeof claims, "{\"sub\":\"%05650d\"," ABOUT "}", 1);
    struct row row = { "long", RS, NULL, claims, .wanted = SL_ACCEPTED };
    is_refused("long", token_of(&row), SL_ACCEPTED);
    assert_in_range(token_of(&row).len, 8000, SL_TOKEN_MAX_BYTES);
    snprintf(claims, sizeof claims, "{\"sub\":\"%05850d\"," ABOUT "}", 1);
    is_refused("too long", token_of(&row), SL_REFUSED_TOO_LONG);
}

/* ---- keys of one use --------------------------------------------------------------- */

WITH_VERIFIER(an_rsa_key_for_ps256_alone_takes_no_rs256)
{
    char jwks[4096];
    struct row rs = { "RS256", RS };
    struct row ps = { "PS256", SL_JWT_PS256 };
    snprintf(jwks, sizeof jwks, "{\"keys\":[%s]}", mint_jwk(minted_keys.rsa, ""));
    use_keys(BIT(PS256), jwks);
    is_refused("by configuration", token_of(&rs), SL_REFUSED_ALG);
    is_refused("by configuration", token_of(&ps), SL_ACCEPTED);
    snprintf(jwks, sizeof jwks, "{\"keys\":[%s]}", mint_jwk(minted_keys.rsa, ",\"alg\":\"PS256\""));
    use_keys(BIT(RS256) | BIT(PS256), jwks);
    is_refused("by the key", token_of(&rs), SL_REFUSED_ALG_OF_KEY);
    is_refused("by the key", token_of(&ps), SL_ACCEPTED);
}

WITH_VERIFIER(without_hs256_a_secret_made_of_the_key_is_nothing)
{
    char jwks[4096];
    sign_text *const signs[] = { by_the_pem, by_the_der, by_the_jwk, by_no_secret };
    snprintf(jwks, sizeof jwks, "{\"keys\":[%s]}", mint_jwk(minted_keys.rsa, ""));
    use_keys(BIT(RS256), jwks);
    for (size_t i = 0; i < COUNT(signs); i++) {
        struct row row = { "confusion", RS, "{\"alg\":\"HS256\"}", .sign = signs[i] };
        is_refused("not configured", token_of(&row), SL_REFUSED_ALG);
    }
    use_keys(BIT(RS256) | BIT(HS256), jwks);
    for (size_t i = 0; i < COUNT(signs); i++) {
        struct row row = { "confusion", RS, "{\"alg\":\"HS256\"}", .sign = signs[i] };
        is_refused("no such key", token_of(&row), SL_REFUSED_ALG_OF_KEY);
    }
}

TESTS_WITH(mint_keys, drop_keys)
