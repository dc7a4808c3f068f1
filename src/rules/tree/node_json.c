/* Printing a tree as JSON.
 *
 * A value is its text and whether it stood in quotes, and only that is printed: a value that
 * JSON can write bare (numbers, true, false, null) stays bare, every other becomes a string. To a
 * reader that wants a text the two are one; one that wants a number or a boolean accepts
 * nothing that JSON cannot write bare, except zeros in front of a number. Whether those
 * are a number's depends on the reader, so the walk goes along with the keys'
 * tables. */
#include "rules/tree/node_json.h"

#include "base/buffer.h"
#include "base/check.h"
#include "rules/tree/tree_json.h"

/* A file has at most 16 MiB, and each byte of it at most six here: `~,` is `null, `. */
#define JSON_MAX_BYTES ((size_t)8 * SL_RULES_FILE_MAX_BYTES)

/* How the values of a map are read: by the rows of a table; or (by_name) each is a map of
 * such rows; or unknown. */
struct json_context {
    const struct sl_key_table *table;
    bool by_name;
};

static void print_value(struct sl_buffer *out, const struct sl_node *node,
                        struct json_context around);

static bool is_clean(char c)
{
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\';
}

static void print_escape(struct sl_buffer *out, char c)
{
    static const char digits[] = "0123456789abcdef";
    char escape[6] = { '\\', c };
    size_t len = 2;
    if ((unsigned char)c < 0x20) {
        memcpy(escape + 1, "u00", 3);
        escape[4] = digits[c >> 4];
        escape[5] = digits[c & 15];
        len = sizeof escape;
    }
    sl_buffer_add(out, (struct sluice_text){ escape, len });
}

static void print_string(struct sl_buffer *out, struct sluice_text text)
{
    sl_buffer_add(out, SL_TEXT("\""));
    for (size_t at = 0; at < text.len;) {
        size_t clean = 0;
        while (at + clean < text.len && is_clean(text.at[at + clean]))
            clean++;
        if (clean)
            sl_buffer_add(out, (struct sluice_text){ text.at + at, clean });
        else
            print_escape(out, text.at[at++]);
        at += clean;
    }
    sl_buffer_add(out, SL_TEXT("\""));
}

static const struct sl_key *find_row(struct json_context around, const struct sl_node *node)
{
    if (!around.table || around.by_name)
        return NULL;
    const struct sl_key *key = around.table->keys;
    while (key->name && !sl_text_is(node->key, key->name))
        key++;
    return key->name ? key : NULL;
}

static bool is_read_as_number(struct json_context around, const struct sl_node *node)
{
    const struct sl_key *key = find_row(around, node);
    return key && (key->is_numeric || key->read == sl_read_u32 || key->read == sl_read_u64 ||
                   key->read == sl_read_decimal || key->read == sl_read_billionths);
}

/* `007` → `7`, `00.5` → `0.5`, where that is a number. */
static struct sluice_text without_zeros(struct json_context around, const struct sl_node *node)
{
    struct sl_decimal unused;
    struct sluice_text text = node->text;
    while (text.len > 1 && text.at[0] == '0' && text.at[1] != '.')
        text = (struct sluice_text){ text.at + 1, text.len - 1 };
    bool zeros = text.len < node->text.len && is_read_as_number(around, node) &&
                 sl_parse_decimal(node->text, &unused);
    return zeros ? text : node->text;
}

static void print_scalar(struct sl_buffer *out, const struct sl_node *node,
                         struct json_context around)
{
    struct sluice_text text = node->plain ? without_zeros(around, node) : node->text;
    if (!node->plain)
        print_string(out, text);
    else if (sl_node_is_null(node))
        sl_buffer_add(out, SL_TEXT("null"));
    else if (sl_json_is_number(text) || sl_text_is(text, "true") || sl_text_is(text, "false"))
        sl_buffer_add(out, text);
    else
        print_string(out, text);
}

static struct json_context context_inside(struct json_context around, const struct sl_node *map)
{
    if (around.by_name)
        return (struct json_context){ .table = around.table };
    const struct sl_key *key = find_row(around, map);
    if (!key)
        return (struct json_context){ 0 };
    return (struct json_context){ key->below,
                                  key->below_by && key->below_by[0] == '.' }; /* .TIER. */
}

static void print_map(struct sl_buffer *out, const struct sl_node *map, struct json_context reading)
{
    sl_buffer_add(out, SL_TEXT("{"));
    for (const struct sl_node *entry = map->first; entry; entry = entry->next) {
        print_string(out, entry->key);
        sl_buffer_add(out, SL_TEXT(": "));
        print_value(out, entry, reading);
        if (entry->next)
            sl_buffer_add(out, SL_TEXT(", "));
    }
    sl_buffer_add(out, SL_TEXT("}"));
}

/* A list's elements are read as the list is: they carry its key. */
static void print_list(struct sl_buffer *out, const struct sl_node *list,
                       struct json_context around)
{
    sl_buffer_add(out, SL_TEXT("["));
    for (const struct sl_node *element = list->first; element; element = element->next) {
        print_value(out, element, around);
        if (element->next)
            sl_buffer_add(out, SL_TEXT(", "));
    }
    sl_buffer_add(out, SL_TEXT("]"));
}

/* Recursion as deep as a tree is: SL_TREE_DEPTH_MAX. */
static void print_value(struct sl_buffer *out, const struct sl_node *node,
                        struct json_context around)
{
    SL_CHECK(node->kind != SL_NODE_BROKEN);
    if (node->kind == SL_NODE_MAP)
        print_map(out, node, context_inside(around, node));
    else if (node->kind == SL_NODE_LIST)
        print_list(out, node, around);
    else
        print_scalar(out, node, around);
}

const char *sl_node_json(struct sl_arena *arena, const struct sl_node *map,
                         const struct sl_key_table *table)
{
    struct sl_buffer text = sl_buffer(JSON_MAX_BYTES);
    SL_CHECK(map->kind == SL_NODE_MAP);
    print_map(&text, map, (struct json_context){ .table = table });
    SL_CHECK(!text.failed);
    const char *copy = sl_arena_copy(arena, (struct sluice_text){ text.at, text.len });
    sl_buffer_release(&text);
    return copy;
}
