/* Typed readers over the tree.
 *
 * YAML would let `on` be true, `1e3` a number and `010` eight, depending on the
 * parser. Here a value is its text, and the key says what that text has to
 * be: digits are a number, `true` and `false` the only booleans, and quotes
 * make anything a text. Any other form is refused with the form that would be
 * right, by one function, so that all refusals read alike. */
#include "rules/tree/read.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"

static const char *describe(struct sl_report *report, const struct sl_node *node)
{
    if (sl_report_is_full(report))
        return "";
    const char *key = sl_report_quote(report, node->key);
    if (sl_node_is_null(node))
        return sl_arena_print(&report->arena, "`%s` has no value", key);
    if (node->kind != SL_NODE_SCALAR)
        return sl_arena_print(&report->arena, "`%s` cannot be %s %s", key,
                              node->count ? "a" : "an empty",
                              node->kind == SL_NODE_LIST ? "list" : "map");
    const char *quotes = node->plain ? "" : "\"";
    return sl_arena_print(&report->arena, "`%s` cannot be `%s%s%s`", key, quotes,
                          sl_report_quote(report, node->text), quotes);
}

bool sl_refuse(struct sl_reader *in, const struct sl_node *node, const char *right, ...)
{
    if (node->kind == SL_NODE_BROKEN)
        return false;
    char words[512];
    va_list arguments;
    va_start(arguments, right);
    vsnprintf(words, sizeof words, right, arguments);
    va_end(arguments);
    sl_report_error(in->report, node->mark, "%s; write %s", describe(in->report, node), words);
    return false;
}

static bool is_plain_scalar(const struct sl_node *node)
{
    return node->kind == SL_NODE_SCALAR && node->plain;
}

/* Returns a hint to drop the quotes if the value would be right without them. */
static const char *hint_to_unquote(const struct sl_node *node, bool right)
{
    return right && node->kind == SL_NODE_SCALAR && !node->plain ? ", without quotes" : "";
}

bool sl_read_u64(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    const struct sl_range *range = shape;
    uint64_t value = 0;
    bool fits = sl_parse_u64(node->text, &value) && value >= range->min && value <= range->max;
    if (!fits || !is_plain_scalar(node))
        return sl_refuse(in, node, "a whole number from %llu to %llu%s",
                         (unsigned long long)range->min, (unsigned long long)range->max,
                         hint_to_unquote(node, fits));
    *(uint64_t *)out = value;
    return true;
}

bool sl_read_u32(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    SL_CHECK(((const struct sl_range *)shape)->max <= UINT32_MAX);
    uint64_t value;
    if (!sl_read_u64(in, node, shape, &value))
        return false;
    *(uint32_t *)out = (uint32_t)value;
    return true;
}

static sl_u128 to_billionths(struct sl_decimal value)
{
    return (sl_u128)value.digits * sl_power_of_ten(SL_PLACES_MAX - value.places);
}

/* Returns "150%" as the decimal it stands for, or NULL. */
static const char *percent_as_decimal(struct sl_reader *in, struct sluice_text text)
{
    struct sl_decimal value;
    if (text.len == 0 || text.at[text.len - 1] != '%')
        return NULL;
    text.len--;
    if (!sl_parse_decimal(text, &value) || value.places > SL_PLACES_MAX - 2)
        return NULL;
    uint64_t one = sl_power_of_ten(value.places + 2);
    char *print =
        sl_arena_print(in->scratch, "%llu.%0*llu", (unsigned long long)(value.digits / one),
                       (int)value.places + 2, (unsigned long long)(value.digits % one));
    size_t len = strlen(print);
    while (print[len - 1] == '0')
        len--;
    print[print[len - 1] == '.' ? len - 1 : len] = '\0';
    return print;
}

bool sl_read_decimal(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    const struct sl_decimal_range *range = shape;
    struct sl_decimal value = { 0 };
    bool fits = sl_parse_decimal(node->text, &value) && to_billionths(value) >= range->min &&
                to_billionths(value) <= range->max;
    if (!fits || !is_plain_scalar(node)) {
        const char *decimal = percent_as_decimal(in, node->text);
        if (decimal)
            return sl_refuse(in, node, "%s: a decimal, never percent", decimal);
        return sl_refuse(in, node, "%s with at most %d places%s", range->words, SL_PLACES_MAX,
                         hint_to_unquote(node, fits));
    }
    *(struct sl_decimal *)out = value;
    return true;
}

bool sl_read_billionths(struct sl_reader *in, const struct sl_node *node, const void *shape,
                        void *out)
{
    struct sl_decimal value;
    SL_CHECK(((const struct sl_decimal_range *)shape)->max <= INT64_MAX);
    if (!sl_read_decimal(in, node, shape, &value))
        return false;
    *(int64_t *)out = (int64_t)to_billionths(value);
    return true;
}

bool sl_read_duration(struct sl_reader *in, const struct sl_node *node, const void *shape,
                      void *out)
{
    const struct sl_duration_range *range = shape;
    int64_t value_us = 0;
    if (node->kind != SL_NODE_SCALAR || !sl_parse_duration_us(node->text, &value_us))
        return sl_refuse(in, node,
                         "a duration %s: 500ms, 10s, 15m, 24h, 30d or a plain number of "
                         "seconds",
                         range->words);
    if (value_us < range->min_us || value_us > range->max_us)
        return sl_refuse(in, node, "a duration %s", range->words);
    *(int64_t *)out = value_us;
    return true;
}

