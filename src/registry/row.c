/* Rows of the registry as text. One table lists the members of each kind; it prints and parses
 * them. */
#include "registry/row.h"

#include <jansson.h>

#include "base/error.h"
#include "wire/json/decision.h"

static const struct {
    const char *name;
    bool has_second;
} kinds[SL_ROW_KIND_COUNT] = {
    [SL_ROW_RULE] = { "rule", true },        [SL_ROW_TIER] = { "tier", false },
    [SL_ROW_EXEMPTION] = { "exempt", true }, [SL_ROW_TENANT] = { "tenant", false },
    [SL_ROW_KEY] = { "key", false },         [SL_ROW_USER] = { "user", true },
};

enum {
    RULE = 1 << SL_ROW_RULE,
    TIER = 1 << SL_ROW_TIER,
    EXEMPTION = 1 << SL_ROW_EXEMPTION,
    TENANT = 1 << SL_ROW_TENANT,
    KEY = 1 << SL_ROW_KEY,
    USER = 1 << SL_ROW_USER,
};

static const struct row_member {
    const char *name;
    unsigned kinds;
    bool is_text;
    size_t offset;
} members[] = {
#define NUMBER(field, kinds)                                                                       \
    {                                                                                              \
#field, kinds, false, offsetof(struct sl_row, field)                                       \
    }
#define TEXT(field, kinds)                                                                         \
    {                                                                                              \
#field, kinds, true, offsetof(struct sl_row, field)                                        \
    }
    NUMBER(made, RULE | TIER | EXEMPTION | KEY),
    TEXT(json, RULE | TIER),
    NUMBER(until_us, EXEMPTION),
    TEXT(reason, EXEMPTION),
    TEXT(tenant, KEY),
    TEXT(label, KEY),
    TEXT(tier, TENANT | KEY | USER),
    NUMBER(created_at_us, KEY | USER),
    NUMBER(email_verified, USER),
    TEXT(limits, USER),
#undef NUMBER
#undef TEXT
};

/* ---- numbers of changes ---- */

void sl_change_print(struct sl_buffer *out, uint64_t change)
{
    static const char hex[] = "0123456789abcdef";
    char digits[SL_CHANGE_DIGITS];
    for (size_t i = SL_CHANGE_DIGITS; i-- > 0; change >>= 4)
        digits[i] = hex[change & 15];
    sl_buffer_add(out, (struct sluice_text){ digits, sizeof digits });
}

bool sl_change_parse(struct sluice_text text, uint64_t *out)
{
    uint64_t change = 0;
    if (text.len != SL_CHANGE_DIGITS)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int digit = sl_hex_digit(text.at[i]);
        if (digit < 0)
            return false;
        change = change << 4 | (unsigned)digit;
    }
    *out = change;
    return true;
}

/* ---- names ---- */

static void print_part(struct sl_buffer *out, const char *part)
{
    static const char hex[] = "0123456789ABCDEF";
    for (; *part; part++) {
        unsigned char c = (unsigned char)*part;
        char coded[3] = { '%', hex[c >> 4], hex[c & 15] };
        bool is_plain = c >= ' ' && c != 127 && c != '%' && c != ':';
        sl_buffer_add(out, is_plain ? (struct sluice_text){ part, 1 }
                                    : (struct sluice_text){ coded, sizeof coded });
    }
}

void sl_row_name_print(struct sl_buffer *out, const struct sl_row_name *name)
{
    sl_buffer_add(out, sl_text(kinds[name->kind].name));
    sl_buffer_add(out, SL_TEXT(":"));
    print_part(out, name->first);
    if (!kinds[name->kind].has_second)
        return;
    sl_buffer_add(out, SL_TEXT(":"));
    print_part(out, name->second);
}

/* Cuts the first part off *text, up to a colon or its end. Returns NULL if it is wrongly coded. */
static const char *cut_part(struct sluice_text *text, struct sl_arena *arena)
{
    const char *colon = memchr(text->at, ':', text->len);
    size_t len = colon ? (size_t)(colon - text->at) : text->len, out = 0;
    char *part = sl_arena_copy(arena, (struct sluice_text){ text->at, len });
    for (size_t i = 0; i < len; i++, out++) {
        part[out] = text->at[i];
        if (text->at[i] != '%')
            continue;
        bool is_whole = len - i > 2;
        int high = is_whole ? sl_hex_digit(text->at[i + 1]) : -1;
        int low = is_whole ? sl_hex_digit(text->at[i + 2]) : -1;
        if (high < 0 || low < 0 || (high | low) == 0)
            return NULL;
        part[out] = (char)(high << 4 | low);
        i += 2;
    }
    part[out] = '\0';
    text->at += len + (colon != NULL);
    text->len -= len + (colon != NULL);
    return part;
}

