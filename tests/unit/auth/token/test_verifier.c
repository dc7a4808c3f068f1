#include "unit/auth/token/examples.h"
#include "unit/auth/token/verifying.h"

TESTS_ALONE;

/* Every allocation is counted: OpenSSL's, jansson's and our own. */
static size_t allocations;

#ifdef __SANITIZE_ADDRESS__
/* Of the sanitizer, whose headers a compiler need not bring. */
int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void *at, size_t len),
                                              void (*freed)(const volatile void *at));

static void count_allocation(const volatile void *at, size_t len)
{
    (void)at, (void)len;
    allocations++;
}

static void ignore_free(const volatile void *at)
{
    (void)at;
}

static void count_allocations(void)
{
    assert_true(__sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free) > 0);
}
#else
void *__libc_malloc(size_t len);
void *__libc_calloc(size_t count, size_t len);
void *__libc_realloc(void *old, size_t len);

void *malloc(size_t len)
{
    allocations++;
    return __libc_malloc(len);
}

void *calloc(size_t count, size_t len)
{
    allocations++;
    return __libc_calloc(count, len);
}

void *realloc(void *old, size_t len)
{
    allocations++;
    return __libc_realloc(old, len);
}

static void count_allocations(void)
{
}
#endif

static bool is_known(struct sluice_text token, int64_t now_us)
{
    struct sl_token out;
    return sl_verifier_known(verifier, token, now_us, &out);
}

static enum sl_refusal check_now(struct sluice_text token)
{
    struct sl_token out;
    return refusal_of(token, NOW_US, &out);
}

/* A good token of each algorithm; header NULL: only alg. */
static struct sluice_text good_token(enum sl_jwt_algorithm algorithm, const char *header)
{
    EVP_PKEY *const keys[] = { NULL, minted_keys.rsa, minted_keys.rsa, minted_keys.p256,
                               minted_keys.ed25519 };
    static const char *const headers[] = {
#define SL_JWT_ROW(name, is_secret) "{\"alg\":\"" #name "\"}",
        SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
    };
    return mint(keys[algorithm], algorithm, header ? header : headers[algorithm], GOOD_CLAIMS);
}

/* ---- what is taken ----------------------------------------------------------------- */

WITH_VERIFIER(published_tokens_are_taken_until_they_expire)
{
    static const char *const tokens[] = { RFC_HS256, RFC_RS256, RFC_ES256, PYJWT_PS256,
                                          PYJWT_EDDSA };
    static const struct sl_claim_map map[] = {
        { .source = "iss" },
        { .source = "http://example.com/is_root" },
        { .source = "sub" },
    };
    identity = (struct sl_identity){ .jwt = { .claims = map, .claim_count = COUNT(map) } };
    use_keys(ALL_BUT_PS256 | BIT(PS256), EXAMPLES_JWKS);
    for (size_t i = 0; i < COUNT(tokens); i++) {
        struct sluice_text token = sl_text(tokens[i]);
        struct sl_token out;
        SAME(tokens[i], refusal_of(token, EXAMPLES_EXP_S * S_US - 1, &out), SL_ACCEPTED);
        assert_int_equal(out.count, 3);
        SAME_TEXT(tokens[i], out.values[0], "joe");
        SAME_TEXT(tokens[i], out.values[1], "true");
        assert_null(out.values[2].at);
        SAME(tokens[i], refusal_of(token, EXAMPLES_EXP_S * S_US, &out), SL_REFUSED_EXPIRED);
    }
    is_refused("RFC 8037", SL_TEXT(RFC_EDDSA), SL_REFUSED_CLAIMS_NOT_JSON);
}

WITH_VERIFIER(every_algorithm_is_taken_with_and_without_kid)
{
    static const char *const headers[] = {
        "{\"alg\":\"HS256\",\"kid\":\"hs\"}",
        "{\"alg\":\"RS256\",\"kid\":\"rsa\"}",
        NULL,
        "{\"alg\":\"ES256\",\"kid\":\"p256\",\"typ\":\"JWT\"}",
        "{\"alg\":\"EdDSA\",\"kid\":\"ed25519\",\"typ\":\"at+jwt\"}",
    };
    for (enum sl_jwt_algorithm i = 0; i < COUNT(headers); i++) {
        is_refused("without", good_token(i, NULL), headers[i] ? SL_ACCEPTED : SL_REFUSED_ALG);
        if (headers[i])
            is_refused("with", good_token(i, headers[i]), SL_ACCEPTED);
    }
}

