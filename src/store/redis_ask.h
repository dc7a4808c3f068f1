/* A bundle as a script's call, and the script's reply as the bundle's answers.
 *
 * The script only decides and charges. Its reply is what it found: from that the same functions
 * as in memory work out everything else, and whether they come to the same verdict. */
#ifndef SL_STORE_REDIS_ASK_H
#define SL_STORE_REDIS_ASK_H

#include "store/redis_link.h"
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
                   struct sl_query *query);
bool sl_ask_change(struct sl_scripts *scripts, const struct sl_changing *changes, size_t count,
                   struct sl_buffer *bytes, struct sl_query *query);
bool sl_ask_take(struct sl_scripts *scripts, uint64_t id, bool is_due, struct sl_buffer *bytes,
                 struct sl_query *query);
bool sl_ask_due(struct sl_scripts *scripts, struct sl_buffer *bytes, struct sl_query *query);

/* Forgets the claim's state, and its guard's. */
bool sl_ask_forget(struct sl_scripts *scripts, const struct sl_claim *claim,
                   struct sl_buffer *bytes, struct sl_query *query);

/* Fills in the bundle from the reply to sl_ask_decide. Returns its status. */
int sl_answer_decide(struct sl_bundle *bundle, const struct sl_reply *reply);

/* ---- what is held, as text ---- */

/* "token_bucket 150 100000000 0 rl:{acme}:api:u1": enough of a claim for a refund. */
void sl_held_print(struct sl_buffer *out, const struct sl_claim *claim);

/* The other way round; the key is cut out of the text. False: nobody wrote that. */
bool sl_held_parse(struct sluice_text text, struct sl_claim *claim, struct sl_claim_name *name);

#endif
