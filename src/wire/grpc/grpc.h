/* gRPC on top of HTTP/2's streams: message framing, statuses, headers and trailers. No I/O and no
 * HTTP/2: the caller passes DATA in pieces of any size.
 *
 *   | compressed: 1 byte | length: 4 bytes, big-endian | message | next …
 */
#ifndef SL_WIRE_GRPC_GRPC_H
#define SL_WIRE_GRPC_GRPC_H

#include "base/buffer.h"

enum { SL_GRPC_PREFIX_BYTES = 5, SL_GRPC_MESSAGE_MAX_BYTES = 1 << 20 };

/* The status of a call: constant, and number in `grpc-status`. */
#define SL_GRPC_STATUSES(X)                                                                        \
    X(OK, 0)                                                                                       \
    X(CANCELLED, 1)                                                                                \
    X(UNKNOWN, 2)                                                                                  \
    X(INVALID_ARGUMENT, 3)                                                                         \
    X(DEADLINE_EXCEEDED, 4)                                                                        \
    X(NOT_FOUND, 5)                                                                                \
    X(ALREADY_EXISTS, 6)                                                                           \
    X(PERMISSION_DENIED, 7)                                                                        \
    X(RESOURCE_EXHAUSTED, 8)                                                                       \
    X(FAILED_PRECONDITION, 9)                                                                      \
    X(ABORTED, 10)                                                                                 \
    X(OUT_OF_RANGE, 11)                                                                            \
    X(UNIMPLEMENTED, 12)                                                                           \
    X(INTERNAL, 13)                                                                                \
    X(UNAVAILABLE, 14)                                                                             \
    X(DATA_LOSS, 15)                                                                               \
    X(UNAUTHENTICATED, 16)

enum sl_grpc_status {
#define SL_GRPC_STATUS_ROW(name, number) SL_GRPC_##name = number,
    SL_GRPC_STATUSES(SL_GRPC_STATUS_ROW)
#undef SL_GRPC_STATUS_ROW
        SL_GRPC_STATUS_COUNT
};

/* Return "14" and "UNAVAILABLE"; both are static. */
struct sluice_text sl_grpc_status_digits(enum sl_grpc_status status);
struct sluice_text sl_grpc_status_name(enum sl_grpc_status status);

/* Returns the gRPC status for a problem's HTTP status. */
enum sl_grpc_status sl_grpc_status_of_http(uint32_t status);

/* ---- messages ---- */

/* How far a message has been read. A zeroed struct is before its first byte. */
struct sl_grpc_reader {
    unsigned char prefix[SL_GRPC_PREFIX_BYTES];
    uint8_t prefix_len;
    uint32_t left; /* of the message, once the prefix is whole */
};

enum sl_grpc_end {
    SL_GRPC_MORE,       /* all bytes are consumed; more are needed */
    SL_GRPC_WHOLE,      /* body is the message; bytes behind it are left in *bytes */
    SL_GRPC_COMPRESSED, /* the message is compressed, which is not supported */
    SL_GRPC_BAD_FLAG,   /* the flag is neither 0 nor 1 */
    SL_GRPC_TOO_LONG,   /* beyond SL_GRPC_MESSAGE_MAX_BYTES; nothing was stored */
};

/* Moves bytes from *bytes to *body, up to the end of one message. After WHOLE the reader is at the
 * start of the next message. After an error the stream cannot be read any further. */
enum sl_grpc_end sl_grpc_read(struct sl_grpc_reader *reader, struct sluice_text *bytes,
                              struct sl_buffer *body);

/* Returns true if a message has begun and not ended. */
bool sl_grpc_is_within(const struct sl_grpc_reader *reader);

/* Writes the SL_GRPC_PREFIX_BYTES bytes of prefix for a message of that length. */
void sl_grpc_print_prefix(char *out, uint32_t message_len);

/* ---- headers ---- */

/* Parses `grpc-timeout`: up to eight digits and a unit. Rounds up to a microsecond. */
bool sl_grpc_parse_timeout(struct sluice_text text, int64_t *out_us);

/* Returns true for application/grpc, alone or followed by `+…` or `;…`. */
bool sl_grpc_is_content_type(struct sluice_text type);

/* Appends text as `grpc-message` has it: `%` and all that is not printable ASCII is
 * percent-encoded. */
void sl_grpc_print_message(struct sl_buffer *out, struct sluice_text text);

#endif
