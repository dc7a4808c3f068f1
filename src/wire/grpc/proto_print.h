/* Writes the fields of a protobuf message in place. Zero numbers and empty texts are left out, as
 * proto3 has it. */
#ifndef SL_WIRE_GRPC_PROTO_PRINT_H
#define SL_WIRE_GRPC_PROTO_PRINT_H

#include "base/check.h"
#include "base/text.h"

enum { SL_PROTO_VARINT_MAX_BYTES = 10 };

static inline char *sl_proto_put_varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

/* Writes at most two times SL_PROTO_VARINT_MAX_BYTES. */
static inline char *sl_proto_put_number(char *at, uint32_t number, uint64_t value)
{
    SL_CHECK(number > 0);
    if (value == 0)
        return at;
    return sl_proto_put_varint(sl_proto_put_varint(at, (uint64_t)number << 3), value);
}

/* Writes tag and length of a field of `len` bytes, which may be 0. */
static inline char *sl_proto_put_head(char *at, uint32_t number, size_t len)
{
    SL_CHECK(number > 0);
    return sl_proto_put_varint(sl_proto_put_varint(at, (uint64_t)number << 3 | 2), len);
}

/* Returns how many bytes sl_proto_put_text writes for a field whose number is below 16. */
static inline size_t sl_proto_text_size(size_t len)
{
    size_t size = len ? 2 + len : 0;
    for (; len >= 0x80; len >>= 7)
        size++;
    return size;
}

static inline char *sl_proto_put_text(char *at, uint32_t number, struct sluice_text text)
{
    if (text.len == 0)
        return at;
    at = sl_proto_put_head(at, number, text.len);
    memcpy(at, text.at, text.len);
    return at + text.len;
}

#endif
