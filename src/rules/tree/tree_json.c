/* A reader of JSON by recursive descent, as deep as SL_TREE_DEPTH_MAX.
 *
 * Why a second reader, where wire/json/scan.c is one? That one reads the requests of
 * every decision: in place, and of an error it knows only the byte. This one
 * reads what an operator has written and has to correct, so every value knows its line and
 * column, and messages are worded like the linter's. And why not libyaml, since
 * JSON is almost a part of YAML? `{"a": yes}` is YAML; a client that announces JSON must send JSON.
 *
 * The first syntax error ends it: behind a bracket too many no text means what
 * it seems to. Names that are there twice are all reported. */
#include "rules/tree/tree_json.h"

#include "base/text/utf8.h"

struct scan {
    const char *at;
    const char *end;
    struct sl_mark mark; /* of `at` */
    struct sl_arena *arena;
    struct sl_report *report;
    size_t nodes;
    bool stopped; /* reported, and nothing more can be read */
};

/* Where a node will stand. */
struct json_position {
    struct sluice_text key;
    struct sl_mark key_mark;
    unsigned depth;
};

static struct sl_node *read_value(struct scan *scan, struct json_position place);

/* Reports the error and stops. Always returns false. */
static bool stop_with_error(struct scan *scan, struct sl_mark mark, const char *what)
{
    sl_report_error(scan->report, mark, "this is not JSON: %s", what);
    scan->stopped = true;
    return false;
}

static bool next_is(const struct scan *scan, char c)
{
    return scan->at < scan->end && *scan->at == c;
}

/* Moves over bytes of ASCII that are no line breaks. */
static void advance_columns(struct scan *scan, size_t count)
{
    scan->at += count;
    scan->mark.column += (uint32_t)count;
}

static bool take_character(struct scan *scan, char c)
{
    if (!next_is(scan, c))
        return false;
    advance_columns(scan, 1);
    return true;
}

static void skip_space(struct scan *scan)
{
    for (; scan->at < scan->end; scan->at++) {
        char c = *scan->at;
        if (c == ' ' || c == '\t')
            scan->mark.column++;
        else if (c == '\n' || (c == '\r' && !(scan->end - scan->at > 1 && scan->at[1] == '\n')))
            scan->mark = (struct sl_mark){ scan->mark.line + 1, 1 };
        else if (c != '\r')
            return;
    }
}

/* ---- strings --------------------------------------------------------------- */

/* The length from the opening quotes to the closing ones, both included; 0: it has no end. */
static size_t string_len(const struct scan *scan)
{
    size_t left = (size_t)(scan->end - scan->at);
    for (size_t i = 1; i < left; i++) {
        if (scan->at[i] == '"')
            return i + 1;
        i += scan->at[i] == '\\';
    }
    return 0;
}

/* Reads the four digits at `at`; the closing quotes end them at the latest. -1: they are none. */
static int32_t hex4(const char *at)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = sl_hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Reads \uXXXX, and its second half where it is one of a pair. */
static bool read_code(struct scan *scan, struct sl_mark mark, char *out, size_t *len)
{
    int32_t code = hex4(scan->at + 2);
    if (code < 0)
        return stop_with_error(scan, mark, "`\\u` needs four hexadecimal digits");
    if (code == 0)
        return stop_with_error(scan, mark,
                               "`\\u0000` is no character that a text can have; leave it out");
    advance_columns(scan, 6);
    if (code >= 0xd800 && code <= 0xdfff) {
        bool pair = code < 0xdc00 && scan->at[0] == '\\' && scan->at[1] == 'u';
        int32_t low = pair ? hex4(scan->at + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return stop_with_error(scan, mark,
                                   "half a surrogate pair is no character; write both, as in "
                                   "`\\ud83d\\ude00`, or the character itself");
        advance_columns(scan, 6);
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
    }
    *len += sl_utf8_put(out + *len, (uint32_t)code);
    return true;
}

/* The string's end is further on, so there is a byte behind the backslash. */
static bool read_escape(struct scan *scan, char *out, size_t *len)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    struct sl_mark mark = scan->mark;
    char c = scan->at[1];
    if (c == 'u')
        return read_code(scan, mark, out, len);
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return stop_with_error(scan, mark, "there is no such escape; write a backslash as `\\\\`");
    out[(*len)++] = to[known - from];
    advance_columns(scan, 2);
    return true;
}

