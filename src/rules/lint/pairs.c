/* Warnings about rules beside each other: callers that no rule counts, and rules that never decide.
 *
 * Comparing every rule with every other is 10^8 comparisons in a file of
 * 10,000, so rules are looked up: by pattern in a trie, by everything that
 * counts in a map. Where a file still makes that long (thousands of rules on
 * one pattern), a search stops at a bound and assumes that all is well. */
#include "rules/lint/lint.h"

#include "base/buffer.h"
#include "base/text/textmap.h"
#include "rules/condition.h"
#include "rules/lint/cover.h"

enum { LOOK_AT = 128, VALUES_MAX = 64, SIGNATURE_MAX = 1 << 16 };

/* ---- anonymous callers ----------------------------------------------------- */

/* Returns true if an anonymous request may lack it. Every request has an address, a method and a
 * resource. */
static bool is_identity(const struct sl_part *part)
{
    switch (part->attribute) {
    case SL_ATTR_GLOBAL:
    case SL_ATTR_RESOURCE:
    case SL_ATTR_METHOD:
    case SL_ATTR_IP:
        return false;
    default:
        return true;
    }
}

/* Returns true if a token is required, and fills the attribute. */
static bool comes_with_token(const struct sl_lint *lint, const struct sl_part *part)
{
    const struct sl_identity *identity = &lint->rules->settings.identity;
    for (size_t i = 0; identity->jwt.required && i < identity->jwt.claim_count; i++)
        if (sl_text_equal(identity->jwt.claims[i].attribute.name, part->name))
            return true;
    return false;
}

/* A request that the rule matches has every attribute that its `when` asks for. */
static bool asks_for(const struct sl_rule *rule, const struct sl_part *part)
{
    const struct sl_condition *when = sl_lint_condition(rule, part->name);
    return when && sl_condition_needs_value(when);
}

/* Returns the first part of `per` without which the rule skips a request, or NULL. */
static const struct sl_part *skips_without(const struct sl_lint *lint, const struct sl_rule *rule)
{
    for (size_t i = 0; !rule->deny_missing && i < rule->per_count; i++)
        if (is_identity(&rule->per[i]) && !asks_for(rule, &rule->per[i]) &&
            !comes_with_token(lint, &rule->per[i]))
            return &rule->per[i];
    return NULL;
}

/* The requests that `rule` skips because they have no `missing`; of those only the ones with
 * this method, or (NULL) with any. */
struct skipped {
    const struct sl_rule *rule;
    const struct sl_part *missing;
    const struct sluice_text *method;
};

/* Returns true if all of them may meet this condition of another rule. If only excluded values
 * are known, they may. */
static bool is_met(const struct sl_condition *when, const struct skipped *callers)
{
    if (sl_text_equal(when->attribute.name, callers->missing->name))
        return sl_condition_holds(when, (struct sluice_text){ 0 });
    if (when->attribute.attribute == SL_ATTR_METHOD)
        return callers->method && sl_condition_holds(when, *callers->method);
    const struct sl_condition *own = sl_lint_condition(callers->rule, when->attribute.name);
    if (!own)
        return false;
    if (own->value_count > VALUES_MAX || sl_condition_size(when) > VALUES_MAX)
        return true;
    for (size_t i = 0; i < own->value_count; i++)
        if (!sl_condition_holds(when, own->values[i]))
            return false;
    return true;
}

/* Returns true if `wide`, whose pattern covers that of their rule, counts them.
 *
 * An exception cut out of it is meant, unless their rule lies inside. A condition
 * on a tier or an attribute of the file's own tells kinds of callers apart: then the
 * operator has thought of them. */
static bool rule_counts(const struct sl_rule *wide, const struct skipped *callers)
{
    const struct sl_rule *rule = callers->rule;
    for (size_t i = 0; i < wide->except_count; i++)
        if (rule->any_resource ? wide->except[i].everything
                               : sl_pattern_covers(&wide->except[i], &rule->resource))
            return false;
    for (size_t i = 0; i < wide->when_count; i++) {
        enum sl_attribute attribute = wide->when[i].attribute.attribute;
        if (attribute != SL_ATTR_TIER && attribute != SL_ATTR_OTHER &&
            !is_met(&wide->when[i], callers))
            return false;
    }
    return true;
}

static bool any_rule_counts(const struct sl_rule *const *wide, size_t count,
                            const struct skipped *callers)
{
    for (size_t i = 0; i < count; i++)
        if (rule_counts(wide[i], callers))
            return true;
    return false;
}

