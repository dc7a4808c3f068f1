/* Is it somebody on this machine, and nobody in between? */
#ifndef SL_SERVER_AUTH_LOCAL_PEER_H
#define SL_SERVER_AUTH_LOCAL_PEER_H

#include "server/message.h"

/* NULL: it is. Else why not, and what to do about it. */
const char *sl_message_not_local(const struct sl_message *message);

#endif
