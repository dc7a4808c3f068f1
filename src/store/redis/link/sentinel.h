/* Sentinels, asked one after another who the master is. Belongs to one thread, which waits. */
#ifndef SL_STORE_REDIS_LINK_SENTINEL_H
#define SL_STORE_REDIS_LINK_SENTINEL_H

#include "base/tls/tls.h"
#include "store/redis/link/sentinel_protocol.h"

struct sl_sentinels;

/* "a:26379,b:26379", the master's name, their password or NULL; copied. `tls` is the caller's, or
 * NULL. NULL: no memory. */
struct sl_sentinels *sl_sentinels_new(const char *hosts, const char *master, const char *password,
                                      struct sl_tls *tls);
void sl_sentinels_free(struct sl_sentinels *sentinels);

/* In turn, first the one that answered last; about a second for each. False: why nobody says. */
bool sl_sentinels_ask(struct sl_sentinels *sentinels, struct sl_master *out,
                      struct sluice_error *why);

/* What the last one said is not so, or not any more: the next is asked first. */
void sl_sentinels_doubt(struct sl_sentinels *sentinels);

/* Until the one that answered says that the master has changed, `woken` can be read, or so long.
 */
void sl_sentinels_wait(struct sl_sentinels *sentinels, int woken, int64_t at_most_us);

/* After a fork: the connection is the parent's, who may have been in the middle of a word. */
void sl_sentinels_abandon(struct sl_sentinels *sentinels);

#endif
