/* A user's id as it is kept, itself or its digest, and the key made of it. */
#ifndef SL_REGISTRY_USERS_USER_IDS_H
#define SL_REGISTRY_USERS_USER_IDS_H

#include <stdatomic.h>

#include "base/hash.h"
#include "base/sha256.h"

enum { SL_HASHERS = 64 };

/* A zeroed struct keeps ids as they are. */
struct sl_ids {
    bool hashed;      /* digests are kept */
    bool are_digests; /* the ids of requests are SHA-256 already: 64 hex digits are kept as such */
    _Atomic(struct sl_sha256 *) hashers[SL_HASHERS]; /* those that nobody is using */
};

void sl_ids_release(struct sl_ids *ids);

/* Any thread: the id of a request. *out is `user` itself, or in `room`. False: no memory. */
bool sl_ids_keep(struct sl_ids *ids, struct sluice_text user, char room[SL_DIGEST_HEX + 1],
                 struct sluice_text *out);

/* The same for who may give the kept id too: 64 hex digits are one. */
bool sl_ids_keep_either(struct sl_ids *ids, struct sluice_text user, char room[SL_DIGEST_HEX + 1],
                        struct sluice_text *out);

/* The key of a kept id; a missing tenant is none. */
struct sl_hash128 sl_ids_key(uint64_t seed, struct sluice_text tenant, struct sluice_text id);

#endif
