/* `replaces`: rules that do not count where another one does.
 *
 * A rule may name one that stands behind it, or that the API has brought, so names are only
 * resolved when all rules are read. A tenant's own rule can name only that tenant's own rules: it
 * must not take away the common rules.
 *
 * A rule of the file that the API has hidden may still be named: it does not count anywhere, and
 * hiding a rule must not be refused because another one replaces it. A name that no rule has
 * at all is a mistake, and refused; so a rule that the API has brought cannot be deleted while it
 * is named. */
#include "base/text/textmap.h"
#include "rules/reading/parts.h"

enum { SUGGESTED_FROM_MAX = 1000 };

bool sl_read_replaces(struct sl_reader *in, const struct sl_node *node, const void *shape,
                      void *out)
{
    const char *unused;
    size_t count;
    bool good = true;
    (void)shape;
    (void)out; /* sl_replaces_resolve reads it again */
    const struct sl_node *element = sl_elements(node, &count);
    if (count == 0)
        return sl_refuse(in, node, "the name of a rule, or several; or leave it out");
    for (; count; count--, element = element->next)
        good &= sl_read_name(in, element, NULL, &unused);
    return good;
}

/* The state while names are resolved to numbers. */
struct resolving {
    struct sl_reader *in;
    struct sl_ruleset *rules;
    struct sl_textmap names; /* (0, name) → number of a rule from 1; (1, name): it is hidden */
    size_t *named_by;        /* by rule: which rule, from 1, has named it last */
    bool is_complete;        /* every rule has a name */
};

static void note_names(struct resolving *to)
{
    struct sl_ruleset *rules = to->rules;
    to->is_complete = true;
    for (size_t i = 0; i < rules->rule_count; i++) {
        struct sluice_text name = sl_text(rules->rules[i].name);
        if (!name.at)
            to->is_complete = false;
        else if (!sl_textmap_get(&to->names, 0, name)) /* else the name was refused already */
            sl_textmap_add(to->in->scratch, &to->names, 0, name, (uint32_t)i + 1);
    }
    for (size_t i = 0; i < rules->hidden_count; i++)
        if (!sl_textmap_get(&to->names, 1, sl_text(rules->hidden[i])))
            sl_textmap_add(to->in->scratch, &to->names, 1, sl_text(rules->hidden[i]), 1);
}

/* The name in the ruleset: "TENANT/NAME" or NAME. */
static struct sluice_text full_name(struct sl_arena *arena, const struct sl_rule *rule,
                                    struct sluice_text name)
{
    return rule->tenant ? sl_text(sl_arena_print(arena, "%s/%s", rule->tenant, name.at)) : name;
}

static const char *suggest_name(const struct resolving *to, struct sluice_text name)
{
    const struct sl_ruleset *rules = to->rules;
    if (rules->rule_count > SUGGESTED_FROM_MAX || !to->is_complete)
        return NULL;
    const char **names = sl_arena_take(to->in->scratch, (rules->rule_count + 1) * sizeof *names);
    for (size_t i = 0; i < rules->rule_count; i++)
        names[i] = rules->rules[i].name;
    return sl_did_you_mean(name, names);
}

static void report_unknown_rule(const struct resolving *to, const struct sl_rule *rule,
                                const struct sl_node *node)
{
    struct sl_report *report = to->in->report;
    const char *name = sl_report_quote(report, node->text);
    const char *close = rule->tenant ? NULL : suggest_name(to, node->text);
    if (rule->tenant)
        sl_report_error(report, node->mark,
                        "no rule of tenant `%s` is called `%s`, and it can replace no others; "
                        "name one of its own",
                        rule->tenant, name);
    else if (close)
        sl_report_error(report, node->mark, "no rule is called `%s`; did you mean `%s`?", name,
                        close);
    else
        sl_report_error(report, node->mark, "no rule is called `%s`; write another rule's name",
                        name);
}

/* Returns the number of the named rule, from 1; 0: there is none, or it was refused. */
static uint32_t find_rule(struct resolving *to, const struct sl_rule *rule,
                          const struct sl_node *node)
{
    struct sl_report *report = to->in->report;
    struct sluice_text name = full_name(to->in->scratch, rule, node->text);
    uint32_t number = sl_textmap_get(&to->names, 0, name);
    const char *wrong = NULL;
    if (!number) {
        if (to->is_complete && !sl_textmap_get(&to->names, 1, name))
            report_unknown_rule(to, rule, node);
        return 0;
    }
    if (number == rule->index + 1)
        wrong = "a rule cannot replace itself; name another";
    else if (to->named_by[number - 1] == rule->index + 1)
        wrong = "it is named already; name each rule once";
    to->named_by[number - 1] = rule->index + 1;
    if (wrong)
        sl_report_error(report, node->mark, "`replaces` cannot be `%s`: %s",
                        sl_report_quote(report, node->text), wrong);
    return wrong ? 0 : number;
}

static void resolve_rule(struct resolving *to, struct sl_rule *rule, const struct sl_node *node)
{
    size_t count;
    const struct sl_node *element = sl_elements(node, &count);
    uint32_t *replaces = sl_arena_take(to->in->arena, count * sizeof *replaces);
    rule->replaces = replaces;
    for (; count; count--, element = element->next) {
        bool is_name = element->kind == SL_NODE_SCALAR && sl_rule_name_is_good(element->text);
        uint32_t number = is_name ? find_rule(to, rule, element) : 0;
        if (number)
            replaces[rule->replaces_count++] = number - 1;
    }
    to->rules->has_replaces |= rule->replaces_count > 0;
}

bool sl_replaces_resolve(struct sl_reader *in, const struct sl_layers *layers,
                         struct sl_ruleset *rules)
{
    struct resolving to = { .in = in, .rules = rules };
    size_t errors_before = in->report->errors;
    for (size_t i = 0; i < layers->count; i++) {
        const struct sl_node *map = layers->at[i].node;
        const struct sl_node *node =
            map && map->kind == SL_NODE_MAP ? sl_node_get(map, "replaces") : NULL;
        if (!node)
            continue;
        if (!to.named_by) {
            to.named_by = sl_arena_take(in->scratch, rules->rule_count * sizeof *to.named_by);
            note_names(&to);
        }
        sl_layer_begin(in, &layers->at[i], "rule");
        resolve_rule(&to, &rules->rules[i], node);
    }
    return in->report->errors == errors_before;
}
