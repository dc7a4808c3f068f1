/* Reading one attribute of `when`. Three forms:
 *
 *   method: GET                          it is this
 *   method: [GET, POST]                  one of these
 *   method: { not: [PUT], like: "P*" }   all parts of the map
 *
 * The first two are short for `{ is: … }`, and the only ones that an index can look up; the other
 * parts of a map are checked after the rule was found by something better. Excluded values may
 * be thousands (a rule for all users without a rule of their own): they are sorted, and found by
 * bisection. */
#include "rules/condition.h"

#include <stdlib.h>

#include "rules/reading/parts.h"
#include "rules/wildcard.h"

/* Reads an address in the one spelling that requests have. */
static bool read_ip(struct sl_reader *in, const struct sl_node *node, struct sluice_text *value)
{
    struct sl_address address;
    char print[SL_ADDRESS_PRINT_MAX];
    if (!sl_address_parse(*value, &address))
        return sl_refuse(in, node, "an address: `when` compares values and knows no networks");
    size_t len = sl_address_print(&address, print);
    *value =
        (struct sluice_text){ sl_arena_copy(in->arena, (struct sluice_text){ print, len }), len };
    return true;
}

/* Reads a value: addresses and resources are compared in the form that requests have. */
static bool read_value(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    const struct sl_part *attribute = shape;
    struct sluice_text value;
    if (!sl_read_span(in, node, NULL, &value))
        return false;
    if (attribute->attribute == SL_ATTR_IP && !read_ip(in, node, &value))
        return false;
    if (attribute->attribute == SL_ATTR_RESOURCE) {
        char *copy = sl_arena_copy(in->arena, value);
        value = (struct sluice_text){ copy, sl_resource_normalise(copy, value.len) };
    }
    *(struct sluice_text *)out = value;
    return true;
}

/* Reads a list of values or patterns, or one of them. */
static bool read_texts(struct sl_reader *in, const struct sl_node *node, struct sl_each each,
                       struct sl_condition *out)
{
    each.shape = &out->attribute;
    if (node->kind == SL_NODE_LIST && node->count == 0)
        return sl_refuse(in, node, "at least one value, or leave the condition out");
    return sl_read_each(in, node, &each, out);
}

static bool read_is(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    static const struct sl_each each =
        SL_EACH(read_value, struct sl_condition, values, value_count);
    (void)shape;
    return read_texts(in, node, each, out);
}

static bool read_not(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    static const struct sl_each each =
        SL_EACH(read_value, struct sl_condition, unequal.at, unequal.count);
    struct sl_condition *when = out;
    (void)shape;
    if (!read_texts(in, node, each, out))
        return false;
    struct sluice_text *sorted = sl_arena_take(in->arena, when->unequal.count * sizeof *sorted);
    memcpy(sorted, when->unequal.at, when->unequal.count * sizeof *sorted);
    qsort(sorted, when->unequal.count, sizeof *sorted, sl_condition_order);
    when->unequal.at = sorted;
    return true;
}

static bool read_like(struct sl_reader *in, const struct sl_node *node, const void *shape,
                      void *out)
{
    static const struct sl_each each =
        SL_EACH(sl_read_span, struct sl_condition, like.at, like.count);
    (void)shape;
    return read_texts(in, node, each, out);
}

static bool read_unlike(struct sl_reader *in, const struct sl_node *node, const void *shape,
                        void *out)
{
    static const struct sl_each each =
        SL_EACH(sl_read_span, struct sl_condition, unlike.at, unlike.count);
    (void)shape;
    return read_texts(in, node, each, out);
}

/* Each row fills its part of a struct sl_condition, whose attribute is known. */
static const struct sl_key condition_keys[] = {
    { "is", read_is, .missing = "any value", .help = "it has this value, or one of a list" },
    { "not", read_not, .missing = "none", .help = "it has none of these values, or is missing" },
    { "like", read_like, .missing = "any value",
      .help = "it matches a pattern, or one of a list; `*` is any text" },
    { "unlike", read_unlike, .missing = "none",
      .help = "it matches none of these patterns, or is missing" },
    { 0 },
};

const struct sl_key_table sl_condition_table = { "a condition", condition_keys };

bool sl_read_condition(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    struct sl_condition *when = out;
    (void)shape;
    if (node->kind != SL_NODE_MAP)
        return read_is(in, node, NULL, when);
    if (node->count == 0)
        return sl_refuse(in, node, "at least one of `is`, `not`, `like` and `unlike` in it");
    if (!sl_read_keys(in, node, &sl_condition_table, when))
        return false;
    when->is_more = when->unequal.count || when->like.count || when->unlike.count;
    return true;
}
