/* The index of rules: a trie over the segments of patterns; rules hang where their pattern ends.
 *
 *   /                                    a node's rules:
 *   ├─ api ──┬─ (below: api, per-user)     exact   the pattern ends here
 *   │        └─ * ── logs                  below   it ends in `*` here
 *   └─ oauth ── token
 *
 * A request walks down by its own segments, taking the named child and the `*`
 * child at each step, and collects `below` of every node on the way and
 * `exact` of the node where it ends. Each node is visited at most once, so the cost is
 * that of the path and of the patterns that really branch along it.
 *
 * Many rules may share one pattern, or have none, and differ in `when`: then
 * they are cases of a switch on one attribute, found by its value. Of several
 * conditions the switch takes the one that fewest rules share, so that
 * `{ method: GET, plan: p17 }` is found by its plan. The other conditions are compared
 * afterwards, rule by rule; only rules that come that far are ever touched. A
 * condition without values (`not`, `like`) is never a case of a switch: it is always
 * compared afterwards.
 */
#include "rules/index.h"

#include <stdlib.h>

#include "base/text/textmap.h"
#include "rules/condition.h"
#include "rules/popularity.h"

/* Rules in the order of the file. */
struct link {
    const struct sl_rule *rule;
    struct link *next;
};

struct chain {
    struct link *first;
    struct link *last;
};

/* Rules on the same spot that are found by one attribute. */
struct branch {
    const struct sl_part *attribute;
    uint32_t number; /* owner of its cases in sl_index.cases */
    struct branch *next;
};

struct spot {
    struct chain always;
    struct branch *branches;
};

struct index_node {
    uint32_t star; /* child number, 0: none */
    struct spot exact;
    struct spot below;
};

struct sl_index {
    struct sl_textmap edges;  /* (node, segment) → node */
    struct sl_textmap cases;  /* (branch, value) → chain */
    struct index_node *nodes; /* 0 is unused, 1 the root of paths, 2 of dotted names */
    size_t node_count;
    size_t node_room;
    struct chain *chains; /* 0 is unused */
    size_t chain_count;
    size_t chain_room;
    uint32_t branch_count;
    struct spot any;                 /* the rule has no `resource` */
    struct spot given;               /* any resource, but the request must have one */
    struct sl_popularity popularity; /* only while it is built */
};

enum { PATHS = 1, DOTTED = 2 };

/* Adds one element at the end of an array that lives in the arena. Returns its number. */
static uint32_t append_element(struct sl_arena *arena, void **array, size_t *count, size_t *room,
                               size_t size)
{
    if (*count == *room) {
        size_t larger = *room ? 2 * *room : 64;
        void *copy = sl_arena_take(arena, larger * size);
        if (*count)
            memcpy(copy, *array, *count * size);
        *array = copy;
        *room = larger;
    }
    return (uint32_t)(*count)++;
}

static uint32_t add_node(struct sl_arena *arena, struct sl_index *index)
{
    void *nodes = index->nodes;
    uint32_t number =
        append_element(arena, &nodes, &index->node_count, &index->node_room, sizeof *index->nodes);
    index->nodes = nodes;
    return number;
}

static uint32_t add_chain(struct sl_arena *arena, struct sl_index *index)
{
    void *chains = index->chains;
    uint32_t number = append_element(arena, &chains, &index->chain_count, &index->chain_room,
                                     sizeof *index->chains);
    index->chains = chains;
    return number;
}

static void add_link(struct sl_arena *arena, struct chain *chain, const struct sl_rule *rule)
{
    if (chain->last && chain->last->rule == rule)
        return; /* a value listed twice */
    struct link *link = sl_arena_take(arena, sizeof *link);
    link->rule = rule;
    if (chain->last)
        chain->last->next = link;
    else
        chain->first = link;
    chain->last = link;
}

static bool same_part(const struct sl_part *a, const struct sl_part *b)
{
    return a->attribute == b->attribute &&
           (a->attribute != SL_ATTR_OTHER || sl_text_equal(a->name, b->name));
}

static struct branch *find_or_add_branch(struct sl_arena *arena, struct sl_index *index,
                                         struct spot *spot, const struct sl_part *attribute)
{
    struct branch *branch = spot->branches;
    while (branch && !same_part(branch->attribute, attribute))
        branch = branch->next;
    if (branch)
        return branch;
    branch = sl_arena_take(arena, sizeof *branch);
    *branch = (struct branch){ attribute, ++index->branch_count, spot->branches };
    spot->branches = branch;
    return branch;
}

static void add_to_spot(struct sl_arena *arena, struct sl_index *index, struct spot *spot,
                        const struct sl_rule *rule)
{
    const struct sl_condition *rarest = sl_popularity_rarest(&index->popularity, rule);
    if (!rarest) {
        add_link(arena, &spot->always, rule);
        return;
    }
    struct branch *branch = find_or_add_branch(arena, index, spot, &rarest->attribute);
    for (size_t i = 0; i < rarest->value_count; i++) {
        uint32_t chain = sl_textmap_get(&index->cases, branch->number, rarest->values[i]);
        if (!chain) {
            chain = add_chain(arena, index);
            sl_textmap_add(arena, &index->cases, branch->number, rarest->values[i], chain);
        }
        add_link(arena, &index->chains[chain], rule);
    }
}

static uint32_t find_or_add_child(struct sl_arena *arena, struct sl_index *index, uint32_t parent,
                                  struct sluice_text segment)
{
    uint32_t found =
        segment.at ? sl_textmap_get(&index->edges, parent, segment) : index->nodes[parent].star;
    if (found)
        return found;
    uint32_t fresh = add_node(arena, index);
    if (segment.at)
        sl_textmap_add(arena, &index->edges, parent, segment, fresh);
    else
        index->nodes[parent].star = fresh;
    return fresh;
}