WITH_VERIFIER(headers_that_bring_keys_are_not_believed)
{
    char header[2000];
    snprintf(header, sizeof header,
             "{\"alg\":\"RS256\",\"jku\":\"https://evil.example\",\"x5u\":\"file:///\",\"jwk\":%s,"
             "\"x5c\":[\"AA\"]}",
             mint_jwk(minted_keys.rsa2, ""));
    is_refused("by its own key", mint(minted_keys.rsa2, SL_JWT_RS256, header, GOOD_CLAIMS),
               SL_REFUSED_SIGNATURE);
    is_refused("by ours", mint(minted_keys.rsa, SL_JWT_RS256, header, GOOD_CLAIMS), SL_ACCEPTED);
}

/* ---- which key --------------------------------------------------------------------- */

static struct sluice_text token_of(EVP_PKEY *key, const char *kid)
{
    char header[100];
    snprintf(header, sizeof header, "{\"alg\":\"RS256\"%s%s%s}", kid ? ",\"kid\":\"" : "",
             kid ? kid : "", kid ? "\"" : "");
    return mint(key, SL_JWT_RS256, header, GOOD_CLAIMS);
}

WITH_VERIFIER(a_kid_names_one_key_and_no_other_is_tried)
{
    char jwks[8192];
    snprintf(jwks, sizeof jwks, "{\"keys\":[%s,%s]}", mint_jwk(minted_keys.rsa, ",\"kid\":\"a\""),
             mint_jwk(minted_keys.rsa2, ",\"kid\":\"b\""));
    use_keys(BIT(RS256), jwks);
    is_refused("a by a", token_of(minted_keys.rsa, "a"), SL_ACCEPTED);
    is_refused("b by b", token_of(minted_keys.rsa2, "b"), SL_ACCEPTED);
    is_refused("a by b", token_of(minted_keys.rsa2, "a"), SL_REFUSED_SIGNATURE);
    is_refused("b by a", token_of(minted_keys.rsa, "b"), SL_REFUSED_SIGNATURE);
    is_refused("c by a", token_of(minted_keys.rsa, "c"), SL_REFUSED_KID);
    is_refused("A by a", token_of(minted_keys.rsa, "A"), SL_REFUSED_KID);
    is_refused("empty by a", token_of(minted_keys.rsa, ""), SL_REFUSED_KID);
    is_refused("none by a", token_of(minted_keys.rsa, NULL), SL_ACCEPTED);
    is_refused("none by b", token_of(minted_keys.rsa2, NULL), SL_ACCEPTED);
}

WITH_VERIFIER(keys_without_kid_are_for_every_kid_that_no_other_has)
{
    char jwks[8192];
    snprintf(jwks, sizeof jwks, "{\"keys\":[%s,%s]}", mint_jwk(minted_keys.rsa, ",\"kid\":\"a\""),
             mint_jwk(minted_keys.rsa2, ""));
    use_keys(BIT(RS256), jwks);
    is_refused("a by a", token_of(minted_keys.rsa, "a"), SL_ACCEPTED);
    is_refused("a by the one without", token_of(minted_keys.rsa2, "a"), SL_REFUSED_SIGNATURE);
    is_refused("c by the one without", token_of(minted_keys.rsa2, "c"), SL_ACCEPTED);
    is_refused("c by a", token_of(minted_keys.rsa, "c"), SL_REFUSED_SIGNATURE);
    is_refused("none by a", token_of(minted_keys.rsa, NULL), SL_ACCEPTED);
    is_refused("none by the one without", token_of(minted_keys.rsa2, NULL), SL_ACCEPTED);
}

WITH_VERIFIER(without_keys_nothing_is_taken)
{
    struct sluice_text token = good_token(SL_JWT_ES256, NULL);
    is_refused("with", token, SL_ACCEPTED);
    sl_verifier_use(verifier, NULL);
    is_refused("without", token, SL_REFUSED_NO_KEYS);
    assert_false(is_known(token, NOW_US));
}

/* ---- the cache --------------------------------------------------------------------- */

WITH_VERIFIER(a_good_token_is_known_from_then_on)
{
    struct sluice_text token = good_token(SL_JWT_RS256, NULL);
    struct sl_token out = { 0 };
    assert_false(is_known(token, NOW_US));
    assert_int_equal(check_now(token), SL_ACCEPTED);
    assert_true(sl_verifier_known(verifier, token, NOW_US, &out));
    assert_int_equal(out.count, 1);
    assert_true(sl_text_is(out.values[0], "u1"));
    struct sluice_text cut = { token.at, token.len - 1 };
    assert_false(is_known(cut, NOW_US));
}

