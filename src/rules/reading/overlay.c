/* Combining the file's rules and an overlay's into one list:
 *
 *   file       a    b    c    d
 *   overlay         B         -          E    acme/F       (-: hidden)
 *   in force   a    B    c               E    acme/F
 *
 * and the same for tiers. No rule is read here: the list only says which map each rule is
 * read from, the file's or the JSON's, and one reader reads them all (ruleset.c, tier.c).
 * A rule that the overlay replaces or hides is not read at all: a rule that the API has
 * taken away must not keep a tier that only it names.
 *
 * A tenant's own rule is a common rule with one more condition. That is why it cannot affect
 * other tenants, and why the deciding code does not know of it. */
#include "rules/reading/overlay.h"

#include "base/text/textmap.h"
#include "rules/reading/parts.h"
#include "rules/tree/tree_json.h"

/* Returns the overlay's entries for `base`, tiers in the form of rules. */
static const struct sl_overlay_rule *overlay_of(struct sl_reader *in, const struct sl_node *base,
                                                size_t *count)
{
    const struct sl_overlay *overlay = in->overlay;
    bool are_rules = base->kind == SL_NODE_LIST;
    *count = !overlay ? 0 : are_rules ? overlay->rule_count : overlay->tier_count;
    if (are_rules || *count == 0)
        return overlay ? overlay->rules : NULL;
    struct sl_overlay_rule *tiers = sl_arena_take(in->scratch, *count * sizeof *tiers);
    for (size_t i = 0; i < *count; i++)
        tiers[i] = (struct sl_overlay_rule){ .name = overlay->tiers[i].name,
                                             .json = overlay->tiers[i].json,
                                             .revision = overlay->tiers[i].revision };
    return tiers;
}

/* Maps the names of common rules (of no tenant) to their place in `over`, from 1. */
static struct sl_textmap map_names(struct sl_reader *in, const struct sl_overlay_rule *over,
                                   size_t count)
{
    struct sl_textmap names = { 0 };
    for (size_t i = 0; i < count; i++)
        if (!over[i].tenant && !sl_textmap_get(&names, 0, sl_text(over[i].name)))
            sl_textmap_add(in->scratch, &names, 0, sl_text(over[i].name), (uint32_t)i + 1);
    return names;
}

static const struct sl_node *name_node(const struct sl_node *rule)
{
    const struct sl_node *name = rule->kind == SL_NODE_MAP ? sl_node_get(rule, "name") : NULL;
    return name && name->kind == SL_NODE_SCALAR ? name : NULL;
}

static struct sluice_text name_in_file(const struct sl_node *base, const struct sl_node *node)
{
    if (base->kind == SL_NODE_MAP)
        return node->key;
    const struct sl_node *name = name_node(node);
    return name ? name->text : (struct sluice_text){ 0 };
}

/* Reports a rule name used twice; the tree has reported tiers already. */
static void report_twice(struct sl_reader *in, const struct sl_node *second,
                         const struct sl_node *first)
{
    const struct sl_node *name = name_node(second);
    if (name)
        sl_report_error(in->report, name->mark,
                        "another rule is called `%s`, in line %u; give each a name of its own",
                        sl_report_quote(in->report, name->text), name_node(first)->mark.line);
}

/* The state while one list is combined. */
struct laying {
    struct sl_reader *in;
    const struct sl_overlay_rule *over;
    const struct sl_node **below; /* by place in `over`: the file's rule that it replaces */
    struct sl_textmap names;
    struct sl_layers layers;
};

static void add_layer(struct laying *to, struct sl_layer layer)
{
    to->layers.at[to->layers.count++] = layer;
}

static void add_file_rule(struct laying *to, const struct sl_node *node, struct sluice_text name)
{
    uint32_t number = name.len ? sl_textmap_get(&to->names, 0, name) : 0;
    if (!number) {
        add_layer(to, (struct sl_layer){ .node = node });
        return;
    }
    const struct sl_overlay_rule *over = &to->over[number - 1];
    const struct sl_node **below = &to->below[number - 1];
    if (*below) {
        report_twice(to->in, node, *below);
        return;
    }
    *below = node;
    if (over->json)
        add_layer(to, (struct sl_layer){ .over = over, .replaces_files = true });
    else
        to->layers.hidden[to->layers.hidden_count++] = sl_arena_copy(to->in->arena, name);
}

struct sl_layers sl_layers_of(struct sl_reader *in, const struct sl_node *base)
{
    size_t over_count;
    struct laying to = { .in = in, .over = overlay_of(in, base, &over_count) };
    struct sl_layers *layers = &to.layers;
    to.names = map_names(in, to.over, over_count);
    to.below = sl_arena_take(in->scratch, over_count * sizeof *to.below);
    layers->at = sl_arena_take(in->scratch, (base->count + over_count) * sizeof *layers->at);
    layers->hidden = sl_arena_take(in->arena, to.names.count * sizeof *layers->hidden);
    for (const struct sl_node *node = base->first; node; node = node->next)
        add_file_rule(&to, node, name_in_file(base, node));
    for (size_t i = 0; i < over_count; i++)
        if (to.over[i].json && !to.below[i])
            add_layer(&to, (struct sl_layer){ .over = &to.over[i] });
    return *layers;
}

/* ---- reading the overlay's rules ------------------------------------------- */

static const char *full_name(struct sl_arena *arena, const struct sl_overlay_rule *over)
{
    return over->tenant ? sl_arena_print(arena, "%s/%s", over->tenant, over->name) : over->name;
}

