/* Taking a token apart: header.claims.signature, each base64url, header and claims JSON in it.
 *
 * The header is read before anything is verified, so as little as possible is read: `alg` and
 * `kid` to choose a key among ours, `typ` to tell other tokens of the same issuer
 * apart, and members that would change the meaning of the rest (`crit`, `b64`, `zip`, `enc`),
 * which are refused. `jku`, `x5u`, `jwk` and `x5c` would let the token bring its own key;
 * they are not read at all. */
#include "auth/token/jwt.h"

#include <strings.h>

#include "auth/token/base64url.h"

/* ---- three parts ------------------------------------------------------------------- */

/* Cuts at the two dots; returns false if there are more or fewer. */
static bool cut_parts(struct sluice_text token, struct sluice_text parts[3])
{
    const char *at = token.at, *end = token.at + token.len;
    for (int i = 0; i < 3; i++) {
        const char *dot = at < end ? memchr(at, '.', (size_t)(end - at)) : NULL;
        if (!dot != (i == 2))
            return false;
        parts[i] = (struct sluice_text){ at, (size_t)((dot ? dot : end) - at) };
        if (dot)
            at = dot + 1;
    }
    return true;
}

enum sl_refusal sl_jwt_split(struct sluice_text token, uint8_t room[SL_TOKEN_MAX_BYTES],
                             struct sl_jwt *out)
{
    struct sluice_text parts[3], decoded[3];
    if (token.len > SL_TOKEN_MAX_BYTES)
        return SL_REFUSED_TOO_LONG;
    if (token.len == 0 || !cut_parts(token, parts))
        return SL_REFUSED_PARTS;
    for (int i = 0; i < 3; i++)
        if (parts[i].len == 0)
            return SL_REFUSED_EMPTY_PART;
    for (int i = 0; i < 3; i++) {
        if (!sl_base64url_decode(parts[i], room, &decoded[i]))
            return SL_REFUSED_BASE64;
        room += decoded[i].len; /* three quarters of the encoded size: all fit */
    }
    *out = (struct sl_jwt){ .signed_text = { token.at, parts[0].len + 1 + parts[1].len },
                            .header = decoded[0],
                            .claims = decoded[1],
                            .signature = decoded[2] };
    return SL_ACCEPTED;
}

json_t *sl_jwt_json(struct sluice_text bytes, enum sl_refusal first, enum sl_refusal *refusal)
{
    enum sl_strict_wrong wrong;
    json_t *json = sl_strict_json(bytes, &wrong);
    if (!json)
        *refusal = wrong == SL_STRICT_NO_MEMORY ? SL_REFUSED_NO_MEMORY : first + wrong;
    return json;
}

/* ---- header ------------------------------------------------------------------------ */

/* JWT, at+jwt, any other …+jwt; as a media type of `application` or in short. */
static bool is_jwt_typ(struct sluice_text typ)
{
    static const char prefix[] = "application/", suffix[] = "+jwt";
    size_t prefix_len = sizeof prefix - 1, suffix_len = sizeof suffix - 1;
    if (typ.len > prefix_len && strncasecmp(typ.at, prefix, prefix_len) == 0)
        typ = (struct sluice_text){ typ.at + prefix_len, typ.len - prefix_len };
    if (typ.len == 3 && strncasecmp(typ.at, "JWT", 3) == 0)
        return true;
    return typ.len > suffix_len &&
           strncasecmp(typ.at + typ.len - suffix_len, suffix, suffix_len) == 0;
}

static enum sl_refusal check_extensions(const json_t *json)
{
    static const struct {
        const char *member;
        enum sl_refusal refusal;
    } rows[] = {
        { "crit", SL_REFUSED_CRIT },
        { "b64", SL_REFUSED_B64 },
        { "zip", SL_REFUSED_ZIP },
        { "enc", SL_REFUSED_ENC },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (json_object_get(json, rows[i].member))
            return rows[i].refusal;
    const json_t *typ = json_object_get(json, "typ");
    if (typ && !is_jwt_typ(sl_strict_text(typ)))
        return SL_REFUSED_TYP;
    return SL_ACCEPTED;
}

static enum sl_refusal read_algorithm(const json_t *json, enum sl_jwt_algorithm *out)
{
    const json_t *alg = json_object_get(json, "alg");
    if (!alg)
        return SL_REFUSED_ALG_MISSING;
    if (!json_is_string(alg))
        return SL_REFUSED_ALG_NOT_TEXT;
#define SL_JWT_ROW(name, is_secret)                                                                \
    if (sl_text_is(sl_strict_text(alg), #name)) {                                                  \
        *out = SL_JWT_##name;                                                                      \
        return SL_ACCEPTED;                                                                        \
    }
    SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
    return SL_REFUSED_ALG;
}

static enum sl_refusal read_members(const json_t *json, struct sl_jwt_header *out)
{
    enum sl_refusal refusal = check_extensions(json);
    if (refusal == SL_ACCEPTED)
        refusal = read_algorithm(json, &out->algorithm);
    if (refusal != SL_ACCEPTED)
        return refusal;
    const json_t *kid = json_object_get(json, "kid");
    if (kid && !json_is_string(kid))
        return SL_REFUSED_KID_NOT_TEXT;
    out->kid = sl_strict_text(kid);
    return SL_ACCEPTED;
}

enum sl_refusal sl_jwt_header_read(struct sluice_text bytes, struct sl_jwt_header *out)
{
    enum sl_refusal refusal;
    struct sl_jwt_header header = { 0 };
    header.json = sl_jwt_json(bytes, SL_REFUSED_HEADER_TOO_DEEP, &refusal);
    if (!header.json)
        return refusal;
    refusal = read_members(header.json, &header);
    if (refusal != SL_ACCEPTED) {
        json_decref(header.json);
        return refusal;
    }
    *out = header;
    return SL_ACCEPTED;
}

void sl_jwt_header_release(struct sl_jwt_header *header)
{
    json_decref(header->json);
    header->json = NULL;
}
