/* A request as a JSON object: one flat shape, read directly.
 *
 *   {"at_us": 1700000000000000, "tenant": "acme", "resource": "/api/videos",
 *    "user": "u1", "ip": "192.0.2.1", "cost": 1, "peek": false}
 */
#ifndef SL_WIRE_JSON_REQUEST_H
#define SL_WIRE_JSON_REQUEST_H

#include "wire/json_scan.h"

enum { SL_JSON_OTHERS_MAX = 64, SL_JSON_ERROR_MAX = 160 };

/* Where a read request keeps what it points to, beside the text itself. */
struct sl_json_room {
    struct sluice_attribute others[SL_JSON_OTHERS_MAX];
    char error[SL_JSON_ERROR_MAX];
    bool unfit; /* on a failure: it was JSON so far, but not a request for its types, ranges,
                   names or number of members */
};

/* Reads one object out of `text`, which is used up: *out points into it and
 * into *room. Null is "not given". False: room->error says what is wrong, and
 * *out is untouched. */
bool sl_json_read_request(char *text, size_t len, struct sl_json_room *room,
                          struct sluice_request *out);

/* The same for one object among others, in an array: the scan goes on behind it.
 * Places in an error count from the scan's start. */
bool sl_json_next_request(struct sl_json_scan *scan, struct sl_json_room *room,
                          struct sluice_request *out);

/* A decimal from 0 to 1 in thousandths, rounded down. */
bool sl_json_read_trust(struct sluice_text number, int32_t *out_thousandths);

#endif
