/* Redis' error replies: what each means, and what to do about it. */
#ifndef SL_STORE_REDIS_LINK_ERROR_H
#define SL_STORE_REDIS_LINK_ERROR_H

#include "base/text.h"

/* What the link does about an error, besides failing the call. */
enum sl_redis_cure {
    SL_CURE_NONE, /* nothing: it concerns this call alone */
    SL_CURE_LOAD, /* load the missing script, send the call again */
    SL_CURE_WAIT, /* open the breaker, probe on this connection */
    SL_CURE_LEAVE /* leave this connection, make another */
};

#define SL_REDIS_ERRORS(X)                                                                         \
    X("NOSCRIPT", NOSCRIPT, SLUICE_STORE_DOWN, SL_CURE_LOAD, "the scripts are being loaded")       \
    X("OOM", OOM, SLUICE_STORE_FULL, SL_CURE_NONE,                                                 \
      "Redis has no memory left; raise `maxmemory` or let it evict keys that have a lifetime")     \
    X("BUSY", BUSY, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                               \
      "Redis is busy with a script; SCRIPT KILL ends it")                                          \
    X("LOADING", LOADING, SLUICE_STORE_DOWN, SL_CURE_WAIT, "Redis is still loading its data")      \
    X("MASTERDOWN", MASTERDOWN, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                   \
      "this Redis is a replica that has lost its master")                                          \
    X("MISCONF", MISCONF, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                         \
      "Redis refuses to write because it cannot save to disk; see its log")                        \
    X("NOREPLICAS", NOREPLICAS, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                   \
      "Redis refuses to write because too few replicas follow (`min-replicas-to-write`)")          \
    X("NOPERM", NOPERM, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                           \
      "the Redis user of the store's URL may not do this; docs/redis.md lists what it needs")      \
    X("READONLY", READONLY, SLUICE_STORE_DOWN, SL_CURE_LEAVE,                                      \
      "this Redis is a read-only replica; name its master")                                        \
    X("NOAUTH", NOAUTH, SLUICE_STORE_DOWN, SL_CURE_LEAVE,                                          \
      "Redis wants a password; write it in the store's URL, redis://:PASSWORD@HOST")               \
    X("WRONGPASS", WRONGPASS, SLUICE_STORE_DOWN, SL_CURE_LEAVE,                                    \
      "Redis knows no such user and password as those of the store's URL")                         \
    X("MOVED", MOVED, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                             \
      "this Redis is a node of a cluster; write `redis-cluster://` in the store's URL")            \
    X("ASK", ASK, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                                 \
      "this Redis is a node of a cluster; write `redis-cluster://` in the store's URL")            \
    X("TRYAGAIN", TRYAGAIN, SLUICE_STORE_DOWN, SL_CURE_WAIT,                                       \
      "this Redis is a node of a cluster; write `redis-cluster://` in the store's URL")            \
    X("CLUSTERDOWN", CLUSTERDOWN, SLUICE_STORE_DOWN, SL_CURE_WAIT, "the Redis cluster is down")    \
    X("ERR", OTHER, SLUICE_STORE_DOWN, SL_CURE_NONE, NULL)

enum sl_redis_error {
#define SL_ROW(code, name, status, cure, words) SL_REDIS_##name,
    SL_REDIS_ERRORS(SL_ROW)
#undef SL_ROW
        SL_REDIS_ERROR_COUNT
};

struct sl_redis_meaning {
    enum sl_redis_error error;
    const char *code;
    int status; /* of the call */
    enum sl_redis_cure cure;
    const char *words; /* for messages; NULL: Redis' own, or what sl_redis_words has */
};

/* Row i is error i. */
extern const struct sl_redis_meaning sl_redis_meanings[];

/* Returns the meaning of an error's sentence; the last row if it is unknown. */
const struct sl_redis_meaning *sl_redis_meaning(struct sluice_text sentence);

/* Returns the text for messages; NULL: use Redis' own. */
const char *sl_redis_words(struct sluice_text sentence);

#endif
