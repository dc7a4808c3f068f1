/* Is the peer local, without a proxy in between? */
#ifndef SL_SERVER_AUTH_LOCAL_PEER_H
#define SL_SERVER_AUTH_LOCAL_PEER_H

#include "server/message.h"

/* Returns NULL if it is; else the reason, and what to do about it. */
const char *sl_message_not_local(const struct sl_message *message);

#endif
