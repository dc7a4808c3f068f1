/* Reading `identity`: trusted proxies, the prefix of an address that counts, headers and tokens.
 *
 * A lenient reader of token settings becomes a security hole, so the algorithms must be
 * named, each key is of one family, and a key that no algorithm can use is
 * refused, as is an algorithm that has no key. */
#include "rules/reading/jwt_algorithms.h"
#include "rules/reading/parts.h"

enum { KEYS_MAX = 100 };

#define AT(field) offsetof(struct sl_identity, field)
#define EACH(reader, at, count)                                                                    \
    (&(const struct sl_each)SL_EACH(reader, struct sl_identity, at, count))

static const char *const algorithm_names[] = {
#define SL_JWT_ROW(name, is_secret) #name,
    SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
        NULL,
};

/* Bits of the algorithms that a shared secret serves; the others need PEM. */
static const uint32_t secret_bits = 0
#define SL_JWT_ROW(name, is_secret) | ((is_secret) ? 1u << SL_JWT_##name : 0u)
    SL_JWT_ALGORITHMS(SL_JWT_ROW)
#undef SL_JWT_ROW
    ;

static bool is_header_name(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (; *name; name++) {
        char c = *name;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (c < '0' || c > '9') && !strchr(others, c))
            return false;
    }
    return true;
}

static bool read_header_name(struct sl_reader *in, const struct sl_node *node, const void *shape,
                             void *out)
{
    const char *name;
    if (!sl_read_text(in, node, shape, &name))
        return false;
    if (!is_header_name(name))
        return sl_refuse(in, node, "a header's name, such as X-User-Id");
    *(const char **)out = name;
    return true;
}

static bool read_algorithms(struct sl_reader *in, const struct sl_node *node, const void *shape,
                            void *out)
{
    (void)shape;
    if (node->kind == SL_NODE_LIST && node->count == 0)
        return sl_refuse(in, node, "at least one of %s",
                         sl_words_join(in->scratch, algorithm_names, "and"));
    return sl_read_set(in, node, algorithm_names, out);
}

static const struct sl_key key_keys[] = {
    { "kid", sl_read_text, offsetof(struct sl_jwt_key, kid), .missing = "any",
      .help = "the key's id, as tokens name it" },
    { "secret_file", sl_read_path, offsetof(struct sl_jwt_key, secret_file),
      .help = "file with the shared secret, for HS256" },
    { "pem_file", sl_read_path, offsetof(struct sl_jwt_key, pem_file),
      .help = "PEM file with the public key, for the others" },
    { 0 },
};

static const struct sl_key_table key_table = { "a key", key_keys };

static bool read_key(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sl_jwt_key key = { 0 };
    (void)shape;
    if (!sl_read_keys(in, node, &key_table, &key))
        return false;
    if (!key.secret_file == !key.pem_file) {
        sl_report_error(in->report, node->mark,
                        "a key has either `secret_file` or `pem_file`, and not both");
        return false;
    }
    *(struct sl_jwt_key *)out = key;
    return true;
}

static bool read_jwt_keys(struct sl_reader *in, const struct sl_node *node, const void *shape,
                          void *out)
{
    if (node->kind != SL_NODE_LIST || node->count == 0 || node->count > KEYS_MAX)
        return sl_refuse(in, node,
                         "a list such as [{ kid: main, pem_file: main.pem }], of at most %d",
                         KEYS_MAX);
    return sl_read_each(in, node, shape, out);
}

static const struct sl_duration_range leeway_range = { 0, INT64_C(3600) * 1000000,
                                                       "from 0s to 1h" };

static const struct sl_key jwt_keys[] = {
    { "algorithms", read_algorithms, AT(jwt.algorithms), .required = true,
      .help = "list of HS256, RS256, PS256, ES256, EdDSA" },
    { "keys", read_jwt_keys, .shape = EACH(read_key, jwt.keys, jwt.key_count), .below = &key_table,
      .below_by = "[].", .missing = "`jwks_file`",
      .help = "the keys that tokens are checked with" },
    { "jwks_file", sl_read_path, AT(jwt.jwks_file), .missing = "`keys`",
      .help = "the same as a JSON Web Key Set" },
    { "issuer", sl_read_text, AT(jwt.issuer), .missing = "any", .help = "`iss` must be this" },
    { "audience", sl_read_text, AT(jwt.audience), .missing = "any",
      .help = "`aud` must be or hold this" },
    { "leeway", sl_read_duration, AT(jwt.leeway_us), &leeway_range, .standard = "60s",
      .help = "how far clocks may differ" },
    { "required", sl_read_bool, AT(jwt.required), .standard = "false",
      .help = "a request without a token is refused" },
    { "claims", sl_read_sources, .shape = EACH(sl_read_text, jwt.claims, jwt.claim_count),
      .missing = "user: sub", .help = "attribute: claim that it is taken from" },
    { 0 },
};

