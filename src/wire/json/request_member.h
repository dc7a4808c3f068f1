/* The members of a request by their names, whoever wrote them: JSON, or the words of a
 * command. Names with a meaning of their own are in one table; others are attributes. */
#ifndef SL_WIRE_JSON_REQUEST_MEMBER_H
#define SL_WIRE_JSON_REQUEST_MEMBER_H

#include "wire/json/scan.h"

enum { SL_JSON_OTHERS_MAX = 64, SL_JSON_ERROR_MAX = 160 };

/* Where a read request keeps what it points to, beside the text itself. */
struct sl_json_room {
    struct sluice_attribute others[SL_JSON_OTHERS_MAX];
    char error[SL_JSON_ERROR_MAX];
    bool unfit; /* on a failure: it was JSON so far, but not a request for its types, ranges,
                   names or number of members */
};

/* A request that is being put together. */
struct sl_members {
    struct sl_json_room *room;
    struct sluice_request *request; /* its others are the room's */
    uint32_t seen;                  /* bit i: the i-th of the table */
};

/* `request` asks for nothing yet, as sluice_request() has it. */
static inline struct sl_members sl_members(struct sl_json_room *room,
                                           struct sluice_request *request)
{
    request->others = room->others;
    room->error[0] = 0;
    room->unfit = false;
    return (struct sl_members){ .room = room, .request = request };
}

/* A null is "not given". False: room->error says why not. */
bool sl_members_put(struct sl_members *into, struct sluice_text name, enum sl_json_kind kind,
                    struct sluice_text value);

/* The same with a value that is text, whatever it stands for: numbers in digits, 1 or true, 0 or
 * false. */
bool sl_members_put_word(struct sl_members *into, struct sluice_text name,
                         struct sluice_text value);

/* A decimal from 0 to 1 in thousandths, rounded down. */
bool sl_json_read_trust(struct sluice_text number, int32_t *out_thousandths);

#endif
