/* Walks the fields of a protobuf message with two pointers, place and end. As a struct sluice_text
 * that is cut shorter step by step, it would be stored in halves and loaded whole, and the
 * processor would wait for that. */
#include "wire/grpc/proto_walk.h"

#include "base/check.h"

enum { VARINT_MAX_BYTES = 10, NUMBER_MAX = 0x1fffffff };

/* Each returns the end of what it read; NULL if it is cut off or malformed. */

static const char *read_long_varint(const char *at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    for (int i = 0; at < end && i < VARINT_MAX_BYTES; i++) {
        unsigned char byte = (unsigned char)*at++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        *out = value;
        return at;
    }
    return NULL;
}

/* Nearly all varints are one byte. */
static inline const char *read_varint(const char *at, const char *end, uint64_t *out)
{
    if (at == end || *at & 0x80)
        return read_long_varint(at, end, out);
    *out = (unsigned char)*at;
    return at + 1;
}

/* Little-endian, on the wire. */
static const char *read_fixed(const char *at, const char *end, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    if ((size_t)(end - at) < len)
        return NULL;
    for (size_t i = 0; i < len; i++)
        value |= (uint64_t)(unsigned char)at[i] << (8 * i);
    *out = value;
    return at + len;
}

static const char *read_bytes(const char *at, const char *end, struct sluice_text *out)
{
    uint64_t len;
    at = read_varint(at, end, &len);
    if (!at || len > (size_t)(end - at))
        return NULL;
    out->at = at;
    out->len = (size_t)len;
    return at + len;
}

bool sl_proto_next(struct sluice_text *message, struct sl_proto_field *out)
{
    uint64_t tag;
    if (message->len == 0)
        return false;
    SL_CHECK(message->at);
    const char *end = message->at + message->len, *at = read_varint(message->at, end, &tag);
    if (!at || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
        return false;
    out->number = (uint32_t)(tag >> 3);
    switch (tag & 7) {
    case 0:
        out->kind = SL_PROTO_NUMBER;
        at = read_varint(at, end, &out->value);
        break;
    case 1:
        out->kind = SL_PROTO_FIXED;
        at = read_fixed(at, end, 8, &out->value);
        break;
    case 2:
        out->kind = SL_PROTO_BYTES;
        at = read_bytes(at, end, &out->text);
        break;
    case 5:
        out->kind = SL_PROTO_FIXED;
        at = read_fixed(at, end, 4, &out->value);
        break;
    default: /* groups, which proto3 no longer has */
        return false;
    }
    if (!at)
        return false;
    SL_CHECK(at > message->at && at <= end);
    message->at = at;
    message->len = (size_t)(end - at);
    return true;
}
