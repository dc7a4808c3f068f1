/* Reading `tiers`: the classes of users that rules refer to, from the file and the
 * overlay. */
#include "rules/reading/overlay.h"
#include "rules/reading/parts.h"
#include "rules/tree/node_json.h"

enum { TIERS_MAX = 256 };

static const struct sl_decimal_range scale_range = { 1, UINT64_C(1000000000) * 1000000000,
                                                     "a decimal above 0" };

static bool read_algorithms(struct sl_reader *in, const struct sl_node *node, const void *shape,
                            void *out)
{
    (void)shape;
    if (node->kind == SL_NODE_LIST && node->count == 0)
        return sl_refuse(in, node, "at least one algorithm, or leave it out: all");
    return sl_read_set(in, node, sl_algorithm_names, out);
}

static const struct sl_key tier_keys[] = {
    { "scale", sl_read_decimal, offsetof(struct sl_tier, scale), &scale_range, .standard = "1",
      .help = "what capacities and rates are multiplied by" },
    { "unlimited", sl_read_bool, offsetof(struct sl_tier, unlimited), .standard = "false",
      .help = "no rule applies" },
    { "algorithms", read_algorithms, offsetof(struct sl_tier, algorithms), .missing = "all",
      .help = "those that its tenants can choose for their own rules" },
    { 0 },
};

const struct sl_key_table sl_tier_table = { "a tier", tier_keys };

static bool read_tier(struct sl_reader *in, const struct sl_node *entry, struct sl_tier *out)
{
    struct sl_node key = sl_node_of_key(entry);
    /* A tier whose mistakes are reported still has numbers that rules can use. */
    *out = (struct sl_tier){ .name = entry->key, .scale = { 1, 0 } };
    bool good = sl_read_span(in, &key, NULL, &out->name);
    good &= sl_read_keys(in, entry, &sl_tier_table, out);
    if (good && out->unlimited && sl_node_get(entry, "scale")) {
        sl_report_error(in->report, sl_node_get(entry, "scale")->key_mark,
                        "an unlimited tier has no `scale`; leave one of them out");
        good = false;
    }
    return good;
}

static bool read_layer(struct sl_reader *in, struct sl_layer *layer, struct sl_tier *out)
{
    const struct sl_node *entry = sl_layer_open_tier(in, layer);
    if (!entry) {
        *out = (struct sl_tier){ .name = sl_text(layer->over->name), .scale = { 1, 0 } };
        return false;
    }
    if (!read_tier(in, entry, out))
        return false;
    out->json = sl_node_json(in->arena, entry, &sl_tier_table);
    out->revision = layer->over ? layer->over->revision : 0;
    out->replaces_files = layer->replaces_files;
    return true;
}

bool sl_read_tiers(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sl_ruleset *rules = out;
    (void)shape;
    if (node->kind != SL_NODE_MAP)
        return sl_refuse(in, node, "a map, such as { free: { scale: 1 }, pro: { scale: 10 } }");
    struct sl_layers layers = sl_layers_of(in, node);
    if (layers.count > TIERS_MAX) {
        sl_report_error(in->report, node->mark, "there are %zu tiers%s; a file has at most %d",
                        layers.count, node->count > TIERS_MAX ? "" : " with those of the API",
                        TIERS_MAX);
        return false;
    }
    rules->tiers = sl_arena_take(in->arena, layers.count * sizeof *rules->tiers);
    rules->hidden_tiers = layers.hidden;
    rules->hidden_tier_count = layers.hidden_count;
    bool good = true;
    for (size_t i = 0; i < layers.count; i++)
        good &= read_layer(in, &layers.at[i], &rules->tiers[rules->tier_count++]);
    sl_layers_end(in);
    return good;
}
