/* Attributes of a request, as the file names them: in `per` (what a rule counts by),
 * in `when` (what a request must carry), and under headers and claims that fill them.
 *
 * Any name is an attribute, so a misspelt name cannot be told from a new one
 * here; names that a request uses for other things are refused. */
#include "rules/reading/attribute.h"

#include "rules/reading/parts.h"

enum { NAME_MAX_BYTES = 64, PER_MAX = 16 };

static const char *const known[] = {
    [SL_ATTR_GLOBAL] = "global", [SL_ATTR_TENANT] = "tenant", [SL_ATTR_RESOURCE] = "resource",
    [SL_ATTR_METHOD] = "method", [SL_ATTR_USER] = "user",     [SL_ATTR_IP] = "ip",
    [SL_ATTR_CLIENT] = "client", [SL_ATTR_TIER] = "tier",     [SL_ATTR_OTHER] = NULL,
};

/* Members of a request beside its attributes, with a meaning of their own. */
static const char *const reserved[] = { "cost",    "trust_score", "peek", "wait",
                                        "explain", "at_us",       NULL };

static bool is_name_byte(char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && ((c >= '0' && c <= '9') || c == '.' || c == '-'));
}

static bool is_name(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_name_byte(text.at[i], i == 0))
            return false;
    return text.len > 0 && text.len <= NAME_MAX_BYTES;
}

static bool is_one_of(struct sluice_text text, const char *const *words)
{
    while (*words && !sl_text_is(text, *words))
        words++;
    return *words != NULL;
}

/* `global` is not an attribute of requests, only a word of `per`. */
bool sl_attribute_is_free(struct sluice_text name)
{
    return !is_one_of(name, known + SL_ATTR_GLOBAL + 1) && !is_one_of(name, reserved);
}

bool sl_attribute_can_be_named(struct sluice_text name)
{
    struct sl_node node = { .kind = SL_NODE_SCALAR, .plain = true, .text = name };
    return is_name(name) && !is_one_of(name, reserved) && !sl_node_is_null(&node) &&
           !sl_text_is(name, "global") && !sl_text_is(name, "endpoint");
}

bool sl_attribute_is_of_descriptor(struct sluice_text name)
{
    return is_one_of(name, reserved) || sl_text_is(name, "tenant") ||
           sl_text_is(name, "descriptor");
}

/* Reads any attribute, and `global`. */
static bool read_part(struct sl_reader *in, const struct sl_node *node, struct sl_part *out)
{
    struct sluice_text name = node->text;
    if (node->kind != SL_NODE_SCALAR || sl_node_is_null(node))
        return sl_refuse(in, node, "an attribute, such as `user`");
    if (!is_name(name)) {
        sl_report_error(in->report, node->mark,
                        "`%s` is not an attribute's name; write a letter or `_`, then at most %d "
                        "letters, digits, `_`, `.` or `-`",
                        sl_report_quote(in->report, name), NAME_MAX_BYTES - 1);
        return false;
    }
    if (is_one_of(name, reserved)) {
        sl_report_error(in->report, node->mark,
                        "`%s` is not an attribute: in a request that name means something else; "
                        "choose another",
                        name.at);
        return false;
    }
    if (sl_text_is(name, "endpoint"))
        name = SL_TEXT("resource");
    size_t attribute = 0;
    while (known[attribute] && !sl_text_is(name, known[attribute]))
        attribute++;
    out->attribute = (enum sl_attribute)attribute;
    out->name = (struct sluice_text){ sl_arena_copy(in->arena, name), name.len };
    return true;
}

bool sl_read_attribute(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    struct sl_part part;
    (void)shape;
    if (!read_part(in, node, &part))
        return false;
    if (part.attribute == SL_ATTR_GLOBAL) {
        sl_report_error(in->report, node->mark,
                        "`global` is not an attribute; it can only stand in `per`");
        return false;
    }
    *(struct sl_part *)out = part;
    return true;
}

static bool read_per_part(struct sl_reader *in, const struct sl_node *node, const void *shape,
                          void *out)
{
    (void)shape;
    return read_part(in, node, out);
}