/* Returns true if one of `counting` counts the requests that `rule` skips without `missing`. */
static bool are_counted(const struct sl_cover *counting, const struct sl_rule *rule,
                        const struct sl_part *missing)
{
    const struct sl_rule *wide[LOOK_AT];
    struct skipped callers = { rule, missing, NULL };
    size_t count = sl_cover_find(counting, rule, wide, LOOK_AT);
    const struct sl_condition *methods = sl_lint_condition(rule, SL_TEXT("method"));
    if (count == LOOK_AT || (methods && methods->value_count > VALUES_MAX))
        return true;
    if (!methods)
        return any_rule_counts(wide, count, &callers);
    for (size_t i = 0; i < methods->value_count; i++) {
        callers.method = &methods->values[i];
        if (!any_rule_counts(wide, count, &callers))
            return false;
    }
    return true;
}

static bool same_resource(const struct sl_rule *a, const struct sl_rule *b)
{
    bool a_any = a->any_resource || a->resource.everything;
    bool b_any = b->any_resource || b->resource.everything;
    return a_any || b_any ? a_any && b_any : sl_text_equal(a->resource.text, b->resource.text);
}

/* Returns true if the warning was given already, for a rule that matches all that this one does. */
static bool is_said(const struct sl_cover *left, const struct sl_rule *rule)
{
    const struct sl_rule *wide[LOOK_AT];
    size_t count = sl_cover_find(left, rule, wide, LOOK_AT);
    for (size_t i = 0; i < count; i++)
        if (wide[i] != rule && wide[i]->when_count == 0 &&
            (rule->when_count || !same_resource(wide[i], rule) || wide[i]->index < rule->index))
            return true;
    return false;
}

static void warn_anonymous(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_part *part = skips_without(lint, rule);
    const char *where =
        rule->any_resource
            ? "any resource"
            : sl_arena_print(&lint->scratch, "`%s`", sl_lint_quote(lint, rule->resource.text));
    sl_lint_warn(lint, rule,
                 "requests without `%s` have no limit on %s: `%s` skips them and no other "
                 "rule counts them; add a rule `per: ip`, or `on_missing: deny`",
                 part->name.at, where, rule->name);
}

void sl_lint_anonymous(struct sl_lint *lint)
{
    size_t rule_count = lint->rules->rule_count, count = 0, left_count = 0;
    size_t size_bytes = (rule_count + 1) * sizeof(struct sl_rule *);
    const struct sl_rule **counting = sl_arena_take(&lint->scratch, size_bytes);
    const struct sl_rule **left = sl_arena_take(&lint->scratch, size_bytes);
    for (size_t i = 0; i < rule_count; i++) {
        const struct sl_rule *rule = &lint->rules->rules[i];
        if (!rule->shadow && !skips_without(lint, rule))
            counting[count++] = rule;
    }
    struct sl_cover *cover = sl_cover_new(&lint->scratch, counting, count);
    for (size_t i = 0; i < rule_count; i++) {
        const struct sl_rule *rule = &lint->rules->rules[i];
        const struct sl_part *missing = rule->shadow ? NULL : skips_without(lint, rule);
        if (missing && !are_counted(cover, rule, missing))
            left[left_count++] = rule;
    }
    cover = sl_cover_new(&lint->scratch, left, left_count);
    for (size_t i = 0; i < left_count; i++)
        if (!is_said(cover, left[i]))
            warn_anonymous(lint, left[i]);
}

/* ---- rules that never decide ----------------------------------------------- */

static void sign_text(struct sl_buffer *out, struct sluice_text text)
{
    sl_buffer_add(out, text);
    sl_buffer_add(out, SL_TEXT("\n")); /* texts of a rule have no control characters */
}

static void sign_texts(struct sl_buffer *out, const char *what, const struct sl_texts *texts)
{
    sign_text(out, sl_text(what));
    for (size_t i = 0; i < texts->count; i++)
        sign_text(out, texts->at[i]);
}

static void sign_condition(struct sl_buffer *out, const struct sl_condition *when)
{
    sign_text(out, SL_TEXT("\twhen"));
    sign_text(out, when->attribute.name);
    sign_texts(out, "\tis", &(struct sl_texts){ when->values, when->value_count });
    sign_texts(out, "\tnot", &when->unequal);
    sign_texts(out, "\tlike", &when->like);
    sign_texts(out, "\tunlike", &when->unlike);
}

/* The signature is everything that two rules must share to count the same requests
 * alike: then the one with the larger limit is never the one that denies. */
