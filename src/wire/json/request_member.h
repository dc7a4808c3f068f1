/* The members of a request by name, from JSON or from the words of a command. Names with a
 * meaning of their own are in one table; others are attributes. */
#ifndef SL_WIRE_JSON_REQUEST_MEMBER_H
#define SL_WIRE_JSON_REQUEST_MEMBER_H

#include "wire/json/scan.h"

enum { SL_JSON_OTHERS_MAX = 64, SL_JSON_ERROR_MAX = 160 };

/* Memory that a request points to, besides the text that it was read from. */
struct sl_json_room {
    struct sluice_attribute others[SL_JSON_OTHERS_MAX];
    char error[SL_JSON_ERROR_MAX];
    bool unfit; /* after a failure: it is well-formed, but its types, ranges, names or
                   number of members make it no request */
};

/* A request that is being read. */
struct sl_members {
    struct sl_json_room *room;
    struct sluice_request *request; /* its others are the room's */
    uint32_t seen;                  /* bit i: the i-th of the table */
};

/* `request` is a fresh one, as sluice_request() returns it. */
static inline struct sl_members sl_members(struct sl_json_room *room,
                                           struct sluice_request *request)
{
    request->others = room->others;
    room->error[0] = 0;
    room->unfit = false;
    return (struct sl_members){ .room = room, .request = request };
}

/* Stores a member; null is "not given". Returns false if it is refused; room->error says why. */
bool sl_members_put(struct sl_members *into, struct sluice_text name, enum sl_json_kind kind,
                    struct sluice_text value);

/* The same for a value given as text: a number in digits, `1` or `true`, `0` or `false`. */
bool sl_members_put_word(struct sl_members *into, struct sluice_text name,
                         struct sluice_text value);

/* Reads a decimal from 0 to 1 as thousandths, rounded down. */
bool sl_json_read_trust(struct sluice_text number, int32_t *out_thousandths);

#endif