/* Returns true if `part` is among the first `count`. There are few: PER_MAX, or the keys of a
 * map that has no key twice. */
static bool is_repeated(const struct sl_part *parts, size_t count, const struct sl_part *part)
{
    for (size_t i = 0; i < count; i++)
        if (sl_text_equal(parts[i].name, part->name))
            return true;
    return false;
}

bool sl_read_per(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    static const struct sl_each each = SL_EACH(read_per_part, struct sl_rule, per, per_count);
    struct sl_rule read = { 0 };
    size_t count;
    (void)shape;
    const struct sl_node *element = sl_elements(node, &count);
    if (count == 0)
        return sl_refuse(in, node, "`global`, an attribute such as `user`, or several");
    if (count > PER_MAX) {
        sl_report_error(in->report, node->mark, "`per` has %zu attributes; write at most %d", count,
                        PER_MAX);
        return false;
    }
    if (!sl_read_each(in, node, &each, &read))
        return false;
    bool good = true;
    for (size_t i = 0; i < count; i++, element = element->next) {
        if (!is_repeated(read.per, i, &read.per[i]))
            continue;
        sl_report_error(in->report, element->mark,
                        "`per` counts by `%s` already; name each attribute once",
                        read.per[i].name.at);
        good = false;
    }
    if (good)
        sl_each_put(&each, out, read.per, count);
    return good;
}

struct sl_node sl_node_of_key(const struct sl_node *entry)
{
    return (struct sl_node){ .kind = SL_NODE_SCALAR,
                             .plain = true,
                             .mark = entry->key_mark,
                             .key = entry->key,
                             .key_mark = entry->key_mark,
                             .text = entry->key };
}

static void report_repeated(struct sl_reader *in, const struct sl_node *entry,
                            const struct sl_part *attribute)
{
    sl_report_error(in->report, entry->key_mark,
                    "`%s` is another name of `%s`, which is here already; keep one",
                    sl_report_quote(in->report, entry->key), attribute->name.at);
}

/* Only `endpoint` beside `resource` can repeat: the tree has no key twice. */
static bool is_alias_beside(const struct sl_node *map, const struct sl_node *entry)
{
    return sl_text_is(entry->key, "endpoint") && sl_node_get(map, "resource");
}

bool sl_read_conditions(struct sl_reader *in, const struct sl_node *node, const void *shape,
                        void *out)
{
    struct sl_rule *rule = out;
    (void)shape;
    if (node->kind != SL_NODE_MAP)
        return sl_refuse(in, node, "a map of attributes, such as { method: [GET, POST] }");
    struct sl_condition *conditions = sl_arena_take(in->arena, node->count * sizeof *conditions);
    bool good = true;
    size_t count = 0;
    for (const struct sl_node *entry = node->first; entry; entry = entry->next) {
        struct sl_condition *condition = &conditions[count++];
        struct sl_node key = sl_node_of_key(entry);
        good &= sl_read_attribute(in, &key, NULL, &condition->attribute);
        good &= sl_read_condition(in, entry, NULL, condition);
        if (is_alias_beside(node, entry)) {
            report_repeated(in, entry, &condition->attribute);
            good = false;
        }
    }
    if (good) {
        rule->when = conditions;
        rule->when_count = count;
    }
    return good;
}

bool sl_read_sources(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    const struct sl_each *each = shape;
    if (node->kind != SL_NODE_MAP)
        return sl_refuse(in, node, "a map of attribute: name, such as { user: sub }");
    struct sl_claim_map *sources = sl_arena_take(in->arena, node->count * sizeof *sources);
    bool good = true;
    size_t count = 0;
    for (const struct sl_node *entry = node->first; entry; entry = entry->next) {
        struct sl_claim_map *source = &sources[count++];
        struct sl_node key = sl_node_of_key(entry);
        good &= sl_read_attribute(in, &key, NULL, &source->attribute);
        good &= each->read(in, entry, each->shape, &source->source);
        if (is_alias_beside(node, entry)) {
            report_repeated(in, entry, &source->attribute);
            good = false;
        }
    }
    if (good)
        sl_each_put(each, out, sources, count);
    return good;
}
