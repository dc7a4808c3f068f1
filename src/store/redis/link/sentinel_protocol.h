/* The conversation with a Sentinel, without a socket.
 *
 *   AUTH                                      if it has a password
 *   UNSUBSCRIBE +switch-master                a subscriber may send nothing else
 *   SENTINEL GET-MASTER-ADDR-BY-NAME mymaster
 *   SUBSCRIBE +switch-master                  until the next time
 *
 * All of it goes out at once, and again for each question, over the same connection. */
#ifndef SL_STORE_REDIS_LINK_SENTINEL_PROTOCOL_H
#define SL_STORE_REDIS_LINK_SENTINEL_PROTOCOL_H

#include "store/redis/link/reply.h"

/* A master's place as Sentinels announce it: an IP address, or a name. */
struct sl_master {
    char host[256];
    char port[8];
};

/* The reply that is expected next. Zero: nothing was sent yet. */
enum sl_talk_stage {
    SL_TALK_NEW,
    SL_TALK_LOGIN,
    SL_TALK_UNSUBSCRIBED,
    SL_TALK_ADDRESS,
    SL_TALK_SUBSCRIBED,
    SL_TALK_LISTENS
};

struct sl_talk {
    const char *master, *password; /* the master's name; the password, or NULL */
    enum sl_talk_stage stage;
};

/* Writes a question to `out`, with a login if it is the first. */
void sl_talk_ask(struct sl_talk *talk, struct sl_buffer *out);

enum sl_heard {
    SL_HEARD_NOTHING, /* nothing that matters */
    SL_HEARD_MASTER,
    SL_HEARD_UNKNOWN, /* the Sentinel watches no master of that name */
    SL_HEARD_CHANGED, /* the master has changed: ask again */
    SL_HEARD_WRONG    /* error->text; close the connection */
};

/* Reads the next reply. SL_HEARD_MASTER fills `master`. */
enum sl_heard sl_talk_hear(struct sl_talk *talk, const struct sl_redis_reply *reply,
                           struct sl_master *master, struct sluice_error *error);

#endif
