/* Building a tree of libyaml's events.
 *
 * Events and not libyaml's own documents: events carry a place for every key
 * and value, and let aliases, tags and a second document be refused in their
 * places. Each of those is reported and stepped over, so that one file's
 * mistakes all come out at once; reading stops only where YAML itself cannot
 * go on (bad syntax, too deep, too much).
 *
 * A node and its key are one struct: a map is the list of its values, each of
 * which knows its key. So every reader of a value can name it.
 *
 * The recursion is bounded by SL_TREE_DEPTH_MAX, the memory by the bytes and
 * the nodes a file may have. */
#include "rules/tree/tree.h"

#include "base/check.h"
#include "rules/tree/syntax.h"

struct builder {
    yaml_parser_t parser;
    struct sluice_text yaml;
    struct sl_arena *arena;
    struct sl_report *report;
    size_t nodes;
    bool stopped; /* reported, and nothing more can be read */
};

/* Where a node will stand. */
struct yaml_position {
    struct sluice_text key;
    struct sl_mark key_mark;
    unsigned depth;
};

static struct sl_node *build_node(struct builder *b, const yaml_event_t *event,
                                  struct yaml_position place);

/* Returns false if reading has stopped. The caller deletes the event. */
static bool next_event(struct builder *b, yaml_event_t *event)
{
    if (b->stopped)
        return false;
    if (yaml_parser_parse(&b->parser, event))
        return true;
    sl_syntax_report(&b->parser, b->yaml, b->report);
    b->stopped = true;
    return false;
}

static struct sl_node *new_node(struct builder *b, const yaml_event_t *event,
                                struct yaml_position place)
{
    struct sl_mark mark = sl_mark_of(event->start_mark);
    if (++b->nodes > SL_TREE_NODES_MAX) {
        sl_report_error(b->report, mark, "%s has at most %d values", sl_report_what(b->report),
                        SL_TREE_NODES_MAX);
        b->stopped = true;
        return NULL;
    }
    struct sl_node *node = sl_arena_take(b->arena, sizeof *node);
    *node = (struct sl_node){ .mark = mark, .key = place.key, .key_mark = place.key_mark };
    return node;
}

/* Writes tag:yaml.org,2002:int as `!!int`, the usual spelling. */
static const char *short_tag(struct builder *b, const char *tag)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    size_t len = sizeof prefix - 1;
    if (strncmp(tag, prefix, len) != 0)
        return sl_report_quote(b->report, sl_text(tag));
    return sl_arena_print(b->arena, "!!%s", sl_report_quote(b->report, sl_text(tag + len)));
}

/* Reports anchors and tags; the value is read on as if it had none. */
static void refuse_decorations(struct builder *b, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    struct sl_mark mark = sl_mark_of(event->start_mark);
    if (anchor)
        sl_report_error(b->report, mark, "`&%s` is an anchor, which %s cannot have; leave it out",
                        sl_report_quote(b->report, sl_text((const char *)anchor)),
                        sl_report_what(b->report));
    if (tag)
        sl_report_error(b->report, mark, "`%s` is a tag, which %s cannot have; leave it out",
                        short_tag(b, (const char *)tag), sl_report_what(b->report));
}

static struct sl_node *build_scalar(struct builder *b, const yaml_event_t *event,
                                    struct yaml_position place)
{
    struct sl_node *node = new_node(b, event, place);
    if (!node)
        return NULL;
    node->kind = SL_NODE_SCALAR;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text.len = event->data.scalar.length;
    node->text.at = sl_arena_copy(
        b->arena, (struct sluice_text){ (const char *)event->data.scalar.value, node->text.len });
    return node;
}

static struct sl_node *build_alias(struct builder *b, const yaml_event_t *event,
                                   struct yaml_position place)
{
    struct sluice_text name = sl_text((const char *)event->data.alias.anchor);
    sl_report_error(b->report, sl_mark_of(event->start_mark),
                    "`*%s` is an alias, which %s cannot have; write the value out "
                    "(a pattern that starts with `*` in quotes)",
                    sl_report_quote(b->report, name), sl_report_what(b->report));
    return new_node(b, event, place); /* zeroed: broken */
}

