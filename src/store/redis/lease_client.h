/* The lease client: makes calls for leases (lease.h) over one channel. It asks for more units where
 * they run low, renews leases and gives them back. It belongs to the channel's thread. */
#ifndef SL_STORE_REDIS_LEASE_CLIENT_H
#define SL_STORE_REDIS_LEASE_CLIENT_H

#include "store/lease/lease.h"
#include "store/redis/link/link.h"

struct sl_channel;

/* A request that found no units while a call for them is under way. It waits for the call to end:
 *
 *   answered   the bundle has its answer from the lease, or has failed with that status
 *   asks       the request must ask: by another call for the lease, or with NULL by the store's
 *              script */
struct sl_lease_wait {
    struct sl_bundle *bundle;
    int64_t due_us; /* the request's deadline, by sl_link_now_us */
    void (*answered)(struct sl_lease_wait *wait, int status);
    void (*asks)(struct sl_lease_wait *wait, struct sl_lease *lease);
    struct sl_lease_wait *next;
};

struct sl_lease_client {
    struct sl_channel *channel;
    struct sl_scripts *scripts;
    struct sl_answer_cache *answers;
    struct sl_leases *leases; /* the cache's leases; NULL: none */
    bool takes;               /* false: only gives back, because its host does not call `tend` */
    uint32_t number;          /* unique among the clients of the process */
    uint32_t *tended;         /* the leases that it owns, by their number */
    size_t count, room;
    int64_t spare_us; /* part of the deadline kept to ask the store after all */
    size_t waiting;   /* lease calls under way */
    struct sl_lease_wait *parked, **parked_end; /* requests that wait for another thread's call */
};

void sl_lease_client_init(struct sl_lease_client *lease_client, struct sl_channel *channel,
                          struct sl_link_shared *shared, bool takes);
void sl_lease_client_release(struct sl_lease_client *lease_client);

/* ---- requests on their way to the store ---- */

/* Spends units that are here (claim->is_here), and calls for others. Returns the lease whose call
 * decides the bundle, in place of the store's script; or NULL. */
struct sl_lease *sl_lease_client_open(struct sl_lease_client *lease_client,
                                      struct sl_bundle *bundle);

/* Returns true if the request waits: it does not need its claim's name any more. */
bool sl_lease_client_wait(struct sl_lease_client *lease_client, struct sl_lease_wait *wait);

/* Checks requests that wait for another thread's call. Returns false if there were none. */
bool sl_lease_client_look(struct sl_lease_client *lease_client);

/* Answers the bundle from the reply to that lease's call; NULL: it has failed. Returns the status.
 */
int sl_lease_client_decide(struct sl_lease_client *lease_client, struct sl_lease *lease,
                           struct sl_bundle *bundle, const struct sl_redis_query *query,
                           const struct sl_redis_reply *reply);

/* Takes the list of requests that wait for the call; wakes them. `status` is the call's. */
struct sl_lease_wait *sl_lease_client_waiting(struct sl_lease *lease);
void sl_lease_client_wake(struct sl_lease_client *lease_client, struct sl_lease_wait *first,
                          int status);

/* The store has answered the other claims, or failed: keeps the spent units, or puts them back
 * (L10). */
void sl_lease_client_close(struct sl_lease_client *lease_client, struct sl_bundle *bundle);

/* ---- periodic work ---- */

/* Calls for leases that run low. Returns true if there are calls to flush. */
bool sl_lease_client_call_due(struct sl_lease_client *lease_client);

/* To be called every SL_LEASE_CLIENT_EVERY_US: renews leases, or gives them back. Returns true if
 * there are calls to flush. */
bool sl_lease_client_tend(struct sl_lease_client *lease_client);
enum { SL_LEASE_CLIENT_EVERY_US = 100000 };

/* Gives back the leases of a claim, or with NULL any from slot *next on, a limited number at a
 * time. Returns how many. */
size_t sl_lease_client_give_back(struct sl_lease_client *lease_client, const struct sl_hash128 *key,
                                 size_t *next);

#endif