static void add_rule(struct sl_arena *arena, struct sl_index *index, const struct sl_rule *rule)
{
    const struct sl_pattern *pattern = &rule->resource;
    if (rule->any_resource || pattern->everything) {
        add_to_spot(arena, index, rule->any_resource ? &index->any : &index->given, rule);
        return;
    }
    uint32_t node = pattern->dotted ? DOTTED : PATHS;
    for (size_t i = 0; i < pattern->segment_count; i++)
        node = find_or_add_child(arena, index, node, pattern->segments[i]);
    struct index_node *end = &index->nodes[node];
    add_to_spot(arena, index, pattern->prefix ? &end->below : &end->exact, rule);
}

struct sl_index *sl_index_new(struct sl_ruleset *rules)
{
    struct sl_arena *arena = &rules->arena;
    struct sl_index *index = sl_arena_take(arena, sizeof *index);
    for (uint32_t number = 0; number <= DOTTED; number++)
        add_node(arena, index);
    add_chain(arena, index);
    for (size_t i = 0; i < rules->rule_count; i++)
        sl_popularity_count(&index->popularity, &rules->rules[i]);
    for (size_t i = 0; i < rules->rule_count; i++)
        add_rule(arena, index, &rules->rules[i]);
    sl_popularity_release(&index->popularity);
    return index;
}

struct sluice_text sl_attribute_of(const struct sluice_request *request,
                                   const struct sl_part *attribute)
{
    switch (attribute->attribute) {
    case SL_ATTR_GLOBAL:
        return SL_TEXT("-");
    case SL_ATTR_TENANT:
        return request->tenant;
    case SL_ATTR_RESOURCE:
        return request->resource;
    case SL_ATTR_METHOD:
        return request->method;
    case SL_ATTR_USER:
        return request->user;
    case SL_ATTR_IP:
        return request->ip;
    case SL_ATTR_CLIENT:
        return request->client;
    case SL_ATTR_TIER:
        return request->tier;
    case SL_ATTR_OTHER:
        break;
    }
    for (size_t i = 0; i < request->other_count; i++)
        if (sl_text_equal(request->others[i].name, attribute->name))
            return request->others[i].value;
    return (struct sluice_text){ 0 };
}

/* The state of one search. */
struct index_search {
    const struct sl_index *index;
    const struct sluice_request *request;
    struct sl_segments resource;
    const struct sl_rule **out;
    size_t count;
};

static bool condition_holds(const struct sluice_request *request, const struct sl_condition *when)
{
    return sl_condition_holds(when, sl_attribute_of(request, &when->attribute));
}

static bool is_excepted(const struct index_search *search, const struct sl_rule *rule)
{
    for (size_t i = 0; !sl_text_missing(search->request->resource) && i < rule->except_count; i++)
        if (sl_pattern_matches(&rule->except[i], &search->resource))
            return true;
    return false;
}

static void collect_chain(struct index_search *search, const struct chain *chain)
{
    for (const struct link *link = chain->first; link; link = link->next) {
        const struct sl_rule *rule = link->rule;
        size_t i = 0;
        while (i < rule->when_count && condition_holds(search->request, &rule->when[i]))
            i++;
        if (i == rule->when_count && !is_excepted(search, rule))
            search->out[search->count++] = rule;
    }
}

static void collect_spot(struct index_search *search, const struct spot *spot)
{
    collect_chain(search, &spot->always);
    for (const struct branch *branch = spot->branches; branch; branch = branch->next) {
        struct sluice_text value = sl_attribute_of(search->request, branch->attribute);
        uint32_t chain =
            value.at ? sl_textmap_get(&search->index->cases, branch->number, value) : 0;
        if (chain)
            collect_chain(search, &search->index->chains[chain]);
    }
}

/* Recursion as deep as the path has segments, at most SL_SEGMENTS_MAX. */
static void walk_trie(struct index_search *search, uint32_t number, size_t depth)
{
    const struct index_node *node = &search->index->nodes[number];
    collect_spot(search, &node->below);
    if (depth == search->resource.count) {
        collect_spot(search, &node->exact);
        return;
    }
    uint32_t named = sl_textmap_get(&search->index->edges, number, search->resource.at[depth]);
    if (named)
        walk_trie(search, named, depth + 1);
    if (node->star)
        walk_trie(search, node->star, depth + 1);
}

static int by_index(const void *a, const void *b)
{
    uint32_t left = (*(const struct sl_rule *const *)a)->index;
    uint32_t right = (*(const struct sl_rule *const *)b)->index;
    return (left > right) - (left < right);
}

/* Insertion sort: few rules match a request, mostly in order already. */
static void sort_rules(const struct sl_rule **rules, size_t count)
{
    if (count > 32) {
        qsort(rules, count, sizeof *rules, by_index);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const struct sl_rule *rule = rules[i];
        size_t at = i;
        for (; at && rules[at - 1]->index > rule->index; at--)
            rules[at] = rules[at - 1];
        rules[at] = rule;
    }
}

size_t sl_index_match(const struct sl_ruleset *rules, const struct sluice_request *request,
                      const struct sl_rule **out)
{
    struct index_search search;
    search.index = rules->index;
    search.request = request;
    search.out = out;
    search.count = 0;
    if (sl_text_missing(request->resource)) {
        search.resource.count = 0;
        collect_spot(&search, &rules->index->any);
    } else {
        sl_resource_cut(request->resource, &search.resource);
        collect_spot(&search, &rules->index->any);
        collect_spot(&search, &rules->index->given);
        walk_trie(&search, search.resource.dotted ? DOTTED : PATHS, 0);
    }
    sort_rules(out, search.count);
    return search.count;
}
