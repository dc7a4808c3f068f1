/* Requests that are decided together by a store that answers later.
 *
 *   requests → claims → parcels, copied out of the limiter's scratch → the channel
 *   … → answers → decisions, counted and observed → errand->done, once
 *
 * The limiter goes on with other requests meanwhile. Requests that need no answer of the store are
 * decided before anything is copied. */
#ifndef SL_LIMITER_ERRAND_H
#define SL_LIMITER_ERRAND_H

#include "limiter/limiter.h"
#include "store/redis/channel.h"

struct sl_errand {
    const struct sluice_request *requests; /* until sl_errand_send returns */
    size_t count;
    const struct sl_request_options *options; /* of each request; NULL: they have none */
    const int64_t *hold_us;                   /* of each, how long its reservation lives; 0: none */
    struct sluice_decision *out;              /* and where its decision goes, */
    uint64_t *held;                           /* and its reservation */
    bool *is_asked; /* which of them the store is asked for; NULL: not wanted */
    void (*done)(struct sl_errand *errand); /* maybe within sl_errand_send */

    int status; /* the first bad one */

    struct sl_limiter *limiter;
    struct sl_batch *batches;
    size_t waiting;
};

/* Fills in `out` and `held`, at once or later, and calls `done`. The limiter must live until then.
 * When it returns, requests that are not marked in `is_asked` are decided, and `out` may be changed
 * for the others. */
void sl_errand_send(struct sl_errand *errand, struct sl_limiter *limiter,
                    struct sl_channel *channel);

/* Decides the same requests where there is no memory to wait for the store. Answers that this
 * process knows already are given; all others are decided by on_store_failure, as where the store
 * fails. All decisions are there when it returns. No reservation is made: `held` is not used, and
 * `done` is not called. */
void sl_errand_fail(struct sl_errand *errand, struct sl_limiter *limiter);

/* The rules that matched one of its requests, once it is done; good until the next call. */
size_t sl_errand_explain(const struct sl_errand *errand, size_t number,
                         const struct sluice_explained **rows);

/* Frees its memory. It must be done. */
void sl_errand_release(struct sl_errand *errand);

#endif