/* The boolean that older YAML takes a word for, or NULL. */
static const char *boolean_meant(struct sluice_text text)
{
    static const char *const yes[] = { "true", "yes", "on", "y", "1", NULL };
    static const char *const no[] = { "false", "no", "off", "n", "0", NULL };
    char word[8] = "";
    if (text.len >= sizeof word)
        return NULL;
    for (size_t i = 0; i < text.len; i++)
        word[i] = (char)(text.at[i] >= 'A' && text.at[i] <= 'Z' ? text.at[i] + 32 : text.at[i]);
    for (size_t i = 0; yes[i]; i++) {
        if (strcmp(word, yes[i]) == 0)
            return "true";
        if (strcmp(word, no[i]) == 0)
            return "false";
    }
    return NULL;
}

bool sl_read_bool(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    (void)shape;
    bool is_true = sl_text_is(node->text, "true");
    if (is_plain_scalar(node) && (is_true || sl_text_is(node->text, "false"))) {
        *(bool *)out = is_true;
        return true;
    }
    const char *meant = boolean_meant(node->text);
    if (meant)
        return sl_refuse(in, node, "%s%s", meant, hint_to_unquote(node, true));
    return sl_refuse(in, node, "true or false");
}

bool sl_read_word(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    const char *const *words = shape;
    for (uint32_t i = 0; node->kind == SL_NODE_SCALAR && words[i]; i++) {
        if (sl_text_is(node->text, words[i])) {
            *(uint32_t *)out = i;
            return true;
        }
    }
    if (sl_report_is_full(in->report))
        return sl_refuse(in, node, "another word");
    const char *close = sl_did_you_mean(node->text, words);
    const char *all = sl_words_join(in->scratch, words, "or");
    if (close)
        return sl_refuse(in, node, "%s (did you mean `%s`?)", all, close);
    return sl_refuse(in, node, "%s", all);
}

bool sl_read_set(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    size_t count;
    const struct sl_node *element = sl_elements(node, &count);
    uint32_t bits = 0, which;
    bool good = true;
    for (; count > 0; count--, element = element->next) {
        if (sl_read_word(in, element, shape, &which))
            bits |= 1u << which;
        else
            good = false;
    }
    if (good)
        *(uint32_t *)out = bits;
    return good;
}

static bool has_control(struct sluice_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < 0x20 || text.at[i] == 0x7f)
            return true;
    return false;
}

bool sl_read_span(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    (void)shape;
    if (node->kind != SL_NODE_SCALAR || sl_node_is_null(node) || node->text.len == 0)
        return sl_refuse(in, node, "a text");
    if (has_control(node->text))
        return sl_refuse(in, node, "a text without control characters");
    *(struct sluice_text *)out =
        (struct sluice_text){ sl_arena_copy(in->arena, node->text), node->text.len };
    return true;
}

bool sl_read_text(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sluice_text text;
    if (!sl_read_span(in, node, shape, &text))
        return false;
    *(const char **)out = text.at;
    return true;
}

const char *sl_path_join(struct sl_arena *arena, struct sluice_text folder, struct sluice_text path)
{
    if (path.len && path.at[0] == '/')
        folder.len = 0;
    return sl_arena_print(arena, "%.*s%.*s", (int)folder.len, folder.len ? folder.at : "",
                          (int)path.len, path.len ? path.at : "");
}

bool sl_read_path(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    struct sluice_text path;
    if (!sl_read_span(in, node, shape, &path))
        return false;
    *(const char **)out = sl_path_join(in->arena, in->folder, path);
    return true;
}

const struct sl_node *sl_elements(const struct sl_node *node, size_t *count)
{
    *count = node->kind == SL_NODE_LIST ? node->count : 1;
    return node->kind == SL_NODE_LIST ? node->first : node;
}

/* Copies bytes: the field is a pointer to another type than `at`. */
void sl_each_put(const struct sl_each *each, void *out, const void *at, size_t count)
{
    memcpy((char *)out + each->at_offset, &at, sizeof at);
    memcpy((char *)out + each->count_offset, &count, sizeof count);
}

bool sl_read_each(struct sl_reader *in, const struct sl_node *node, const void *shape, void *out)
{
    const struct sl_each *each = shape;
    size_t count;
    const struct sl_node *element = sl_elements(node, &count);
    char *at = sl_arena_take(in->arena, count * each->size_bytes);
    bool good = true;
    for (size_t i = 0; i < count; i++, element = element->next)
        good &= each->read(in, element, each->shape, at + i * each->size_bytes);
    if (good)
        sl_each_put(each, out, at, count);
    return good;
}

const char *sl_words_join(struct sl_arena *arena, const char *const *words, const char *last)
{
    const char *joined = "";
    for (size_t i = 0; words[i]; i++) {
        const char *glue = i == 0 ? "" : words[i + 1] ? ", " : sl_arena_print(arena, " %s ", last);
        joined = sl_arena_print(arena, "%s%s`%s`", joined, glue, words[i]);
    }
    return joined;
}
