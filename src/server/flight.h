/* A round whose answers come later. What its calls need is copied out of the round, so that the
 * worker goes on with the next one; their connections wait, so that answers stay in order.
 *
 *   round | calls, requests |  -- departs -->  flight | calls, requests, decisions |
 *                                                 … the store answers, by its deadline …
 *                              -- lands -->     each call's reply; connections go on */
#ifndef SL_SERVER_FLIGHT_H
#define SL_SERVER_FLIGHT_H

#include "limiter/errand.h"
#include "server/round.h"

struct sl_flight;

/* Answers the calls that need no store and sends the rest to the store. The round can be reused
 * when it returns. Copies nothing if no call has to wait. */
void sl_flight_depart(struct sl_round *round);

/* Frees a flight that waits for nothing. NULL is ignored. */
void sl_flight_free(struct sl_flight *flight);

/* The connection is closed: its calls will not be answered. */
void sl_flight_forget(struct sl_flight *flight, const struct sl_conn *conn);

#endif
