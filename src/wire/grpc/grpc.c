/* gRPC's statuses, message framing and headers. */
#include "wire/grpc/grpc.h"

#include <strings.h>

#include "base/check.h"

static const char *const digits[] = {
#define DIGITS(name, number) [number] = #number,
    SL_GRPC_STATUSES(DIGITS)
#undef DIGITS
};

static const char *const names[] = {
#define NAME(name, number) [number] = #name,
    SL_GRPC_STATUSES(NAME)
#undef NAME
};

struct sluice_text sl_grpc_status_digits(enum sl_grpc_status status)
{
    SL_CHECK(status < SL_GRPC_STATUS_COUNT);
    return sl_text(digits[status]);
}

struct sluice_text sl_grpc_status_name(enum sl_grpc_status status)
{
    SL_CHECK(status < SL_GRPC_STATUS_COUNT);
    return sl_text(names[status]);
}

enum sl_grpc_status sl_grpc_status_of_http(uint32_t status)
{
    switch (status) {
    case 200:
        return SL_GRPC_OK;
    case 400:
    case 422:
        return SL_GRPC_INVALID_ARGUMENT;
    case 401:
        return SL_GRPC_UNAUTHENTICATED;
    case 403:
        return SL_GRPC_PERMISSION_DENIED;
    case 404:
        return SL_GRPC_NOT_FOUND;
    case 408:
        return SL_GRPC_DEADLINE_EXCEEDED;
    case 413:
    case 429:
    case 431:
        return SL_GRPC_RESOURCE_EXHAUSTED;
    case 501:
        return SL_GRPC_UNIMPLEMENTED;
    case 503:
        return SL_GRPC_UNAVAILABLE;
    default:
        return status >= 500 ? SL_GRPC_INTERNAL : SL_GRPC_UNKNOWN;
    }
}

/* ---- messages ---- */

static struct sluice_text cut_front(struct sluice_text *bytes, size_t most)
{
    struct sluice_text taken = { bytes->at, bytes->len < most ? bytes->len : most };
    if (taken.len)
        bytes->at += taken.len;
    bytes->len -= taken.len;
    return taken;
}

/* The prefix is whole: reads the flag and the length from it. */
static enum sl_grpc_end read_prefix(struct sl_grpc_reader *reader)
{
    const unsigned char *prefix = reader->prefix;
    if (prefix[0])
        return prefix[0] == 1 ? SL_GRPC_COMPRESSED : SL_GRPC_BAD_FLAG;
    reader->left = (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 |
                   (uint32_t)prefix[3] << 8 | (uint32_t)prefix[4];
    return reader->left > SL_GRPC_MESSAGE_MAX_BYTES ? SL_GRPC_TOO_LONG : SL_GRPC_MORE;
}

enum sl_grpc_end sl_grpc_read(struct sl_grpc_reader *reader, struct sluice_text *bytes,
                              struct sl_buffer *body)
{
    SL_CHECK(reader->prefix_len <= SL_GRPC_PREFIX_BYTES && body);
    SL_CHECK(bytes->at || bytes->len == 0);
    if (reader->prefix_len < SL_GRPC_PREFIX_BYTES) {
        struct sluice_text part =
            cut_front(bytes, (size_t)(SL_GRPC_PREFIX_BYTES - reader->prefix_len));
        if (part.len)
            memcpy(reader->prefix + reader->prefix_len, part.at, part.len);
        reader->prefix_len = (uint8_t)(reader->prefix_len + part.len);
        if (reader->prefix_len < SL_GRPC_PREFIX_BYTES)
            return SL_GRPC_MORE;
        enum sl_grpc_end end = read_prefix(reader);
        if (end != SL_GRPC_MORE)
            return end;
    }
    SL_CHECK(reader->left <= SL_GRPC_MESSAGE_MAX_BYTES); /* else it was refused before */
    struct sluice_text part = cut_front(bytes, reader->left);
    if (part.len)
        sl_buffer_add(body, part);
    reader->left -= (uint32_t)part.len;
    if (reader->left > 0) {
        SL_CHECK(bytes->len == 0);
        return SL_GRPC_MORE;
    }
    *reader = (struct sl_grpc_reader){ 0 };
    return SL_GRPC_WHOLE;
}

bool sl_grpc_is_within(const struct sl_grpc_reader *reader)
{
    return reader->prefix_len > 0;
}

void sl_grpc_print_prefix(char *out, uint32_t message_len)
{
    out[0] = 0;
    for (int i = 0; i < 4; i++)
        out[1 + i] = (char)(message_len >> (24 - 8 * i));
}

/* ---- headers ---- */

/* Returns the length of a unit of `grpc-timeout`; 0: there is no such unit. */
static int64_t unit_ns(char unit)
{
    switch (unit) {
    case 'H':
        return INT64_C(3600000000000);
    case 'M':
        return INT64_C(60000000000);
    case 'S':
        return INT64_C(1000000000);
    case 'm':
        return INT64_C(1000000);
    case 'u':
        return INT64_C(1000);
    case 'n':
        return INT64_C(1);
    default:
        return 0;
    }
}

bool sl_grpc_parse_timeout(struct sluice_text text, int64_t *out_us)
{
    int64_t count = 0;
    if (text.len < 2 || text.len > 9)
        return false;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        count = count * 10 + (text.at[i] - '0');
    }
    int64_t one_ns = unit_ns(text.at[text.len - 1]);
    if (one_ns == 0)
        return false;
    /* Converted to µs before the multiplication: 99,999,999 hours are more than 2^63 ns. */
    *out_us = one_ns >= 1000 ? count * (one_ns / 1000) : (count * one_ns + 999) / 1000;
    SL_CHECK(*out_us >= 0);
    return true;
}

bool sl_grpc_is_content_type(struct sluice_text type)
{
    static const struct sluice_text name = { "application/grpc", 16 };
    if (type.len < name.len || strncasecmp(type.at, name.at, name.len) != 0)
        return false;
    return type.len == name.len || type.at[name.len] == '+' || type.at[name.len] == ';';
}

void sl_grpc_print_message(struct sl_buffer *out, struct sluice_text text)
{
    static const char hex[] = "0123456789ABCDEF";
    SL_CHECK(text.at || text.len == 0);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            sl_buffer_add(out, (struct sluice_text){ text.at + i, 1 });
            continue;
        }
        char encoded[3] = { '%', hex[c >> 4], hex[c & 15] };
        sl_buffer_add(out, (struct sluice_text){ encoded, sizeof encoded });
    }
}