/* Builds the next element or key; NULL at the end of the list or map, or if stopped. */
static struct sl_node *build_next(struct builder *b, struct yaml_position place)
{
    yaml_event_t event;
    if (!next_event(b, &event))
        return NULL;
    bool ends = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
    struct sl_node *node = ends ? NULL : build_node(b, &event, place);
    yaml_event_delete(&event);
    return node;
}

static struct sl_node *build_list(struct builder *b, const yaml_event_t *event,
                                  struct yaml_position place)
{
    struct sl_node *list = new_node(b, event, place);
    if (!list)
        return NULL;
    list->kind = SL_NODE_LIST;
    struct yaml_position inside = { place.key, place.key_mark, place.depth + 1 };
    struct sl_node **end = &list->first;
    for (struct sl_node *node; (node = build_next(b, inside)); end = &node->next) {
        *end = node;
        list->count++;
    }
    return list;
}

/* Returns true if a map can have this entry; reports why not. */
static bool key_is_good(struct builder *b, const struct sl_node *key)
{
    if (key->kind == SL_NODE_BROKEN)
        return false;
    if (key->kind != SL_NODE_SCALAR) {
        sl_report_error(b->report, key->mark, "a key is a word, not a %s; quote it if this is text",
                        key->kind == SL_NODE_MAP ? "map" : "list");
        return false;
    }
    if (key->plain && sl_text_is(key->text, "<<")) {
        sl_report_error(b->report, key->mark,
                        "`<<` merges maps, which %s cannot do; write the keys out",
                        sl_report_what(b->report));
        return false;
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct sl_node *x = *(const struct sl_node *const *)a;
    const struct sl_node *y = *(const struct sl_node *const *)b;
    size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
    int order = memcmp(x->key.at, y->key.at, len);
    if (order == 0 && x->key.len != y->key.len)
        order = x->key.len < y->key.len ? -1 : 1;
    if (order == 0 && x->key_mark.line != y->key_mark.line)
        order = x->key_mark.line < y->key_mark.line ? -1 : 1;
    if (order == 0)
        order = x->key_mark.column < y->key_mark.column ? -1 : 1;
    return order;
}

/* Sorted, equal keys are neighbours: a map of thousands needs no quadratic search. */
void sl_map_refuse_duplicates(const struct sl_node *map, struct sl_report *report)
{
    const struct sl_node **entries = malloc((map->count + 1) * sizeof *entries);
    SL_CHECK(entries != NULL);
    size_t count = 0;
    for (const struct sl_node *entry = map->first; entry; entry = entry->next)
        entries[count++] = entry;
    qsort(entries, count, sizeof *entries, by_key);
    const struct sl_node *original = count ? entries[0] : NULL;
    for (size_t i = 1; i < count; i++) {
        if (sl_text_equal(entries[i]->key, original->key))
            sl_report_error(report, entries[i]->key_mark,
                            "`%s` is here a second time; the first is in line %u, keep one",
                            sl_report_quote(report, original->key), original->key_mark.line);
        else
            original = entries[i];
    }
    free(entries);
}

static struct sl_node *build_map(struct builder *b, const yaml_event_t *event,
                                 struct yaml_position place)
{
    struct sl_node *map = new_node(b, event, place);
    if (!map)
        return NULL;
    map->kind = SL_NODE_MAP;
    struct yaml_position inside = { place.key, place.key_mark, place.depth + 1 };
    struct sl_node **end = &map->first;
    for (struct sl_node *key; (key = build_next(b, inside));) {
        struct sl_node *value =
            build_next(b, (struct yaml_position){ key->text, key->mark, inside.depth });
        if (!value)
            break;
        if (!key_is_good(b, key))
            continue;
        *end = value;
        end = &value->next;
        map->count++;
    }
    sl_map_refuse_duplicates(map, b->report);
    return map;
}

static struct sl_node *build_node(struct builder *b, const yaml_event_t *event,
                                  struct yaml_position place)
{
    if (place.depth > SL_TREE_DEPTH_MAX) {
        sl_report_error(b->report, sl_mark_of(event->start_mark),
                        "this is nested more than %d deep, which %s cannot be", SL_TREE_DEPTH_MAX,
                        sl_report_what(b->report));
        b->stopped = true;
        return NULL;
    }
    refuse_decorations(b, event);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return build_scalar(b, event, place);
    case YAML_SEQUENCE_START_EVENT:
        return build_list(b, event, place);
    case YAML_MAPPING_START_EVENT:
        return build_map(b, event, place);
    default:
        SL_CHECK(event->type == YAML_ALIAS_EVENT);
        return build_alias(b, event, place);
    }
}

