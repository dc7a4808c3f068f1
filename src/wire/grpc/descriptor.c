/* Turns Envoy's descriptors into requests, and Envoy's units into durations. */
#include "wire/grpc/descriptor.h"

#include <stdio.h>

#include "base/check.h"
#include "rules/reading/attribute.h"

/* ---- names ---- */

/* Returns the request's field of that name; NULL if the name is no field. */
static struct sluice_text *field_of(struct sluice_request *request, struct sluice_text name)
{
    switch (name.len) {
    case 2:
        return sl_text_equal(name, SL_TEXT("ip")) ? &request->ip : NULL;
    case 4:
        if (sl_text_equal(name, SL_TEXT("user")))
            return &request->user;
        return sl_text_equal(name, SL_TEXT("tier")) ? &request->tier : NULL;
    case 6:
        if (sl_text_equal(name, SL_TEXT("method")))
            return &request->method;
        return sl_text_equal(name, SL_TEXT("client")) ? &request->client : NULL;
    case 8:
        return sl_text_equal(name, SL_TEXT("resource")) ? &request->resource : NULL;
    default:
        return NULL;
    }
}

struct naming {
    struct sl_scratch *memory;
    const struct sl_descriptor *descriptor;
    struct sluice_request *request;
    struct sluice_attribute *others;
    size_t numbers[SL_DESCRIPTOR_ENTRIES_MAX]; /* of the entries named so far */
};

/* A name in its parts. They are joined only once the name is known to be free: else a descriptor
 * that repeats one key would take memory for every number that is tried. */
struct candidate {
    struct sluice_text parts[3]; /* `descriptor.`, the key, `.2` */
    char suffix[24];
    size_t len;
};

static void set_number(struct candidate *candidate, size_t number)
{
    int len =
        number > 1 ? snprintf(candidate->suffix, sizeof candidate->suffix, ".%zu", number) : 0;
    candidate->parts[2] = (struct sluice_text){ candidate->suffix, (size_t)len };
    candidate->len = candidate->parts[0].len + candidate->parts[1].len + (size_t)len;
}

static bool is_named(struct sluice_text name, const struct candidate *candidate)
{
    const char *at = name.at;
    if (name.len != candidate->len)
        return false;
    for (size_t i = 0; i < 3; i++) {
        struct sluice_text part = candidate->parts[i];
        if (part.len && memcmp(at, part.at, part.len) != 0)
            return false;
        at += part.len;
    }
    return true;
}

static bool is_whole(const struct candidate *candidate)
{
    return candidate->len == candidate->parts[1].len;
}

/* A joined name has a dot, a field's name has none: only a whole key can be a field. */
static bool is_taken(const struct naming *naming, const struct candidate *candidate)
{
    for (size_t i = 0; i < naming->request->other_count; i++)
        if (is_named(naming->others[i].name, candidate))
            return true;
    struct sluice_text *field =
        is_whole(candidate) ? field_of(naming->request, candidate->parts[1]) : NULL;
    return field && field->at;
}

/* Returns false if there is no memory. */
static bool join_parts(struct naming *naming, const struct candidate *candidate,
                       struct sluice_text *out)
{
    char *at = sl_scratch_take(naming->memory, candidate->len);
    if (!at)
        return false;
    *out = (struct sluice_text){ at, candidate->len };
    for (size_t i = 0; i < 3; i++) {
        struct sluice_text part = candidate->parts[i];
        if (part.len)
            memcpy(at, part.at, part.len);
        at += part.len;
    }
    SL_CHECK(at == out->at + out->len);
    return true;
}

/* All numbers up to the last one of the same key are taken. */
static size_t first_number(const struct naming *naming, size_t entry)
{
    const struct sluice_attribute *entries = naming->descriptor->entries;
    for (size_t i = entry; i-- > 0;)
        if (sl_text_equal(entries[i].name, entries[entry].name))
            return naming->numbers[i] + 1;
    return 1;
}

