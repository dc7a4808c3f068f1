/* Reading everything in the file that is not a rule: one row per key.
 *
 * A setting is added by adding its row, with a reader from read.h or one of the
 * few below for unusual values. No file named here is opened or
 * looked up: the code that uses it finds out whether it exists. */
#include "rules/reading/parts.h"
#include "rules/store_url.h"

#define SECOND_US INT64_C(1000000)
#define AT(field) offsetof(struct sl_ruleset, settings.field)

static const struct sl_key admin_keys[] = {
    { "token_file", sl_read_path, AT(admin.token_file) - AT(admin), .missing = "loopback alone",
      .help = "file that holds the admin's token" },
    { "token_env", sl_read_text, AT(admin.token_env) - AT(admin), .missing = "loopback alone",
      .help = "environment variable that holds one" },
    { "readonly_token_file", sl_read_path, AT(admin.readonly_token_file) - AT(admin),
      .missing = "none", .help = "file with a token that may only look" },
    { 0 },
};

static const struct sl_key_table admin_table = { "`admin`", admin_keys };

static const struct sl_key store_tls_keys[] = {
    { "ca", sl_read_path, AT(store_tls.ca) - AT(store_tls), .missing = "the system's",
      .help = "PEM file of those whose certificates Redis may show" },
    { "certificate", sl_read_path, AT(store_tls.certificate) - AT(store_tls), .missing = "none",
      .help = "PEM file that we show" },
    { "key", sl_read_path, AT(store_tls.key) - AT(store_tls), .missing = "none",
      .help = "PEM file of its private key" },
    { 0 },
};

static const struct sl_key_table store_tls_table = { "`store_tls`", store_tls_keys };

static const struct sl_duration_range timeout_range = { 1000, 3600 * SECOND_US, "from 1ms to 1h" };

