/* A cache of verified tokens, by their SHA-256: for one thread, of fixed size. */
#ifndef SL_AUTH_TOKEN_TOKEN_CACHE_H
#define SL_AUTH_TOKEN_TOKEN_CACHE_H

#include "auth/token/claims.h"
#include "base/sha256.h"

/* The room of one token: its values, and two bytes for each. */
enum { SL_KEPT_MAX_BYTES = 1024 };

/* Allocates all memory at once; pages without a token stay untouched. Returns NULL if there is
 * no memory. */
struct sl_token_cache;
struct sl_token_cache *sl_token_cache_new(void);
void sl_token_cache_free(struct sl_token_cache *cache);

/* Forgets all tokens. */
void sl_token_cache_clear(struct sl_token_cache *cache);

/* Stores copies of the values, unless they take too much room. */
void sl_token_cache_put(struct sl_token_cache *cache, const struct sl_digest *digest,
                        const struct sl_claims *claims);

/* Finds a token that is there and valid now. The values point into the cache, until the
 * next put. */
bool sl_token_cache_get(struct sl_token_cache *cache, const struct sl_digest *digest,
                        int64_t now_us, struct sl_token *out);

#endif
