/* A target: one Redis, with its addresses and what is sent to it first (user, password, database).
 * All connections to it share one. */
#ifndef SL_STORE_REDIS_LINK_TARGET_H
#define SL_STORE_REDIS_LINK_TARGET_H

#include <sys/socket.h>

#include "base/tls/tls.h"
#include "rules/ruleset.h"

struct sl_target;

/* Copies what it needs. A thread looks the name up, or asks Sentinels for the master; this waits
 * for it for at most a second. Returns NULL on an error (error->text). */
struct sl_target *sl_target_open(const struct sl_store_url *url, const struct sl_tls_client *tls,
                                 struct sluice_error *error);
void sl_target_close(struct sl_target *target); /* with Sentinels the last call joins the thread */

/* Opens another Redis ("host:port", "[v6]:port") with the same TLS, user and password. Does not
 * block. Returns NULL if the address is malformed or memory is missing. */
struct sl_target *sl_target_like(const struct sl_target *target, const char *address);

/* Adds a reference: sl_target_close is called once more. */
struct sl_target *sl_target_keep(struct sl_target *target);

/* A name may have several addresses (`localhost` is often ::1 and 127.0.0.1), and Redis may listen
 * on one of them alone. They are numbered; numbers wrap around. */
enum { SL_ADDRESSES_MAX = 8 };

/* Returns how many addresses are known; 0: none yet. */
uint32_t sl_target_address_count(struct sl_target *target);

/* Returns false if no address is known yet. */
bool sl_target_address(struct sl_target *target, uint32_t number, struct sockaddr_storage *out,
                       socklen_t *len);

/* Redis answered at this address: all links begin with it from now on. It is a hint: after the name
 * was looked up again, a number may mean another address. */
void sl_target_prefer(struct sl_target *target, uint32_t number);
uint32_t sl_target_preferred(struct sl_target *target);

/* Says why no address is known. */
void sl_target_why_none(struct sl_target *target, struct sluice_error *out);

/* Looks the name up again, or asks the next Sentinel, in the background: Redis may have moved. */
void sl_target_refresh(struct sl_target *target);

/* Returns the number of the current master, counted from 1; 0 while none is known. It grows when
 * Sentinels name another master; without Sentinels it stays 0. */
uint32_t sl_target_reign(const struct sl_target *target);
bool sl_target_has_sentinels(const struct sl_target *target);

/* What a connection to it needs: */
struct sl_tls *sl_target_tls(const struct sl_target *target);   /* NULL: no TLS */
const char *sl_target_host(const struct sl_target *target);     /* NULL: Sentinels, or a path */
const char *sl_target_user(const struct sl_target *target);     /* or NULL */
const char *sl_target_password(const struct sl_target *target); /* or NULL */
uint32_t sl_target_database(const struct sl_target *target);
const char *sl_target_name(const struct sl_target *target); /* for messages: "host:port" */

/* Begins a TLS handshake as the client; the certificate must name the host. Returns NULL if memory
 * is missing. */
struct sl_tls_stream *sl_target_shake_hands(struct sl_target *target, int fd);

#endif
