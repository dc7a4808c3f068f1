/* Reading a configuration file of the reference server, as strictly as the server itself: by tables
 * of keys, like a rules file, so that every problem has its place and all are reported at once.
 *
 * Stricter in two things. The server knows one list of keys and accepts each of them anywhere,
 * without effect in the wrong place; here a key must stand where it has an effect. And YAML is
 * restricted to rules/tree/tree.h: no aliases, no tags, no key twice. */
#include "import/envoy.h"

#include <strings.h>

#include "rules/tree/keys.h"

/* ---- values as Go's YAML reads them ---------------------------------------- */

/* Any scalar is a text; a missing one is empty. */
static bool read_any_text(struct sl_reader *in, const struct sl_node *node, const void *shape,
                          void *out)
{
    (void)shape;
    if (node->kind != SL_NODE_SCALAR)
        return sl_refuse(in, node, "a text");
    struct sluice_text text = node->text;
    if (!sl_node_is_null(node))
        *(struct sluice_text *)out =
            (struct sluice_text){ sl_arena_copy(in->arena, text), text.len };
    return true;
}

static bool read_text(struct sl_reader *in, const struct sl_node *node, const void *shape,
                      void *out)
{
    if (node->kind == SL_NODE_SCALAR && node->text.len == 0)
        return sl_refuse(in, node, "a text that is not empty");
    return sl_node_is_null(node) ? sl_refuse(in, node, "a text that is not empty")
                                 : read_any_text(in, node, shape, out);
}

static bool is_word(struct sluice_text text, const char *const *words)
{
    for (; *words; words++)
        if (text.len == strlen(*words) && strncasecmp(text.at, *words, text.len) == 0)
            return true;
    return false;
}

static bool read_flag(struct sl_reader *in, const struct sl_node *node, const void *shape,
                      void *out)
{
    static const char *const yes[] = { "true", "yes", "on", "y", NULL };
    static const char *const no[] = { "false", "no", "off", "n", NULL };
    (void)shape;
    bool is_scalar = node->kind == SL_NODE_SCALAR && node->plain;
    if (is_scalar && is_word(node->text, yes))
        *(bool *)out = true;
    else if (!sl_node_is_null(node) && !(is_scalar && is_word(node->text, no)))
        return sl_refuse(in, node, "true or false");
    return true;
}

/* `010` is eight to some YAML parsers, so it is refused. */
static bool read_count(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    static const struct sl_range range = { 0, UINT32_MAX };
    (void)shape;
    if (sl_node_is_null(node))
        return true;
    if (node->kind == SL_NODE_SCALAR && node->text.len > 1 && node->text.at[0] == '0')
        return sl_refuse(in, node, "a whole number without zeros in front");
    return sl_read_u32(in, node, &range, out);
}

/* ---- rate_limit ------------------------------------------------------------ */

static const char *const unit_names[] = { "second", "minute", "hour", "day",
                                          "week",   "month",  "year", NULL };

/* A limit while it is read. */
struct limit_draft {
    struct sl_envoy_limit limit;
    struct sluice_text unit;
    const struct sl_node *replaces;
};

static bool keep_node(struct sl_reader *in, const struct sl_node *node, const void *shape,
                      void *out)
{
    (void)in;
    (void)shape;
    *(const struct sl_node **)out = sl_node_is_null(node) ? NULL : node;
    return true;
}

#define LIMIT(field) .offset = offsetof(struct limit_draft, field)

static const struct sl_key limit_keys[] = {
    { "unit", read_any_text, LIMIT(unit) },
    { "requests_per_unit", read_count, LIMIT(limit.requests_per_unit) },
    { "unlimited", read_flag, LIMIT(limit.is_unlimited) },
    { "name", read_any_text, LIMIT(limit.name) },
    { "replaces", keep_node, LIMIT(replaces) },
    { 0 },
};
static const struct sl_key_table limit_table = { "`rate_limit`", limit_keys };

static const struct sl_key replaces_keys[] = { { "name", read_text, .offset = 0 }, { 0 } };
static const struct sl_key_table replaces_table = { "an entry of `replaces`", replaces_keys };

static bool check_unit(struct sl_reader *in, const struct sl_node *node, struct limit_draft *draft)
{
    const struct sl_node *unit = sl_node_get(node, "unit");
    struct sl_mark mark = unit ? unit->mark : node->mark;
    uint32_t which = 0;
    while (unit_names[which] && !is_word(draft->unit, (const char *[]){ unit_names[which], NULL }))
        which++;
    bool is_known = unit_names[which] != NULL;
    if (draft->limit.is_unlimited && is_known)
        sl_report_error(in->report, mark, "`unit` beside `unlimited`; leave one of them out");
    else if (!draft->limit.is_unlimited && !is_known)
        sl_report_error(in->report, mark, "%s `%s`; write %s",
                        unit ? "`unit` cannot be" : "`rate_limit` needs a",
                        unit ? sl_report_quote(in->report, draft->unit) : "unit",
                        sl_words_join(in->scratch, unit_names, "or"));
    else if (is_known)
        draft->limit.unit = (enum sl_envoy_unit)which;
    return draft->limit.is_unlimited != is_known;
}

