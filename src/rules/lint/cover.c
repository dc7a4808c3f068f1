/* Finding the rules whose pattern covers another: the same trie as the index's, walked by a
 * pattern instead of a resource.
 *
 * A pattern that covers /api/{star}/logs ends with a star on the way down, or exactly
 * where it ends; on the way, a star in the pattern is covered by stars alone:
 *
 *   root ── api ──┬─ logs
 *                 └─ "*" ── logs       edges are texts; no segment is "*",
 *                                      so that text is free for stars
 *
 * Why not the index itself? It answers for one request, whose attributes it
 * compares with `when`; here the question is about a whole set of requests. */
#include "rules/lint/cover.h"

#include "base/text/textmap.h"

enum { ANY = 1, PATHS = 2, DOTTED = 3, ROOTS = 4 };

/* Chains of entries; 0 is the end. */
struct cover_node {
    uint32_t exact; /* patterns that end here */
    uint32_t below; /* patterns that end in `*` here */
};

struct cover_entry {
    const struct sl_rule *rule;
    uint32_t next;
};

struct sl_cover {
    struct sl_textmap edges; /* (node, segment) → node */
    struct cover_node *nodes;
    uint32_t node_count;
    struct cover_entry *entries; /* 0 is unused */
    uint32_t entry_count;
};

static bool is_any(const struct sl_rule *rule)
{
    return rule->any_resource || rule->resource.everything;
}

static struct sluice_text edge_text(struct sluice_text segment)
{
    return segment.at ? segment : SL_TEXT("*");
}

static uint32_t root_for(const struct sl_rule *rule)
{
    return is_any(rule) ? ANY : rule->resource.dotted ? DOTTED : PATHS;
}

static void add_pattern(struct sl_arena *arena, struct sl_cover *cover, const struct sl_rule *rule)
{
    const struct sl_pattern *pattern = &rule->resource;
    uint32_t node = root_for(rule);
    for (size_t i = 0; i < pattern->segment_count; i++) {
        struct sluice_text edge = edge_text(pattern->segments[i]);
        uint32_t child = sl_textmap_get(&cover->edges, node, edge);
        if (!child) {
            child = cover->node_count++;
            sl_textmap_add(arena, &cover->edges, node, edge, child);
        }
        node = child;
    }
    struct cover_node *end = &cover->nodes[node];
    uint32_t *chain = is_any(rule) || pattern->prefix ? &end->below : &end->exact;
    uint32_t fresh = ++cover->entry_count;
    cover->entries[fresh] = (struct cover_entry){ rule, *chain };
    *chain = fresh;
}

struct sl_cover *sl_cover_new(struct sl_arena *arena, const struct sl_rule *const *rules,
                              size_t count)
{
    struct sl_cover *cover = sl_arena_take(arena, sizeof *cover);
    size_t nodes = ROOTS;
    for (size_t i = 0; i < count; i++)
        nodes += rules[i]->resource.segment_count;
    cover->nodes = sl_arena_take(arena, nodes * sizeof *cover->nodes);
    cover->node_count = ROOTS;
    cover->entries = sl_arena_take(arena, (count + 1) * sizeof *cover->entries);
    for (size_t i = 0; i < count; i++)
        add_pattern(arena, cover, rules[i]);
    return cover;
}

/* The state of one search. */
struct cover_search {
    const struct sl_cover *cover;
    const struct sl_pattern *narrow;
    const struct sl_rule **out;
    size_t room;
    size_t count;
};

static void collect_chain(struct cover_search *search, uint32_t chain)
{
    for (; chain && search->count < search->room; chain = search->cover->entries[chain].next)
        search->out[search->count++] = search->cover->entries[chain].rule;
}

/* Recursion as deep as the pattern has segments; each node at most once. */
static void walk_trie(struct cover_search *search, uint32_t number, size_t depth)
{
    const struct sl_textmap *edges = &search->cover->edges;
    const struct sl_pattern *narrow = search->narrow;
    if (search->count == search->room)
        return;
    collect_chain(search, search->cover->nodes[number].below);
    if (depth == narrow->segment_count) {
        if (!narrow->prefix)
            collect_chain(search, search->cover->nodes[number].exact);
        return;
    }
    struct sluice_text segment = narrow->segments[depth];
    uint32_t named = segment.at ? sl_textmap_get(edges, number, segment) : 0;
    uint32_t star = sl_textmap_get(edges, number, SL_TEXT("*"));
    if (named)
        walk_trie(search, named, depth + 1);
    if (star)
        walk_trie(search, star, depth + 1);
}

size_t sl_cover_find(const struct sl_cover *cover, const struct sl_rule *narrow,
                     const struct sl_rule **out, size_t room)
{
    struct cover_search search = { cover, &narrow->resource, out, room, 0 };
    collect_chain(&search, cover->nodes[ANY].below);
    if (!is_any(narrow))
        walk_trie(&search, root_for(narrow), 0);
    return search.count;
}