/* Chooses a free name: the key, or the key with the first free number behind it. Among n entries
 * one of the numbers up to n is free. Returns false if there is no memory. */
static bool free_name(struct naming *naming, size_t entry, struct sluice_text *out)
{
    struct sluice_text key = naming->descriptor->entries[entry].name;
    struct candidate candidate = { .parts[1] = key };
    if (sl_attribute_is_of_descriptor(key))
        candidate.parts[0] = SL_TEXT("descriptor.");
    for (size_t number = first_number(naming, entry); number <= SL_DESCRIPTOR_ENTRIES_MAX + 1;
         number++) {
        set_number(&candidate, number);
        if (is_taken(naming, &candidate))
            continue;
        naming->numbers[entry] = number;
        *out = key;
        return is_whole(&candidate) || join_parts(naming, &candidate, out);
    }
    SL_CHECK(!"every name is taken");
    return false;
}

static bool put_entry(struct naming *naming, size_t number)
{
    const struct sluice_attribute *entry = &naming->descriptor->entries[number];
    struct sluice_text name;
    struct sluice_request *request = naming->request;
    SL_CHECK(request->other_count <= number);
    if (!free_name(naming, number, &name))
        return false;
    struct sluice_text *field = field_of(request, name);
    if (field)
        *field = (struct sluice_text){ entry->value.at ? entry->value.at : "", entry->value.len };
    else
        naming->others[request->other_count++] = (struct sluice_attribute){ name, entry->value };
    return true;
}

/* Fills a field from the name that Envoy's own actions use, if no entry has our name for it. */
static void put_alias(struct sluice_text *field, const struct sl_descriptor *descriptor,
                      struct sluice_text name)
{
    for (size_t i = 0; i < descriptor->count && !field->at; i++)
        if (sl_text_equal(descriptor->entries[i].name, name))
            *field = descriptor->entries[i].value;
}

static void put_aliases(const struct sl_descriptor *descriptor, struct sluice_request *out)
{
    put_alias(&out->ip, descriptor, SL_TEXT("remote_address"));
    put_alias(&out->resource, descriptor, SL_TEXT("path"));
}

/* Adds `descriptor`: the keys in their order, separated by commas. */
static bool put_shape(struct naming *naming, const struct sl_descriptor *descriptor)
{
    size_t len = 0;
    for (size_t i = 0; i < descriptor->count; i++)
        len += descriptor->entries[i].name.len + 1;
    char *text = sl_scratch_take(naming->memory, len), *at = text;
    if (!text)
        return false;
    for (size_t i = 0; i < descriptor->count; i++) {
        struct sluice_text key = descriptor->entries[i].name;
        memcpy(at, key.at, key.len);
        at[key.len] = ',';
        at += key.len + 1;
    }
    SL_CHECK(at == text + len);
    SL_CHECK(naming->request->other_count <= descriptor->count);
    naming->others[naming->request->other_count++] =
        (struct sluice_attribute){ SL_TEXT("descriptor"), { text, len - 1 } };
    return true;
}

/* ---- a descriptor as a request ---- */

const char *sl_descriptor_wrong(const struct sl_descriptor *descriptor)
{
    SL_CHECK(descriptor->entries || descriptor->count == 0);
    if (descriptor->domain.len == 0)
        return "`domain` is empty; set it in the filter's configuration.";
    if (descriptor->count == 0)
        return "A descriptor has no entries; it needs at least one.";
    if (descriptor->count > SL_DESCRIPTOR_ENTRIES_MAX)
        return "A descriptor has more than 64 entries; send fewer.";
    for (size_t i = 0; i < descriptor->count; i++)
        if (descriptor->entries[i].name.len == 0)
            return "An entry of a descriptor has an empty key; give it one.";
    return NULL;
}

