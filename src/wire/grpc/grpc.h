/* gRPC on top of HTTP/2's streams: bytes ↔ messages, and what stands in headers and trailers. No
 * I/O, no HTTP/2: DATA comes as it is cut.
 *
 *   | compressed: 1 byte | length: 4 bytes, big-endian | message | next …
 */
#ifndef SL_WIRE_GRPC_GRPC_H
#define SL_WIRE_GRPC_GRPC_H

#include "base/buffer.h"

enum { SL_GRPC_PREFIX_BYTES = 5, SL_GRPC_MESSAGE_MAX_BYTES = 1 << 20 };

/* How a call ended: constant and the number that `grpc-status` shows. */
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

/* "14", and "UNAVAILABLE"; both live for ever. */
struct sluice_text sl_grpc_status_digits(enum sl_grpc_status status);
struct sluice_text sl_grpc_status_name(enum sl_grpc_status status);

/* What a problem that has a status of HTTP is here. */
enum sl_grpc_status sl_grpc_status_of_http(uint32_t status);

/* ---- messages ---- */

/* Where in a message the bytes so far have ended. Zeroed: before its first. */
struct sl_grpc_reader {
    unsigned char prefix[SL_GRPC_PREFIX_BYTES];
    uint8_t prefix_len;
    uint32_t left; /* of the message, once the prefix is whole */
};

enum sl_grpc_end {
    SL_GRPC_MORE,       /* all bytes are taken, and more are needed */
    SL_GRPC_WHOLE,      /* body is the message; what is behind it was not looked at */
    SL_GRPC_COMPRESSED, /* it is, and nobody here can read that */
    SL_GRPC_BAD_FLAG,   /* neither compressed nor not */
    SL_GRPC_TOO_LONG,   /* beyond SL_GRPC_MESSAGE_MAX_BYTES; nothing of it was kept */
};

/* Takes bytes off *bytes, up to the end of one message, and adds them to *body. After WHOLE the
 * reader is at the start of the next one. After anything wrong nothing more can be read. */
enum sl_grpc_end sl_grpc_read(struct sl_grpc_reader *reader, struct sluice_text *bytes,
                              struct sl_buffer *body);

/* Has a message begun, and not ended? */
bool sl_grpc_is_within(const struct sl_grpc_reader *reader);

/* The prefix of a message of that length. */
void sl_grpc_print_prefix(char *out, uint32_t message_len);

/* ---- headers ---- */

/* `grpc-timeout`: up to eight digits and a unit. Rounded up to a microsecond. */
bool sl_grpc_parse_timeout(struct sluice_text text, int64_t *out_us);

/* application/grpc, alone or with `+…` or `;…` behind it. */
bool sl_grpc_is_content_type(struct sluice_text type);

/* `grpc-message`: whatever is not printable ASCII, and `%`, is percent-encoded. */
void sl_grpc_print_message(struct sl_buffer *out, struct sluice_text text);

#endif
