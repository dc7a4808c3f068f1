/* A request's parts from the inside: parts_cut.c makes them of its claims, parts.c decides them. */
#ifndef SL_STORE_REDIS_PARTS_INTERNAL_H
#define SL_STORE_REDIS_PARTS_INTERNAL_H

#include "store/cache/answer_cache.h"
#include "store/redis/parts.h"

/* A part: the claims of one slot. */
struct sl_slot_part {
    struct sl_redis_query query; /* first */
    struct sl_parts *parts;
    struct sl_bundle bundle; /* of copies of those claims */
    struct sl_buffer bytes;
    bool is_shadow;   /* all claims are shadow rules': it cannot deny */
    bool is_optional; /* all claims may be left out */
    bool is_lost;     /* it has failed, and is left out */
    bool is_known;    /* its node has answered */
    bool is_taken;    /* it has charged */
};

struct sl_slot_place {
    uint32_t slot;
    uint32_t claim; /* in the whole bundle */
};

struct sl_parts {
    struct sl_undo_told undone; /* first */
    struct sl_undos *undos;
    struct sl_bundle *whole;
    struct sl_parts_told *told;
    int64_t now_us, due_us;
    struct sl_since since;
    bool teaches; /* the answer cache learns from it: sl_answer_cache_learn */
    uint64_t nonce;
    int status;
    int lost_status; /* of parts that are left out */
    bool takes;      /* it charges if it is allowed: parts go one after another */
    bool is_denied;
    size_t waiting; /* for so many replies */
    void (*next)(struct sl_parts *parts);

    struct sl_redis_query keep; /* makes the reservation */
    struct sl_buffer keep_bytes;
    uint64_t id;

    size_t count, claim_count;    /* of parts; of claims with a key */
    struct sl_slot_place *places; /* by slot; claims[i] is the whole's claims[places[i].claim] */
    struct sl_claim *claims;
    struct sl_claim_name *names;
    struct sl_slot_part *part;
};

/* Copies claims with their names, and groups them by slot, in order. Returns NULL if memory is
 * missing. */
struct sl_parts *sl_parts_new(struct sl_bundle *whole, const struct sl_cluster *cluster);
void sl_parts_free(struct sl_parts *parts);

#endif
