/* The Redis store, for those who wait: commands, programs with libsluice, the server's main
 * thread. The server's workers have channels of their own (channel.h).
 *
 *   call → a channel out of the places → asked → poll(2) until it is done → back to the places
 *
 * As many connections as calls at a time, at the most PLACES of them kept. A place is taken and
 * filled by one exchange each, without a lock, so that a process that was forked in the middle
 * of somebody's call goes on; connections of its parent's it leaves alone and makes its own. */
#include "store/redis.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "store/redis_ask.h"

enum { PLACES = 64, FIRST_WAIT_US = 1000000, DEADLINE_US = 20000 };

/* A channel whose host is whoever calls. */
struct caller {
    struct sl_channel *channel;
    pid_t pid;
    int fd;
    short events;
    int64_t wake_us;
};

struct redis {
    struct sl_store store;
    struct sl_link_shared shared;
    _Atomic(struct caller *) places[PLACES];
};

/* ---- being a host ---- */

static void watch(void *about, int fd, bool reads, bool writes)
{
    struct caller *caller = about;
    caller->fd = fd;
    caller->events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

static void wake_at(void *about, int64_t at_us)
{
    struct caller *caller = about;
    caller->wake_us = at_us;
}

static void look(struct caller *caller)
{
    if (sl_link_now_us() < caller->wake_us)
        return;
    caller->wake_us = INT64_MAX;
    sl_channel_on_time(caller->channel);
}

/* Until the next thing happens, or until then. */
static void turn(struct caller *caller, int64_t until_us)
{
    int64_t wait_us = sl_min_i64(caller->wake_us, until_us) - sl_link_now_us();
    wait_us = wait_us > 0 ? wait_us : 0;
    struct timespec wait = { wait_us / 1000000, wait_us % 1000000 * 1000 };
    struct pollfd watched = { .fd = caller->fd, .events = caller->events };
    if (ppoll(&watched, 1, &wait, NULL) > 0)
        sl_channel_on_ready(caller->channel);
    look(caller);
}

/* ---- callers ---- */

static void drop_caller(struct caller *caller)
{
    if (!caller)
        return;
    if (caller->pid == getpid())
        sl_channel_free(caller->channel);
    else
        sl_channel_abandon(caller->channel);
    free(caller);
}

static struct caller *new_caller(struct redis *redis)
{
    struct caller *caller = calloc(1, sizeof *caller);
    if (!caller)
        return NULL;
    struct sl_link_host host = { caller, watch, wake_at, .is_patient = true };
    *caller = (struct caller){ .pid = getpid(), .fd = -1, .wake_us = INT64_MAX };
    caller->channel = sl_channel_new(&redis->shared, &host);
    if (caller->channel)
        return caller;
    free(caller);
    return NULL;
}

/* What a parent process left here is its own: the socket is closed, nothing is said on it. */
static struct caller *take_caller(struct redis *redis)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct caller *caller = atomic_load_explicit(&redis->places[i], memory_order_relaxed);
        if (!caller)
            continue;
        caller = atomic_exchange(&redis->places[i], NULL);
        if (caller && caller->pid == getpid())
            return caller;
        drop_caller(caller);
    }
    return new_caller(redis);
}

static void put_caller(struct redis *redis, struct caller *caller)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct caller *empty = NULL;
        if (atomic_compare_exchange_strong(&redis->places[i], &empty, caller))
            return;
    }
    drop_caller(caller);
}

/* Also what has happened while nobody was looking: Redis may have closed it, or be back. */
static struct caller *begin(struct redis *redis)
{
    struct caller *caller = take_caller(redis);
    if (!caller)
        return NULL;
    turn(caller, 0);
    return caller;
}

/* Every question ends by its deadline, so this does. */
static void finish(struct redis *redis, struct caller *caller, const bool *is_done)
{
    sl_channel_flush(caller->channel);
    while (!*is_done)
        turn(caller, INT64_MAX);
    put_caller(redis, caller);
}

/* ---- the seam ---- */

struct decision {
    struct sl_parcel parcel; /* first */
    bool is_done;
};

static void on_decided(struct sl_parcel *parcel)
{
    ((struct decision *)parcel)->is_done = true;
}

static void decide(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    struct redis *redis = (struct redis *)store;
    struct decision decision = { .parcel = { bundles, count, .done = on_decided } };
    struct caller *caller = begin(redis);
    for (size_t i = 0; !caller && i < count; i++)
        bundles[i].status = SLUICE_NO_MEMORY;
    if (!caller)
        return;
    sl_channel_tend(caller->channel);
    sl_channel_decide(caller->channel, &decision.parcel);
    finish(redis, caller, &decision.is_done);
}

struct settling {
    struct sl_settlement settlement; /* first */
    bool is_done;
};

static void on_settled(struct sl_settlement *settlement)
{
    ((struct settling *)settlement)->is_done = true;
}

static int settle(struct sl_store *store, uint64_t id, uint32_t cost)
{
    struct redis *redis = (struct redis *)store;
    struct settling settling = { .settlement = { .id = id, .cost = cost, .done = on_settled } };
    struct caller *caller = begin(redis);
    if (!caller)
        return SLUICE_NO_MEMORY;
    sl_channel_settle(caller->channel, &settling.settlement);
    finish(redis, caller, &settling.is_done);
    return settling.settlement.status;
}

/* The script has held it while it decided. */
static int hold(struct sl_store *store, const struct sl_bundle *bundle, int64_t expiry_us,
                uint64_t *id)
{
    (void)store, (void)expiry_us;
    *id = bundle->held;
    return SLUICE_OK;
}

