/* Any bytes as a token, by keys of every kind that are published along with their
 * private halves, but not to the fuzzer.
 *
 *   a token that is accepted is one of those that are known to be good (with ECDSA perhaps
 *   but for its signature: there are two for each);
 *   it is known from then on, with the same values, if these are short;
 *   a token that is refused comes with a sentence that fits a quoted string, and is not
 *   known;
 *   asking again changes nothing.
 *
 * To get behind the signature: bytes that begin with `!` are a header, a newline and
 * claims, which are signed here. Then
 *
 *   only `HS256` is taken, and values are UTF-8 without NUL. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/token/base64url.h"
#include "auth/token/keyset_internal.h"
#include "auth/token/strict_json.h"
#include "auth/token/token_cache.h"
#include "auth/token/verifier.h"
#include "base/check.h"
#include "unit/auth/token/examples.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const int64_t now_us = (EXAMPLES_EXP_S - 1) * 1000000;

static struct {
    struct sl_sha256 *hasher;
    struct sl_verifier *verifier;
    struct sl_keyset *set;
    struct sluice_text secret;
} all;

static void set_up(void)
{
    static const struct sl_claim_map map[] = {
        { .source = "sub" },
        { .source = "iss" },
        { .source = "a.b.c" },
        { .source = "http://example.com/is_root" },
    };
    static const struct sl_identity identity = {
        .jwt = { .on = true, .algorithms = 31, .leeway_us = 1, .claims = map, .claim_count = 4 }
    };
    struct sluice_error error;
    all.hasher = sl_sha256_new();
    all.verifier = sl_verifier_new(all.hasher);
    all.set = sl_keyset_of_jwks(&identity, "examples", SL_TEXT(EXAMPLES_JWKS), &error);
    SL_CHECK(all.hasher && all.verifier && all.set && !all.set->keys[0].public);
    all.secret = all.set->keys[0].secret;
    sl_verifier_use(all.verifier, all.set);
}

/* ---- what holds for every token ---------------------------------------------------- */

static void check_sentence(const char *why)
{
    SL_CHECK(why && *why);
    for (; *why; why++)
        SL_CHECK(*why >= ' ' && *why <= '~' && *why != '"' && *why != '\\');
}

static size_t packed_len(const struct sl_token *token)
{
    size_t len = 0;
    for (size_t i = 0; i < token->count; i++)
        len += 2 + token->values[i].len;
    return len;
}

static void check_known(struct sluice_text token, const struct sl_token *taken)
{
    struct sl_token known;
    bool is_known = sl_verifier_known(all.verifier, token, now_us, &known);
    SL_CHECK(is_known == (taken && packed_len(taken) <= SL_KEPT_MAX_BYTES));
    if (!is_known)
        return;
    SL_CHECK(known.count == taken->count);
    for (size_t i = 0; i < known.count; i++) {
        SL_CHECK(!known.values[i].at == !taken->values[i].at);
        SL_CHECK(sl_text_equal(known.values[i], taken->values[i]));
    }
}

/* Is it taken? */
static bool check(struct sluice_text token, struct sl_token *out)
{
    const char *why = NULL, *again = NULL;
    bool good = sl_verifier_check(all.verifier, token, now_us, out, &why);
    SL_CHECK(ERR_peek_error() == 0);
    if (!good)
        check_sentence(why);
    check_known(token, good ? out : NULL);
    SL_CHECK(sl_verifier_check(all.verifier, token, now_us, out, &again) == good && why == again);
    return good;
}

/* ---- tokens as they come ----------------------------------------------------------- */

static struct sluice_text before_last_dot(struct sluice_text token)
{
    while (token.len && token.at[token.len - 1] != '.')
        token.len--;
    return token;
}

static bool is_example(struct sluice_text token)
{
    static const char *const tokens[] = { RFC_HS256, RFC_RS256, PYJWT_PS256, PYJWT_EDDSA };
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        if (sl_text_is(token, tokens[i]))
            return true;
    return sl_text_equal(before_last_dot(token), before_last_dot(SL_TEXT(RFC_ES256)));
}

/* ---- tokens that are signed here --------------------------------------------------- */

static size_t encode(const uint8_t *from, size_t len, char *out)
{
    size_t written = (size_t)EVP_EncodeBlock((unsigned char *)out, from, (int)len);
    while (written && out[written - 1] == '=')
        written--;
    for (size_t i = 0; i < written; i++)
        out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
    return written;
}

static struct sluice_text signed_token(const uint8_t *bytes, size_t len)
{
    static char token[4 * SL_TOKEN_MAX_BYTES];
    const uint8_t *newline = memchr(bytes, '\n', len);
    size_t header = newline ? (size_t)(newline - bytes) : len;
    size_t at = encode(bytes, header, token);
    token[at++] = '.';
    if (newline)
        at += encode(newline + 1, len - header - 1, token + at);
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_len = 0;
    SL_CHECK(HMAC(EVP_sha256(), all.secret.at, (int)all.secret.len, (unsigned char *)token, at, mac,
                  &mac_len));
    token[at++] = '.';
    at += encode(mac, mac_len, token + at);
    return (struct sluice_text){ token, at };
}

static void check_value(struct sluice_text value)
{
    if (!value.at)
        return;
    SL_CHECK(value.len == 0 || !memchr(value.at, 0, value.len));
    json_t *text = json_stringn(value.at, value.len); /* which takes UTF-8 alone */
    SL_CHECK(text != NULL);
    json_decref(text);
}

static void check_signed(const uint8_t *bytes, size_t len)
{
    struct sl_token out;
    if (!check(signed_token(bytes, len), &out))
        return;
    for (size_t i = 0; i < out.count; i++)
        check_value(out.values[i]);
    const uint8_t *newline = memchr(bytes, '\n', len);
    json_t *header = json_loadb((const char *)bytes, (size_t)(newline - bytes), 0, NULL);
    SL_CHECK(sl_text_is(sl_strict_text(json_object_get(header, "alg")), "HS256"));
    json_decref(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sl_token out;
    if (!all.set)
        set_up();
    if (len > 0 && bytes[0] == '!') {
        check_signed(bytes + 1, len - 1 > SL_TOKEN_MAX_BYTES ? SL_TOKEN_MAX_BYTES : len - 1);
        return 0;
    }
    struct sluice_text token = { (const char *)bytes, len };
    if (check(token, &out))
        SL_CHECK(is_example(token));
    return 0;
}
