/* Reading a token's claims: a span of time and a few texts.
 *
 * Times are JSON numbers of seconds, perhaps with a fraction, perhaps absurd. Each is
 * turned into microseconds once, clamped where it is beyond all clocks, and from then on
 * only integers are compared. The token cache compares the same two integers, so that a
 * cached token ends at the same microsecond as one that is checked. */
#include "auth/token/claims.h"

#include "base/check.h"

/* Half of the range, so that leeway can be added to it. */
#define DATE_MAX_US (INT64_MAX / 2)

/* ---- times ------------------------------------------------------------------------- */

static int64_t clamped_us(long double us)
{
    if (us >= (long double)DATE_MAX_US)
        return DATE_MAX_US;
    if (us <= -(long double)DATE_MAX_US)
        return -DATE_MAX_US;
    return (int64_t)(us < 0 ? us - 0.5L : us + 0.5L);
}

/* To the nearest microsecond: a double of these years is exact to a quarter of one. */
static int64_t date_us(const json_t *number)
{
    if (json_is_integer(number))
        return clamped_us((long double)json_integer_value(number) * 1e6L);
    return clamped_us((long double)json_real_value(number) * 1e6L);
}

static enum sl_refusal check_times(struct sl_claims *claims, int64_t leeway_us, int64_t now_us)
{
    static const struct {
        const char *claim;
        enum sl_refusal not_number, refusal;
        bool ends;
    } rows[] = {
        { "exp", SL_REFUSED_EXP_NOT_NUMBER, SL_REFUSED_EXPIRED, true },
        { "nbf", SL_REFUSED_NBF_NOT_NUMBER, SL_REFUSED_NBF, false },
        { "iat", SL_REFUSED_IAT_NOT_NUMBER, SL_REFUSED_IAT, false },
    };
    struct sl_token_span span = { INT64_MIN, INT64_MAX };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *date = json_object_get(claims->json, rows[i].claim);
        if (!date)
            continue;
        if (!json_is_number(date))
            return rows[i].not_number;
        int64_t at_us = date_us(date);
        if (rows[i].ends)
            span.until_us = at_us + leeway_us;
        else
            span.from_us = sl_max_i64(span.from_us, at_us - leeway_us);
        if (now_us >= span.until_us || now_us < span.from_us)
            return rows[i].refusal;
    }
    claims->span = span;
    return SL_ACCEPTED;
}

/* ---- issuer and audience ----------------------------------------------------------- */

static enum sl_refusal check_issuer(const json_t *json, const char *issuer)
{
    const json_t *iss = json_object_get(json, "iss");
    if (!issuer)
        return SL_ACCEPTED;
    if (!iss)
        return SL_REFUSED_ISS_MISSING;
    if (!json_is_string(iss))
        return SL_REFUSED_ISS_NOT_TEXT;
    return sl_text_is(sl_strict_text(iss), issuer) ? SL_ACCEPTED : SL_REFUSED_ISS;
}

/* The audience is one string, or a list of nothing but strings. */
static enum sl_refusal check_audience(const json_t *json, const char *audience)
{
    const json_t *aud = json_object_get(json, "aud");
    bool is_list = json_is_array(aud), found = false;
    if (!audience)
        return SL_ACCEPTED;
    if (!aud)
        return SL_REFUSED_AUD_MISSING;
    for (size_t i = 0; i < (is_list ? json_array_size(aud) : 1); i++) {
        const json_t *one = is_list ? json_array_get(aud, i) : aud;
        if (!json_is_string(one))
            return SL_REFUSED_AUD_NOT_TEXT;
        found |= sl_text_is(sl_strict_text(one), audience);
    }
    return found ? SL_ACCEPTED : SL_REFUSED_AUD;
}

/* ---- attributes -------------------------------------------------------------------- */

/* Finds a top-level claim of the whole name, else goes member by member along the dots. */
static const json_t *find_claim(const json_t *claims, const char *path)
{
    const json_t *found = json_object_get(claims, path);
    if (found)
        return found;
    found = claims;
    for (const char *name = path, *dot; found && name; name = dot ? dot + 1 : NULL) {
        dot = strchr(name, '.');
        size_t len = dot ? (size_t)(dot - name) : strlen(name);
        found = json_object_getn(found, name, len);
    }
    return found;
}

/* Prints a real with as few digits as bring back the same double; `1.0` and `1e300` still show
 * that they are no integers. jansson prints, because it does so in every locale. */
static struct sluice_text print_real(const json_t *real, char room[SL_NUMBER_MAX_BYTES])
{
    size_t len = 0;
    for (size_t digits = 15; digits <= 17; digits++) {
        len = json_dumpb(real, room, SL_NUMBER_MAX_BYTES,
                         JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        SL_CHECK(len > 0 && len <= SL_NUMBER_MAX_BYTES);
        json_t *again = json_loadb(room, len, JSON_DECODE_ANY, NULL);
        bool same = again && json_number_value(again) == json_real_value(real);
        json_decref(again);
        if (same)
            break;
    }
    return (struct sluice_text){ room, len };
}

static bool print_value(const json_t *claim, char room[SL_NUMBER_MAX_BYTES],
                        struct sluice_text *out)
{
    switch (json_typeof(claim)) {
    case JSON_STRING:
        *out = sl_strict_text(claim);
        return true;
    case JSON_TRUE:
        *out = SL_TEXT("true");
        return true;
    case JSON_FALSE:
        *out = SL_TEXT("false");
        return true;
    case JSON_INTEGER:
        *out = (struct sluice_text){ room, json_dumpb(claim, room, SL_NUMBER_MAX_BYTES,
                                                      JSON_ENCODE_ANY) };
        return true;
    case JSON_REAL:
        *out = print_real(claim, room);
        return true;
    default:
        return false;
    }
}

static enum sl_refusal read_values(struct sl_claims *claims, const struct sl_identity *identity)
{
    static const struct sl_claim_map standard = { .source = "sub" };
    const struct sl_claim_map *map = identity->jwt.claim_count ? identity->jwt.claims : &standard;
    claims->count = identity->jwt.claim_count ? identity->jwt.claim_count : 1;
    SL_CHECK(claims->count <= SL_CLAIMS_MAX);
    for (size_t i = 0; i < claims->count; i++) {
        const json_t *claim = find_claim(claims->json, map[i].source);
        claims->values[i] = (struct sluice_text){ 0 };
        if (claim && !print_value(claim, claims->numbers[i], &claims->values[i]))
            return SL_REFUSED_CLAIM_KIND;
    }
    return SL_ACCEPTED;
}

enum sl_refusal sl_claims_read(struct sluice_text bytes, const struct sl_identity *identity,
                               int64_t now_us, struct sl_claims *out)
{
    enum sl_refusal refusal;
    out->json = sl_jwt_json(bytes, SL_REFUSED_CLAIMS_TOO_DEEP, &refusal);
    if (!out->json)
        return refusal;
    refusal = check_times(out, identity->jwt.leeway_us, now_us);
    if (refusal == SL_ACCEPTED)
        refusal = check_issuer(out->json, identity->jwt.issuer);
    if (refusal == SL_ACCEPTED)
        refusal = check_audience(out->json, identity->jwt.audience);
    if (refusal == SL_ACCEPTED)
        refusal = read_values(out, identity);
    if (refusal != SL_ACCEPTED)
        sl_claims_release(out);
    return refusal;
}

void sl_claims_release(struct sl_claims *claims)
{
    json_decref(claims->json);
    claims->json = NULL;
    claims->count = 0;
}