struct change {
    struct sl_channel_call call; /* first */
    bool is_done;
};

static void on_changed(struct sl_channel_call *call)
{
    ((struct change *)call)->is_done = true;
}

/* Asks what was prepared. */
static int make_change(struct redis *redis, struct change *change, bool is_prepared)
{
    struct caller *caller = is_prepared ? begin(redis) : NULL;
    change->call.done = on_changed;
    if (caller) {
        sl_channel_call(caller->channel, &change->call);
        finish(redis, caller, &change->is_done);
    } else {
        change->call.status = SLUICE_NO_MEMORY;
    }
    sl_buffer_release(&change->call.bytes);
    return change->call.status;
}

static int refund(struct sl_store *store, const struct sl_claim *claim, struct sl_charge charge)
{
    struct redis *redis = (struct redis *)store;
    struct change change = { .call.bytes = sl_buffer(1 << 16) };
    struct sl_changing changing = { .claim = claim, .charge = charge };
    return make_change(redis, &change,
                       sl_ask_change(&redis->shared.scripts, &changing, 1, &change.call.bytes,
                                     &change.call.query));
}

static int reset(struct sl_store *store, const struct sl_claim *claim)
{
    struct redis *redis = (struct redis *)store;
    struct change change = { .call.bytes = sl_buffer(1 << 16) };
    return make_change(
        redis, &change,
        sl_ask_forget(&redis->shared.scripts, claim, &change.call.bytes, &change.call.query));
}

static struct sl_channel *open_channel(struct sl_store *store, const struct sl_link_host *host)
{
    return sl_channel_new(&((struct redis *)store)->shared, host);
}

static void why(struct sl_store *store, struct sluice_error *out)
{
    struct sl_link_shared *shared = &((struct redis *)store)->shared;
    pthread_mutex_lock(&shared->why_lock);
    sl_error_say(out, "%s", shared->why);
    pthread_mutex_unlock(&shared->why_lock);
}

static void health(struct sl_store *store, struct sl_store_health *out)
{
    struct sl_link_shared *shared = &((struct redis *)store)->shared;
    for (size_t i = 0; i < SL_CALL_END_COUNT; i++)
        out->calls[i] = atomic_load(&shared->ends[i]);
    for (size_t i = 0; i < SL_REDIS_ERROR_COUNT; i++)
        out->errors[i] = atomic_load(&shared->errors[i]);
    for (size_t i = 0; i < SL_BREAKER_COUNT; i++)
        out->breakers[i] = atomic_load(&shared->breakers[i]);
    out->connects = atomic_load(&shared->connects);
    out->failed_connects = atomic_load(&shared->failed_connects);
    out->trips = atomic_load(&shared->trips);
}

static void close_redis(struct sl_store *store)
{
    struct redis *redis = (struct redis *)store;
    for (size_t i = 0; i < PLACES; i++)
        drop_caller(atomic_exchange(&redis->places[i], NULL));
    sl_scripts_release(&redis->shared.scripts);
    sl_target_close(redis->shared.target);
    pthread_mutex_destroy(&redis->shared.why_lock);
    sl_store_close(redis->store.local);
    free(redis);
}

static const struct sl_store_ops redis_ops = {
    .decide = decide,
    .refund = refund,
    .reset = reset,
    .hold = hold,
    .settle = settle,
    .close = close_redis,
    .channel = open_channel,
    .why = why,
    .health = health,
};

/* ---- opening ---- */

/* A first connection, before anybody counts the milliseconds: it may have to cross a network,
 * and shake hands. */
static void greet(struct redis *redis, struct sluice_error *note)
{
    struct caller *caller = new_caller(redis);
    int64_t until_us = sl_link_now_us() + FIRST_WAIT_US;
    if (!caller)
        return;
    sl_channel_open(caller->channel);
    while (!sl_channel_is_up(caller->channel) && sl_link_now_us() < until_us &&
           atomic_load(&redis->shared.failed_connects) == 0)
        turn(caller, until_us);
    if (!sl_channel_is_up(caller->channel)) {
        struct sluice_error reason = { 0 };
        why(&redis->store, &reason);
        sl_error_say(note,
                     "Redis does not answer yet (%s); asking again, until then "
                     "`on_store_failure` decides",
                     *reason.text ? reason.text : sl_target_name(redis->shared.target));
    }
    put_caller(redis, caller);
}

struct sl_store *sl_redis_open(const struct sl_redis_config *config, struct sluice_error *error)
{
    struct redis *redis = calloc(1, sizeof *redis);
    if (!redis) {
        sl_error_say(error, "out of memory");
        return NULL;
    }
    redis->store =
        (struct sl_store){ .ops = &redis_ops, .secret = sl_random64(), .wants_names = true };
    redis->shared.deadline_us = config->deadline_us ? config->deadline_us : DEADLINE_US;
    pthread_mutex_init(&redis->shared.why_lock, NULL);
    redis->shared.target = sl_target_open(config->url, &config->tls, error);
    struct sl_memory_config local = { .log_bytes = SL_LOG_DEFAULT,
                                      .logs_wanted = true,
                                      .sync_us = SL_SYNC_OFF };
    if (redis->shared.target)
        redis->store.local = sl_memory_open(&local, error);
    if (!redis->store.local) {
        close_redis(&redis->store);
        return NULL;
    }
    greet(redis, error);
    return &redis->store;
}