void sl_layer_begin(struct sl_reader *in, const struct sl_layer *layer, const char *what)
{
    const struct sl_overlay_rule *over = layer->over;
    in->report->subject =
        over ? sl_report_subject(in->report, what, full_name(in->scratch, over)) : NULL;
}

void sl_layers_end(struct sl_reader *in)
{
    in->report->subject = NULL;
}

static struct sl_node *read_json(struct sl_reader *in, const struct sl_overlay_rule *over)
{
    struct sl_node *map = sl_tree_json_parse(in->scratch, sl_text(over->json), in->report);
    if (map) {
        map->key = sl_text(over->name);
        map->key_mark = map->mark;
    }
    return map;
}

const struct sl_node *sl_layer_open_tier(struct sl_reader *in, struct sl_layer *layer)
{
    sl_layer_begin(in, layer, "tier");
    if (layer->over)
        layer->node = read_json(in, layer->over);
    return layer->node;
}

/* A rule need not repeat the name that it is stored under. */
static void name_rule(struct sl_reader *in, struct sl_node *map, struct sluice_text right)
{
    struct sl_node *name = map->first;
    while (name && !sl_text_is(name->key, "name"))
        name = name->next;
    if (!name) {
        name = sl_arena_take(in->scratch, sizeof *name);
        *name = (struct sl_node){ .kind = SL_NODE_SCALAR,
                                  .mark = map->mark,
                                  .key = SL_TEXT("name"),
                                  .key_mark = map->mark,
                                  .text = right,
                                  .next = map->first };
        map->first = name;
        map->count++;
    } else if (name->kind == SL_NODE_SCALAR && !sl_text_equal(name->text, right)) {
        sl_report_error(in->report, name->mark,
                        "`name` is `%s` here, and the rule is called `%s`; leave it out",
                        sl_report_quote(in->report, name->text),
                        sl_report_quote(in->report, right));
        name->text = right;
    }
}

static bool check_tenant(struct sl_reader *in, const struct sl_overlay_rule *over)
{
    const char *unused;
    struct sl_node node = { .kind = SL_NODE_SCALAR,
                            .key = SL_TEXT("tenant"),
                            .text = sl_text(over->tenant) };
    return !over->tenant || sl_read_name(in, &node, NULL, &unused);
}

const struct sl_node *sl_layer_open_rule(struct sl_reader *in, struct sl_layer *layer)
{
    sl_layer_begin(in, layer, "rule");
    if (!layer->over)
        return layer->node;
    struct sl_node *map = read_json(in, layer->over);
    if (map)
        name_rule(in, map, sl_text(layer->over->name));
    layer->node = map;
    return check_tenant(in, layer->over) ? map : NULL;
}

/* ---- a tenant's own rule ---------------------------------------------------- */

static const struct sl_condition *tenant_condition(const struct sl_rule *rule)
{
    for (size_t i = 0; i < rule->when_count; i++)
        if (rule->when[i].attribute.attribute == SL_ATTR_TENANT)
            return &rule->when[i];
    return NULL;
}

/* A tenant's rule may name its own tenant in `when`, and no other. */
static bool check_tenant_condition(struct sl_reader *in, const struct sl_layer *layer,
                                   const struct sl_condition *when)
{
    if (when->is_more) {
        sl_report_error(in->report, sl_node_get(sl_node_get(layer->node, "when"), "tenant")->mark,
                        "`tenant` cannot be anything but `%s` in a rule of that tenant alone; "
                        "leave it out",
                        layer->over->tenant);
        return false;
    }
    for (size_t i = 0; i < when->value_count; i++) {
        if (sl_text_is(when->values[i], layer->over->tenant))
            continue;
        sl_report_error(in->report, sl_node_get(sl_node_get(layer->node, "when"), "tenant")->mark,
                        "`tenant` cannot be `%s` in a rule of tenant `%s` alone; leave it out",
                        sl_report_quote(in->report, when->values[i]), layer->over->tenant);
        return false;
    }
    return true;
}

static void restrict_to(struct sl_arena *arena, struct sl_rule *rule, const char *tenant)
{
    struct sl_condition *when = sl_arena_take(arena, (rule->when_count + 1) * sizeof *when);
    struct sluice_text *value = sl_arena_take(arena, sizeof *value);
    *value = sl_text(tenant);
    when[0] = (struct sl_condition){ .attribute = { SL_ATTR_TENANT, SL_TEXT("tenant") },
                                     .values = value,
                                     .value_count = 1 };
    if (rule->when_count)
        memcpy(when + 1, rule->when, rule->when_count * sizeof *when);
    rule->when = when;
    rule->when_count++;
}

bool sl_layer_mark_rule(struct sl_reader *in, const struct sl_layer *layer, struct sl_rule *rule)
{
    const struct sl_overlay_rule *over = layer->over;
    if (!over)
        return true;
    rule->revision = over->revision;
    rule->replaces_files = layer->replaces_files;
    if (!over->tenant)
        return true;
    rule->tenant = sl_arena_copy(in->arena, sl_text(over->tenant));
    rule->name = rule->name ? full_name(in->arena, over) : NULL;
    const struct sl_condition *given = tenant_condition(rule);
    if (given)
        return check_tenant_condition(in, layer, given);
    restrict_to(in->arena, rule, rule->tenant);
    return true;
}
