/* Printing a rule for every limit, in the order of the files.
 *
 * It walks the trees twice: first each limit that can be expressed gets its rule's name, then rules
 * are printed, which name each other in `replaces`. A message about a limit without a translation
 * goes to the report of its file, and as a comment to the place of its rule. */
#include <stdarg.h>

#include "import/envoy_path.h"
#include "import/names.h"
#include "import/yaml_print.h"

/* The state while rules are printed. */
struct printing {
    struct sl_envoy *envoy;
    struct sl_buffer *out;
    struct sl_names names;
    struct sl_textmap named; /* (domain's number, rate_limit.name) → place in `heads` */
    struct same_name {
        struct sl_envoy_node *first, *last; /* through next_named */
    } * heads;
    size_t head_count;
    const struct sl_envoy_domain *domain;
    bool has_ip;
    bool has_printed; /* something under `rules` */
};

static void add_text(struct printing *to, const char *text)
{
    sl_buffer_add(to->out, sl_text(text));
}

/* ---- names, and what is lost ----------------------------------------------- */

/* DOMAIN.NAME, or DOMAIN.KEY_VALUE.KEY…, in the arena. */
static struct sluice_text make_rule_name(struct printing *to, const struct sl_envoy_node *node)
{
    struct sl_arena *arena = &to->envoy->arena;
    const char *path = "";
    if (!sl_text_missing(node->limit->name))
        return sl_text(sl_arena_print(arena, "%s.%s", to->domain->name.at, node->limit->name.at));
    for (; node->parent; node = node->parent)
        path = sl_arena_print(arena, ".%s%s%s%s", node->key.at, node->value.len ? "_" : "",
                              node->value.len ? node->value.at : "", path);
    return sl_text(sl_arena_print(arena, "%s%s", to->domain->name.at, path));
}

/* An unlimited limit needs a rule only to replace others. */
static bool needs_rule(const struct sl_envoy_limit *limit)
{
    return !limit->is_unlimited || limit->replaces.count;
}

static void note_name(struct printing *to, struct sl_envoy_node *node)
{
    struct sluice_text name = node->limit->name;
    uint32_t domain = to->domain->root.number;
    if (sl_text_missing(name))
        return;
    uint32_t place = sl_textmap_get(&to->named, domain, name);
    if (!place) {
        place = (uint32_t)to->head_count++ + 1;
        sl_textmap_add(&to->envoy->arena, &to->named, domain, name, place);
    }
    struct same_name *same = &to->heads[place - 1];
    if (same->last)
        same->last->next_named = node;
    else
        same->first = node;
    same->last = node;
}

static void name_rules(struct printing *to, struct sl_envoy_node *node)
{
    struct sl_envoy_path path;
    const struct sl_envoy_limit *limit = node->limit;
    to->envoy->unlimited += limit && limit->is_unlimited;
    if (limit && needs_rule(limit) && !sl_envoy_path_find(&to->envoy->arena, node, &path) &&
        !path.is_dead) {
        node->rule = sl_names_take(&to->names, make_rule_name(to, node));
        note_name(to, node);
        to->has_ip |= sl_envoy_path_has(&path, "ip");
    }
    for (struct sl_envoy_node *below = node->first; below; below = below->next)
        name_rules(to, below);
}

/* Reports a difference in the file's report, and in a comment of the rules file. */
__attribute__((format(printf, 3, 4))) static void
report_difference(struct printing *to, const struct sl_envoy_node *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = sl_arena_vprint(&to->envoy->arena, format, arguments);
    va_end(arguments);
    sl_report_error(&node->file->report, node->mark, "%s", text);
    to->envoy->lost++;
    add_text(to, node->rule ? "  # Not exactly as there: " : "  # Not translated: ");
    sl_yaml_comment(to->out, sl_text(text));
    add_text(to, "\n");
}

static void report_metrics(const struct sl_envoy_node *node)
{
    if (!node->asks_metrics || node->file->is_told_metrics)
        return;
    node->file->is_told_metrics = true;
    sl_report_warning(&node->file->report, node->mark,
                      "`detailed_metric` and `value_to_metric` have no effect here: metrics are by "
                      "rule, and never carry what requests bring");
}

/* Reports where the rule does not mean all that the limit did. */
static void report_differences(struct printing *to, const struct sl_envoy_node *node,
                               const struct sl_envoy_path *path)
{
    report_metrics(node);
    if (node->is_quota)
        report_difference(
            to, node,
            "`quota_mode` denies where all such limits of a request are over; here this one "
            "denies by itself: raise it, or make it a shadow");
    if (node->has_metadata)
        report_difference(to, node, "`metadata` is not sent back by this server; leave it out");
    if (sl_envoy_path_has(path, "resource"))
        report_difference(
            to, node,
            "a `resource` is compared and counted in its normal form here, as a path; call the "
            "entry by another key if that is not meant");
}

