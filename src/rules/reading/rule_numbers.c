/* Checking a rule's number keys together, and composing its numbers.
 *
 *   windows   capacity and window           (or limit: N/D)
 *   buckets   capacity, and window or refill_rate
 *
 * First the combinations, then the numbers: for no tier, and for each declared
 * one with the rule's own numbers for it or the tier's scale. numbers.c composes
 * them; its refusals are reported where the file gives the capacity,
 * or the tier's own. */
#include "rules/numbers.h"

#include "rules/reading/parts.h"

static const struct sl_decimal one = { 1, 0 };

enum { LEASE_MIN = 8 };

static bool is_bucket(const struct sl_algo *algo)
{
    return algo->is_bucket;
}

static bool takes_burst(const struct sl_algo *algo)
{
    return algo->takes_burst;
}

static bool takes_align(const struct sl_algo *algo)
{
    return algo->takes_align;
}

/* Keys that only some algorithms have. */
static const struct fit {
    const char *key;
    bool (*fits)(const struct sl_algo *algo);
} fits[] = {
    { "refill_rate", is_bucket },
    { "burst_allowance", takes_burst },
    { "align", takes_align },
};

static bool report_unfit(struct sl_reader *in, const struct sl_node *entry,
                         const struct sl_algo *algo, const struct fit *fit)
{
    const char *names[16] = { 0 };
    size_t count = 0;
    if (sl_report_is_full(in->report)) {
        sl_report_error(in->report, entry->key_mark, "`%s` does not fit", fit->key);
        return false;
    }
    for (size_t i = 0; sl_algos[i] && count + 1 < sizeof names / sizeof *names; i++)
        if (fit->fits(sl_algos[i]))
            names[count++] = sl_algos[i]->name;
    sl_report_error(in->report, entry->key_mark,
                    "`%s` does not fit `%s`; it is for %s, leave it out here", fit->key, algo->name,
                    sl_words_join(in->scratch, names, "and"));
    return false;
}

static bool check_fits(struct sl_reader *in, const struct sl_node *rule, const struct sl_algo *algo)
{
    bool good = true;
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        const struct sl_node *entry = sl_node_get(rule, fits[i].key);
        if (entry && !fits[i].fits(algo))
            good = report_unfit(in, entry, algo, &fits[i]);
    }
    return good;
}

static bool check_beside_limit(struct sl_reader *in, const struct sl_node *rule)
{
    static const char *const keys[] = { "capacity", "window" };
    bool good = true;
    for (size_t i = 0; sl_node_get(rule, "limit") && i < 2; i++) {
        const struct sl_node *entry = sl_node_get(rule, keys[i]);
        if (!entry)
            continue;
        sl_report_error(in->report, entry->key_mark,
                        "`%s` cannot stand beside `limit`, which gives it already; keep one",
                        keys[i]);
        good = false;
    }
    return good;
}

/* Returns true if every number is there that the algorithm counts with. */
static bool check_complete(struct sl_reader *in, const struct sl_node *rule,
                           const struct sl_algo *algo)
{
    bool good = true;
    if (sl_node_get(rule, "limit"))
        return true;
    if (!sl_node_get(rule, "capacity")) {
        sl_report_error(in->report, rule->mark,
                        "a rule needs `capacity`, or `limit` for capacity and window at once");
        good = false;
    }
    if (!sl_node_get(rule, "window") && !(algo->is_bucket && sl_node_get(rule, "refill_rate"))) {
        sl_report_error(in->report, rule->mark,
                        algo->is_bucket ? "`%s` needs `refill_rate`, tokens per second, or `window`"
                                        : "`%s` needs `window`, such as 1m",
                        algo->name);
        good = false;
    }
    return good;
}

static const struct sl_key own_keys[] = {
    { "capacity", sl_read_u64, offsetof(struct sl_tier_numbers, capacity), &sl_capacity_range,
      .missing = "by the tier's scale", .help = "the rule's capacity for this tier" },
    { "refill_rate", sl_read_decimal, offsetof(struct sl_tier_numbers, rate), &sl_rate_range,
      .missing = "by the tier's scale", .help = "buckets: tokens per second for this tier" },
    { "unlimited", sl_read_bool, offsetof(struct sl_tier_numbers, unlimited),
      .missing = "the tier's", .help = "the rule does not apply to this tier" },
    { 0 },
};

