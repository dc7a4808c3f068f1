/* Lays out JSON by its tokens, not by a tree: a tree of doubles would turn 0.1 into
 * 0.10000000000000001 and 1.50 into 1.5. */
#include "cmd/terminal/pretty.h"

/* Returns the place behind the string that starts here, or behind one other byte. */
static size_t token(struct sluice_text json, size_t at)
{
    if (json.at[at] != '"')
        return at + 1;
    for (at++; at < json.len && json.at[at] != '"'; at++)
        at += json.at[at] == '\\';
    return at + 1 < json.len ? at + 1 : json.len;
}

/* Returns true if the bracket at `at` closes before another one opens. */
static bool is_flat(struct sluice_text json, size_t at)
{
    for (at++; at < json.len; at = token(json, at)) {
        if (memchr("[{", json.at[at], 2))
            return false;
        if (memchr("]}", json.at[at], 2))
            return true;
    }
    return true;
}

static bool is_empty(struct sluice_text json, size_t at)
{
    for (at++; at < json.len && memchr(" \t\r\n", json.at[at], 4); at++)
        ;
    return at >= json.len || memchr("]}", json.at[at], 2);
}

static void new_line(struct sl_buffer *out, size_t depth)
{
    sl_buffer_add(out, SL_TEXT("\n"));
    while (depth--)
        sl_buffer_add(out, SL_TEXT("  "));
}

/* The current depth, and the depth of the list that stays in one line (0: none). */
struct nesting {
    size_t depth;
    size_t flat;
};

static void open_bracket(struct sl_buffer *out, struct sluice_text json, size_t at,
                         struct nesting *place)
{
    place->depth++;
    sl_buffer_add(out, (struct sluice_text){ json.at + at, 1 });
    if (!place->flat && (is_empty(json, at) || (json.at[at] == '[' && is_flat(json, at))))
        place->flat = place->depth;
    if (!place->flat)
        new_line(out, place->depth);
}

static void close_bracket(struct sl_buffer *out, char bracket, struct nesting *place)
{
    size_t outside = place->depth ? place->depth - 1 : 0;
    if (place->flat == place->depth)
        place->flat = 0;
    else
        new_line(out, outside);
    place->depth = outside;
    sl_buffer_add(out, (struct sluice_text){ &bracket, 1 });
}

void sl_pretty_print(struct sl_buffer *out, struct sluice_text json)
{
    struct nesting place = { 0 };
    for (size_t at = 0, end; at < json.len; at = end) {
        char c = json.at[at];
        end = token(json, at);
        if (memchr(" \t\r\n", c, 4))
            continue;
        if (c == '{' || c == '[') {
            open_bracket(out, json, at, &place);
        } else if (c == '}' || c == ']') {
            close_bracket(out, c, &place);
        } else {
            sl_buffer_add(out, (struct sluice_text){ json.at + at, end - at });
            if (c == ',' && !place.flat)
                new_line(out, place.depth);
            else if (c == ',' || c == ':')
                sl_buffer_add(out, SL_TEXT(" "));
        }
    }
    sl_buffer_add(out, SL_TEXT("\n"));
}