bool sl_row_name_parse(struct sluice_text text, struct sl_arena *arena, struct sl_row_name *out)
{
    size_t kind = 0;
    const char *colon = memchr(text.at, ':', text.len);
    struct sluice_text word = { text.at, colon ? (size_t)(colon - text.at) : text.len };
    while (kind < SL_ROW_KIND_COUNT && !sl_text_is(word, kinds[kind].name))
        kind++;
    if (!colon || kind == SL_ROW_KIND_COUNT || memchr(text.at, '\0', text.len))
        return false;
    struct sl_row_name name = { .kind = (enum sl_row_kind)kind };
    struct sluice_text rest = { colon + 1, text.len - word.len - 1 };
    bool has_second = memchr(rest.at, ':', rest.len);
    name.first = cut_part(&rest, arena);
    if (!name.first || has_second != kinds[kind].has_second)
        return false;
    name.second = has_second ? cut_part(&rest, arena) : NULL;
    if ((has_second && !name.second) || rest.len)
        return false;
    *out = name;
    return true;
}

/* ---- values ---- */

static bool kind_has_member(const struct sl_row *row, const struct row_member *member)
{
    return member->kinds >> row->name.kind & 1;
}

static void print_member(struct sl_buffer *out, const struct row_member *member, const void *at)
{
    const char *text = member->is_text ? *(const char *const *)at : NULL;
    const struct sl_row_number *number = at;
    if (member->is_text ? !text : !number->is_there)
        return;
    sl_buffer_add(out, out->at[out->len - 1] == '{' ? SL_TEXT("\"") : SL_TEXT(", \""));
    sl_buffer_add(out, sl_text(member->name));
    sl_buffer_add(out, SL_TEXT("\": "));
    if (member->is_text)
        sl_json_print_string(out, sl_text(text));
    else
        sl_buffer_add_i64(out, number->number);
}

void sl_row_print(struct sl_buffer *out, const struct sl_row *row)
{
    sl_change_print(out, row->change);
    if (row->is_gone)
        return;
    sl_buffer_add(out, SL_TEXT(" {"));
    for (size_t i = 0; i < sizeof members / sizeof *members && !out->failed; i++)
        if (kind_has_member(row, &members[i]))
            print_member(out, &members[i], (const char *)row + members[i].offset);
    sl_buffer_add(out, SL_TEXT("}"));
}

size_t sl_row_size_bytes(const struct sl_row *row, struct sl_buffer *scratch)
{
    sl_buffer_clear(scratch);
    sl_row_name_print(scratch, &row->name);
    sl_row_print(scratch, row);
    return scratch->failed ? scratch->most : scratch->len;
}

/* Returns false if the value is of another type. */
static bool parse_member(const json_t *value, const struct row_member *member,
                         struct sl_arena *arena, void *at)
{
    if (!value)
        return true;
    if (member->is_text && json_is_string(value)) {
        struct sluice_text text = { json_string_value(value), json_string_length(value) };
        *(const char **)at = sl_arena_copy(arena, text);
        return !memchr(text.at, '\0', text.len);
    }
    if (!member->is_text && json_is_integer(value)) {
        *(struct sl_row_number *)at = (struct sl_row_number){ true, json_integer_value(value) };
        return true;
    }
    return false;
}

static bool parse_members(const json_t *object, struct sl_arena *arena, struct sl_row *row)
{
    bool good = json_is_object(object);
    for (size_t i = 0; i < sizeof members / sizeof *members && good; i++)
        if (kind_has_member(row, &members[i]))
            good = parse_member(json_object_get(object, members[i].name), &members[i], arena,
                                (char *)row + members[i].offset);
    return good;
}

bool sl_row_parse(struct sluice_text name, struct sluice_text value, struct sl_arena *arena,
                  struct sl_row *out, struct sluice_error *error)
{
    struct sl_row row = { 0 };
    struct sluice_text change = { value.at, SL_CHANGE_DIGITS };
    bool good = sl_row_name_parse(name, arena, &row.name) && value.len >= SL_CHANGE_DIGITS &&
                sl_change_parse(change, &row.change);
    row.is_gone = value.len == SL_CHANGE_DIGITS;
    if (good && !row.is_gone) {
        json_t *object = json_loadb(value.at + SL_CHANGE_DIGITS, value.len - SL_CHANGE_DIGITS,
                                    JSON_REJECT_DUPLICATES, NULL);
        good = object && parse_members(object, arena, &row);
        json_decref(object);
    }
    if (!good)
        return sl_error_say(error,
                            "the registry in Redis has a row that cannot be understood: %.*s",
                            (int)(name.len < 100 ? name.len : 100), name.at);
    *out = row;
    return true;
}