const struct sl_key_table sl_tier_numbers_table = { "a rule's tier", own_keys };

static bool report_undeclared(struct sl_reader *in, const struct sl_node *entry,
                              const struct sl_ruleset *rules)
{
    if (sl_report_is_full(in->report)) {
        sl_report_error(in->report, entry->key_mark, "a tier is not declared");
        return false;
    }
    const char **names = sl_arena_take(in->scratch, (rules->tier_count + 1) * sizeof *names);
    for (size_t i = 0; i < rules->tier_count; i++)
        names[i] = rules->tiers[i].name.at ? rules->tiers[i].name.at : "";
    const char *close = sl_did_you_mean(entry->key, names);
    const char *name = sl_report_quote(in->report, entry->key);
    if (close)
        sl_report_error(in->report, entry->key_mark,
                        "tier `%s` is not declared; did you mean `%s`?", name, close);
    else
        sl_report_error(in->report, entry->key_mark,
                        "tier `%s` is not declared; add it to the file's `tiers`", name);
    return false;
}

static bool read_own(struct sl_reader *in, const struct sl_node *entry,
                     const struct sl_rule_draft *draft, struct sl_tier_numbers *own)
{
    const struct sl_algo *algo = draft->rule.algo;
    if (!sl_read_keys(in, entry, &sl_tier_numbers_table, own))
        return false;
    own->node = entry;
    if (own->rate.digits && algo && !algo->is_bucket)
        return report_unfit(in, sl_node_get(entry, "refill_rate"), algo, &fits[0]);
    bool numbers = own->capacity || own->rate.digits;
    if (numbers && own->unlimited) {
        sl_report_error(in->report, sl_node_get(entry, "unlimited")->key_mark,
                        "an unlimited tier has no numbers; keep them or `unlimited`");
        return false;
    }
    if (!numbers && !sl_node_get(entry, "unlimited"))
        return sl_refuse(in, entry, "`capacity`, `refill_rate` or `unlimited` in it");
    return true;
}

bool sl_read_tier_numbers(struct sl_reader *in, const struct sl_node *node, const void *shape,
                          void *out)
{
    struct sl_rule_draft *draft = out;
    bool good = true;
    (void)shape;
    if (node->kind != SL_NODE_MAP)
        return sl_refuse(in, node, "a map, such as { pro: { capacity: 1000 } }");
    draft->own = sl_arena_take(in->scratch, draft->rules->tier_count * sizeof *draft->own);
    for (const struct sl_node *entry = node->first; entry; entry = entry->next) {
        ptrdiff_t tier = sl_ruleset_tier(draft->rules, entry->key);
        struct sl_tier_numbers unused = { 0 };
        if (tier < 0)
            good = report_undeclared(in, entry, draft->rules);
        good &= read_own(in, entry, draft, tier < 0 ? &unused : &draft->own[tier]);
    }
    return good;
}

static struct sl_numbers_in base_numbers(const struct sl_rule_draft *draft)
{
    return (struct sl_numbers_in){
        .algo = draft->rule.algo,
        .capacity = draft->capacity,
        .capacity_scale = one,
        .window_us = draft->window_us,
        .has_rate = draft->rate.digits != 0,
        .rate = draft->rate,
        .rate_scale = one,
        .burst = draft->burst,
        .first_request = draft->first_request,
        .adaptive = draft->rule.adaptive,
    };
}

/* The rule's own number for a tier replaces the scaled one; the other stays scaled. */
static struct sl_numbers_in tier_numbers(const struct sl_rule_draft *draft,
                                         const struct sl_tier *tier,
                                         const struct sl_tier_numbers *own)
{
    struct sl_numbers_in in = base_numbers(draft);
    in.capacity_scale = tier->scale;
    in.rate_scale = tier->scale;
    if (own)
        sl_numbers_replace(&in, own->capacity, own->rate);
    return in;
}