static bool read_replaces(struct sl_reader *in, const struct sl_node *list,
                          struct sl_envoy_limit *limit)
{
    if (list->kind != SL_NODE_LIST)
        return sl_refuse(in, list, "a list of maps, such as [{ name: other }]");
    struct sluice_text *names = sl_arena_take(in->arena, list->count * sizeof *names);
    bool good = true;
    for (const struct sl_node *node = list->first; node; node = node->next) {
        struct sluice_text *name = &names[limit->replaces.count++];
        bool read = sl_read_keys(in, node, &replaces_table, name);
        if (read && sl_text_missing(*name))
            sl_report_error(in->report, node->mark,
                            "`replaces` has an entry without a `name`; "
                            "write the name of another limit");
        else if (read && sl_text_equal(*name, limit->name))
            sl_report_error(in->report, node->mark,
                            "`replaces` names the limit itself, `%s`; name another",
                            sl_report_quote(in->report, *name));
        good &= read && !sl_text_missing(*name) && !sl_text_equal(*name, limit->name);
    }
    limit->replaces.at = names;
    return good;
}

static bool read_limit(struct sl_reader *in, const struct sl_node *node, const void *shape,
                       void *out)
{
    struct limit_draft draft = { 0 };
    (void)shape;
    if (sl_node_is_null(node))
        return true;
    if (!sl_read_keys(in, node, &limit_table, &draft))
        return false;
    bool good = check_unit(in, node, &draft);
    if (draft.replaces)
        good &= read_replaces(in, draft.replaces, &draft.limit);
    struct sl_envoy_limit *limit = sl_arena_take(in->arena, sizeof *limit);
    *limit = draft.limit;
    *(struct sl_envoy_limit **)out = limit;
    return good;
}

/* ---- descriptors ----------------------------------------------------------- */

/* A descriptor while it is read. */
struct node_draft {
    struct sl_envoy_node node;
    bool detailed_metric, value_to_metric;
    const struct sl_node *metadata;
    const struct sl_node *descriptors;
};

#define NODE(field) .offset = offsetof(struct node_draft, field)

static const struct sl_key node_keys[] = {
    { "key", read_text, NODE(node.key), .required = true, .help = "the key of an entry" },
    { "value", read_any_text, NODE(node.value) },
    { "rate_limit", read_limit, NODE(node.limit) },
    { "descriptors", keep_node, NODE(descriptors) },
    { "shadow_mode", read_flag, NODE(node.is_shadow) },
    { "quota_mode", read_flag, NODE(node.is_quota) },
    { "share_threshold", read_flag, NODE(node.is_shared) },
    { "detailed_metric", read_flag, NODE(detailed_metric) },
    { "value_to_metric", read_flag, NODE(value_to_metric) },
    { "metadata", keep_node, NODE(metadata) },
    { 0 },
};
static const struct sl_key_table node_table = { "a descriptor", node_keys };

/* The state while one file is read. */
struct envoy_reader {
    struct sl_reader in;
    struct sl_envoy *envoy;
    struct sl_envoy_file *file;
};

static struct sluice_text join_composite(struct sl_arena *arena, const struct sl_envoy_node *node)
{
    struct sluice_text key = node->key, value = node->value;
    char *at = sl_arena_take(arena, key.len + value.len + 2);
    memcpy(at, key.at, key.len);
    if (!value.len)
        return (struct sluice_text){ at, key.len };
    at[key.len] = '_';
    memcpy(at + key.len + 1, value.at, value.len);
    return (struct sluice_text){ at, key.len + 1 + value.len };
}

/* The reference joins key and value, so that ("a", "b_c") and ("a_b", "c") are one to it. */
static bool check_composite(struct envoy_reader *to, const struct sl_envoy_node *node,
                            const struct sl_envoy_node *parent)
{
    struct sl_textmap *composites = &to->envoy->composites;
    struct sluice_text composite = join_composite(&to->envoy->arena, node);
    if (sl_textmap_get(composites, parent->number, composite)) {
        sl_report_error(&to->file->report, node->mark,
                        "`%s` is here twice: at one level no two descriptors have the same key and "
                        "value, joined by `_`; keep one of them",
                        sl_report_quote(&to->file->report, composite));
        return false;
    }
    sl_textmap_add(&to->envoy->arena, composites, parent->number, composite, node->number);
    return true;
}

static bool check_node(struct envoy_reader *to, const struct sl_node *from,
                       const struct node_draft *draft)
{
    if (!draft->node.is_shared || draft->node.kind == SL_ENVOY_PATTERN)
        return true;
    sl_report_error(&to->file->report, sl_node_get(from, "share_threshold")->mark,
                    "`share_threshold` is for values with a `*`; leave it out");
    return false;
}

