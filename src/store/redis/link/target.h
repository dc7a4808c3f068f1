/* Which Redis: its address, and what it wants to hear first. Shared by all connections to it. */
#ifndef SL_STORE_REDIS_LINK_TARGET_H
#define SL_STORE_REDIS_LINK_TARGET_H

#include <sys/socket.h>

#include "base/tls/tls.h"
#include "rules/ruleset.h"

struct sl_target;

/* Copies what it needs. A name is looked up, a master asked for, in the background; this waits
 * for it a moment.
 * NULL: error->text. */
struct sl_target *sl_target_open(const struct sl_store_url *url, const struct sl_tls_client *tls,
                                 struct sluice_error *error);
void sl_target_close(struct sl_target *target); /* with Sentinels the last waits for its thread */

/* Another Redis ("host:port", "[v6]:port") that is talked to in the same way; waits for nothing.
 * NULL: it is no such address, or no memory. */
struct sl_target *sl_target_like(const struct sl_target *target, const char *address);

/* One more who closes it. */
struct sl_target *sl_target_keep(struct sl_target *target);

/* A name may have several addresses (`localhost` is often ::1 and 127.0.0.1), and Redis may listen
 * on one of them alone. They are numbered; numbers wrap around. */
enum { SL_ADDRESSES_MAX = 8 };

/* Returns how many addresses are known; 0: none yet. */
uint32_t sl_target_address_count(struct sl_target *target);

/* Returns false if no address is known yet. */
bool sl_target_address(struct sl_target *target, uint32_t number, struct sockaddr_storage *out,
                       socklen_t *len);

/* Redis answered at this address: connections begin with it from now on, whichever link asks. A
 * hint: after the name was looked up again, a number may mean another address. */
void sl_target_prefer(struct sl_target *target, uint32_t number);
uint32_t sl_target_preferred(struct sl_target *target);

void sl_target_why_none(struct sl_target *target, struct sluice_error *out);

/* Looks the name up again, or asks the next Sentinel, in the background: it may have moved. */
void sl_target_refresh(struct sl_target *target);

/* Which master that is, counted: 0 while there is none. Changes when Sentinels name another;
 * without them it never does. */
uint32_t sl_target_reign(const struct sl_target *target);
bool sl_target_has_sentinels(const struct sl_target *target);

/* Of the connection to it: */
struct sl_tls *sl_target_tls(const struct sl_target *target);   /* NULL: none */
const char *sl_target_host(const struct sl_target *target);     /* NULL: Sentinels name it */
const char *sl_target_user(const struct sl_target *target);     /* or NULL, */
const char *sl_target_password(const struct sl_target *target); /* as is this */
uint32_t sl_target_database(const struct sl_target *target);
const char *sl_target_name(const struct sl_target *target); /* for people, as "host:port" */

/* The client's side of a handshake with it, whose certificate must have its host. NULL: no
 * memory. */
struct sl_tls_stream *sl_target_shake_hands(struct sl_target *target, int fd);

#endif