static const struct sl_key_table jwt_table = { "`jwt`", jwt_keys };

static void check_kids(struct sl_reader *in, const struct sl_node *keys,
                       const struct sl_identity *identity)
{
    const struct sl_node *node = keys->first;
    for (size_t i = 0; i < identity->jwt.key_count; i++, node = node->next) {
        const char *kid = identity->jwt.keys[i].kid;
        for (size_t j = 0; kid && j < i; j++) {
            const char *other = identity->jwt.keys[j].kid;
            if (!other || strcmp(kid, other) != 0)
                continue;
            sl_report_error(in->report, sl_node_get(node, "kid")->mark,
                            "`%s` is the `kid` of another key already; give each its own", kid);
            break;
        }
    }
}

/* Every family that the algorithms name has a key, and every key a use. */
static void check_families(struct sl_reader *in, const struct sl_node *jwt,
                           const struct sl_identity *identity)
{
    const struct sl_node *keys = sl_node_get(jwt, "keys");
    bool wants_secret = identity->jwt.algorithms & secret_bits;
    bool wants_pem = identity->jwt.algorithms & ~secret_bits;
    bool has_secret = false, has_pem = false;
    for (size_t i = 0; i < identity->jwt.key_count; i++) {
        has_secret |= identity->jwt.keys[i].secret_file != NULL;
        has_pem |= identity->jwt.keys[i].pem_file != NULL;
    }
    if (wants_secret != has_secret)
        sl_report_error(in->report, keys->key_mark,
                        wants_secret ? "`HS256` needs a key with `secret_file`"
                                     : "a `secret_file` is for `HS256`, which `algorithms` lacks; "
                                       "add it, or leave the key out");
    if (wants_pem != has_pem)
        sl_report_error(in->report, keys->key_mark,
                        wants_pem ? "algorithms other than `HS256` need a key with `pem_file`"
                                  : "a `pem_file` is for algorithms other than `HS256`; add one, "
                                    "or leave the key out");
}

/* The `claims` where the file has none. */
static const struct sl_claim_map standard_claims[] = { { { SL_ATTR_USER, { "user", 4 } }, "sub" } };

static bool read_jwt(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sl_identity *identity = out;
    if (!sl_read_keys(in, node, shape, out))
        return false;
    identity->jwt.on = true;
    if (!sl_node_get(node, "claims")) {
        identity->jwt.claims = standard_claims;
        identity->jwt.claim_count = 1;
    }
    if (!identity->jwt.keys == !identity->jwt.jwks_file) {
        sl_report_error(in->report, node->key_mark,
                        "`jwt` needs either `keys` or `jwks_file`, and not both");
        return false;
    }
    if (identity->jwt.keys) {
        check_kids(in, sl_node_get(node, "keys"), identity);
        check_families(in, node, identity);
    }
    return true;
}

static const char *const user_id_words[] = { "off", "sha256(email_ip)", NULL };
static const char *const api_keys_words[] = { "optional", "required", NULL };

static const struct sl_key identity_keys[] = {
    { "trusted_proxies", sl_read_each,
      .shape = EACH(sl_read_network, trusted_proxies, trusted_proxy_count), .missing = "none",
      .help = "addresses and networks whose forwarding headers are believed" },
    { "ipv4_prefix", sl_read_u32, AT(ipv4_prefix), SL_RANGE(1, 32), .standard = "32",
      .help = "bits an IPv4 address counts by" },
    { "ipv6_prefix", sl_read_u32, AT(ipv6_prefix), SL_RANGE(1, 128), .standard = "64",
      .help = "bits an IPv6 address counts by" },
    { "user_id", sl_read_choice, AT(user_id_sha256_email_ip), user_id_words, .standard = "off",
      .help = "`sha256(email_ip)`: user = hex SHA-256 of email_ip" },
    { "api_keys", sl_read_choice, AT(api_keys_required), api_keys_words, .standard = "optional",
      .help = "`required`: a request needs a key or a token" },
    { "headers", sl_read_sources, .shape = EACH(read_header_name, headers, header_count),
      .missing = "none", .help = "attribute: header, believed from trusted peers only" },
    { "jwt", read_jwt, .below = &jwt_table, .missing = "off", .help = "JSON Web Tokens" },
    { 0 },
};

const struct sl_key_table sl_identity_table = { "`identity`", identity_keys };
