/* A user's id in the form that is stored, itself or its digest, and the key made of it. */
#ifndef SL_REGISTRY_USERS_USER_IDS_H
#define SL_REGISTRY_USERS_USER_IDS_H

#include <stdatomic.h>

#include "base/hash.h"
#include "base/sha256.h"

enum { SL_HASHERS = 64 };

/* A zeroed struct stores ids as they are. */
struct sl_ids {
    bool hashed;      /* ids are stored as digests */
    bool are_digests; /* requests' ids are SHA-256 already: 64 hex digits are stored as such */
    _Atomic(struct sl_sha256 *) hashers[SL_HASHERS]; /* those that no thread is using */
};

void sl_ids_release(struct sl_ids *ids);

/* Any thread: the id of a request in its stored form. *out is `user` itself, or in `room`.
 * Returns false if there is no memory. */
bool sl_ids_keep(struct sl_ids *ids, struct sluice_text user, char room[SL_DIGEST_HEX + 1],
                 struct sluice_text *out);

/* The same for a caller that may give the stored form too: 64 hex digits are one. */
bool sl_ids_keep_either(struct sl_ids *ids, struct sluice_text user, char room[SL_DIGEST_HEX + 1],
                        struct sluice_text *out);

/* The key of a stored id; a missing tenant is none. */
struct sl_hash128 sl_ids_key(uint64_t seed, struct sluice_text tenant, struct sluice_text id);

#endif