/* ---- one rule -------------------------------------------------------------- */

/* FILE:LINE: key=value, key */
static void print_origin(struct printing *to, const struct sl_envoy_node *node)
{
    const struct sl_envoy_node *path[SL_ENVOY_DEPTH_MAX];
    size_t count = 0;
    add_text(to, to->has_printed ? "\n  # " : "  # ");
    to->has_printed = true;
    sl_yaml_comment(to->out, sl_text(node->file->name));
    add_text(to, ":");
    sl_buffer_add_i64(to->out, node->mark.line);
    add_text(to, ":");
    for (; node->parent; node = node->parent)
        path[count++] = node;
    while (count--) {
        add_text(to, " ");
        sl_yaml_comment(to->out, path[count]->key);
        add_text(to, path[count]->value.len ? "=" : "");
        sl_yaml_comment(to->out, path[count]->value);
        add_text(to, count ? "," : "\n");
    }
}

/* Prints the condition of one value: `like`, `not` and `unlike`. `descriptor` already requires that
 * the entry is there, even an empty one; without a condition any value will do. */
static void print_step(struct printing *to, const struct sl_envoy_step *step)
{
    const struct sl_envoy_node *node = step->node;
    const struct {
        const char *key;
        struct sl_texts texts;
    } parts[] = { { "like", { &node->value, node->kind != SL_ENVOY_OPEN } },
                  { "not", node->unequal },
                  { "unlike", node->unlike } };
    const char *between = "{ ";
    if (node->kind == SL_ENVOY_OPEN && node->unequal.count + node->unlike.count == 0)
        return;
    add_text(to, "      ");
    sl_yaml_text(to->out, step->attribute);
    add_text(to, ": ");
    if (node->kind == SL_ENVOY_EXACT) {
        sl_yaml_text(to->out, node->value);
        add_text(to, "\n");
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].texts.count == 0)
            continue;
        add_text(to, between);
        sl_yaml_texts(to->out, parts[i].key, &parts[i].texts, 10);
        between = ", ";
    }
    add_text(to, " }\n");
}

static void print_when(struct printing *to, const struct sl_envoy_path *path)
{
    add_text(to, "    when:\n      tenant: ");
    sl_yaml_text(to->out, to->domain->name);
    add_text(to, "\n      descriptor: ");
    sl_yaml_text(to->out, path->shape);
    add_text(to, "\n");
    for (size_t i = 0; i < path->count; i++)
        print_step(to, &path->steps[i]);
}

/* A counter of Envoy is the path with its values. Exact values are the same for all of a rule's
 * counters, and a shared pattern is one: the tenant, of which the rule knows only one, stands for
 * no value. */
static void print_per(struct printing *to, const struct sl_envoy_path *path, const char *lacking)
{
    struct sluice_text names[SL_ENVOY_DEPTH_MAX + 1];
    struct sl_texts per = { names, 0 };
    for (size_t i = 0; i < path->count; i++) {
        const struct sl_envoy_node *node = path->steps[i].node;
        if (node->kind != SL_ENVOY_EXACT && !node->is_shared)
            names[per.count++] = path->steps[i].attribute;
    }
    if (per.count == 0)
        names[per.count++] = SL_TEXT("tenant");
    if (lacking)
        names[per.count++] = sl_text(lacking);
    add_text(to, "    ");
    sl_yaml_texts(to->out, "per", &per, 10);
    add_text(to, "\n");
}

/* Returns true if it counts by a value that may be empty: a request with an empty one must not pass
 * uncounted. */
static bool counts_by_any(const struct sl_envoy_path *path)
{
    for (size_t i = 0; i < path->count; i++) {
        const struct sl_envoy_node *node = path->steps[i].node;
        if (node->kind == SL_ENVOY_OPEN && !node->is_shared)
            return true;
    }
    return false;
}

static void print_limit(struct printing *to, const struct sl_envoy_node *node)
{
    static const char *const units[] = { "s", "m", "h", "d", "7d", "30d", "365d" };
    const struct sl_envoy_limit *limit = node->limit;
    uint32_t capacity = limit->is_unlimited             ? UINT32_MAX
                        : limit->requests_per_unit == 0 ? 1
                                                        : limit->requests_per_unit;
    add_text(to, "    algorithm: fixed_window\n    limit: ");
    sl_buffer_add_i64(to->out, capacity);
    add_text(to, "/");
    add_text(to, units[limit->unit]);
    add_text(to, "\n");
    if (node->is_shadow || limit->is_unlimited)
        add_text(to, "    shadow: true\n");
}

static struct sl_envoy_node *find_named(const struct printing *to, struct sluice_text name)
{
    uint32_t place = sl_textmap_get(&to->named, to->domain->root.number, name);
    return place ? to->heads[place - 1].first : NULL;
}

