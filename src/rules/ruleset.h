/* The ruleset: a rules file, read, and immutable. Everything in it lives in one
 * arena and is reached by pointer; threads share it without a lock. */
#ifndef SL_RULES_RULESET_H
#define SL_RULES_RULESET_H

#include "algo/algo.h"
#include "algo/guard.h"
#include "algo/trust.h"
#include "base/arena.h"
#include "base/text/number.h"
#include "rules/address.h"
#include "rules/pattern.h"
#include "rules/tree/report.h"

/* An attribute of a request: one with a field of its own, or by name. */
enum sl_attribute {
    SL_ATTR_GLOBAL, /* all requests together: `per: global` */
    SL_ATTR_TENANT,
    SL_ATTR_RESOURCE,
    SL_ATTR_METHOD,
    SL_ATTR_USER,
    SL_ATTR_IP,
    SL_ATTR_CLIENT,
    SL_ATTR_TIER,
    SL_ATTR_OTHER,
};

struct sl_part {
    enum sl_attribute attribute;
    struct sluice_text name;
};

struct sl_texts {
    const struct sluice_text *at;
    size_t count;
};

/* The values an attribute must have, all parts of it; no texts are no condition. Where the request
 * has no such attribute, `values` and `like` do not hold, the others do. condition.h */
struct sl_condition {
    struct sl_part attribute;
    const struct sluice_text *values; /* it equals one of these */
    size_t value_count;
    bool is_more;            /* one of the following is given */
    struct sl_texts unequal; /* none of these, by length and then bytes */
    struct sl_texts like;    /* matches one of these patterns (wildcard.h) */
    struct sl_texts unlike;  /* none of these */
};

/* The numbers of the file, for one rule and one tier. A tier's own number comes
 * with a scale of 1. */
struct sl_numbers_in {
    const struct sl_algo *algo;
    uint64_t capacity;
    struct sl_decimal capacity_scale;
    int64_t window_us;      /* buckets: 0 if there is none */
    bool has_rate;          /* buckets: else the rate is capacity / window */
    struct sl_decimal rate; /* tokens per second */
    struct sl_decimal rate_scale;
    struct sl_decimal burst;
    bool first_request;
    bool adaptive;
};

/* A rule's numbers for one tier, before trust.
 * capacity = ⌊capacity_n / capacity_d · (1 + s)⌋, token = ⌈token_n / token_d / (1 + s/2)⌉. */
struct sl_numbers {
    bool unlimited;
    struct sl_limit limit; /* at trust 0 */
    int64_t window_us;     /* as written; buckets: 0 if there is none */
    sl_u128 capacity_n;
    sl_u128 capacity_d;
    sl_u128 token_n;
    sl_u128 token_d;
};

enum sl_failure_policy { SL_FAIL_ALLOW, SL_FAIL_DENY, SL_FAIL_LOCAL };

enum { SL_LEASE_OFF = 0, SL_LEASE_AUTO = -1, SL_LEASE_DEFAULT = -2 };

/* A lease is an eighth of the limit; a smaller one is not worth a call: docs/leases.md. */
enum { SL_LEASE_LIMIT_MIN = 64 };

struct sl_rule {
    const char *name;
    uint32_t index; /* place in the file, from 0 */
    const struct sl_algo *algo;

    bool any_resource; /* no `resource` key: requests without one match too */
    struct sl_pattern resource;
    const struct sl_pattern *except;
    size_t except_count;
    const struct sl_condition *when;
    size_t when_count;

    const struct sl_part *per;
    size_t per_count;
    bool spans_tenants; /* per is only ip and global */

    /* numbers[0]: no tier, or one the rules do not know; numbers[1 + i]: tier i */
    const struct sl_numbers *numbers;
    uint32_t ring_len; /* log: the largest limit over tiers and trust */
    int64_t window_us; /* as written, 0 if not: a bucket's feeds the policy header */

    struct sl_decimal burst; /* burst_allowance, already in the numbers */
    bool adaptive;
    bool shadow;
    bool deny_missing;
    struct sl_guard guard;
    enum sl_failure_policy on_store_failure;
    int64_t lease;            /* N, or SL_LEASE_… */
    const uint32_t *replaces; /* rules, by their index, that do not count where this one does */
    size_t replaces_count;

    struct sl_mark mark; /* its place in the file */