static bool read_character(struct scan *scan, char *out, size_t *len)
{
    struct sluice_text rest = { scan->at, (size_t)(scan->end - scan->at) };
    size_t bytes = sl_utf8_len(rest);
    if ((unsigned char)*scan->at < 0x20)
        return stop_with_error(
            scan, scan->mark,
            "a control character stands in a string; write it as an escape, such as `\\n`");
    if (bytes == 0)
        return stop_with_error(scan, scan->mark, "a string is not UTF-8");
    memcpy(out + *len, scan->at, bytes);
    *len += bytes;
    scan->at += bytes;
    scan->mark.column++;
    return true;
}

/* The text fits: no escape is shorter than what it stands for. */
static bool read_string(struct scan *scan, struct sluice_text *text)
{
    size_t room = string_len(scan), len = 0;
    if (room == 0)
        return stop_with_error(scan, scan->mark, "this string has no end; close the quotes");
    char *out = sl_arena_take(scan->arena, room);
    advance_columns(scan, 1);
    while (*scan->at != '"') {
        bool good =
            *scan->at == '\\' ? read_escape(scan, out, &len) : read_character(scan, out, &len);
        if (!good)
            return false;
    }
    advance_columns(scan, 1);
    *text = (struct sluice_text){ out, len };
    return true;
}

/* ---- numbers and words ----------------------------------------------------- */

static size_t count_digits(struct sluice_text text, size_t at)
{
    size_t count = 0;
    while (at + count < text.len && text.at[at + count] >= '0' && text.at[at + count] <= '9')
        count++;
    return count;
}

static bool has_either_at(struct sluice_text text, size_t at, char a, char b)
{
    return at < text.len && (text.at[at] == a || text.at[at] == b);
}

bool sl_json_is_number(struct sluice_text text)
{
    size_t at = has_either_at(text, 0, '-', '-'), count = count_digits(text, at);
    if (count == 0 || (count > 1 && text.at[at] == '0'))
        return false;
    at += count;
    if (has_either_at(text, at, '.', '.')) {
        count = count_digits(text, at + 1);
        if (count == 0)
            return false;
        at += 1 + count;
    }
    if (has_either_at(text, at, 'e', 'E')) {
        at += 1 + has_either_at(text, at + 1, '+', '-');
        count = count_digits(text, at);
        if (count == 0)
            return false;
        at += count;
    }
    return at == text.len;
}

static bool is_word(struct sluice_text text)
{
    return sl_text_is(text, "true") || sl_text_is(text, "false") || sl_text_is(text, "null");
}

/* The text up to the next separator: one word, right or not. */
static struct sluice_text word_at(const struct scan *scan)
{
    static const char others[] = "+-._";
    const char *at = scan->at;
    for (; at < scan->end && *at; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!letter && (*at < '0' || *at > '9') && !strchr(others, *at))
            break;
    }
    return (struct sluice_text){ scan->at, (size_t)(at - scan->at) };
}

static bool refuse_word(struct scan *scan, struct sluice_text word)
{
    if (scan->at == scan->end)
        return stop_with_error(scan, scan->mark, "it ends where a value belongs");
    if (word.len == 0)
        return stop_with_error(scan, scan->mark,
                               "a value belongs here; texts stand in double quotes");
    const char *quote = sl_report_quote(scan->report, word);
    bool number = strchr("+-.0123456789", word.at[0]) != NULL;
    sl_report_error(scan->report, scan->mark,
                    number ? "this is not JSON: `%s` is no number as JSON writes it"
                           : "this is not JSON: `%s` is no value; texts stand in double quotes",
                    quote);
    scan->stopped = true;
    return false;
}

static bool read_word(struct scan *scan, struct sluice_text *text)
{
    struct sluice_text word = word_at(scan);
    if (!sl_json_is_number(word) && !is_word(word))
        return refuse_word(scan, word);
    *text = (struct sluice_text){ sl_arena_copy(scan->arena, word), word.len };
    advance_columns(scan, word.len);
    return true;
}

/* ---- values ---------------------------------------------------------------- */

static struct sl_node *new_node(struct scan *scan, struct json_position place)
{
    bool deep = place.depth > SL_TREE_DEPTH_MAX;
    if (deep)
        sl_report_error(scan->report, scan->mark, "this is nested more than %d deep",
                        SL_TREE_DEPTH_MAX);
    else if (++scan->nodes > SL_TREE_NODES_MAX)
        sl_report_error(scan->report, scan->mark, "there are more than %d values",
                        SL_TREE_NODES_MAX);
    scan->stopped = deep || scan->nodes > SL_TREE_NODES_MAX;
    if (scan->stopped)
        return NULL;
    struct sl_node *node = sl_arena_take(scan->arena, sizeof *node);
    *node = (struct sl_node){ .mark = scan->mark, .key = place.key, .key_mark = place.key_mark };
    return node;
}

