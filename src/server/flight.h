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

/* Answers what needs no store, sends the rest off. The round can be begun anew. Where nothing is
 * left to wait for, nothing was copied. */
void sl_flight_depart(struct sl_round *round);

/* One that is not under way. */
void sl_flight_free(struct sl_flight *flight);

/* The connection is gone, and nobody is to be told. */
void sl_flight_forget(struct sl_flight *flight, const struct sl_conn *conn);

#endif
