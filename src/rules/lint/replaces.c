/* Warnings about `replaces` that has no effect, or more than was meant. */
#include "rules/condition.h"
#include "rules/lint/lint.h"

enum { VALUES_MAX = 64 };

/* Returns true if no tenant meets both rules. All checks of one call have one tenant, so then
 * the two never meet. Other attributes say nothing: the descriptors of a call differ in them. */
static bool have_other_tenants(const struct sl_rule *a, const struct sl_rule *b)
{
    const struct sl_condition *one = sl_lint_condition(a, SL_TEXT("tenant"));
    const struct sl_condition *two = sl_lint_condition(b, SL_TEXT("tenant"));
    if (!one || !two || !one->value_count || one->value_count > VALUES_MAX ||
        sl_condition_size(two) > VALUES_MAX)
        return false;
    for (size_t i = 0; i < one->value_count; i++)
        if (sl_condition_holds(two, one->values[i]))
            return false;
    return true;
}

static bool replaces(const struct sl_rule *rule, uint32_t other)
{
    for (size_t i = 0; rule->replaces_count <= VALUES_MAX && i < rule->replaces_count; i++)
        if (rule->replaces[i] == other)
            return true;
    return false;
}

/* A shadow rule denies nothing: with a limit out of reach it is there to lift others, with one
 * that counts it is being tried, and then the others should stand. */
static void warn_of_shadow(struct sl_lint *lint, const struct sl_rule *rule)
{
    if (rule->shadow && rule->replaces_count && rule->numbers[0].limit.capacity < UINT32_MAX)
        sl_lint_warn(lint, rule,
                     "`%s` is only tried (`shadow`), and yet the rules that it replaces are off "
                     "where it counts; take its `replaces` out until it is enforced",
                     rule->name);
}

void sl_lint_replaces(struct sl_lint *lint, const struct sl_rule *rule)
{
    warn_of_shadow(lint, rule);
    for (size_t i = 0; i < rule->replaces_count; i++) {
        const struct sl_rule *other = &lint->rules->rules[rule->replaces[i]];
        if (have_other_tenants(rule, other) || have_other_tenants(other, rule))
            sl_lint_warn(lint, rule,
                         "`%s` replaces `%s`, and no request meets both: their tenants differ; "
                         "correct the name, or leave it out",
                         rule->name, other->name);
        else if (other->index > rule->index && replaces(other, rule->index))
            sl_lint_warn(lint, rule,
                         "`%s` and `%s` replace each other: where both match, neither counts; "
                         "take one `replaces` out",
                         rule->name, other->name);
    }
}
