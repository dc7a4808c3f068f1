/* Reading one rule: what it matches, what it counts by, and its numbers.
 *
 * Reading a rule has two halves. Here each key is read by its row into a
 * draft; then rule_numbers.c checks the keys together and composes
 * the numbers. A key that was refused leaves its zero in the draft, and the
 * second half reports nothing about zeros: one mistake, one problem. */
#include "rules/reading/parts.h"

#define AT(field) offsetof(struct sl_rule_draft, field)

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool sl_rule_name_is_good(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_name_byte(text.at[i]))
            return false;
    return text.len > 0 && text.len <= SL_RULE_NAME_MAX;
}

bool sl_read_name(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    (void)shape;
    if (node->kind != SL_NODE_SCALAR || !sl_rule_name_is_good(node->text))
        return sl_refuse(in, node, "1 to %d letters, digits, `.`, `_` or `-`", SL_RULE_NAME_MAX);
    *(const char **)out = sl_arena_copy(in->arena, node->text);
    return true;
}

/* Returns the cure for a mistake that parses, and then matches nothing; or NULL. */
static const char *pattern_slip(struct sluice_text text)
{
    if (text.len && text.at[0] != '/' && memchr(text.at, '/', text.len))
        return "a path that starts with `/`, such as `/api/*`, without scheme and host";
    if (text.len && (memchr(text.at, '?', text.len) || memchr(text.at, '#', text.len)))
        return "the path alone: the query is not part of a resource";
    return NULL;
}

bool sl_read_pattern(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sluice_text text;
    (void)shape;
    if (node->kind == SL_NODE_LIST)
        return sl_refuse(in, node, "one pattern, and a rule for each");
    if (!sl_read_span(in, node, NULL, &text))
        return false;
    const char *slip = pattern_slip(text);
    if (slip)
        return sl_refuse(in, node, "%s", slip);
    const char *wrong = sl_pattern_parse(in->arena, text, out);
    if (wrong)
        sl_report_error(in->report, node->mark, "`%s` is not a pattern: %s",
                        sl_report_quote(in->report, text), wrong);
    return !wrong;
}

static bool read_resource(struct sl_reader *in, const struct sl_node *node, const void *shape,
                          void *out)
{
    struct sl_rule *rule = out;
    rule->any_resource = false;
    return sl_read_pattern(in, node, shape, &rule->resource);
}

static const struct sl_each each_except =
    SL_EACH(sl_read_pattern, struct sl_rule, except, except_count);

/* In the order of sl_algos. */
const char *const sl_algorithm_names[] = {
#define SL_ALGO(name) #name,
#include "algo/list.def"
#undef SL_ALGO
    NULL,
};

static bool read_algorithm(struct sl_reader *in, const struct sl_node *node, const void *shape,
                           void *out)
{
    uint32_t which;
    (void)shape;
    if (!sl_read_word(in, node, sl_algorithm_names, &which))
        return false;
    *(const struct sl_algo **)out = sl_algos[which];
    return true;
}

const struct sl_range sl_capacity_range = { 1, UINT64_C(1) << 53 };
static const struct sl_duration_range window_range = { SL_WINDOW_MIN_US, SL_WINDOW_MAX_US,
                                                       "from 1ms to 366d" };
const struct sl_decimal_range sl_rate_range = {
    1, UINT64_C(1000000000) * 1000000000, "tokens per second: a decimal above 0, at most 1000000000"
};
static const struct sl_decimal_range burst_range = { 1000000000, UINT64_C(1000) * 1000000000,
                                                     "a decimal from 1 to 1000" };

/* Reads N/D, which fills both numbers as if they had been written. */
static bool read_limit(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    struct sl_rule_draft *draft = out;
    const char *slash = node->text.len ? memchr(node->text.at, '/', node->text.len) : NULL;
    uint64_t capacity = 0;
    int64_t window_us = 0;
    (void)shape;
    if (slash) {
        struct sluice_text before = { node->text.at, (size_t)(slash - node->text.at) };
        struct sluice_text after = { slash + 1, node->text.len - before.len - 1 };
        if (!sl_parse_u64(before, &capacity) || !sl_parse_per_us(after, &window_us))
            slash = NULL;
    }
    if (!slash)
        return sl_refuse(in, node, "N/D, such as 100/m, 5/15m or 1000/24h");
    if (capacity < sl_capacity_range.min || capacity > sl_capacity_range.max)
        return sl_refuse(in, node, "a number from 1 to %llu before the `/`",
                         (unsigned long long)sl_capacity_range.max);
    if (window_us < window_range.min_us || window_us > window_range.max_us)
        return sl_refuse(in, node, "a duration %s after the `/`", window_range.words);
    draft->capacity = capacity;
    draft->window_us = window_us;
    return true;
}

static const struct sl_key guard_keys[] = {
    { "window", sl_read_duration, offsetof(struct sl_guard, window_us), &window_range,
      .standard = "10s", .help = "requests are counted in windows of this length" },
    { "threshold", sl_read_u32, offsetof(struct sl_guard, threshold), SL_RANGE(1, (1u << 30) - 1),
      .standard = "50", .help = "more requests than this are a burst" },
    { "penalty", sl_read_duration, offsetof(struct sl_guard, penalty_us), &window_range,
      .standard = "5m", .help = "how long a warning lasts; a block lasts twice as long" },
    { 0 },
};

static const struct sl_key_table guard_table = { "`burst_guard`", guard_keys };

