/* Reading a rules file's text into an immutable ruleset.
 *
 *   text → tree (tree.c) → keys by their tables (keys.c) → checks → index
 *                             ↑ rules and tiers on top (overlay.c)
 *
 * Every part reports and goes on, so that one run shows every problem; a
 * ruleset is returned only when there was none. The tree and other scratch
 * live in an arena of their own and are gone when this returns. */
#include "rules/ruleset.h"

#include "base/check.h"
#include "rules/index.h"
#include "rules/reading/overlay.h"
#include "rules/reading/parts.h"
#include "rules/tree/node_json.h"
#include "rules/whitelist.h"

/* Each rule keeps numbers for every tier: a file of 10,000 rules and 100 tiers
 * is still a file, a hundred times that is an attack on memory. */
enum { NUMBERS_MAX = 1 << 20 };

/* A rule and the place of its name, for finding names used twice. */
struct named {
    const char *name;
    struct sl_mark mark;
    size_t index;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->index < y->index ? -1 : 1;
}

/* Sorted, equal names are neighbours. */
static void check_names(struct sl_reader *in, const struct sl_layers *layers,
                        const struct sl_ruleset *rules)
{
    struct named *all = sl_arena_take(in->scratch, rules->rule_count * sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < layers->count; i++) {
        const char *name = rules->rules[i].name;
        if (name)
            all[count++] = (struct named){ name, sl_node_get(layers->at[i].node, "name")->mark, i };
    }
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 1, first = 0; i < count; i++) {
        if (strcmp(all[i].name, all[first].name) != 0) {
            first = i;
            continue;
        }
        sl_layer_begin(in, &layers->at[all[i].index], "rule");
        sl_report_error(in->report, all[i].mark,
                        "another rule is called `%s`, in line %u; give each a name of its own",
                        all[i].name, all[first].mark.line);
    }
}

static bool read_layer(struct sl_reader *in, struct sl_layer *layer, const struct sl_ruleset *rules,
                       struct sl_rule *out)
{
    const struct sl_node *node = sl_layer_open_rule(in, layer);
    if (!node)
        return false;
    bool good = sl_read_rule(in, node, rules, out);
    good &= sl_layer_mark_rule(in, layer, out);
    if (good)
        out->json = sl_node_json(in->arena, node, &sl_rule_table);
    return good;
}

bool sl_read_rules(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sl_ruleset *rules = out;
    (void)shape;
    if (node->kind != SL_NODE_LIST)
        return sl_refuse(in, node, "a list of rules, each after a dash (none: `[]`)");
    struct sl_layers layers = sl_layers_of(in, node);
    if (layers.count * (1 + rules->tier_count) > NUMBERS_MAX) {
        sl_report_error(in->report, node->mark,
                        "%zu rules with %zu tiers are too many; rules times tiers are at most %d",
                        layers.count, rules->tier_count, NUMBERS_MAX);
        return false;
    }
    rules->rules = sl_arena_take(in->arena, layers.count * sizeof *rules->rules);
    rules->rule_count = layers.count;
    rules->hidden = layers.hidden;
    rules->hidden_count = layers.hidden_count;
    bool good = true;
    for (size_t i = 0; i < layers.count; i++) {
        good &= read_layer(in, &layers.at[i], rules, &rules->rules[i]);
        rules->rules[i].index = (uint32_t)i;
    }
    check_names(in, &layers, rules);
    good &= sl_replaces_resolve(in, &layers, rules);
    sl_layers_end(in);
    return good;
}

/* The part of a file's name that its relative paths start from. */
static struct sluice_text folder_of(const char *name)
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    return (struct sluice_text){ name, slash ? (size_t)(slash - name) + 1 : 0 };
}

struct sl_ruleset *sl_ruleset_parse_over(const char *name, struct sluice_text yaml,
                                         const struct sl_overlay *overlay, struct sl_report *report)
{
    size_t errors_before = report->errors;
    struct sl_arena scratch = { 0 };
    struct sl_ruleset *rules = calloc(1, sizeof *rules);
    SL_CHECK(rules != NULL);
    if (!report->file)
        report->file = name;
    const struct sl_node *file = sl_tree_parse(&scratch, yaml, report);
    if (file) {
        struct sl_reader in = { &rules->arena, &scratch, report, folder_of(name), overlay };
        sl_settings_init(&rules->settings);
        bool good = sl_read_keys(&in, file, &sl_file_table, rules);
        good &= sl_read_exempt_until(&in, rules);
        sl_listen_check(&in, file, &rules->settings);
        SL_CHECK(good || report->errors > errors_before);
    }
    sl_arena_release(&scratch);
    if (report->errors > errors_before) {
        sl_ruleset_free(rules);
        return NULL;
    }
    rules->index = sl_index_new(rules);
    rules->whitelist = sl_whitelist_new(rules);
    return rules;
}

struct sl_ruleset *sl_ruleset_parse(const char *name, struct sluice_text yaml,
                                    struct sl_report *report)
{
    return sl_ruleset_parse_over(name, yaml, NULL, report);
}

void sl_ruleset_free(struct sl_ruleset *rules)
{
    if (!rules)
        return;
    sl_arena_release(&rules->arena);
    free(rules);
}

ptrdiff_t sl_ruleset_tier(const struct sl_ruleset *rules, struct sluice_text name)
{
    for (size_t i = 0; i < rules->tier_count; i++)
        if (sl_text_equal(rules->tiers[i].name, name))
            return (ptrdiff_t)i;
    return -1;
}

const struct sl_rule *sl_ruleset_rule(const struct sl_ruleset *rules, const char *name)
{
    for (size_t i = 0; i < rules->rule_count; i++)
        if (strcmp(rules->rules[i].name, name) == 0)
            return &rules->rules[i];
    return NULL;
}

bool sl_rule_is_of(const struct sl_rule *rule, const char *tenant)
{
    return rule->tenant && strcmp(rule->tenant, tenant) == 0;
}

size_t sl_ruleset_count_of(const struct sl_ruleset *rules, const char *tenant)
{
    size_t count = 0;
    for (size_t i = 0; i < rules->rule_count; i++)
        count += sl_rule_is_of(&rules->rules[i], tenant);
    return count;
}

bool sl_ruleset_keeps_rings(const struct sl_ruleset *rules)
{
    for (size_t i = 0; i < rules->rule_count; i++)
        if (rules->rules[i].algo->keeps_ring)
            return true;
    return false;
}

void sl_ruleset_print_keys(FILE *out)
{
    sl_keys_print(out, &sl_file_table);
}
