/* The map of a Redis Cluster: which node has which slot. A process has one map, shared by all its
 * channels: what one channel learns holds for all.
 *
 *   owner[slot] ──→ members[number]   an address with its target: those that the URL names, those
 *                                     of the last map, and those that a node redirected to
 *
 * Owners are read without a lock, at every call. Members are few, change rarely and have a lock. A
 * number belongs to one address as long as that has a slot or was named lately; a route that keeps
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

/* `hosts`: "host:port,…"; `first` is the target of the first, and the others use its settings.
 * Returns NULL if memory is missing. */
struct sl_cluster *sl_cluster_new(struct sl_target *first, const char *hosts);
void sl_cluster_free(struct sl_cluster *cluster);

/* Returns the number of the slot's owner; SL_NO_MEMBER if none is known. */
uint32_t sl_cluster_owner(const struct sl_cluster *cluster, uint32_t slot);

/* Return how often the map has changed, and how often it was learned; 0 before the first. */
uint64_t sl_cluster_version(const struct sl_cluster *cluster);
uint64_t sl_cluster_lessons(const struct sl_cluster *cluster);

/* Return a bound for numbers, how many members have slots, and how many the URL names. */
uint32_t sl_cluster_size(const struct sl_cluster *cluster);
uint32_t sl_cluster_masters(struct sl_cluster *cluster);
uint32_t sl_cluster_seeds(const struct sl_cluster *cluster);

/* Returns the number's target with one more reference; NULL if the number is free. */
struct sl_target *sl_cluster_target(struct sl_cluster *cluster, uint32_t number);

enum sl_standing { SL_MEMBER_STRANGER, SL_MEMBER_KNOWN, SL_MEMBER_OWNER };

/* Tells whether this is still the number's target (NULL: any target), and whether it has slots. */
enum sl_standing sl_cluster_standing(struct sl_cluster *cluster, uint32_t number,
                                     const struct sl_target *target);

/* Returns the number of an address, "host:port" as Redis writes it; it becomes a member if it was
 * none. An address without a host has the host of `from`. SL_NO_MEMBER: malformed, or no room. */
uint32_t sl_cluster_number(struct sl_cluster *cluster, struct sluice_text address,
                           const struct sl_target *from);

/* MOVED: the slot belongs to the number now. */
void sl_cluster_move(struct sl_cluster *cluster, uint32_t slot, uint32_t number);

/* A node has said that the slot's keys are moving to another node. sl_cluster_is_moving: has one
 * said so within the last second or two? Then the slot's keys may be on either node. */
void sl_cluster_note_move(struct sl_cluster *cluster, uint32_t slot, int64_t now_us);
bool sl_cluster_is_moving(const struct sl_cluster *cluster, uint32_t slot, int64_t now_us);

/* May the caller ask for the map now? Returns true at most four times a second in all. */
bool sl_cluster_may_ask(struct sl_cluster *cluster, int64_t now_us);

/* Takes the whole map from a reply to CLUSTER SLOTS. Returns false if it is malformed, or has no
 * slots. */
bool sl_cluster_learn(struct sl_cluster *cluster, const struct sl_redis_reply *reply,
                      const struct sl_target *from);

/* Returns a hash tag in one of the number's slots, for keys that may live in any of them; -1 if
 * none was found. */
int32_t sl_cluster_tag(const struct sl_cluster *cluster, uint32_t number);

#endif
