/* Tokens that were found good, by their SHA-256: one thread's, of fixed size. */
#ifndef SL_AUTH_TOKEN_TOKEN_CACHE_H
#define SL_AUTH_TOKEN_TOKEN_CACHE_H

#include "auth/token/claims.h"
#include "base/sha256.h"

/* Of one token: its values, and two bytes for each. */
enum { SL_KEPT_MAX_BYTES = 1024 };

/* The memory for all of them, at once; pages that no token was put into stay
 * untouched. NULL: there is none. */
struct sl_token_cache;
struct sl_token_cache *sl_token_cache_new(void);
void sl_token_cache_free(struct sl_token_cache *cache);

/* Forgets all. */
void sl_token_cache_clear(struct sl_token_cache *cache);

/* Keeps copies of the values, unless they take too much. */
void sl_token_cache_put(struct sl_token_cache *cache, const struct sl_digest *digest,
                        const struct sl_claims *claims);

/* Finds it, if it is there and good now. The values point into the cache, until the
 * next put. */
bool sl_token_cache_get(struct sl_token_cache *cache, const struct sl_digest *digest,
                        int64_t now_us, struct sl_token *out);

#endif