#define TIMEOUT(which, default_text, help_text)                                                    \
    {                                                                                              \
        .name = #which, .read = sl_read_duration, .shape = &timeout_range,                         \
        .offset = AT(timeouts.which##_us) - AT(timeouts), .standard = default_text,                \
        .help = help_text                                                                          \
    }

static const struct sl_key timeout_keys[] = {
    TIMEOUT(head, "10s", "for a request's head, a TLS handshake, a PROXY header"),
    TIMEOUT(body, "30s", "for its body"),
    TIMEOUT(idle, "75s", "between two requests"),
    TIMEOUT(write, "30s", "for an answer that the client does not read"),
    TIMEOUT(drain, "500ms", "shutting down: for a last request on a connection that is kept"),
    { 0 },
};

static const struct sl_key_table timeout_table = { "`timeouts`", timeout_keys };

static const struct sl_decimal_range share_range = { 0, SL_TRUST_ONE, "a decimal from 0 to 1" };
static const struct sl_decimal_range days_range = { 1, UINT64_C(36500) * SL_TRUST_ONE,
                                                    "a decimal above 0, at most 36500" };

#define TRUST(weight, default_text, range, help_text)                                              \
    {                                                                                              \
        .name = #weight, .read = sl_read_billionths, .shape = &(range),                            \
        .offset = offsetof(struct sl_trust_weights, weight), .standard = default_text,             \
        .help = help_text                                                                          \
    }

static const struct sl_key trust_keys[] = {
    TRUST(age_max, "0.3", share_range, "the most that an account's age earns"),
    TRUST(age_full_days, "109.5", days_range, "the age in days that earns it"),
    TRUST(email, "0.2", share_range, "what a verified email earns"),
    TRUST(success, "0.5", share_range, "what a week of only successful calls earns"),
    TRUST(violation, "0.05", share_range, "what each violation of the last 30 days costs"),
    TRUST(violation_max, "0.2", share_range, "the most that violations cost"),
    { 0 },
};

static const struct sl_key_table trust_table = { "`trust`", trust_keys };

static const char *const failure_words[] = {
    [SL_FAIL_ALLOW] = "allow", [SL_FAIL_DENY] = "deny", [SL_FAIL_LOCAL] = "local", NULL
};

bool sl_read_failure_policy(struct sl_reader *in, const struct sl_node *node, const void *shape,
                            void *out)
{
    uint32_t word;
    (void)shape;
    if (!sl_read_word(in, node, failure_words, &word))
        return false;
    *(enum sl_failure_policy *)out = (enum sl_failure_policy)word;
    return true;
}

bool sl_read_choice(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    uint32_t word;
    if (!sl_read_word(in, node, shape, &word))
        return false;
    *(bool *)out = word != 0;
    return true;
}

static const char *const hash_tag_words[] = { "tenant", "identifier", NULL };

static bool read_store(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    struct sluice_text text;
    if (!sl_read_span(in, node, shape, &text))
        return false;
    const char *wrong = sl_store_url_parse(in->arena, text, in->folder, out);
    if (wrong)
        sl_report_error(in->report, node->mark, "%s", wrong);
    return !wrong;
}

_Static_assert(SL_HEADER_X_RATELIMIT == 1 && SL_HEADER_RATELIMIT == 2 && SL_HEADER_RETRY_AFTER == 4,
               "the words below are in the order of the bits");

static const char *const header_words[] = { "x-ratelimit", "ratelimit", "retry-after", NULL };

static bool read_audit(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    static const char *const words[] = { "off", "stdout", "syslog", NULL };
    const char **audit = out;
    struct sluice_text text = node->text;
    (void)shape;
    for (size_t i = 0; words[i]; i++) {
        if (sl_text_is(text, words[i])) {
            *audit = words[i];
            return true;
        }
    }
    if (text.len <= 5 || memcmp(text.at, "file:", 5) != 0)
        return sl_refuse(in, node, "`file:PATH`, `stdout`, `syslog` or `off`");
    if (!sl_read_span(in, node, NULL, &text))
        return false;
    struct sluice_text path = { text.at + 5, text.len - 5 };
    *audit = sl_arena_print(in->arena, "file:%s", sl_path_join(in->scratch, in->folder, path));
    return true;
}

static const struct sl_duration_range deadline_range = { 1000, 60 * SECOND_US, "from 1ms to 1m" };
static const struct sl_duration_range wait_range = { 0, 3600 * SECOND_US, "from 0s to 1h" };

/* `rules` is last: rules refer to tiers and settings. */
static const struct sl_key file_keys[] = {
    { "listen", sl_read_keys, offsetof(struct sl_ruleset, settings), .below = &sl_listen_table,
      .help = "addresses that the server listens on" },
    { "tls", sl_read_keys, AT(tls), .below = &sl_tls_table, .help = "for `listen.https`" },
    { "workers", sl_read_u32, AT(workers), SL_RANGE(1, 1024), .missing = "as many as cores",
      .help = "threads that serve" },
    { "max_connections", sl_read_u32, AT(max_connections), SL_RANGE(1, 10000000),
      .standard = "10000", .help = "connections open at once" },
    { "timeouts", sl_read_keys, AT(timeouts), .below = &timeout_table,
      .help = "how long a client may take" },
    { "store", read_store, AT(store), .standard = "memory",
      .help = "where the counts live: `memory`, `memory:FILE?size=64M` or a Redis URL" },
    { "store_deadline", sl_read_duration, AT(store_deadline_us), &deadline_range,
      .standard = "20ms", .help = "how long a decision waits for the store" },
    { "store_tls", sl_read_keys, AT(store_tls), .below = &store_tls_table,
      .help = "for a store over TLS, as `rediss://` is" },
    { "on_store_failure", sl_read_failure_policy, AT(on_store_failure), .standard = "allow",
      .help = "`allow`, `deny`, or `local`: count in this process" },
    { "local_share", sl_read_decimal, AT(local_share), &share_range, .standard = "1",
      .help = "the share of each limit that `local` grants" },
    { "hash_tag", sl_read_choice, AT(hash_tag_identifier), hash_tag_words, .standard = "tenant",
      .help = "what keeps keys together in Redis Cluster: `tenant` or `identifier`" },
    { "hash_identifiers", sl_read_bool, AT(hash_identifiers), .standard = "false",
      .help = "store, audit and figures keep SHA-256 digests, never plain names" },
    { "headers", sl_read_set, AT(headers), header_words, .missing = "all",
      .help = "list of `x-ratelimit`, `ratelimit`, `retry-after`" },
    { "deny_status", sl_read_u32, AT(deny_status), SL_RANGE(400, 599), .standard = "429",
      .help = "what /v1/authorize answers a denied request" },
    { "max_wait", sl_read_duration, AT(max_wait_us), &wait_range, .standard = "30s",
      .help = "the longest that an answer is held" },
    { "identity", sl_read_keys, AT(identity), .below = &sl_identity_table,
      .help = "how clients are identified: proxies, headers, tokens" },
    { "admin", sl_read_keys, AT(admin), .below = &admin_table, .help = "access to the admin API" },
    { "database", sl_read_path, AT(database), .missing = "RULESFILE.db",
      .help = "file for what the API changes; under systemd it is in $STATE_DIRECTORY" },
    { "spread", sl_read_bool, AT(spread), .standard = "true",
      .help = "with a Redis store, what the API changes reaches every instance" },
    { "trust", sl_read_keys, AT(trust), .below = &trust_table,
      .help = "what makes up a trust score" },
    { "audit", read_audit, AT(audit), .standard = "off",
      .help = "`file:PATH`, `stdout`, `syslog` or `off`" },
    { "statistics", sl_read_bool, AT(statistics), .standard = "true",
      .help = "latencies, callers and limited identifiers, beside plain counts" },
    { "tiers", sl_read_tiers, .empty = SL_NODE_MAP, .below = &sl_tier_table, .below_by = ".TIER.",
      .missing = "none", .help = "tiers of users by name" },
    { "exempt", sl_read_keys, offsetof(struct sl_ruleset, exempt), .below = &sl_exempt_table,
      .help = "users, clients, addresses and keys that are never counted" },
    { "rules", sl_read_rules, .empty = SL_NODE_LIST, .below = &sl_rule_table, .below_by = "[].",
      .missing = "none", .help = "the limits; every rule that matches must allow" },
    { 0 },
};

const struct sl_key_table sl_file_table = { "a rules file", file_keys };

void sl_settings_init(struct sl_settings *settings)
{
    settings->headers = SL_HEADER_X_RATELIMIT | SL_HEADER_RATELIMIT | SL_HEADER_RETRY_AFTER;
}
