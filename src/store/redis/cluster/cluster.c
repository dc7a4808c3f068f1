/* The map of a Redis Cluster: its members, and how CLUSTER SLOTS and MOVED change it. */
#include "store/redis/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/text/number.h"
#include "rules/host.h"

enum {
    ASK_EVERY_US = 250000,
    REMEMBERED_US = 60000000, /* how long an address without slots is kept after it was named */
    HOST_MAX = 256,
    ADDRESS_MAX = 300,
    TAGS_TRIED = 4096,
};

struct cluster_member {
    char address[ADDRESS_MAX]; /* "host:port", "[v6]:port" */
    struct sl_target *target;
    bool is_seed;
    uint32_t slots;
    int64_t named_us;
};

struct sl_cluster {
    struct sl_target *first;
    uint32_t seeds;
    _Atomic uint16_t owner[SL_SLOT_COUNT];
    _Atomic uint32_t
        moving_s[SL_SLOT_COUNT]; /* the second of the last ASK or TRYAGAIN, plus one; 0: never */
    _Atomic uint64_t version, lessons;
    _Atomic int64_t asked_us;
    _Atomic uint32_t size;

    pthread_mutex_t lock;
    struct cluster_member members[SL_MEMBERS_MAX];
};

/* ---- new and free ---- */

static bool add_seeds(struct sl_cluster *cluster, const char *hosts)
{
    for (const char *end; *hosts && cluster->seeds < SL_MEMBERS_MAX / 2;
         hosts = end + (*end != 0)) {
        struct cluster_member *member = &cluster->members[cluster->seeds];
        end = strchrnul(hosts, ',');
        int len = (int)(end - hosts);
        snprintf(member->address, sizeof member->address, "%.*s", len, hosts);
        member->is_seed = true;
        member->target = cluster->seeds == 0 ? sl_target_keep(cluster->first)
                                             : sl_target_like(cluster->first, member->address);
        if (!member->target)
            return false;
        cluster->seeds++;
    }
    SL_CHECK(cluster->seeds <= SL_MEMBERS_MAX / 2);
    atomic_store(&cluster->size, cluster->seeds);
    return cluster->seeds > 0;
}

struct sl_cluster *sl_cluster_new(struct sl_target *first, const char *hosts)
{
    SL_CHECK(first && hosts);
    struct sl_cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster)
        return NULL;
    cluster->first = sl_target_keep(first);
    cluster->asked_us = INT64_MIN / 2;
    pthread_mutex_init(&cluster->lock, NULL);
    for (size_t i = 0; i < SL_SLOT_COUNT; i++)
        atomic_init(&cluster->owner[i], SL_NO_MEMBER);
    if (add_seeds(cluster, hosts))
        return cluster;
    sl_cluster_free(cluster);
    return NULL;
}