    /* What `numbers` are composed of, in the same places; those of an unlimited tier too. */
    const struct sl_numbers_in *parts;
    size_t tier_count;

    /* Its origin: */
    const char *json;    /* as it was written, as a JSON object; numbers as their text */
    const char *tenant;  /* the tenant whose own rule it is, named "TENANT/NAME"; or NULL */
    uint64_t revision;   /* of the overlay's rule; 0: a rule of the file */
    bool replaces_files; /* the overlay's, which replaces one of the file's */
};

struct sl_tier {
    struct sluice_text name;
    struct sl_decimal scale;
    bool unlimited;
    uint32_t algorithms; /* that its tenants may choose: bit i, sl_algos[i]; 0: all */

    const char *json; /* as for rules */
    uint64_t revision;
    bool replaces_files;
};

/* tenant/name; tenant not given: requests without a tenant */
struct sl_exempt_name {
    struct sluice_text tenant;
    struct sluice_text name;
};

struct sl_exempt {
    const struct sl_network *ips;
    size_t ip_count;
    const struct sl_exempt_name *users;
    size_t user_count;
    const struct sl_exempt_name *clients;
    size_t client_count;
    const struct sluice_text *api_keys; /* lowercase hex SHA-256 */
    size_t api_key_count;
};

/* An exemption of an overlay, with an end. */
struct sl_exempt_until {
    int64_t until_us; /* wall time; 0: it does not end */
    enum { SL_UNTIL_CLIENT, SL_UNTIL_IP, SL_UNTIL_API_KEY } kind;
    struct sl_exempt_name client;
    struct sl_network ip;
    struct sluice_text api_key;
};

struct sl_listener {
    const char *address; /* NULL: off. "host:port", "[v6]:port" or "unix:PATH" */
    bool proxy_protocol;
    bool tls; /* `grpc` and `resp`; `https` always has it, `http` never */
};

enum sl_store_kind {
    SL_STORE_MEMORY,
    SL_STORE_REDIS,
    SL_STORE_REDIS_UNIX,
    SL_STORE_REDIS_CLUSTER,
    SL_STORE_REDIS_SENTINEL,
};

#define SL_STORE_SIZE_BYTES  (UINT64_C(64) << 20) /* of a table whose URL gives no size */
#define SL_STORE_LOG_DEFAULT UINT64_MAX
#define SL_STORE_SYNC_OFF    INT64_C(-1)
#define SL_STORE_SYNC_CLOSE  INT64_C(0)

struct sl_store_url {
    const char *text; /* as written */
    enum sl_store_kind kind;
    bool tls;
    const char *path;    /* memory: file or NULL; redis+unix: the socket */
    uint64_t size_bytes; /* memory: 0 if not given */
    uint64_t log_bytes;  /* of these for sliding window logs, or SL_STORE_LOG_DEFAULT */
    int64_t sync_us;     /* how often the file is written to disk, or SL_STORE_SYNC_… */
    const char *user;
    const char *password;
    const char *hosts;             /* "a:6379,b:6379", ports filled in */
    const char *master;            /* redis-sentinel: its name, */
    const char *sentinel_password; /* and the password of the Sentinels, or NULL */
    uint32_t database;
};

struct sl_jwt_key {
    const char *kid; /* or NULL */
    const char *secret_file;
    const char *pem_file;
};

struct sl_claim_map {
    struct sl_part attribute;
    const char *source; /* a claim's or a header's name */
};

/* identity.* of the file. */
struct sl_identity {
    const struct sl_network *trusted_proxies;
    size_t trusted_proxy_count;
    uint32_t ipv4_prefix;
    uint32_t ipv6_prefix;
    bool user_id_sha256_email_ip;
    bool api_keys_required;
    const struct sl_claim_map *headers;
    size_t header_count;
    struct {
        bool on;
        bool required;
        uint32_t algorithms; /* bit i: row i of SL_JWT_ALGORITHMS */
        const struct sl_jwt_key *keys;
        size_t key_count;
        const char *jwks_file;
        const char *issuer;
        const char *audience;
        int64_t leeway_us;
        const struct sl_claim_map *claims;
        size_t claim_count;
    } jwt;
};

enum { SL_HEADER_X_RATELIMIT = 1, SL_HEADER_RATELIMIT = 2, SL_HEADER_RETRY_AFTER = 4 };