/* Prints all rules of the same domain whose limits have one of these names, each once. */
static void print_replaces(struct printing *to, const struct sl_envoy_node *node)
{
    const struct sl_texts *names = &node->limit->replaces;
    struct sl_texts rules = { 0 };
    size_t most = 0;
    for (size_t i = 0; i < names->count; i++)
        for (const struct sl_envoy_node *n = find_named(to, names->at[i]); n; n = n->next_named)
            most++;
    struct sluice_text *found = sl_arena_take(&to->envoy->arena, most * sizeof *found);
    for (size_t i = 0; i < names->count; i++) {
        for (struct sl_envoy_node *n = find_named(to, names->at[i]); n; n = n->next_named) {
            if (n->named_by != node->number)
                found[rules.count++] = sl_text(n->rule);
            n->named_by = node->number;
        }
    }
    rules.at = found;
    if (rules.count == 0)
        return;
    add_text(to, "    ");
    sl_yaml_texts(to->out, "replaces", &rules, 10);
    add_text(to, "\n");
}

static void print_rule(struct printing *to, const struct sl_envoy_node *node,
                       const struct sl_envoy_path *path)
{
    const struct sl_envoy_limit *limit = node->limit;
    const char *lacking = NULL;
    if (limit->is_unlimited)
        add_text(to, "  # unlimited: it is there to replace others, and denies nothing\n");
    else if (limit->requests_per_unit == 0)
        lacking = sl_envoy_path_lacks(&to->envoy->arena, path);
    if (lacking)
        add_text(to,
                 "  # 0 requests: no request has what this counts by, so it lets nothing pass\n");
    add_text(to, "  - name: ");
    sl_yaml_text(to->out, sl_text(node->rule));
    add_text(to, "\n");
    print_when(to, path);
    print_replaces(to, node);
    print_per(to, path, lacking);
    print_limit(to, node);
    if (lacking || counts_by_any(path))
        add_text(to, "    on_missing: deny\n");
    to->envoy->rules++;
}

static void print_limit_of(struct printing *to, struct sl_envoy_node *node)
{
    struct sl_envoy_path path;
    const char *wrong = sl_envoy_path_find(&to->envoy->arena, node, &path);
    print_origin(to, node);
    if (!needs_rule(node->limit)) {
        add_text(to, "  # unlimited: no rule, and those beside leave it alone\n");
    } else if (path.is_dead) {
        add_text(to, "  # never reached, there neither: a pattern of stars takes every value\n");
        to->envoy->dead++;
    } else if (wrong) {
        report_difference(to, node, "%s", wrong);
    } else {
        report_differences(to, node, &path);
        print_rule(to, node, &path);
    }
}

static void print_below(struct printing *to, const struct sl_envoy_node *parent)
{
    for (struct sl_envoy_node *node = parent->first; node; node = node->next) {
        if (node->limit)
            print_limit_of(to, node);
        print_below(to, node);
    }
}

/* ---- the file -------------------------------------------------------------- */

static void print_header(struct printing *to, struct sl_envoy_file *const *files, size_t count)
{
    add_text(
        to,
        "# Made by `sluice import envoy` from configurations of Envoy's rate limit server:\n#\n");
    for (size_t i = 0; i < count; i++) {
        add_text(to, "#   ");
        sl_yaml_comment(to->out, sl_text(files[i]->name));
        add_text(to, ": ");
        sl_buffer_add_i64(to->out, (int64_t)files[i]->limits);
        add_text(to, files[i]->limits == 1 ? " limit\n" : " limits\n");
    }
    add_text(
        to,
        "#\n# A domain is a tenant here, an entry of a descriptor an attribute of its name, and\n"
        "# `descriptor` the keys in their order; see docs/import.md.\n\n"
        "# Where Envoy's rate limit filter is to ask:\nlisten:\n  grpc: ");
    sl_yaml_text(to->out, sl_text(to->envoy->listen));
    add_text(to, "\n\n");
    if (to->has_ip)
        add_text(to, "# Every address by itself:\nidentity:\n  ipv6_prefix: 128\n\n");
}

void sl_envoy_print(struct sl_envoy *envoy, struct sl_envoy_file *const *files, size_t count,
                    struct sl_buffer *out)
{
    struct printing to = { .envoy = envoy, .out = out, .names = { .arena = &envoy->arena } };
    to.heads = sl_arena_take(&envoy->arena, (envoy->limits + 1) * sizeof *to.heads);
    for (struct sl_envoy_domain *domain = envoy->first; domain; domain = domain->next) {
        to.domain = domain;
        name_rules(&to, &domain->root);
    }
    print_header(&to, files, count);
    add_text(&to, "rules:\n");
    for (const struct sl_envoy_domain *domain = envoy->first; domain; domain = domain->next) {
        to.domain = domain;
        print_below(&to, &domain->root);
    }
    if (envoy->rules == 0)
        add_text(&to, "  []\n");
}
