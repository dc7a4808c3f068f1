/* The auth throttle: limits how many wrong credentials an address may send. */
#ifndef SL_SERVER_AUTH_AUTH_THROTTLE_H
#define SL_SERVER_AUTH_AUTH_THROTTLE_H

#include "server/message.h"

/* What was wrong: an admin token, or an API key on the admin API; a JSON Web Token, or an API key,
 * on a decision. They are counted apart, so that users whose requests pass through a service cannot
 * bar that service from the admin API. */
enum sl_attempt { SL_ATTEMPT_CREDENTIALS, SL_ATTEMPT_TOKENS, SL_ATTEMPT_KEYS, SL_ATTEMPT_COUNT };

/* The rules that limit them, per address or network as in these settings. NULL: no memory. */
struct sl_ruleset *sl_auth_throttle_rules(const struct sl_identity *identity);

/* Has the message's sender failed too often? Then the message is refused already (429). */
bool sl_auth_throttle_bar(struct sl_message *message, enum sl_attempt what);

/* Counts one more failure. Returns false if the message is refused already, for lack of memory. */
bool sl_auth_throttle_count(struct sl_message *message, enum sl_attempt what);

/* How many wrong credentials this limiter has counted. Any thread. */
uint64_t sl_auth_throttle_counted(const struct sl_limiter *auth_throttle, enum sl_attempt what);

#endif
