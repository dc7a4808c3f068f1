/* Digests and keys of user ids, made in the path of a decision.
 *
 * A hasher serves one thread at a time, and threads come and go: so there is a pool of
 * them without a lock, and each thread looks first at a place of its own. Where ids are
 * stored as they are, the pool is not touched.
 *
 * In the API an operator may name a user by the digest, as listings do. A request may
 * not: a client that can choose a user name would choose the digest of another user's, and
 * be found as that one. Only where ids are digests in the first place do the two forms not
 * differ. */
#include "registry/users/user_ids.h"

/* Threads are numbered as they come, so that the first of them begin at different places. */
static size_t first_place(void)
{
    static _Atomic(size_t) threads;
    static _Thread_local size_t number; /* 0: not numbered yet */
    if (number == 0)
        number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    return number;
}

static struct sl_sha256 *take_hasher(struct sl_ids *ids)
{
    size_t first = first_place();
    for (size_t i = 0; i < SL_HASHERS; i++) {
        _Atomic(struct sl_sha256 *) *place = &ids->hashers[(first + i) % SL_HASHERS];
        if (!atomic_load_explicit(place, memory_order_relaxed))
            continue;
        struct sl_sha256 *taken = atomic_exchange_explicit(place, NULL, memory_order_acquire);
        if (taken)
            return taken;
    }
    return sl_sha256_new();
}

static void return_hasher(struct sl_ids *ids, struct sl_sha256 *hasher)
{
    size_t first = first_place();
    for (size_t i = 0; i < SL_HASHERS; i++) {
        struct sl_sha256 *empty = NULL;
        if (atomic_compare_exchange_strong_explicit(&ids->hashers[(first + i) % SL_HASHERS], &empty,
                                                    hasher, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    sl_sha256_free(hasher);
}

void sl_ids_release(struct sl_ids *ids)
{
    for (size_t i = 0; i < SL_HASHERS; i++)
        sl_sha256_free(atomic_exchange_explicit(&ids->hashers[i], NULL, memory_order_acquire));
}

static struct sluice_text print_digest(const struct sl_digest *digest, char room[SL_DIGEST_HEX + 1])
{
    sl_digest_print(digest, room);
    return (struct sluice_text){ room, SL_DIGEST_HEX };
}

static bool hash_user(struct sl_ids *ids, struct sluice_text user, char room[SL_DIGEST_HEX + 1],
                      struct sluice_text *out)
{
    struct sl_sha256 *hasher = take_hasher(ids);
    struct sl_digest digest;
    if (!hasher)
        return false;
    sl_sha256_of(hasher, user, &digest);
    return_hasher(ids, hasher);
    *out = print_digest(&digest, room);
    return true;
}

bool sl_ids_keep_either(struct sl_ids *ids, struct sluice_text user, char room[SL_DIGEST_HEX + 1],
                        struct sluice_text *out)
{
    struct sl_digest digest;
    *out = user;
    if (!ids->hashed)
        return true;
    if (!sl_digest_parse(user, &digest))
        return hash_user(ids, user, room, out);
    *out = print_digest(&digest, room);
    return true;
}

bool sl_ids_keep(struct sl_ids *ids, struct sluice_text user, char room[SL_DIGEST_HEX + 1],
                 struct sluice_text *out)
{
    *out = user;
    if (!ids->hashed)
        return true;
    return ids->are_digests ? sl_ids_keep_either(ids, user, room, out)
                            : hash_user(ids, user, room, out);
}

/* ---- keys ---- */

enum { NAMES_MAX_BYTES = 512 };

/* Hashes both with the tenant's length before them: no two pairs are the same bytes. */
static struct sl_hash128 hash_pair(uint64_t seed, struct sluice_text tenant, struct sluice_text id)
{
    char bytes[sizeof(uint64_t) + NAMES_MAX_BYTES];
    uint64_t tenant_len = tenant.len;
    size_t len = sizeof tenant_len;
    memcpy(bytes, &tenant_len, len);
    if (tenant.len)
        memcpy(bytes + len, tenant.at, tenant.len);
    len += tenant.len;
    if (id.len)
        memcpy(bytes + len, id.at, id.len);
    return sl_hash128((struct sluice_text){ bytes, len + id.len }, seed);
}

/* Names too long for one buffer are first hashed each, and the hashes under another seed. */
struct sl_hash128 sl_ids_key(uint64_t seed, struct sluice_text tenant, struct sluice_text id)
{
    if (tenant.len <= NAMES_MAX_BYTES && id.len <= NAMES_MAX_BYTES - tenant.len)
        return hash_pair(seed, tenant, id);
    struct sl_hash128 hashes[] = { sl_hash128(tenant, seed), sl_hash128(id, seed) };
    return sl_hash128((struct sluice_text){ (const char *)hashes, sizeof hashes }, ~seed);
}
