/* Which Redis: its address, and what it wants to hear first. Shared by all connections to it. */
#ifndef SL_STORE_REDIS_TARGET_H
#define SL_STORE_REDIS_TARGET_H

#include <sys/socket.h>

#include "base/tls.h"
#include "rules/ruleset.h"

struct sl_target;

/* Copies what it needs. A name is looked up in the background; this waits for it a moment.
 * NULL: error->text. */
struct sl_target *sl_target_open(const struct sl_store_url *url, const struct sl_tls_client *tls,
                                 struct sluice_error *error);
void sl_target_close(struct sl_target *target);

/* The address for the n-th attempt. False: there is none yet. */
bool sl_target_address(struct sl_target *target, uint32_t attempt, struct sockaddr_storage *out,
                       socklen_t *len);

/* Looks the name up again, in the background, at most once a second: it may have moved. */
void sl_target_refresh(struct sl_target *target);

/* Of the connection to it: */
struct sl_tls *sl_target_tls(const struct sl_target *target);   /* NULL: none */
const char *sl_target_host(const struct sl_target *target);     /* that its certificate has */
const char *sl_target_user(const struct sl_target *target);     /* or NULL, */
const char *sl_target_password(const struct sl_target *target); /* as is this */
uint32_t sl_target_database(const struct sl_target *target);
const char *sl_target_name(const struct sl_target *target); /* for people: "host:port" */

#endif
