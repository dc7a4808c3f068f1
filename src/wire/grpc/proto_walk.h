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

/* Takes the next field off *message. False: there is none, and message->len is 0; or it is no
 * protobuf from there on, and *out is void. */
bool sl_proto_next(struct sluice_text *message, struct sl_proto_field *out);

#endif