bool sl_descriptor_name(const struct sl_descriptor *descriptor, struct sl_scratch *memory,
                        struct sluice_request *out)
{
    struct naming naming;
    SL_CHECK(descriptor->count > 0 && descriptor->count <= SL_DESCRIPTOR_ENTRIES_MAX);
    SL_CHECK(out->other_count == 0);
    naming.memory = memory;
    naming.descriptor = descriptor;
    naming.request = out;
    naming.others = sl_scratch_take(memory, (descriptor->count + 1) * sizeof *naming.others);
    if (!naming.others)
        return false;
    out->tenant = descriptor->domain;
    out->others = naming.others;
    for (size_t i = 0; i < descriptor->count; i++)
        if (!put_entry(&naming, i))
            return false;
    put_aliases(descriptor, out);
    return put_shape(&naming, descriptor);
}

/* ---- descriptors with a limit of their own ---- */

static bool is_plain(char c)
{
    return c != '=' && c != ',' && c != '%';
}

static size_t percent_encode(struct sluice_text text, char *out)
{
    static const char hex[] = "0123456789ABCDEF";
    char *at = out;
    for (size_t i = 0; i < text.len; i++) {
        if (is_plain(text.at[i])) {
            *at++ = text.at[i];
            continue;
        }
        *at++ = '%';
        *at++ = hex[(unsigned char)text.at[i] >> 4];
        *at++ = hex[text.at[i] & 15];
    }
    return (size_t)(at - out);
}

/* Prints `a=x,b=y`; `=`, `,` and `%` in keys and values are percent-encoded. */
static bool print_entries(const struct sl_descriptor *descriptor, struct sl_scratch *memory,
                          struct sluice_text *out)
{
    size_t most = 0;
    for (size_t i = 0; i < descriptor->count; i++)
        most += 3 * (descriptor->entries[i].name.len + descriptor->entries[i].value.len) + 2;
    char *text = sl_scratch_take(memory, most), *at = text;
    if (!text)
        return false;
    for (size_t i = 0; i < descriptor->count; i++) {
        at += percent_encode(descriptor->entries[i].name, at);
        *at++ = '=';
        at += percent_encode(descriptor->entries[i].value, at);
        *at++ = ',';
    }
    SL_CHECK(at > text && at <= text + most);
    *out = (struct sluice_text){ text, (size_t)(at - text) - 1 };
    return true;
}

bool sl_descriptor_name_alone(const struct sl_descriptor *descriptor, const char *key,
                              struct sl_scratch *memory, struct sluice_request *out)
{
    size_t room = (descriptor->count + 1) * sizeof(struct sluice_attribute);
    SL_CHECK(descriptor->count > 0 && descriptor->count <= SL_DESCRIPTOR_ENTRIES_MAX);
    SL_CHECK(key && out->other_count == 0);
    struct sluice_attribute *others = sl_scratch_take(memory, room);
    if (!others || !print_entries(descriptor, memory, &others->value))
        return false;
    others->name = sl_text(key);
    out->tenant = descriptor->domain;
    out->others = others;
    out->other_count = 1;
    for (size_t i = 0; i < descriptor->count; i++) {
        const struct sluice_attribute *entry = &descriptor->entries[i];
        struct sluice_text *field = field_of(out, entry->name);
        if (field && !field->at)
            *field = entry->value;
        else if (!field && !sl_attribute_is_of_descriptor(entry->name))
            others[out->other_count++] = *entry;
    }
    SL_CHECK(out->other_count <= descriptor->count + 1);
    put_aliases(descriptor, out);
    return true;
}

/* ---- units ---- */

#define DAY_US INT64_C(86400000000)
static const int64_t units_us[] = { 0,      1000000,     60000000,     INT64_C(3600000000),
                                    DAY_US, 30 * DAY_US, 365 * DAY_US, 7 * DAY_US };
enum { UNIT_COUNT = sizeof units_us / sizeof *units_us };

int64_t sl_unit_us(int32_t number)
{
    return number > 0 && number < UNIT_COUNT ? units_us[number] : 0;
}

int32_t sl_unit_of(int64_t us)
{
    for (int32_t i = 1; i < UNIT_COUNT; i++)
        if (units_us[i] == us)
            return i;
    return 0;
}
