/* Warnings about the requests a rule matches: none at all, fewer than it says, or others than
 * meant. Each is a mistake that parses, and then a limit that is not there. */
#include "rules/lint/lint.h"

#include "rules/condition.h"

void sl_lint_excepted(struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t i = 0; !rule->any_resource && i < rule->except_count; i++) {
        if (!sl_pattern_covers(&rule->except[i], &rule->resource))
            continue;
        sl_lint_warn(lint, rule,
                     "`%s` matches no request: all of its `resource` `%s` is in its own "
                     "`except` `%s`; narrow the exception",
                     rule->name, sl_lint_quote(lint, rule->resource.text),
                     sl_lint_quote(lint, rule->except[i].text));
        return;
    }
}

/* Returns true if there is a resource that both match. */
static bool patterns_overlap(const struct sl_pattern *a, const struct sl_pattern *b)
{
    if (a->everything || b->everything)
        return true;
    if (a->segment_count > b->segment_count)
        return patterns_overlap(b, a);
    if (a->dotted != b->dotted || (!a->prefix && a->segment_count < b->segment_count))
        return false;
    for (size_t i = 0; i < a->segment_count; i++)
        if (a->segments[i].at && b->segments[i].at &&
            !sl_text_equal(a->segments[i], b->segments[i]))
            return false;
    return true;
}

void sl_lint_idle_except(struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t i = 0; !rule->any_resource && i < rule->except_count; i++)
        if (!patterns_overlap(&rule->except[i], &rule->resource))
            sl_lint_warn(lint, rule,
                         "`except` `%s` takes nothing away from `%s`: no resource matches "
                         "both; correct it or leave it out",
                         sl_lint_quote(lint, rule->except[i].text),
                         sl_lint_quote(lint, rule->resource.text));
}

/* ---- values of `when`: each function says why no request has it, or returns NULL --- */

static const char *wrong_resource(const struct sl_rule *rule, struct sluice_text value)
{
    struct sl_segments cut;
    sl_resource_cut(value, &cut);
    for (size_t i = 0; i < cut.count; i++)
        if (sl_text_is(cut.at[i], "*"))
            return "values are compared as they are, and `*` is none; use the rule's `resource`";
    if (!rule->any_resource && !sl_pattern_matches(&rule->resource, &cut))
        return "the rule's `resource` does not match it; write a resource that it does";
    for (size_t i = 0; i < rule->except_count; i++)
        if (sl_pattern_matches(&rule->except[i], &cut))
            return "the rule's `except` leaves it out; take it from one of them";
    return NULL;
}

static const char *wrong_method(const struct sl_rule *rule, struct sluice_text value)
{
    static const char *const methods[] = { "get",   "head",   "post",   "put",
                                           "patch", "delete", "options" };
    (void)rule;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (sl_text_is(value, methods[i]))
            return "methods are compared as they are written; write it in upper case";
    return NULL;
}

static const struct value_check {
    enum sl_attribute attribute;
    const char *(*wrong)(const struct sl_rule *rule, struct sluice_text value);
} value_checks[] = {
    { SL_ATTR_RESOURCE, wrong_resource },
    { SL_ATTR_METHOD, wrong_method },
};

static void check_values(struct sl_lint *lint, const struct sl_rule *rule,
                         const struct sl_condition *when)
{
    for (size_t c = 0; c < sizeof value_checks / sizeof *value_checks; c++) {
        if (value_checks[c].attribute != when->attribute.attribute)
            continue;
        for (size_t i = 0; i < when->value_count; i++) {
            const char *wrong = value_checks[c].wrong(rule, when->values[i]);
            if (wrong)
                sl_lint_warn(lint, rule, "`%s` matches no request `when` its %s is `%s`: %s",
                             rule->name, when->attribute.name.at,
                             sl_lint_quote(lint, when->values[i]), wrong);
        }
    }
}

/* Without declared tiers, `tier` is an attribute like any other. */
static void check_tiers(struct sl_lint *lint, const struct sl_rule *rule,
                        const struct sl_condition *when)
{
    if (when->attribute.attribute != SL_ATTR_TIER || lint->rules->tier_count == 0)
        return;
    for (size_t i = 0; i < when->value_count; i++)
        if (sl_ruleset_tier(lint->rules, when->values[i]) < 0)
            sl_lint_warn(lint, rule,
                         "`%s` asks for tier `%s`, which is not declared: what sends it is "
                         "given the rule's default numbers; correct the name, or declare it "
                         "under `tiers`",
                         rule->name, sl_lint_quote(lint, when->values[i]));
}

