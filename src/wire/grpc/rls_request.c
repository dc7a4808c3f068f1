/* Reads a RateLimitRequest where it lies, without protobuf-c. */
#include "wire/grpc/rls_request.h"

#include "base/check.h"
#include "wire/grpc/proto_walk.h"

const char sl_rls_no_memory[] = "Out of memory; try again.";

static const char malformed[] = "The message is no RateLimitRequest in protobuf.";

/* Numbers of fields. */
enum { CALL_DOMAIN = 1, CALL_DESCRIPTORS = 2, CALL_COST = 3 };
enum { DESCRIPTOR_ENTRIES = 1, DESCRIPTOR_LIMIT = 2, DESCRIPTOR_COST = 3, DESCRIPTOR_BACK = 4 };
enum { KEY = 1, VALUE = 2 };
enum { LIMIT_REQUESTS = 1, LIMIT_UNIT = 2 };

/* What a descriptor says beside its entries. */
struct extras {
    bool has_limit, has_cost;
    bool gives_back;
    uint32_t limit;
    int32_t unit;
    uint64_t cost;
};

/* Returns true if it is that field and of that kind. Of another kind, *good turns false. */
static bool is_field(const struct sl_proto_field *field, uint32_t number, enum sl_proto_kind kind,
                     bool *good)
{
    if (field->number != number)
        return false;
    *good &= field->kind == kind;
    return *good;
}

/* ---- the parts of a descriptor; each returns false if it is no protobuf ---- */

static bool read_entry(struct sluice_text message, struct sluice_attribute *out)
{
    struct sl_proto_field field;
    bool good = true;
    *out = (struct sluice_attribute){ SL_TEXT(""), SL_TEXT("") };
    while (good && sl_proto_next(&message, &field)) {
        if (is_field(&field, KEY, SL_PROTO_BYTES, &good))
            out->name = field.text;
        else if (is_field(&field, VALUE, SL_PROTO_BYTES, &good))
            out->value = field.text;
    }
    return good && message.len == 0;
}

static bool read_limit(struct sluice_text message, struct extras *out)
{
    struct sl_proto_field field;
    bool good = true;
    out->has_limit = true;
    while (good && sl_proto_next(&message, &field)) {
        if (is_field(&field, LIMIT_REQUESTS, SL_PROTO_NUMBER, &good))
            out->limit = (uint32_t)field.value;
        else if (is_field(&field, LIMIT_UNIT, SL_PROTO_NUMBER, &good))
            out->unit = (int32_t)field.value;
    }
    return good && message.len == 0;
}

/* A google.protobuf.UInt64Value. */
static bool read_cost(struct sluice_text message, struct extras *out)
{
    struct sl_proto_field field;
    bool good = true;
    out->has_cost = true;
    while (good && sl_proto_next(&message, &field))
        if (is_field(&field, 1, SL_PROTO_NUMBER, &good))
            out->cost = field.value;
    return good && message.len == 0;
}

/* Stores at most one entry too many; sl_descriptor_wrong refuses that. */
static bool read_descriptor(struct sluice_text message, struct sluice_attribute *entries,
                            size_t *count, struct extras *out)
{
    struct sl_proto_field field;
    bool good = true;
    while (good && sl_proto_next(&message, &field)) {
        if (is_field(&field, DESCRIPTOR_ENTRIES, SL_PROTO_BYTES, &good)) {
            good = read_entry(field.text, &entries[*count]);
            *count += *count < SL_DESCRIPTOR_ENTRIES_MAX + 1;
            SL_CHECK(*count <= SL_DESCRIPTOR_ENTRIES_MAX + 1); /* `entries` has one more */
        } else if (is_field(&field, DESCRIPTOR_LIMIT, SL_PROTO_BYTES, &good)) {
            good = read_limit(field.text, out);
        } else if (is_field(&field, DESCRIPTOR_COST, SL_PROTO_BYTES, &good)) {
            good = read_cost(field.text, out);
        } else if (is_field(&field, DESCRIPTOR_BACK, SL_PROTO_NUMBER, &good)) {
            out->gives_back = field.value != 0;
        }
    }
    return good && message.len == 0;
}

/* ---- a descriptor ---- */

static void set_cost(const struct extras *extras, struct sl_rls_descriptor *out)
{
    uint32_t cost = extras->has_cost ? (uint32_t)extras->cost : out->cost;
    out->peeks = extras->has_cost && cost == 0;
    out->cost = cost == 0 ? 1 : cost;
    SL_CHECK(out->cost > 0);
}