static void sign_rule(struct sl_buffer *out, const struct sl_rule *rule)
{
    const struct sl_limit *limit = &rule->numbers[0].limit;
    sl_buffer_clear(out);
    sign_text(out, sl_text(rule->algo->name));
    sl_buffer_add_i64(out, limit->window_us);
    sign_text(out, rule->adaptive ? SL_TEXT(" adaptive") : SL_TEXT(""));
    sign_text(out, limit->first_request ? SL_TEXT("first") : SL_TEXT("epoch"));
    sign_text(out, rule->any_resource ? SL_TEXT("") : rule->resource.text);
    for (size_t i = 0; i < rule->except_count; i++)
        sign_text(out, rule->except[i].text);
    sign_text(out, SL_TEXT("\tper"));
    for (size_t i = 0; i < rule->per_count; i++)
        sign_text(out, rule->per[i].name);
    for (size_t i = 0; i < rule->when_count; i++)
        sign_condition(out, &rule->when[i]);
}

/* a_n/a_d ≤ b_n/b_d; false where 128 bits are too few to find out. */
static bool at_most(sl_u128 a_n, sl_u128 a_d, sl_u128 b_n, sl_u128 b_d)
{
    sl_u128 left, right;
    return !__builtin_mul_overflow(a_n, b_d, &left) && !__builtin_mul_overflow(b_n, a_d, &right) &&
           left <= right;
}

/* The smaller capacity and the slower rate, so never more left than under the other. */
static bool is_tighter(const struct sl_numbers *a, const struct sl_numbers *b)
{
    return at_most(a->capacity_n, a->capacity_d, b->capacity_n, b->capacity_d) &&
           at_most(b->token_n, b->token_d, a->token_n, a->token_d);
}

/* Of two rules with one signature: returns true if `tight` denies whatever `loose` does. */
static bool never_decides(const struct sl_lint *lint, const struct sl_rule *loose,
                          const struct sl_rule *tight)
{
    if (loose->guard.window_us || (loose->deny_missing && !tight->deny_missing) ||
        loose->on_store_failure != tight->on_store_failure)
        return false;
    for (size_t slot = 0; slot <= lint->rules->tier_count; slot++)
        if (sl_lint_reaches(lint, loose, slot) &&
            (tight->numbers[slot].unlimited ||
             !is_tighter(&tight->numbers[slot], &loose->numbers[slot])))
            return false;
    return true;
}

static void warn_useless(struct sl_lint *lint, const struct sl_rule *loose,
                         const struct sl_rule *tight)
{
    const char *where =
        tight->revision ? "" : sl_arena_print(&lint->scratch, " in line %u", tight->mark.line);
    sl_lint_warn(lint, loose,
                 "`%s` never decides anything: `%s`%s counts the same requests against a limit "
                 "that is never larger; keep one of them",
                 loose->name, tight->name, where);
}

/* Compares a rule with the tightest rule so far of its signature. */
static void compare_with_tightest(struct sl_lint *lint, const struct sl_rule *rule,
                                  const struct sl_rule **tightest)
{
    if (never_decides(lint, rule, *tightest)) {
        warn_useless(lint, rule, *tightest);
    } else if (never_decides(lint, *tightest, rule)) {
        warn_useless(lint, *tightest, rule);
        *tightest = rule;
    }
}

/* By rule: true if it sometimes replaces another, or the other way round. Then it matters even
 * where it does not decide, or does not count where it would. */
static const bool *find_replaced(struct sl_lint *lint)
{
    const struct sl_ruleset *rules = lint->rules;
    bool *is_replaced = sl_arena_take(&lint->scratch, rules->rule_count * sizeof *is_replaced);
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct sl_rule *rule = &rules->rules[i];
        is_replaced[i] |= rule->replaces_count > 0;
        for (size_t k = 0; k < rule->replaces_count; k++)
            is_replaced[rule->replaces[k]] = true;
    }
    return is_replaced;
}

void sl_lint_useless(struct sl_lint *lint)
{
    size_t rule_count = lint->rules->rule_count;
    const bool *is_replaced = find_replaced(lint);
    const struct sl_rule **tightest =
        sl_arena_take(&lint->scratch, (rule_count + 1) * sizeof *tightest);
    struct sl_buffer signature = sl_buffer(SIGNATURE_MAX);
    struct sl_textmap groups = { 0 };
    for (size_t i = 0; i < rule_count; i++) {
        const struct sl_rule *rule = &lint->rules->rules[i];
        sign_rule(&signature, rule);
        struct sluice_text text = { signature.at, signature.len };
        if (rule->shadow || is_replaced[i] || signature.failed)
            continue;
        uint32_t group = sl_textmap_get(&groups, 0, text);
        if (group) {
            compare_with_tightest(lint, rule, &tightest[group]);
            continue;
        }
        text.at = sl_arena_copy(&lint->scratch, text);
        group = (uint32_t)groups.count + 1;
        sl_textmap_add(&lint->scratch, &groups, 0, text, group);
        tightest[group] = rule;
    }
    sl_buffer_release(&signature);
}
