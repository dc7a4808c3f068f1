/* A client of Redis Sentinel: asks Sentinels in turn for the master. It belongs to one thread, and
 * blocks it. */
#ifndef SL_STORE_REDIS_LINK_SENTINEL_H
#define SL_STORE_REDIS_LINK_SENTINEL_H

#include "base/tls/tls.h"
#include "store/redis/link/sentinel_protocol.h"

struct sl_sentinels;

/* Takes "a:26379,b:26379", the master's name, and the Sentinels' password or NULL; all are copied.
 * `tls` stays the caller's, or is NULL. Returns NULL if memory is missing. */
struct sl_sentinels *sl_sentinels_new(const char *hosts, const char *master, const char *password,
                                      struct sl_tls *tls);
void sl_sentinels_free(struct sl_sentinels *sentinels);

/* Asks in turn, first the Sentinel that answered last; each has about a second. Returns false if
 * none names a master (`why`). */
bool sl_sentinels_ask(struct sl_sentinels *sentinels, struct sl_master *out,
                      struct sluice_error *why);

/* The last answer was wrong, or is out of date: the next Sentinel is asked first. */
void sl_sentinels_doubt(struct sl_sentinels *sentinels);

/* Waits until the Sentinel that answered announces a new master, `woken` can be read, or the time
 * has passed. */
void sl_sentinels_wait(struct sl_sentinels *sentinels, int woken, int64_t at_most_us);

/* After a fork: forgets the connection. The parent uses it, maybe in the middle of a message. */
void sl_sentinels_abandon(struct sl_sentinels *sentinels);

#endif
