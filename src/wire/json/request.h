/* A request as a JSON object: one flat shape, read directly.
 *
 *   {"at_us": 1700000000000000, "tenant": "acme", "resource": "/api/videos",
 *    "user": "u1", "ip": "192.0.2.1", "cost": 1, "peek": false}
 */
#ifndef SL_WIRE_JSON_REQUEST_H
#define SL_WIRE_JSON_REQUEST_H

#include "wire/json/request_member.h"

/* Reads one object out of `text`, which is used up: *out points into it and
 * into *room. Null is "not given". False: room->error says what is wrong, and
 * *out is untouched. */
bool sl_json_read_request(char *text, size_t len, struct sl_json_room *room,
                          struct sluice_request *out);

/* The same for one object among others, in an array: the scan goes on behind it.
 * Places in an error count from the scan's start. */
bool sl_json_next_request(struct sl_json_scan *scan, struct sl_json_room *room,
                          struct sluice_request *out);

#endif