/* If the rule says whether it is unlimited for a tier, that goes before the tier's own word. */
static bool is_unlimited(const struct sl_tier *tier, const struct sl_tier_numbers *own)
{
    return own && own->node ? own->unlimited : tier->unlimited;
}

static bool compose_tiers(struct sl_reader *in, struct sl_mark mark,
                          const struct sl_rule_draft *draft, struct sl_numbers_in *parts,
                          struct sl_numbers *numbers)
{
    bool good = true;
    for (size_t i = 0; i < draft->rules->tier_count; i++) {
        const struct sl_tier *tier = &draft->rules->tiers[i];
        const struct sl_tier_numbers *own = draft->own ? &draft->own[i] : NULL;
        parts[i] = tier_numbers(draft, tier, own);
        if (is_unlimited(tier, own)) {
            numbers[i].unlimited = true;
            continue;
        }
        const char *wrong = sl_numbers_compose(&parts[i], &numbers[i]);
        if (!wrong)
            continue;
        sl_report_error(in->report, own && own->node ? own->node->mark : mark, "tier `%s`: %s",
                        tier->name.at, wrong);
        good = false;
    }
    return good;
}

static uint32_t longest_ring(const struct sl_rule *rule, size_t count)
{
    int64_t most = 0;
    for (size_t i = 0; rule->algo->keeps_ring && i < count; i++)
        most = sl_max_i64(most, sl_numbers_capacity_max(&rule->numbers[i], rule->adaptive));
    return (uint32_t)most;
}

/* Returns true if every number was given and read. */
static bool has_numbers(const struct sl_rule_draft *draft)
{
    bool spaced = draft->window_us || (draft->rule.algo->is_bucket && draft->rate.digits);
    return draft->capacity && spaced && draft->burst.digits;
}

static bool compose_numbers(struct sl_reader *in, const struct sl_node *node,
                            struct sl_rule_draft *draft)
{
    size_t count = 1 + draft->rules->tier_count;
    struct sl_numbers *numbers = sl_arena_take(in->arena, count * sizeof *numbers);
    struct sl_numbers_in *parts = sl_arena_take(in->arena, count * sizeof *parts);
    const struct sl_node *given = sl_node_get(node, "limit");
    if (!given)
        given = sl_node_get(node, "capacity");
    parts[0] = base_numbers(draft);
    const char *wrong = sl_numbers_compose(&parts[0], &numbers[0]);
    if (wrong) {
        sl_report_error(in->report, given->mark, "%s", wrong);
        return false;
    }
    bool good = compose_tiers(in, given->mark, draft, parts + 1, numbers + 1);
    draft->rule.numbers = numbers;
    draft->rule.parts = parts;
    draft->rule.tier_count = count - 1;
    draft->rule.window_us = draft->window_us;
    draft->rule.burst = draft->burst;
    draft->rule.ring_len = good ? longest_ring(&draft->rule, count) : 0;
    return good;
}

/* Refuses a number in `lease` where the rule cannot lease; docs/leases.md says why for each case.
 */
static bool check_lease(struct sl_reader *in, const struct sl_node *node,
                        const struct sl_rule *rule)
{
    const struct sl_node *entry = sl_node_get(node, "lease");
    if (!entry || rule->lease <= 0)
        return true;
    const char *why = !rule->algo->leases       ? "its algorithm"
                      : rule->guard.window_us   ? "its `burst_guard`, which must see every request"
                      : rule->adaptive          ? "`adaptive`, whose limit may differ each time"
                      : rule->lease < LEASE_MIN ? "so few units: a lease has 8 or more"
                                                : NULL;
    if (why)
        sl_report_error(in->report, entry->mark,
                        "the rule cannot lease because of %s; write `auto` or leave `lease` out",
                        why);
    return !why;
}

bool sl_rule_compose(struct sl_reader *in, const struct sl_node *node, struct sl_rule_draft *draft)
{
    const struct sl_algo *algo = draft->rule.algo;
    bool good = check_beside_limit(in, node);
    if (!algo)
        return false;
    good &= check_fits(in, node, algo);
    good &= check_complete(in, node, algo);
    good &= check_lease(in, node, &draft->rule);
    return good && has_numbers(draft) && compose_numbers(in, node, draft);
}