static bool read_nodes(struct envoy_reader *to, const struct sl_node *list,
                       struct sl_envoy_node *parent);

static bool read_node(struct envoy_reader *to, const struct sl_node *from,
                      struct sl_envoy_node *parent)
{
    struct node_draft draft = { .node = { .file = to->file, .mark = from->mark } };
    bool good = sl_read_keys(&to->in, from, &node_table, &draft);
    struct sl_envoy_node *node = sl_arena_take(&to->envoy->arena, sizeof *node);
    struct sluice_text value = draft.node.value;
    draft.node.number = ++to->envoy->node_count;
    draft.node.parent = parent;
    draft.node.asks_metrics = draft.detailed_metric || draft.value_to_metric;
    draft.node.has_metadata = draft.metadata != NULL;
    if (value.len)
        draft.node.kind = memchr(value.at, '*', value.len) ? SL_ENVOY_PATTERN : SL_ENVOY_EXACT;
    *node = draft.node;
    if (good && check_node(to, from, &draft))
        good = check_composite(to, node, parent);
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    to->envoy->limits += node->limit != NULL;
    to->file->limits += node->limit != NULL;
    return (!draft.descriptors || read_nodes(to, draft.descriptors, node)) && good;
}

/* Recursion as deep as the tree of the file: SL_TREE_DEPTH_MAX. */
static bool read_nodes(struct envoy_reader *to, const struct sl_node *list,
                       struct sl_envoy_node *parent)
{
    if (list->kind != SL_NODE_LIST)
        return sl_refuse(&to->in, list, "a list of descriptors, each after a dash");
    bool good = true;
    for (const struct sl_node *node = list->first; node; node = node->next)
        good &= read_node(to, node, parent);
    return good;
}

/* ---- the file -------------------------------------------------------------- */

struct file_draft {
    struct sluice_text domain;
    const struct sl_node *descriptors;
};

static const struct sl_key file_keys[] = {
    { "domain", sl_read_span, offsetof(struct file_draft, domain), .required = true,
      .help = "the domain that Envoy's filter names" },
    { "descriptors", keep_node, .offset = offsetof(struct file_draft, descriptors) },
    { 0 },
};
static const struct sl_key_table file_table = { "a configuration", file_keys };

static struct sl_envoy_domain *add_domain(struct envoy_reader *to, struct sluice_text name,
                                          struct sl_mark mark)
{
    struct sl_envoy *envoy = to->envoy;
    struct sl_envoy_domain *domain = sl_arena_take(&envoy->arena, sizeof *domain);
    *domain = (struct sl_envoy_domain){ .name = name, .file = to->file, .mark = mark };
    domain->root.number = ++envoy->node_count;
    envoy->domain_count++;
    if (envoy->last)
        envoy->last->next = domain;
    else
        envoy->first = domain;
    envoy->last = domain;
    return domain;
}

/* Returns NULL if the domain is in another file, which is refused. */
static struct sl_envoy_domain *find_domain(struct envoy_reader *to, struct sluice_text name,
                                           struct sl_mark mark)
{
    struct sl_envoy_domain *domain = to->envoy->first;
    while (domain && !sl_text_equal(domain->name, name))
        domain = domain->next;
    if (!domain || to->envoy->merges_domains)
        return domain ? domain : add_domain(to, name, mark);
    sl_report_error(&to->file->report, mark,
                    "the domain `%s` is also in %s, line %u; merge them with --merge-domains, or "
                    "leave one out",
                    sl_report_quote(&to->file->report, name), domain->file->name,
                    domain->mark.line);
    return NULL;
}

bool sl_envoy_read(struct sl_envoy *envoy, struct sl_envoy_file *file, struct sluice_text yaml)
{
    struct sl_arena scratch = { 0 };
    struct sl_report *report = &file->report;
    report->file = file->name;
    report->what = "a configuration";
    const struct sl_node *tree = sl_tree_parse(&scratch, yaml, report);
    if (tree) {
        struct file_draft draft = { 0 };
        struct envoy_reader to = {
            .in = { .arena = &envoy->arena, .scratch = &scratch, .report = report },
            .envoy = envoy,
            .file = file,
        };
        sl_read_keys(&to.in, tree, &file_table, &draft);
        struct sl_envoy_node nowhere = { .number = ++envoy->node_count };
        struct sl_envoy_domain *domain = NULL;
        if (draft.domain.len)
            domain = find_domain(&to, draft.domain, sl_node_get(tree, "domain")->mark);
        if (draft.descriptors)
            read_nodes(&to, draft.descriptors, domain ? &domain->root : &nowhere);
    }
    sl_arena_release(&scratch);
    return report->errors == 0;
}

void sl_envoy_release(struct sl_envoy *envoy)
{
    sl_arena_release(&envoy->arena);
    *envoy = (struct sl_envoy){ 0 };
}