/* Everything in the file that is not a rule, a tier or an exemption. */
struct sl_settings {
    struct sl_listener http, https, grpc, resp;
    struct {
        const char *certificate, *key, *client_ca;
    } tls;
    uint32_t workers; /* 0: as many as cores */
    uint32_t max_connections;
    struct {
        int64_t head_us, body_us, idle_us, write_us, drain_us;
    } timeouts;
    struct sl_store_url store;
    int64_t store_deadline_us;
    struct {
        const char *ca, *certificate, *key;
    } store_tls;
    enum sl_failure_policy on_store_failure;
    struct sl_decimal local_share;
    bool hash_tag_identifier;
    bool hash_identifiers;
    uint32_t headers; /* SL_HEADER_… */
    uint32_t deny_status;
    int64_t max_wait_us;
    struct sl_identity identity;
    struct {
        const char *token_file, *token_env, *readonly_token_file;
    } admin;
    const char *database;
    bool spread; /* replication: changes through the API reach all instances of a Redis store */
    struct sl_trust_weights trust;
    bool statistics;   /* identifiers and latencies, beside counts */
    const char *audit; /* "off", "stdout", "syslog" or "file:PATH" */
};

struct sl_ruleset {
    struct sl_arena arena;
    struct sl_settings settings;
    struct sl_tier *tiers;
    size_t tier_count;
    struct sl_exempt exempt;
    struct sl_rule *rules;
    size_t rule_count;
    bool has_replaces;         /* a rule has `replaces` */
    const char *const *hidden; /* rules of the file that the overlay hides */
    size_t hidden_count;
    const char *const *hidden_tiers;
    size_t hidden_tier_count;
    const struct sl_exempt_until *exempt_until;
    size_t exempt_until_count;
    struct sl_index *index;
    struct sl_whitelist *whitelist;
};

/* Prints every key of a rules file, with its default and what it does. */
void sl_ruleset_print_keys(FILE *out);

/* Reads the text of a rules file. `name` is its name in problems. Returns NULL, with every
 * problem in *report, unless the whole file is right; otherwise the report has no error
 * (warnings come from sl_ruleset_lint). */
struct sl_ruleset *sl_ruleset_parse(const char *name, struct sluice_text yaml,
                                    struct sl_report *report);

/* Adds warnings about what is legal and will surprise. */
void sl_ruleset_lint(const struct sl_ruleset *rules, struct sl_report *report);

void sl_ruleset_free(struct sl_ruleset *rules);

/* Returns -1 if it is not a tier of these rules. */
ptrdiff_t sl_ruleset_tier(const struct sl_ruleset *rules, struct sluice_text name);

/* Returns NULL if no rule has the name. */
const struct sl_rule *sl_ruleset_rule(const struct sl_ruleset *rules, const char *name);

/* Is it the tenant's own rule, and how many of those are there? */
bool sl_rule_is_of(const struct sl_rule *rule, const char *tenant);
size_t sl_ruleset_count_of(const struct sl_ruleset *rules, const char *tenant);

/* Names of rules, and of tenants of the API: 1 to 64 letters, digits, `.`, `_`, `-`. */
enum { SL_RULE_NAME_MAX = 64 };
bool sl_rule_name_is_good(struct sluice_text name);

/* Returns true if a rule keeps a log. */
bool sl_ruleset_keeps_rings(const struct sl_ruleset *rules);

/* N, SL_LEASE_AUTO or SL_LEASE_OFF, where the store leases at all; docs/leases.md says when not. */
static inline int64_t sl_rule_lease(const struct sl_rule *rule)
{
    if (!rule->algo->leases || rule->adaptive || rule->guard.window_us)
        return SL_LEASE_OFF;
    if (rule->lease != SL_LEASE_DEFAULT)
        return rule->lease;
    bool is_global = rule->per_count == 1 && rule->per[0].attribute == SL_ATTR_GLOBAL;
    return is_global ? SL_LEASE_AUTO : SL_LEASE_OFF;
}

/* The limit of `rule` for tier number `tier` (-1: none) at this trust. Returns false if
 * the tier is unlimited: the rule does not apply. */
bool sl_rule_limit(const struct sl_rule *rule, ptrdiff_t tier, int32_t trust_thousandths,
                   struct sl_limit *out);

#endif
