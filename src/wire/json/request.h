/* A request as a JSON object: one flat shape, read directly.
 *
 *   {"at_us": 1700000000000000, "tenant": "acme", "resource": "/api/videos",
 *    "user": "u1", "ip": "192.0.2.1", "cost": 1, "peek": false}
 */
#ifndef SL_WIRE_JSON_REQUEST_H
#define SL_WIRE_JSON_REQUEST_H

#include "wire/json/request_member.h"

/* Reads one object from `text`, whose bytes it changes: *out points into it and
 * into *room. Null is "not given". Returns false and leaves *out alone if it is
 * wrong; room->error says why. */
bool sl_json_read_request(char *text, size_t len, struct sl_json_room *room,
                          struct sluice_request *out);

/* The same for one object of an array: on return the scan is behind it. Places in
 * an error count from the scan's start. */
bool sl_json_next_request(struct sl_json_scan *scan, struct sl_json_room *room,
                          struct sluice_request *out);

#endif
