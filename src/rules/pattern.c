/* Normalising resources, and parsing, matching and comparing patterns.
 *
 * Normalising comes before matching, and before counting by resource: two
 * spellings of one path must not have two counts. The order matters: %2e%2e is
 * decoded first and then folded as a dot segment, never the other way round. */
#include "rules/pattern.h"

/* RFC 3986: these mean the same encoded or not. */
static bool is_unreserved(int c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* Decodes unreserved characters; other %xx only get upper-case digits. */
static size_t decode_unreserved(char *at, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t out = 0;
    for (size_t in = 0; in < len; in++) {
        int high = at[in] == '%' && len - in > 2 ? sl_hex_digit(at[in + 1]) : -1;
        int low = high >= 0 ? sl_hex_digit(at[in + 2]) : -1;
        if (low < 0) {
            at[out++] = at[in];
        } else if (is_unreserved(high * 16 + low)) {
            at[out++] = (char)(high * 16 + low);
            in += 2;
        } else {
            at[out++] = '%';
            at[out++] = digits[high];
            at[out++] = digits[low];
            in += 2;
        }
    }
    return out;
}

/* Rewrites a path from its segments: drops empty ones and ".", and ".." drops the
 * one before it too. Writes behind where it reads. */
static size_t fold_dots(char *at, size_t len)
{
    size_t out = 0;
    size_t in = 0;
    while (in < len) {
        in++; /* the slash */
        size_t end = in;
        while (end < len && at[end] != '/')
            end++;
        struct sluice_text segment = { at + in, end - in };
        if (sl_text_is(segment, "..")) {
            while (out && at[--out] != '/')
                ;
        } else if (segment.len && !sl_text_is(segment, ".")) {
            at[out++] = '/';
            memmove(at + out, segment.at, segment.len);
            out += segment.len;
        }
        in = end;
    }
    if (out == 0)
        at[out++] = '/';
    return out;
}

/* Returns true if there is nothing to drop, decode or fold. Nearly every path is so. */
static bool is_normal(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] == '%' || at[i] == '?' || at[i] == '#')
            return false;
        if (at[i] == '/' && (i + 1 == len || at[i + 1] == '/' || at[i + 1] == '.'))
            return len == 1;
    }
    return true;
}

size_t sl_resource_normalise(char *at, size_t len)
{
    if (is_normal(at, len))
        return len;
    const char *query = memchr(at, '?', len);
    const char *fragment = memchr(at, '#', query ? (size_t)(query - at) : len);
    if (query)
        len = (size_t)(query - at);
    if (fragment)
        len = (size_t)(fragment - at);
    len = decode_unreserved(at, len);
    return len && at[0] == '/' ? fold_dots(at, len) : len;
}

void sl_resource_cut(struct sluice_text resource, struct sl_segments *out)
{
    out->count = 0;
    out->dotted = resource.len > 0 && resource.at[0] != '/';
    char separator = out->dotted ? '.' : '/';
    size_t start = out->dotted ? 0 : 1;
    /* A dotted name may end in an empty segment; a normalised path does not. */
    while (start < resource.len + out->dotted && out->count < SL_SEGMENTS_MAX) {
        const char *end = memchr(resource.at + start, separator, resource.len - start);
        size_t stop = end ? (size_t)(end - resource.at) : resource.len;
        out->at[out->count++] = (struct sluice_text){ resource.at + start, stop - start };
        start = stop + 1;
    }
}

const char *sl_pattern_parse(struct sl_arena *arena, struct sluice_text text,
                             struct sl_pattern *out)
{
    if (text.len == 0)
        return "a pattern is a path such as `/api/*` or a dotted name such as `api.payment.*`";
    char *copy = sl_arena_copy(arena, text);
    size_t len = sl_resource_normalise(copy, text.len);
    struct sl_pattern pattern = { .text = { copy, len } };
    struct sl_segments cut;
    sl_resource_cut(pattern.text, &cut);
    if (cut.count >= SL_SEGMENTS_MAX)
        return "a pattern has at most 63 segments";
    pattern.dotted = cut.dotted;
    pattern.segments = sl_arena_take(arena, (cut.count + 1) * sizeof *pattern.segments);
    for (size_t i = 0; i < cut.count; i++) {
        struct sluice_text segment = cut.at[i];
        if (sl_text_is(segment, "*"))
            segment = (struct sluice_text){ 0 };
        else if (memchr(segment.at, '*', segment.len))
            return "`*` stands for one whole segment, or at the end for everything below";
        pattern.segments[pattern.segment_count++] = segment;
    }
    if (pattern.segment_count && !pattern.segments[pattern.segment_count - 1].at) {
        pattern.prefix = true;
        pattern.segment_count--;
        pattern.everything = pattern.dotted && pattern.segment_count == 0;
    }
    *out = pattern;
    return NULL;
}

bool sl_pattern_matches(const struct sl_pattern *pattern, const struct sl_segments *resource)
{
    if (pattern->everything)
        return true;
    if (pattern->dotted != resource->dotted || resource->count < pattern->segment_count ||
        (!pattern->prefix && resource->count > pattern->segment_count))
        return false;
    for (size_t i = 0; i < pattern->segment_count; i++)
        if (pattern->segments[i].at && !sl_text_equal(pattern->segments[i], resource->at[i]))
            return false;
    return true;
}

bool sl_pattern_covers(const struct sl_pattern *wide, const struct sl_pattern *narrow)
{
    if (wide->everything || narrow->everything)
        return wide->everything;
    if (wide->dotted != narrow->dotted || narrow->segment_count < wide->segment_count)
        return false;
    if (!wide->prefix && (narrow->prefix || narrow->segment_count > wide->segment_count))
        return false;
    for (size_t i = 0; i < wide->segment_count; i++)
        if (wide->segments[i].at &&
            (!narrow->segments[i].at || !sl_text_equal(wide->segments[i], narrow->segments[i])))
            return false;
    return true;
}
