/* Script calls: prints a bundle as the words of a call, and reads the reply as the bundle's
 * answers.
 *
 * The script only decides and charges. Its reply is the states that it found. From these the same
 * functions as in memory work out everything else, and check that they decide the same. */
#ifndef SL_STORE_REDIS_ASK_H
#define SL_STORE_REDIS_ASK_H

#include "store/cache/guard_backlog.h"
#include "store/lease/lease.h"
#include "store/redis/link/link.h"
#include "store/store.h"

/* The reservation that a call makes of its charges. */
struct sl_holding {
    uint64_t id;
    int64_t expiry_us;
};

/* A later change of one claim's state: a refund, or an overcharge. */
struct sl_changing {
    const struct sl_claim *claim;
    struct sl_charge charge;
    bool is_overcharge;
};

/* Each writes the words of a call to `bytes`, and sets *query to them. Returns false if there is no
 * memory. At least one claim has a key. */
bool sl_ask_decide(struct sl_scripts *scripts, const struct sl_bundle *bundle,
                   const struct sl_holding *holding, struct sl_buffer *bytes,
                   struct sl_redis_query *query);
bool sl_ask_change(struct sl_scripts *scripts, const struct sl_changing *changes, size_t count,
                   struct sl_buffer *bytes, struct sl_redis_query *query);
bool sl_ask_take(struct sl_scripts *scripts, uint64_t id, bool is_due, struct sl_buffer *bytes,
                 struct sl_redis_query *query);

/* In a cluster (query->in_cluster) reservations are kept in SL_HELD_SHARDS slots, by their number,
 * because they cannot share a slot with all claims that they hold; else there is one queue. */
enum { SL_HELD_SHARDS = 16 };

bool sl_ask_due(struct sl_scripts *scripts, uint32_t shard, struct sl_buffer *bytes,
                struct sl_redis_query *query);

/* Makes a reservation of the charges in the bundle's claims. */
bool sl_ask_keep(struct sl_scripts *scripts, const struct sl_bundle *bundle,
                 const struct sl_holding *holding, struct sl_buffer *bytes,
                 struct sl_redis_query *query);

/* Adds a sum of the guard backlog to the guard's count. */
bool sl_ask_count(struct sl_scripts *scripts, const struct sl_guard_backlog_sum *sum,
                  struct sl_buffer *bytes, struct sl_redis_query *query);

/* Forgets the claim's state, and its guard's. */
bool sl_ask_forget(struct sl_scripts *scripts, const struct sl_claim *claim,
                   struct sl_buffer *bytes, struct sl_redis_query *query);

/* Settles a lease and takes the next one; docs/leases.md. */
bool sl_ask_lease(struct sl_scripts *scripts, const struct sl_lease *lease, struct sl_buffer *bytes,
                  struct sl_redis_query *query);

/* Reads the reply to that. Returns false if it is none that the script gives. */
bool sl_answer_lease(const struct sl_redis_reply *reply, struct sl_lease_reply *out);

/* Fills in the bundle from the reply to sl_ask_decide. Returns its status. */
int sl_answer_decide(struct sl_bundle *bundle, const struct sl_redis_reply *reply);

/* The same in two steps: sl_answer_read decides the claims. When it is known whether the whole
 * request is allowed, and bundle->allowed says so, sl_answer_finish sets charges and figures. */
int sl_answer_read(struct sl_bundle *bundle, const struct sl_redis_reply *reply);
void sl_answer_finish(struct sl_bundle *bundle);

/* Gives back the charges of the bundle's claims, as sl_answer_read decided them; `now_us`: of a
 * replay, or -1. */
bool sl_ask_undo(struct sl_scripts *scripts, const struct sl_bundle *bundle, int64_t now_us,
                 struct sl_buffer *bytes, struct sl_redis_query *query);

/* Arguments of the scripts: a claim's window or token time; the most that its state can hold. */
int64_t sl_ask_span(const struct sl_claim *claim);
int64_t sl_ask_most(const struct sl_claim *claim);

/* ---- the claims of reservations as text: held.c ---- */

/* "token_bucket 150 100000000 0 rl:{acme}:api:u1": enough of a claim for a refund. */
void sl_held_print(struct sl_buffer *out, const struct sl_claim *claim);

/* Parses such a text; the key points into it. Returns false if it has another form. */
bool sl_held_parse(struct sluice_text text, struct sl_claim *claim, struct sl_claim_name *name);

#endif
