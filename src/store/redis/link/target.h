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

/* The address for the n-th attempt. False: there is none yet. */
bool sl_target_address(struct sl_target *target, uint32_t attempt, struct sockaddr_storage *out,
                       socklen_t *len);

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
