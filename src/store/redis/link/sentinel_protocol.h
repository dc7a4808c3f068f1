/* What is said to a Sentinel, and what its answers mean; without a socket.
 *
 *   AUTH                                      if it has a password
 *   UNSUBSCRIBE +switch-master                one who listens may ask nothing else
 *   SENTINEL GET-MASTER-ADDR-BY-NAME mymaster
 *   SUBSCRIBE +switch-master                  until the next time
 *
 * All of it goes out at once and is said again each time, on the same connection. */
#ifndef SL_STORE_REDIS_LINK_SENTINEL_PROTOCOL_H
#define SL_STORE_REDIS_LINK_SENTINEL_PROTOCOL_H

#include "store/redis/link/reply.h"

/* Where a master is, as Sentinels say it: an address, or a name if they announce names. */
struct sl_master {
    char host[256];
    char port[8];
};

/* What is expected next. Zero: nothing was said yet. */
enum sl_talk_stage {
    SL_TALK_NEW,
    SL_TALK_LOGIN,
    SL_TALK_UNSUBSCRIBED,
    SL_TALK_ADDRESS,
    SL_TALK_SUBSCRIBED,
    SL_TALK_LISTENS
};

struct sl_talk {
    const char *master, *password; /* its name; or NULL */
    enum sl_talk_stage stage;
};

/* The words that ask, to `out`; those of a login only at the beginning. */
void sl_talk_ask(struct sl_talk *talk, struct sl_buffer *out);

enum sl_heard {
    SL_HEARD_NOTHING, /* that matters */
    SL_HEARD_MASTER,
    SL_HEARD_UNKNOWN, /* it watches no master of that name */
    SL_HEARD_CHANGED, /* ask again */
    SL_HEARD_WRONG    /* error->text; the connection is of no more use */
};

enum sl_heard sl_talk_hear(struct sl_talk *talk, const struct sl_redis_reply *reply,
                           struct sl_master *master, struct sluice_error *error);

#endif