WITH_VERIFIER(a_refused_token_is_never_known)
{
    struct sluice_text token =
        mint(minted_keys.rsa2, SL_JWT_RS256, "{\"alg\":\"RS256\"}", GOOD_CLAIMS);
    is_refused("wrong key", token, SL_REFUSED_SIGNATURE);
    assert_false(is_known(token, NOW_US));
    token = mint(minted_keys.rsa, SL_JWT_RS256, "{\"alg\":\"RS256\"}", "{\"iss\":\"" ISSUER "\"}");
    is_refused("no audience", token, SL_REFUSED_AUD_MISSING);
    assert_false(is_known(token, NOW_US));
}

WITH_VERIFIER(a_known_token_ends_at_the_microsecond_at_which_it_would_be_refused)
{
    struct sluice_text token = mint(NULL, SL_JWT_HS256, "{\"alg\":\"HS256\"}",
                                    "{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE
                                    "\",\"exp\":1700000600.25,\"nbf\":1700000000,\"iat\":5}");
    const int64_t from_us = NOW_US - 60 * S_US, until_us = NOW_US + 660 * S_US + 250000;
    const int64_t edges[] = { from_us - 1,  from_us,  from_us + 1,
                              until_us - 1, until_us, until_us + 1 };
    struct sl_token out;
    for (size_t i = 0; i < COUNT(edges); i++) {
        use_keys(ALL_BUT_PS256, all_keys());
        bool good = refusal_of(token, edges[i], &out) == SL_ACCEPTED;
        assert_int_equal(good, edges[i] >= from_us && edges[i] < until_us);
        assert_int_equal(check_now(token), SL_ACCEPTED);
        assert_int_equal(is_known(token, edges[i]), good);
    }
}

WITH_VERIFIER(a_token_without_exp_is_kept_too)
{
    identity.jwt.issuer = identity.jwt.audience = NULL;
    struct sluice_text token = mint(NULL, SL_JWT_HS256, "{\"alg\":\"HS256\"}", "{}");
    assert_int_equal(check_now(token), SL_ACCEPTED);
    assert_true(is_known(token, NOW_US + INT64_C(100000000) * S_US));
}

WITH_VERIFIER(a_token_of_long_claims_is_taken_and_not_kept)
{
    char claims[2000];
    struct sl_token out;
    identity.jwt.issuer = identity.jwt.audience = NULL;
    int len = snprintf(claims, sizeof claims, "{\"sub\":\"%01500d\"}", 7);
    assert_true(len > 1500);
    struct sluice_text token = mint(NULL, SL_JWT_HS256, "{\"alg\":\"HS256\"}", claims);
    assert_int_equal(refusal_of(token, NOW_US, &out), SL_ACCEPTED);
    assert_int_equal(out.values[0].len, 1500);
    assert_false(is_known(token, NOW_US));
}

WITH_VERIFIER(other_keys_forget_every_token)
{
    struct sluice_text token = good_token(SL_JWT_ES256, NULL);
    assert_int_equal(check_now(token), SL_ACCEPTED);
    assert_true(is_known(token, NOW_US));
    sl_verifier_use(verifier, set); /* the same, read again */
    assert_false(is_known(token, NOW_US));
    assert_int_equal(check_now(token), SL_ACCEPTED);
    char jwks[4096];
    snprintf(jwks, sizeof jwks, "{\"keys\":[%s]}", mint_jwk(minted_keys.rsa, ""));
    use_keys(ALL_BUT_PS256, jwks);
    assert_false(is_known(token, NOW_US));
    assert_int_equal(check_now(token), SL_REFUSED_ALG_OF_KEY);
}

WITH_VERIFIER(values_last_until_the_next_call)
{
    struct sluice_text token = good_token(SL_JWT_RS256, NULL);
    struct sl_token checked, known;
    assert_int_equal(refusal_of(token, NOW_US, &checked), SL_ACCEPTED);
    assert_true(sl_text_is(checked.values[0], "u1"));
    assert_true(sl_verifier_known(verifier, token, NOW_US, &known));
    assert_true(sl_text_is(known.values[0], "u1"));
}

WITH_VERIFIER(a_known_token_allocates_nothing)
{
    count_allocations();
    struct sluice_text token = good_token(SL_JWT_ES256, NULL), other = token;
    other.len--;
    size_t before = allocations;
    assert_int_equal(check_now(token), SL_ACCEPTED);
    assert_true(allocations > before); /* they are seen */
    before = allocations;
    bool known = true, unknown = false;
    for (int i = 0; i < 100; i++) {
        known &= is_known(token, NOW_US + i);
        unknown |= is_known(other, NOW_US + i);
    }
    assert_int_equal(allocations, before);
    assert_true(known && !unknown);
}

TESTS_WITH(mint_keys, drop_keys)