static bool read_guard(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    struct sl_guard guard = { 0 };
    if (!sl_read_keys(in, node, shape, &guard))
        return false;
    if (!sl_guard_fits(&guard)) {
        sl_report_error(in->report, node->mark,
                        "this guard remembers too much: the windows in `penalty`, times "
                        "`threshold`, must stay below 2^30; use a longer window, a shorter "
                        "penalty or a lower threshold");
        return false;
    }
    *(struct sl_guard *)out = guard;
    return true;
}

bool sl_read_lease(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    int64_t *lease = out;
    uint64_t number;
    (void)shape;
    if (node->kind == SL_NODE_SCALAR && sl_text_is(node->text, "off"))
        *lease = SL_LEASE_OFF;
    else if (node->kind == SL_NODE_SCALAR && sl_text_is(node->text, "auto"))
        *lease = SL_LEASE_AUTO;
    else if (node->plain && sl_parse_u64(node->text, &number) && number >= 1 &&
             number <= UINT32_MAX)
        *lease = (int64_t)number;
    else
        return sl_refuse(in, node, "`off`, `auto`, or how many units to take at once");
    return true;
}

static const char *const align_words[] = { "epoch", "first_request", NULL };
static const char *const missing_words[] = { "skip", "deny", NULL };

static const struct sl_key rule_keys[] = {
    { "name", sl_read_name, AT(rule.name), .required = true,
      .help = "1 to 64 letters, digits, `.`, `_` or `-`; no two rules share one" },
    { "per", sl_read_per, AT(rule), .required = true,
      .help = "what it counts by, as `global`, `user`, `ip`, any attribute, or a list of them" },
    { "resource", read_resource, AT(rule), .missing = "every resource",
      .help = "pattern of the resources that it limits" },
    { "except", sl_read_each, AT(rule), &each_except, .missing = "none",
      .help = "patterns of resources that it leaves alone" },
    { "when", sl_read_conditions, AT(rule), .below = &sl_condition_table, .below_by = ".ATTRIBUTE.",
      .missing = "any",
      .help = "attribute: value, list of values, or a map, that a request must meet" },
    { "replaces", sl_read_replaces, .missing = "none",
      .help = "names of rules that do not count where this one does" },
    { "algorithm", read_algorithm, AT(rule.algo), .standard = "sliding_window_counter",
      .help = "how it counts" },
    { "capacity", sl_read_u64, AT(capacity), &sl_capacity_range, .missing = "or `limit`",
      .help = "units in a window, or that a bucket holds" },
    { "window", sl_read_duration, AT(window_us), &window_range, .missing = "or `refill_rate`",
      .help = "the window's length; a bucket is refilled once in it" },
    { "refill_rate", sl_read_decimal, AT(rate), &sl_rate_range, .missing = "capacity / window",
      .help = "buckets: tokens per second" },
    { "limit", read_limit, .missing = "or `capacity`, `window`",
      .help = "N/D, short for capacity and window: 100/m" },
    { "burst_allowance", sl_read_decimal, AT(burst), &burst_range, .standard = "1",
      .help = "token bucket: capacity is multiplied by it" },
    { "align", sl_read_choice, AT(first_request), align_words, .standard = "epoch",
      .help = "fixed window: starts at the `epoch`, or at the `first_request`" },
    { "adaptive", sl_read_bool, AT(rule.adaptive), .standard = "false",
      .help = "grants more to users with a trust score" },
    { "shadow", sl_read_bool, AT(rule.shadow), .standard = "false",
      .help = "counts and reports, and never denies" },
    { "burst_guard", read_guard, AT(rule.guard), .below = &guard_table, .missing = "off",
      .help = "warns, then blocks, callers that ask too fast" },
    { "tiers", sl_read_tier_numbers, .below = &sl_tier_numbers_table, .below_by = ".TIER.",
      .missing = "the tier's scale", .help = "numbers of its own for a tier" },
    { "on_missing", sl_read_choice, AT(rule.deny_missing), missing_words, .standard = "skip",
      .help = "a request lacks what `per` names: `skip` the rule, or `deny`" },
    { "on_store_failure", sl_read_failure_policy, AT(rule.on_store_failure),
      .missing = "the file's", .help = "`allow`, `deny` or `local`" },
    { "lease", sl_read_lease, AT(rule.lease), .is_numeric = true,
      .missing = "off; auto: global on Redis",
      .help = "units taken from the store at once: `off`, `auto` or a number" },
    { 0 },
};

const struct sl_key_table sl_rule_table = { "a rule", rule_keys };

static bool spans_tenants(const struct sl_part *per, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (per[i].attribute != SL_ATTR_IP && per[i].attribute != SL_ATTR_GLOBAL)
            return false;
    return count > 0;
}

bool sl_read_rule(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    const struct sl_ruleset *rules = shape;
    struct sl_rule_draft draft = { .rules = rules };
    draft.rule.any_resource = true;
    draft.rule.on_store_failure = rules->settings.on_store_failure;
    draft.rule.lease = SL_LEASE_DEFAULT;
    draft.rule.mark = node->mark;
    bool good = sl_read_keys(in, node, &sl_rule_table, &draft);
    if (node->kind == SL_NODE_MAP)
        good &= sl_rule_compose(in, node, &draft);
    draft.rule.spans_tenants = spans_tenants(draft.rule.per, draft.rule.per_count);
    *(struct sl_rule *)out = draft.rule;
    return good;
}