static const char *wrong_extras(const struct extras *extras)
{
    if (extras->has_limit && sl_unit_us(extras->unit) == 0)
        return "A descriptor's `limit` has no `unit`; it is one of SECOND, MINUTE, HOUR, DAY, "
               "MONTH, YEAR.";
    if (extras->cost > UINT32_MAX)
        return "A descriptor's `hits_addend` is above 4294967295; ask for less at once.";
    /* The message does not say when it was charged, and a late refund would let too many pass. */
    if (extras->gives_back)
        return "A descriptor's `is_negative_hits` is not supported; reserve and commit over HTTP.";
    return NULL;
}

/* On entry out->descriptor.domain and out->cost are those of the call. Returns what is wrong. */
static const char *read_whole_descriptor(struct sluice_text message, struct sl_scratch *memory,
                                         struct sl_rls_descriptor *out)
{
    struct sluice_attribute entries[SL_DESCRIPTOR_ENTRIES_MAX + 2];
    struct extras extras = { 0 };
    size_t count = 0;
    if (!read_descriptor(message, entries, &count, &extras))
        return malformed;
    struct sl_descriptor descriptor = { out->descriptor.domain, entries, count };
    const char *wrong = sl_descriptor_wrong(&descriptor);
    if (!wrong)
        wrong = wrong_extras(&extras);
    if (wrong)
        return wrong;
    SL_CHECK(count > 0 && count <= SL_DESCRIPTOR_ENTRIES_MAX);
    struct sluice_attribute *kept = sl_scratch_take(memory, count * sizeof *kept);
    if (!kept)
        return sl_rls_no_memory;
    memcpy(kept, entries, count * sizeof *kept);
    descriptor.entries = kept;
    out->descriptor = descriptor;
    out->has_limit = extras.has_limit;
    out->limit = extras.limit;
    out->unit_us = sl_unit_us(extras.unit);
    set_cost(&extras, out);
    return NULL;
}

/* ---- the call ---- */

/* What all descriptors share, wherever in the message it stands, and where they lie. */
struct outline {
    struct sluice_text domain;
    uint32_t cost;
    struct sluice_text descriptors[SL_RLS_DESCRIPTORS_MAX];
    size_t count; /* of all, stored or not */
};

static const char *read_outline(struct sluice_text message, struct outline *out)
{
    struct sl_proto_field field;
    bool good = true;
    while (good && sl_proto_next(&message, &field)) {
        if (is_field(&field, CALL_DOMAIN, SL_PROTO_BYTES, &good))
            out->domain = field.text;
        else if (is_field(&field, CALL_COST, SL_PROTO_NUMBER, &good))
            out->cost = (uint32_t)field.value;
        else if (is_field(&field, CALL_DESCRIPTORS, SL_PROTO_BYTES, &good) &&
                 out->count++ < SL_RLS_DESCRIPTORS_MAX)
            out->descriptors[out->count - 1] = field.text;
    }
    if (!good || message.len > 0)
        return malformed;
    if (out->domain.len == 0)
        return "`domain` is empty; set it in the filter's configuration.";
    if (out->count == 0)
        return "There are no descriptors; send at least one.";
    if (out->count > SL_RLS_DESCRIPTORS_MAX)
        return "There are more than 64 descriptors; send fewer in one call.";
    return NULL;
}

const char *sl_rls_read(struct sluice_text message, struct sl_scratch *memory,
                        struct sl_rls_request *out)
{
    struct outline outline;
    SL_CHECK(message.at || message.len == 0);
    SL_CHECK(memory && out);
    outline.domain = SL_TEXT("");
    outline.cost = 0;
    outline.count = 0;
    const char *wrong = read_outline(message, &outline);
    if (wrong)
        return wrong;
    SL_CHECK(outline.count > 0 && outline.count <= SL_RLS_DESCRIPTORS_MAX);
    struct sl_rls_descriptor *list = sl_scratch_take(memory, outline.count * sizeof *list);
    if (!list)
        return sl_rls_no_memory;
    for (size_t i = 0; i < outline.count && !wrong; i++) {
        list[i] =
            (struct sl_rls_descriptor){ .descriptor.domain = outline.domain, .cost = outline.cost };
        wrong = read_whole_descriptor(outline.descriptors[i], memory, &list[i]);
    }
    if (!wrong)
        *out = (struct sl_rls_request){ outline.domain, list, outline.count };
    return wrong;
}