/* Finds conditions whose parts are each right, but that no value meets together. */
static void check_whole(struct sl_lint *lint, const struct sl_rule *rule,
                        const struct sl_condition *when)
{
    for (size_t i = 0; when->is_more && i < when->value_count; i++)
        if (!sl_condition_more_holds(when, when->values[i]))
            sl_lint_warn(lint, rule,
                         "`%s` matches no request `when` its %s is `%s`: that is not what the same "
                         "condition's `not`, `like` or `unlike` lets through; take it from one of "
                         "them",
                         rule->name, when->attribute.name.at, sl_lint_quote(lint, when->values[i]));
}

/* Says why this value of `not` leaves out no request, or returns NULL. */
static const char *why_not_excludes_nothing(const struct sl_lint *lint, const struct sl_rule *rule,
                                            const struct sl_condition *when,
                                            struct sluice_text value)
{
    if (when->attribute.attribute == SL_ATTR_METHOD)
        return wrong_method(rule, value);
    if (when->attribute.attribute == SL_ATTR_TIER && lint->rules->tier_count &&
        sl_ruleset_tier(lint->rules, value) < 0)
        return "that tier is not declared; correct the name, or leave it out";
    return NULL;
}

static void check_left_out(struct sl_lint *lint, const struct sl_rule *rule,
                           const struct sl_condition *when)
{
    for (size_t i = 0; i < when->unequal.count; i++) {
        const char *wrong = why_not_excludes_nothing(lint, rule, when, when->unequal.at[i]);
        if (wrong)
            sl_lint_warn(lint, rule, "`%s` leaves out nothing by `not` `%s`: %s", rule->name,
                         sl_lint_quote(lint, when->unequal.at[i]), wrong);
    }
}

void sl_lint_when(struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t i = 0; i < rule->when_count; i++) {
        check_values(lint, rule, &rule->when[i]);
        check_tiers(lint, rule, &rule->when[i]);
        check_whole(lint, rule, &rule->when[i]);
        check_left_out(lint, rule, &rule->when[i]);
    }
}

void sl_lint_unlimited_tiers(struct sl_lint *lint, const struct sl_rule *rule)
{
    if (!sl_lint_numbers(lint, rule))
        sl_lint_warn(lint, rule,
                     "`%s` never applies: every tier that its `when` asks for is unlimited; "
                     "ask for another, or give the tier numbers in the rule's `tiers`",
                     rule->name);
}

/* ---- attributes ------------------------------------------------------------ */

static bool is_mapped(const struct sl_claim_map *maps, size_t count, struct sluice_text name)
{
    for (size_t i = 0; i < count; i++)
        if (sl_text_equal(maps[i].attribute.name, name))
            return true;
    return false;
}

/* Returns true for a name with a number behind it, as the second entry with one key of Envoy's
 * descriptors has it. */
static bool is_numbered(struct sluice_text name)
{
    size_t end = name.len;
    while (end && name.at[end - 1] >= '0' && name.at[end - 1] <= '9')
        end--;
    return end < name.len && end && name.at[end - 1] == '.';
}

/* Any name is an attribute, and a rule by one that no request has limits nothing. A name
 * that the file itself fills is meant, and so is a numbered one. `ip` is too short to guess at. */
static void check_attribute(struct sl_lint *lint, const struct sl_rule *rule,
                            const struct sl_part *part)
{
    static const char *const known[] = { "tenant", "resource", "method", "user",
                                         "client", "tier",     NULL };
    const struct sl_identity *identity = &lint->rules->settings.identity;
    if (part->attribute != SL_ATTR_OTHER || is_numbered(part->name) ||
        is_mapped(identity->headers, identity->header_count, part->name) ||
        is_mapped(identity->jwt.claims, identity->jwt.claim_count, part->name))
        return;
    const char *meant = sl_did_you_mean(part->name, known);
    if (meant)
        sl_lint_warn(lint, rule,
                     "`%s` looks at an attribute `%s`, which requests have to send under "
                     "this very name; did you mean `%s`?",
                     rule->name, part->name.at, meant);
}

void sl_lint_attributes(struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t i = 0; i < rule->per_count; i++)
        check_attribute(lint, rule, &rule->per[i]);
    for (size_t i = 0; i < rule->when_count; i++)
        check_attribute(lint, rule, &rule->when[i].attribute);
}

void sl_lint_adaptive(struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t i = 0; i < rule->per_count; i++)
        if (rule->per[i].attribute == SL_ATTR_USER)
            return;
    if (rule->adaptive)
        sl_lint_warn(lint, rule,
                     "`%s` is `adaptive` and counts per %s: trust is a user's, and would "
                     "raise the limit of a count that others share; count per user, or leave "
                     "`adaptive` out",
                     rule->name, sl_lint_per(lint, rule));
}
