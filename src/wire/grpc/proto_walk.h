/* The fields of a protobuf message, one after the other, without knowing its type. Pure. */
#ifndef SL_WIRE_GRPC_PROTO_WALK_H
#define SL_WIRE_GRPC_PROTO_WALK_H

#include "base/text.h"

enum sl_proto_kind { SL_PROTO_NUMBER, SL_PROTO_BYTES, SL_PROTO_FIXED };

struct sl_proto_field {
    uint32_t number;
    enum sl_proto_kind kind;
    uint64_t value;          /* of numbers, fixed ones too, */
    struct sluice_text text; /* and of SL_PROTO_BYTES: inside the message */
};

/* Takes the next field off *message. Returns false at the end, with message->len 0; or, with
 * message->len not 0, if the rest is no protobuf: *out is then undefined. */
bool sl_proto_next(struct sluice_text *message, struct sl_proto_field *out);

#endif