/* Builds the first document's root; refuses a second document. */
static struct sl_node *build_document(struct builder *b)
{
    struct sl_node *root = NULL;
    for (bool done = false; !done && !b->stopped;) {
        yaml_event_t event;
        if (!next_event(b, &event))
            break;
        if (event.type == YAML_DOCUMENT_START_EVENT && root) {
            sl_report_error(b->report, sl_mark_of(event.start_mark),
                            "a second document starts here; %s has one", sl_report_what(b->report));
            done = true;
        } else if (event.type == YAML_STREAM_END_EVENT) {
            done = true;
        } else if (event.type != YAML_STREAM_START_EVENT &&
                   event.type != YAML_DOCUMENT_START_EVENT &&
                   event.type != YAML_DOCUMENT_END_EVENT) {
            root = build_node(b, &event, (struct yaml_position){ 0 });
        }
        yaml_event_delete(&event);
    }
    return b->stopped ? NULL : root;
}

static const struct sl_node *check_root(const struct sl_node *root, struct sl_report *report)
{
    const char *what = sl_report_what(report);
    const char *such = report->what ? "" : ", with keys such as `rules:`";
    if (!root || sl_node_is_null(root))
        sl_report_error(report, (struct sl_mark){ 0 },
                        "there is nothing in the file; %s is a map%s", what, such);
    else if (root->kind == SL_NODE_SCALAR || root->kind == SL_NODE_LIST)
        sl_report_error(report, root->mark, "this is a %s; %s is a map%s",
                        root->kind == SL_NODE_LIST ? "list" : "text", what, such);
    return root && root->kind == SL_NODE_MAP ? root : NULL;
}

const struct sl_node *sl_tree_parse(struct sl_arena *arena, struct sluice_text yaml,
                                    struct sl_report *report)
{
    if (yaml.len > SL_RULES_FILE_MAX_BYTES) {
        sl_report_error(report, (struct sl_mark){ 0 }, "the file has %zu bytes; %s has at most %d",
                        yaml.len, sl_report_what(report), SL_RULES_FILE_MAX_BYTES);
        return NULL;
    }
    /* libyaml would count a byte order mark as a column. */
    if (yaml.len >= 3 && memcmp(yaml.at, "\xef\xbb\xbf", 3) == 0)
        yaml = (struct sluice_text){ yaml.at + 3, yaml.len - 3 };
    if (sl_syntax_has_directive(yaml, report))
        return NULL;
    struct builder b = { .yaml = yaml, .arena = arena, .report = report };
    SL_CHECK(yaml_parser_initialize(&b.parser));
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)(yaml.len ? yaml.at : ""),
                                 yaml.len);
    const struct sl_node *root = build_document(&b);
    yaml_parser_delete(&b.parser);
    return b.stopped ? NULL : check_root(root, report);
}

const struct sl_node *sl_node_get(const struct sl_node *map, const char *key)
{
    struct sluice_text wanted = sl_text(key);
    for (const struct sl_node *entry = map->first; entry; entry = entry->next)
        if (sl_text_equal(entry->key, wanted))
            return entry;
    return NULL;
}

bool sl_node_is_null(const struct sl_node *node)
{
    static const char *const spellings[] = { "", "~", "null", "Null", "NULL", NULL };
    if (node->kind != SL_NODE_SCALAR || !node->plain || node->text.len > 4)
        return false;
    for (const char *const *spelling = spellings; *spelling; spelling++)
        if (sl_text_is(node->text, *spelling))
            return true;
    return false;
}