void sl_cluster_free(struct sl_cluster *cluster)
{
    if (!cluster)
        return;
    for (size_t i = 0; i < SL_MEMBERS_MAX; i++)
        sl_target_close(cluster->members[i].target);
    sl_target_close(cluster->first);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

/* ---- reading the map ---- */

uint32_t sl_cluster_owner(const struct sl_cluster *cluster, uint32_t slot)
{
    uint32_t owner =
        atomic_load_explicit(&cluster->owner[slot % SL_SLOT_COUNT], memory_order_relaxed);
    SL_CHECK(owner < SL_MEMBERS_MAX || owner == SL_NO_MEMBER);
    return owner;
}

uint64_t sl_cluster_version(const struct sl_cluster *cluster)
{
    return atomic_load(&cluster->version);
}

uint64_t sl_cluster_lessons(const struct sl_cluster *cluster)
{
    return atomic_load(&cluster->lessons);
}

uint32_t sl_cluster_size(const struct sl_cluster *cluster)
{
    uint32_t size = atomic_load(&cluster->size);
    SL_CHECK(size > 0 && size <= SL_MEMBERS_MAX);
    return size;
}

uint32_t sl_cluster_seeds(const struct sl_cluster *cluster)
{
    return cluster->seeds;
}

uint32_t sl_cluster_masters(struct sl_cluster *cluster)
{
    uint32_t count = 0;
    pthread_mutex_lock(&cluster->lock);
    for (size_t i = 0; i < sl_cluster_size(cluster); i++)
        count += cluster->members[i].slots > 0;
    pthread_mutex_unlock(&cluster->lock);
    return count;
}

struct sl_target *sl_cluster_target(struct sl_cluster *cluster, uint32_t number)
{
    pthread_mutex_lock(&cluster->lock);
    struct sl_target *target = number < SL_MEMBERS_MAX ? cluster->members[number].target : NULL;
    if (target)
        sl_target_keep(target);
    pthread_mutex_unlock(&cluster->lock);
    return target;
}

enum sl_standing sl_cluster_standing(struct sl_cluster *cluster, uint32_t number,
                                     const struct sl_target *target)
{
    enum sl_standing standing = SL_MEMBER_STRANGER;
    SL_CHECK(number < SL_MEMBERS_MAX);
    pthread_mutex_lock(&cluster->lock);
    const struct cluster_member *member = &cluster->members[number];
    if (member->target && (!target || member->target == target))
        standing = member->slots ? SL_MEMBER_OWNER : SL_MEMBER_KNOWN;
    pthread_mutex_unlock(&cluster->lock);
    return standing;
}

/* Tries 0, 1, 2… until one lies in a slot of the member's; with three masters about three tries. */
int32_t sl_cluster_tag(const struct sl_cluster *cluster, uint32_t number)
{
    char digits[16];
    for (int32_t tag = 0; tag < TAGS_TRIED; tag++) {
        snprintf(digits, sizeof digits, "%d", tag);
        if (sl_cluster_owner(cluster, sl_slot_of(sl_text(digits))) == number)
            return tag;
    }
    return -1;
}

/* ---- members ---- */

/* Prints an address as we write it: Redis puts no brackets around IPv6, and may leave the host out.
 * Returns false if the host would be refused in a URL: nodes announce whatever is configured
 * (`cluster-announce-ip`), or "?". */
static bool print_address(char out[ADDRESS_MAX], struct sluice_text host, int64_t port,
                          const struct sl_target *from)
{
    const char *own = sl_target_host(from);
    if (host.len == 0)
        host = own ? sl_text(own) : host;
    if (host.len == 0 || host.len >= HOST_MAX || memchr(host.at, 0, host.len) || port <= 0 ||
        port >= 65536)
        return false;
    bool is_v6 = memchr(host.at, ':', host.len);
    int len = snprintf(out, ADDRESS_MAX, is_v6 ? "[%.*s]" : "%.*s", (int)host.len, host.at);
    SL_CHECK(len > 0 && len < ADDRESS_MAX);
    if (!sl_host_is_good((struct sluice_text){ out, (size_t)len }))
        return false;
    snprintf(out + len, (size_t)(ADDRESS_MAX - len), ":%d", (int)port);
    return true;
}

/* Returns a free number, or one whose address has no slots and was not named for a minute. */
static uint32_t free_number(const struct sl_cluster *cluster, int64_t now_us)
{
    for (uint32_t i = cluster->seeds; i < SL_MEMBERS_MAX; i++) {
        const struct cluster_member *member = &cluster->members[i];
        if (!member->target || (!member->slots && now_us - member->named_us > REMEMBERED_US))
            return i;
    }
    return SL_NO_MEMBER;
}

/* Returns the address's number, and makes it a member if it is none. Call with the lock held. */
static uint32_t number_of(struct sl_cluster *cluster, const char *address)
{
    int64_t now_us = sl_boottime_us();
    uint32_t number = 0, size = sl_cluster_size(cluster);
    while (number < size && (!cluster->members[number].target ||
                             strcmp(cluster->members[number].address, address) != 0))
        number++;
    if (number == size) {
        number = free_number(cluster, now_us);
        struct sl_target *target =
            number == SL_NO_MEMBER ? NULL : sl_target_like(cluster->first, address);
        if (!target)
            return SL_NO_MEMBER;
        struct cluster_member *member = &cluster->members[number];
        sl_target_close(member->target);
        *member = (struct cluster_member){ .target = target };
        snprintf(member->address, sizeof member->address, "%s", address);
        atomic_store(&cluster->size, number < size ? size : number + 1);
    }
    SL_CHECK(number < SL_MEMBERS_MAX && cluster->members[number].target);
    cluster->members[number].named_us = now_us;
    return number;
}

uint32_t sl_cluster_number(struct sl_cluster *cluster, struct sluice_text address,
                           const struct sl_target *from)
{
    char printed[ADDRESS_MAX];
    const char *colon = address.len ? memrchr(address.at, ':', address.len) : NULL;
    if (!colon)
        return SL_NO_MEMBER;
    struct sluice_text host = { address.at, (size_t)(colon - address.at) };
    struct sluice_text digits = { colon + 1, address.len - host.len - 1 };
    uint64_t port;
    if (!sl_parse_u64(digits, &port) || port > 65535 ||
        !print_address(printed, host, (int64_t)port, from))
        return SL_NO_MEMBER;
    pthread_mutex_lock(&cluster->lock);
    uint32_t number = number_of(cluster, printed);
    pthread_mutex_unlock(&cluster->lock);
    SL_CHECK(number < SL_MEMBERS_MAX || number == SL_NO_MEMBER);
    return number;
}

/* Returns true if the owner has changed. Call with the lock held. */
static bool set_owner(struct sl_cluster *cluster, uint32_t slot, uint32_t number)
{
    SL_CHECK(slot < SL_SLOT_COUNT && (number < SL_MEMBERS_MAX || number == SL_NO_MEMBER));
    uint32_t before = sl_cluster_owner(cluster, slot);
    if (before == number)
        return false;
    SL_CHECK(before == SL_NO_MEMBER || cluster->members[before].slots > 0);
    if (before != SL_NO_MEMBER)
        cluster->members[before].slots--;
    if (number != SL_NO_MEMBER)
        cluster->members[number].slots++;
    SL_CHECK(number == SL_NO_MEMBER || cluster->members[number].slots <= SL_SLOT_COUNT);
    atomic_store_explicit(&cluster->owner[slot], (uint16_t)number, memory_order_relaxed);
    return true;
}

void sl_cluster_move(struct sl_cluster *cluster, uint32_t slot, uint32_t number)
{
    pthread_mutex_lock(&cluster->lock);
    if (number < SL_MEMBERS_MAX && cluster->members[number].target &&
        set_owner(cluster, slot % SL_SLOT_COUNT, number))
        atomic_fetch_add(&cluster->version, 1);
    pthread_mutex_unlock(&cluster->lock);
}

void sl_cluster_note_move(struct sl_cluster *cluster, uint32_t slot, int64_t now_us)
{
    atomic_store_explicit(&cluster->moving_s[slot % SL_SLOT_COUNT],
                          (uint32_t)(now_us / 1000000 + 1), memory_order_relaxed);
}

bool sl_cluster_is_moving(const struct sl_cluster *cluster, uint32_t slot, int64_t now_us)
{
    uint32_t heard_s =
        atomic_load_explicit(&cluster->moving_s[slot % SL_SLOT_COUNT], memory_order_relaxed);
    return heard_s && (uint32_t)(now_us / 1000000 + 1) - heard_s <= 1;
}

/* ---- CLUSTER SLOTS ---- */

bool sl_cluster_may_ask(struct sl_cluster *cluster, int64_t now_us)
{
    int64_t last_us = atomic_load(&cluster->asked_us);
    return now_us - last_us >= ASK_EVERY_US &&
           atomic_compare_exchange_strong(&cluster->asked_us, &last_us, now_us);
}

/* A position in the reply: numbers and texts lie in it apart, each kind in its own order. */
struct map_walk {
    const struct sl_redis_reply *reply;
    size_t value, text;
    bool is_wrong;
};

static int64_t next_value(struct map_walk *walk)
{
    if (walk->value < walk->reply->value_count)
        return walk->reply->values[walk->value++];
    walk->is_wrong = true;
    return 0;
}

/* Returns how many elements the array has that begins here. */
static int64_t next_array(struct map_walk *walk)
{
    int64_t value = next_value(walk);
    walk->is_wrong |= value < SL_REPLY_ARRAY || value > SL_REPLY_ARRAY + 100000;
    return walk->is_wrong ? 0 : value - SL_REPLY_ARRAY;
}

static struct sluice_text next_text(struct map_walk *walk)
{
    walk->is_wrong |= walk->text >= walk->reply->text_count;
    return sl_reply_text(walk->reply, walk->text++);
}

/* Reads a node: [host, port, id, [metadata …]]; the metadata came with Redis 7. */
static void read_node(struct map_walk *walk, struct sluice_text *host, int64_t *port)
{
    int64_t parts = next_array(walk);
    *host = next_text(walk);
    *port = next_value(walk);
    if (parts > 2)
        next_text(walk);
    if (parts > 3)
        walk->text += (size_t)next_array(walk);
    walk->is_wrong |= parts < 2 || parts > 4;
}

/* Reads a range of slots, [first, last, master, replica …]. Call with the lock held. */
static void read_range(struct sl_cluster *cluster, struct map_walk *walk,
                       const struct sl_target *from, uint16_t *owners)
{
    char address[ADDRESS_MAX];
    struct sluice_text host, ignored;
    int64_t port, ignored_port, parts = next_array(walk);
    int64_t first = next_value(walk), last = next_value(walk);
    walk->is_wrong |= parts < 3 || first < 0 || last < first || last >= SL_SLOT_COUNT;
    if (walk->is_wrong)
        return;
    read_node(walk, &host, &port);
    for (int64_t i = 3; i < parts && !walk->is_wrong; i++)
        read_node(walk, &ignored, &ignored_port);
    if (walk->is_wrong || !print_address(address, host, port, from))
        return;
    uint32_t number = number_of(cluster, address);
    for (int64_t slot = first; slot <= last; slot++)
        owners[slot] = (uint16_t)number;
}

bool sl_cluster_learn(struct sl_cluster *cluster, const struct sl_redis_reply *reply,
                      const struct sl_target *from)
{
    SL_CHECK(reply && from);
    struct map_walk walk = { .reply = reply };
    uint16_t owners[SL_SLOT_COUNT];
    bool has_any = false, has_changed = false;
    memset(owners, 0xff, sizeof owners);
    pthread_mutex_lock(&cluster->lock);
    while (!walk.is_wrong && walk.value < reply->value_count)
        read_range(cluster, &walk, from, owners);
    for (uint32_t slot = 0; slot < SL_SLOT_COUNT; slot++)
        has_any |= owners[slot] != SL_NO_MEMBER;
    bool is_good = has_any && !walk.is_wrong;
    for (uint32_t slot = 0; is_good && slot < SL_SLOT_COUNT; slot++)
        has_changed |= set_owner(cluster, slot, owners[slot]);
    pthread_mutex_unlock(&cluster->lock);
    if (has_changed)
        atomic_fetch_add(&cluster->version, 1);
    if (is_good)
        atomic_fetch_add(&cluster->lessons, 1);
    return is_good;
}
