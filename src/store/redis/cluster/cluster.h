/* The map of a Redis Cluster: which node has which slot. One for the process, shared by all its
 * channels, because what one of them hears of is true for all.
 *
 *   owner[slot] ──→ members[number]   an address with its target: those that the URL names, those
 *                                     of the last map, and those that somebody was sent to
 *
 * Owners are read without a lock, at every question. Members are few, change rarely and have a
 * lock. A number belongs to one address as long as that has a slot or was named lately; who keeps
 * a link to a number compares its target. */
#ifndef SL_STORE_REDIS_CLUSTER_CLUSTER_H
#define SL_STORE_REDIS_CLUSTER_CLUSTER_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/redis/cluster/slot.h"
#include "store/redis/link/reply.h"
#include "store/redis/link/target.h"

enum { SL_MEMBERS_MAX = 512, SL_NO_MEMBER = 0xffff };

struct sl_cluster;

/* `hosts`: "host:port,…", of whom `first` is the first; the others are talked to like him.
 * NULL: no memory. */
struct sl_cluster *sl_cluster_new(struct sl_target *first, const char *hosts);
void sl_cluster_free(struct sl_cluster *cluster);

/* Who has the slot; SL_NO_MEMBER: nobody that we know of. */
uint32_t sl_cluster_owner(const struct sl_cluster *cluster, uint32_t slot);

/* How often the map has changed, and how often it was learned; 0: there is none yet. */
uint64_t sl_cluster_version(const struct sl_cluster *cluster);
uint64_t sl_cluster_lessons(const struct sl_cluster *cluster);

/* Numbers are below this; how many of them have slots; how many the URL names. */
uint32_t sl_cluster_size(const struct sl_cluster *cluster);
uint32_t sl_cluster_masters(struct sl_cluster *cluster);
uint32_t sl_cluster_seeds(const struct sl_cluster *cluster);

/* The number's target, one holder more; NULL: nobody has that number now. */
struct sl_target *sl_cluster_target(struct sl_cluster *cluster, uint32_t number);

enum sl_standing { SL_MEMBER_STRANGER, SL_MEMBER_KNOWN, SL_MEMBER_OWNER };

/* Is this still the number's target, or is there any (NULL), and does it have slots? */
enum sl_standing sl_cluster_standing(struct sl_cluster *cluster, uint32_t number,
                                     const struct sl_target *target);

/* Who has this address, "host:port" as Redis writes it: a member now, if it was none. An address
 * without a host is one of the host of `from`. SL_NO_MEMBER: no address, or no room. */
uint32_t sl_cluster_number(struct sl_cluster *cluster, struct sluice_text address,
                           const struct sl_target *from);

/* The slot is there now. */
void sl_cluster_move(struct sl_cluster *cluster, uint32_t slot, uint32_t number);

/* Somebody was told that the slot's keys are on their way to another node; and was anybody, within
 * the last second or two? Then keys of it may be here and there. */
void sl_cluster_note_move(struct sl_cluster *cluster, uint32_t slot, int64_t now_us);
bool sl_cluster_is_moving(const struct sl_cluster *cluster, uint32_t slot, int64_t now_us);

/* May the map be asked for now? At most a few times a second somebody may. */
bool sl_cluster_may_ask(struct sl_cluster *cluster, int64_t now_us);

/* The whole map, out of the answer to CLUSTER SLOTS. False: it is none, or has no slots. */
bool sl_cluster_learn(struct sl_cluster *cluster, const struct sl_redis_reply *reply,
                      const struct sl_target *from);

/* A tag that is in one of the number's slots, for keys that may be anywhere there; -1: none was
 * found. */
int32_t sl_cluster_tag(const struct sl_cluster *cluster, uint32_t number);

#endif
