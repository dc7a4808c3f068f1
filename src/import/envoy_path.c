/* Finding the conditions that lead to one limit of a descriptor tree.
 *
 * The front names the entries of a descriptor (docs/import.md): by their keys; with `descriptor.`
 * before those that mean something else in a request; and with the first free number behind a name
 * that another entry has taken.
 *
 * The values that lead to a descriptor depend on those beside it: an exact value belongs to its own
 * descriptor alone; a pattern leaves those to their owners, and the values that earlier patterns
 * match; the key alone has the rest. Descriptors beside it are named only where they could take
 * something away. */
#include "import/envoy_path.h"

#include "base/check.h"
#include "import/yaml_print.h"
#include "rules/address.h"
#include "rules/reading/attribute.h"
#include "rules/wildcard.h"

/* ---- names ----------------------------------------------------------------- */

static bool is_taken(const struct sl_envoy_path *path, struct sluice_text name)
{
    for (size_t i = 0; i < path->count; i++)
        if (sl_text_equal(path->steps[i].attribute, name))
            return true;
    return false;
}

/* The key has no NUL: an attribute that can be named has none. */
static struct sluice_text name_entry(struct sl_arena *arena, const struct sl_envoy_path *path,
                                     struct sluice_text key)
{
    const char *prefix = sl_attribute_is_of_descriptor(key) ? "descriptor." : "";
    struct sluice_text name = sl_text(sl_arena_print(arena, "%s%s", prefix, key.at));
    for (unsigned number = 2; is_taken(path, name); number++)
        name = sl_text(sl_arena_print(arena, "%s%s.%u", prefix, key.at, number));
    return name;
}

bool sl_envoy_path_has(const struct sl_envoy_path *path, const char *attribute)
{
    return is_taken(path, sl_text(attribute));
}

const char *sl_envoy_path_lacks(struct sl_arena *arena, const struct sl_envoy_path *path)
{
    const char *name = "nobody";
    while (sl_envoy_path_has(path, name))
        name = sl_arena_print(arena, "%s_", name);
    return name;
}

/* ---- values ---------------------------------------------------------------- */

/* Returns true if `other`, beside `node`, takes values that would lead to `node`. */
static bool takes_from(const struct sl_envoy_node *other, const struct sl_envoy_node *node)
{
    if (other->kind == SL_ENVOY_OPEN || node->kind == SL_ENVOY_EXACT ||
        !sl_text_equal(other->key, node->key))
        return false;
    if (node->kind == SL_ENVOY_OPEN)
        return true;
    if (other->kind == SL_ENVOY_EXACT)
        return sl_wildcard_matches(node->value, other->value);
    return other->number < node->number && !sl_wildcards_differ(other->value, node->value);
}

/* Says why a rule cannot name this value, or (exact: not) pattern; or returns NULL. */
static const char *wrong_value(struct sl_arena *arena, const struct sl_envoy_step *step,
                               struct sluice_text value, bool exact)
{
    struct sl_address address;
    struct sl_report *report = &step->node->file->report;
    if (!sl_yaml_can_say(value))
        return sl_arena_print(arena,
                              "no rule can name a value of `%s` that has control characters; "
                              "change it in Envoy's configuration and here",
                              sl_report_quote(report, step->node->key));
    if (exact && sl_text_is(step->attribute, "ip") && !sl_address_parse(value, &address))
        return sl_arena_print(arena,
                              "`%s` is no address, which is all that an `ip` can be here; call "
                              "the entry by another key",
                              sl_report_quote(report, value));
    return NULL;
}

/* Says why a rule cannot name the attribute of its key. */
static const char *wrong_key(struct sl_arena *arena, const struct sl_envoy_node *node,
                             struct sluice_text name)
{
    return sl_arena_print(arena,
                          "no rule can name the key `%s`: an attribute is a letter or `_`, then at "
                          "most 63 letters, digits, `_`, `.` or `-`, and not `global`, `endpoint` "
                          "or `null`; change it in Envoy's configuration and here",
                          sl_report_quote(&node->file->report, name));
}

/* Runs once for each descriptor, however many limits lie below it. */
static void find_others(struct sl_arena *arena, struct sl_envoy_node *node)
{
    const struct sl_envoy_node *first = node->kind == SL_ENVOY_EXACT ? NULL : node->parent->first;
    size_t count = 0;
    if (node->knows_others)
        return;
    for (const struct sl_envoy_node *other = first; other; other = other->next)
        count += takes_from(other, node);
    struct sluice_text *unequal = sl_arena_take(arena, count * sizeof *unequal);
    struct sluice_text *unlike = sl_arena_take(arena, count * sizeof *unlike);
    for (const struct sl_envoy_node *other = count ? first : NULL; other; other = other->next) {
        if (!takes_from(other, node))
            continue;
        if (other->kind == SL_ENVOY_EXACT)
            unequal[node->unequal.count++] = other->value;
        else
            unlike[node->unlike.count++] = other->value;
    }
    node->unequal.at = unequal;
    node->unlike.at = unlike;
    node->knows_others = true;
}

/* Checks all values and patterns that the rule would have to name. */
static const char *wrong_values(struct sl_arena *arena, const struct sl_envoy_step *step)
{
    const struct sl_envoy_node *node = step->node;
    const char *wrong = node->kind == SL_ENVOY_OPEN
                            ? NULL
                            : wrong_value(arena, step, node->value, node->kind == SL_ENVOY_EXACT);
    for (size_t i = 0; !wrong && i < node->unequal.count; i++)
        wrong = wrong_value(arena, step, node->unequal.at[i], true);
    for (size_t i = 0; !wrong && i < node->unlike.count; i++)
        wrong = wrong_value(arena, step, node->unlike.at[i], false);
    return wrong;
}

static bool takes_all(const struct sl_texts *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (sl_wildcard_matches(patterns->at[i], (struct sluice_text){ 0 }))
            return true; /* nothing but stars */
    return false;
}

/* ---- the whole path -------------------------------------------------------- */

static size_t count_depth(const struct sl_envoy_node *node)
{
    size_t depth = 0;
    for (; node->parent; node = node->parent)
        depth++;
    return depth;
}

static struct sluice_text join_keys(struct sl_arena *arena, const struct sl_envoy_path *path)
{
    const char *joined = path->steps[0].node->key.at;
    for (size_t i = 1; i < path->count; i++)
        joined = sl_arena_print(arena, "%s,%s", joined, path->steps[i].node->key.at);
    return sl_text(joined);
}

const char *sl_envoy_path_find(struct sl_arena *arena, struct sl_envoy_node *node,
                               struct sl_envoy_path *out)
{
    size_t depth = count_depth(node);
    SL_CHECK(depth > 0 && depth <= SL_ENVOY_DEPTH_MAX);
    *out = (struct sl_envoy_path){ 0 };
    for (size_t i = depth; i > 0; i--, node = node->parent)
        out->steps[i - 1].node = node;
    for (; out->count < depth; out->count++) {
        struct sl_envoy_step *step = &out->steps[out->count];
        struct sluice_text key = step->node->key;
        if (!sl_attribute_is_of_descriptor(key) && !sl_attribute_can_be_named(key))
            return wrong_key(arena, step->node, key);
        step->attribute = name_entry(arena, out, key);
        if (!sl_attribute_can_be_named(step->attribute)) /* its number made the name too long */
            return wrong_key(arena, step->node, step->attribute);
        find_others(arena, step->node);
        const char *wrong = wrong_values(arena, step);
        if (wrong)
            return wrong;
        out->is_dead |= takes_all(&step->node->unlike);
    }
    out->shape = join_keys(arena, out);
    return NULL;
}