/* Returns true if an element follows, behind another or (`first`) the opening bracket. Takes the
 * comma, or the closing bracket. */
static bool one_follows(struct scan *scan, char close, bool first)
{
    skip_space(scan);
    if (scan->stopped || take_character(scan, close))
        return false;
    struct sl_mark mark = scan->mark;
    bool object = close == '}';
    if (scan->at == scan->end)
        return stop_with_error(scan, mark,
                               object ? "it ends inside an object; close it with `}`"
                                      : "it ends inside a list; close it with `]`");
    if (first)
        return true;
    if (!take_character(scan, ','))
        return stop_with_error(scan, mark,
                               object ? "a `,` or `}` belongs here" : "a `,` or `]` belongs here");
    skip_space(scan);
    if (next_is(scan, close))
        return stop_with_error(scan, mark, "nothing follows this comma; leave it out");
    return true;
}

static void read_list(struct scan *scan, struct sl_node *list, struct json_position place)
{
    struct json_position inside = { place.key, place.key_mark, place.depth + 1 };
    struct sl_node **end = &list->first;
    list->kind = SL_NODE_LIST;
    advance_columns(scan, 1);
    while (one_follows(scan, ']', list->count == 0)) {
        struct sl_node *node = read_value(scan, inside);
        if (!node)
            return;
        *end = node;
        end = &node->next;
        list->count++;
    }
}

/* Reads a name and its colon. */
static bool read_key(struct scan *scan, struct json_position *place)
{
    place->key_mark = scan->mark;
    if (!next_is(scan, '"'))
        return stop_with_error(scan, scan->mark, "a name in double quotes belongs here");
    if (!read_string(scan, &place->key))
        return false;
    skip_space(scan);
    if (!take_character(scan, ':'))
        return stop_with_error(scan, scan->mark, "a `:` belongs between a name and its value");
    return true;
}

static void read_map(struct scan *scan, struct sl_node *map, struct json_position place)
{
    struct json_position inside = { .depth = place.depth + 1 };
    struct sl_node **end = &map->first;
    map->kind = SL_NODE_MAP;
    advance_columns(scan, 1);
    while (one_follows(scan, '}', map->count == 0)) {
        struct sl_node *value = read_key(scan, &inside) ? read_value(scan, inside) : NULL;
        if (!value)
            return;
        *end = value;
        end = &value->next;
        map->count++;
    }
    sl_map_refuse_duplicates(map, scan->report);
}

static void read_scalar(struct scan *scan, struct sl_node *node)
{
    node->kind = SL_NODE_SCALAR;
    node->plain = !next_is(scan, '"');
    if (node->plain)
        read_word(scan, &node->text);
    else
        read_string(scan, &node->text);
}

/* Returns NULL if it has stopped. */
static struct sl_node *read_value(struct scan *scan, struct json_position place)
{
    skip_space(scan);
    struct sl_node *node = new_node(scan, place);
    if (!node)
        return NULL;
    if (next_is(scan, '{'))
        read_map(scan, node, place);
    else if (next_is(scan, '['))
        read_list(scan, node, place);
    else
        read_scalar(scan, node);
    return scan->stopped ? NULL : node;
}

struct sl_node *sl_tree_json_parse(struct sl_arena *arena, struct sluice_text json,
                                   struct sl_report *report)
{
    const char *text = json.len ? json.at : "";
    struct scan scan = { text, text + json.len, { 1, 1 }, arena, report, 0, false };
    if (json.len > SL_RULES_FILE_MAX_BYTES) {
        sl_report_error(report, (struct sl_mark){ 0 }, "this has %zu bytes; it can have at most %d",
                        json.len, SL_RULES_FILE_MAX_BYTES);
        return NULL;
    }
    struct sl_node *root = read_value(&scan, (struct json_position){ 0 });
    skip_space(&scan);
    if (root && scan.at < scan.end)
        stop_with_error(&scan, scan.mark, "something stands behind its end; leave it out");
    if (!root || scan.stopped)
        return NULL;
    if (root->kind == SL_NODE_MAP)
        return root;
    sl_report_error(report, root->mark, "this is a %s; write an object, such as {\"a\": 1}",
                    root->kind == SL_NODE_LIST ? "list" : "single value");
    return NULL;
}
