/* Matching patterns of plain text. A pattern is pieces with stars between them:
 *
 *   ab*cd*ef*gh        ab and gh stand at the ends of the text,
 *                      cd and ef between them, in this order
 *
 * The ends are compared in their places. Each of the other pieces is taken where it is first
 * found: that leaves the longest text to the pieces behind it, so that nothing is tried twice.
 * Matchers that go back to the last star are shorter, and quadratic in a text that the client
 * chooses. */
#include "rules/wildcard.h"

/* The pieces at both ends; `middle` is the text between the first star and the last one, which
 * may be the same. Without a star all of it is `head`, and middle.at null. */
struct wildcard_cut {
    struct sluice_text head, middle, tail;
};

static struct wildcard_cut cut_pattern(struct sluice_text pattern)
{
    const char *first = pattern.len ? memchr(pattern.at, '*', pattern.len) : NULL;
    if (!first)
        return (struct wildcard_cut){ .head = pattern };
    const char *last = memrchr(pattern.at, '*', pattern.len);
    const char *end = pattern.at + pattern.len;
    return (struct wildcard_cut){
        .head = { pattern.at, (size_t)(first - pattern.at) },
        .middle = { first, (size_t)(last - first) },
        .tail = { last + 1, (size_t)(end - last) - 1 },
    };
}

/* Drops `front` from the beginning of a text. Returns false if it does not begin so. */
static bool skip_prefix(struct sluice_text *text, struct sluice_text front)
{
    if (front.len == 0)
        return true;
    if (front.len > text->len || memcmp(text->at, front.at, front.len) != 0)
        return false;
    *text = (struct sluice_text){ text->at + front.len, text->len - front.len };
    return true;
}

static bool ends_with(struct sluice_text text, struct sluice_text tail)
{
    return tail.len <= text.len &&
           (tail.len == 0 || memcmp(text.at + text.len - tail.len, tail.at, tail.len) == 0);
}

/* Returns true if the pieces of `middle`, a star before each, are found in this order. */
static bool finds_pieces(struct sluice_text text, struct sluice_text middle)
{
    while (middle.len) {
        struct sluice_text rest = { middle.at + 1, middle.len - 1 };
        const char *star = rest.len ? memchr(rest.at, '*', rest.len) : NULL;
        size_t piece = star ? (size_t)(star - rest.at) : rest.len;
        middle = (struct sluice_text){ rest.at + piece, rest.len - piece };
        if (piece == 0)
            continue; /* two stars are one */
        const char *found = text.len ? memmem(text.at, text.len, rest.at, piece) : NULL;
        if (!found)
            return false;
        size_t used = (size_t)(found - text.at) + piece;
        text = (struct sluice_text){ text.at + used, text.len - used };
    }
    return true;
}

bool sl_wildcard_matches(struct sluice_text pattern, struct sluice_text text)
{
    struct wildcard_cut pieces = cut_pattern(pattern);
    if (!pieces.middle.at)
        return sl_text_equal(pattern, text);
    if (!skip_prefix(&text, pieces.head) || !ends_with(text, pieces.tail))
        return false;
    text.len -= pieces.tail.len;
    return finds_pieces(text, pieces.middle);
}

/* Returns true if one is the beginning (or, from_end, the end) of the other. */
static bool are_nested(struct sluice_text a, struct sluice_text b, bool from_end)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    size_t skip_a = from_end ? a.len - shorter : 0, skip_b = from_end ? b.len - shorter : 0;
    return shorter == 0 || memcmp(a.at + skip_a, b.at + skip_b, shorter) == 0;
}

bool sl_wildcards_differ(struct sluice_text a, struct sluice_text b)
{
    struct wildcard_cut x = cut_pattern(a), y = cut_pattern(b);
    if (!x.middle.at)
        return !sl_wildcard_matches(b, a);
    if (!y.middle.at)
        return !sl_wildcard_matches(a, b);
    return !are_nested(x.head, y.head, false) || !are_nested(x.tail, y.tail, true);
}
