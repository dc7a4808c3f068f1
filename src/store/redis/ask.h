/* A bundle as a script's call, and the script's reply as the bundle's answers.
 *
 * The script only decides and charges. Its reply is what it found: from that the same functions
 * as in memory work out everything else, and whether they come to the same verdict. */
#ifndef SL_STORE_REDIS_ASK_H
#define SL_STORE_REDIS_ASK_H

#include "store/cache/guard_backlog.h"
#include "store/lease/lease.h"
#include "store/redis/link/link.h"
#include "store/store.h"

/* What makes a call a reservation. */
struct sl_holding {
    uint64_t id;
    int64_t expiry_us;
};

/* What makes a call a change of states that is no decision. */
struct sl_changing {
    const struct sl_claim *claim;
    struct sl_charge charge;
    bool is_overcharge;
};

/* Each writes the words of a call to `bytes` and says in *query where; false: no memory.
 * At least one claim has a key. */
bool sl_ask_decide(struct sl_scripts *scripts, const struct sl_bundle *bundle,
                   const struct sl_holding *holding, struct sl_buffer *bytes,
                   struct sl_redis_query *query);
bool sl_ask_change(struct sl_scripts *scripts, const struct sl_changing *changes, size_t count,
                   struct sl_buffer *bytes, struct sl_redis_query *query);
bool sl_ask_take(struct sl_scripts *scripts, uint64_t id, bool is_due, struct sl_buffer *bytes,
                 struct sl_redis_query *query);

/* Reservations in a cluster (query->in_cluster) are kept in SL_HELD_SHARDS places of it, by their
 * number, because they cannot share a slot with all that they hold; else there is one place. */
enum { SL_HELD_SHARDS = 16 };

bool sl_ask_due(struct sl_scripts *scripts, uint32_t shard, struct sl_buffer *bytes,
                struct sl_redis_query *query);

/* Makes what was charged, as the bundle's claims say, a reservation. */
bool sl_ask_keep(struct sl_scripts *scripts, const struct sl_bundle *bundle,
                 const struct sl_holding *holding, struct sl_buffer *bytes,
                 struct sl_redis_query *query);

/* Adds what was not counted to a guard's count. */
bool sl_ask_count(struct sl_scripts *scripts, const struct sl_guard_backlog_sum *sum,
                  struct sl_buffer *bytes, struct sl_redis_query *query);

/* Forgets the claim's state, and its guard's. */
bool sl_ask_forget(struct sl_scripts *scripts, const struct sl_claim *claim,
                   struct sl_buffer *bytes, struct sl_redis_query *query);

/* Settles a lease and takes the next one; docs/leases.md. */
bool sl_ask_lease(struct sl_scripts *scripts, const struct sl_lease *lease, struct sl_buffer *bytes,
                  struct sl_redis_query *query);

/* The reply to that. False: nobody said that. */
bool sl_answer_lease(const struct sl_redis_reply *reply, struct sl_lease_reply *out);

/* Fills in the bundle from the reply to sl_ask_decide. Returns its status. */
int sl_answer_decide(struct sl_bundle *bundle, const struct sl_redis_reply *reply);

/* The same in two steps: what its claims say; and once it is known whether the whole request is
 * allowed, and bundle->allowed says so, what was charged and the figures. */
int sl_answer_read(struct sl_bundle *bundle, const struct sl_redis_reply *reply);
void sl_answer_finish(struct sl_bundle *bundle);

/* Gives back what sl_answer_read said that the bundle's claims were charged; `now_us`: of a
 * replay, or -1. */
bool sl_ask_undo(struct sl_scripts *scripts, const struct sl_bundle *bundle, int64_t now_us,
                 struct sl_buffer *bytes, struct sl_redis_query *query);

/* What scripts are told of a claim besides its capacity: its window or token time; the most that a
 * state of it can hold. */
int64_t sl_ask_span(const struct sl_claim *claim);
int64_t sl_ask_most(const struct sl_claim *claim);

/* ---- what is held, as text: held.c ---- */

/* "token_bucket 150 100000000 0 rl:{acme}:api:u1": enough of a claim for a refund. */
void sl_held_print(struct sl_buffer *out, const struct sl_claim *claim);

/* The other way round; the key is cut out of the text. False: nobody wrote that. */
bool sl_held_parse(struct sluice_text text, struct sl_claim *claim, struct sl_claim_name *name);

#endif
