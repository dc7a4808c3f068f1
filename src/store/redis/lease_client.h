/* Calls for leases (lease.h) over one channel: what runs low is asked for, what is due is renewed
 * or given back. It belongs to the channel's thread. */
#ifndef SL_STORE_REDIS_LEASE_CLIENT_H
#define SL_STORE_REDIS_LEASE_CLIENT_H

#include "store/lease/lease.h"
#include "store/redis/link/link.h"

struct sl_channel;

/* A request that found nothing to spend while a call for that is under way. It waits for what comes
 * of it:
 *
 *   answered   the bundle has its answer, out of the lease; or has failed, with that status
 *   asks       it is to be asked: by another call for the lease, or with NULL of the store */
struct sl_lease_wait {
    struct sl_bundle *bundle;
    int64_t due_us; /* sl_link_now_us: not for longer */
    void (*answered)(struct sl_lease_wait *wait, int status);
    void (*asks)(struct sl_lease_wait *wait, struct sl_lease *lease);
    struct sl_lease_wait *next;
};

struct sl_lease_client {
    struct sl_channel *channel;
    struct sl_scripts *scripts;
    struct sl_answer_cache *answers;
    struct sl_leases *leases; /* of that; NULL: nothing is leased */
    bool takes;               /* and not only gives back: somebody looks after them */
    uint32_t number;          /* no other has it */
    uint32_t *tended;         /* leases that it looks after, by their number */
    size_t count, room;
    int64_t spare_us;                           /* of a deadline, to ask the store after all */
    size_t waiting;                             /* calls under way */
    struct sl_lease_wait *parked, **parked_end; /* who waits for another's */
};

void sl_lease_client_init(struct sl_lease_client *lease_client, struct sl_channel *channel,
                          struct sl_link_shared *shared, bool takes);
void sl_lease_client_release(struct sl_lease_client *lease_client);

/* ---- requests on their way to the store ---- */

/* Takes from leases what is there (claim->is_here), and calls for what is not. A lease whose call
 * is to decide the bundle, in place of the store's script; or NULL. */
struct sl_lease *sl_lease_client_open(struct sl_lease_client *lease_client,
                                      struct sl_bundle *bundle);

/* True: it waits; its claim's name is not needed any more. */
bool sl_lease_client_wait(struct sl_lease_client *lease_client, struct sl_lease_wait *wait);

/* Who waits for another thread's call: has that ended? False: nobody does. */
bool sl_lease_client_look(struct sl_lease_client *lease_client);

/* What came of that lease's call: the bundle's answer. Its status. `reply` NULL: there is none. */
int sl_lease_client_decide(struct sl_lease_client *lease_client, struct sl_lease *lease,
                           struct sl_bundle *bundle, const struct sl_redis_query *query,
                           const struct sl_redis_reply *reply);

/* And then those who wait for it; `status` is the call's. */
struct sl_lease_wait *sl_lease_client_waiting(struct sl_lease *lease);
void sl_lease_client_wake(struct sl_lease_client *lease_client, struct sl_lease_wait *first,
                          int status);

/* The store has answered the others, or failed: keeps what was taken, or puts it back (L10). */
void sl_lease_client_close(struct sl_lease_client *lease_client, struct sl_bundle *bundle);

/* ---- by themselves ---- */

/* Calls for those that run low. True: there are some to flush. */
bool sl_lease_client_call_due(struct sl_lease_client *lease_client);

/* Every SL_LEASE_CLIENT_EVERY_US. The same. */
bool sl_lease_client_tend(struct sl_lease_client *lease_client);
enum { SL_LEASE_CLIENT_EVERY_US = 100000 };

/* Gives back the leases of a claim, or with NULL any from *next on, so many at a time. How many. */
size_t sl_lease_client_give_back(struct sl_lease_client *lease_client, const struct sl_hash128 *key,
                                 size_t *next);

#endif
