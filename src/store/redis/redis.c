/* The Redis store, for callers that block: commands, programs with libsluice, the server's main
 * thread. The server's workers have channels of their own (channel.h).
 *
 *   call → a channel from the pool → asked → poll(2) until it is done → back to the pool
 *
 * There are as many channels as calls at the same time; the pool keeps at most PLACES of them. A
 * place is emptied and filled by one exchange each, without a lock, so that a process that was
 * forked during another thread's call can go on. It leaves its parent's connections alone, and
 * makes its own. */
#include "store/redis/redis.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text/number.h"
#include "store/redis/ask.h"
#include "store/redis/cluster/cluster.h"

enum { PLACES = 64, FIRST_WAIT_US = 1000000, DEADLINE_US = 20000 };

/* A channel, and its host for a thread that blocks. */
struct caller {
    struct sl_channel *channel;
    pid_t pid;
    struct pollfd *watched; /* its sockets: one, or one for each node of a cluster */
    nfds_t count, room;
    int64_t wake_us;
};

struct redis {
    struct sl_store store;
    struct sl_link_shared shared;
    _Atomic(struct caller *) places[PLACES];
};

/* ---- the host ---- */

static struct pollfd *watched_place(struct caller *caller, int fd)
{
    for (nfds_t i = 0; i < caller->count; i++)
        if (caller->watched[i].fd == fd)
            return &caller->watched[i];
    if (caller->count == caller->room) {
        nfds_t room = caller->room ? 2 * caller->room : 4;
        struct pollfd *larger = realloc(caller->watched, room * sizeof *larger);
        if (!larger)
            return NULL; /* not watched, its questions end at their deadline */
        caller->watched = larger;
        caller->room = room;
    }
    caller->watched[caller->count] = (struct pollfd){ .fd = fd };
    return &caller->watched[caller->count++];
}

static void watch_socket(void *about, int fd, bool reads, bool writes)
{
    struct caller *caller = about;
    struct pollfd *place = watched_place(caller, fd);
    if (!place)
        return;
    place->events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    if (!reads && !writes)
        *place = caller->watched[--caller->count];
}

static void set_wake_time(void *about, int64_t at_us)
{
    struct caller *caller = about;
    caller->wake_us = at_us;
}

static void wake_if_due(struct caller *caller)
{
    if (sl_link_now_us() < caller->wake_us)
        return;
    caller->wake_us = INT64_MAX;
    sl_channel_on_time(caller->channel);
}

/* Backwards: a socket that is removed on the way is replaced by one that was visited already, and
 * a socket that is added has no events yet. */
static void dispatch_ready(struct caller *caller)
{
    for (nfds_t i = caller->count; i-- > 0;) {
        if (i >= caller->count || !caller->watched[i].revents)
            continue;
        caller->watched[i].revents = 0;
        sl_channel_on_ready(caller->channel, caller->watched[i].fd);
    }
}

/* Waits for the next event, until_us at the latest, and lets the channel act on it. */
static void poll_once(struct caller *caller, int64_t until_us)
{
    int64_t wait_us = sl_min_i64(caller->wake_us, until_us) - sl_link_now_us();
    wait_us = wait_us > 0 ? wait_us : 0;
    struct timespec wait = { wait_us / 1000000, wait_us % 1000000 * 1000 };
    if (ppoll(caller->watched, caller->count, &wait, NULL) > 0)
        dispatch_ready(caller);
    wake_if_due(caller);
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
    free(caller->watched);
    free(caller);
}

static struct caller *new_caller(struct redis *redis)
{
    struct caller *caller = calloc(1, sizeof *caller);
    if (!caller)
        return NULL;
    struct sl_link_host host = { caller, watch_socket, set_wake_time, .is_patient = true };
    *caller = (struct caller){ .pid = getpid(), .wake_us = INT64_MAX };
    caller->channel = sl_channel_new(&redis->shared, &host);
    if (caller->channel)
        return caller;
    free(caller);
    return NULL;
}

/* A channel that a parent process left here is the parent's: its socket is closed without a word.
 */
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

static void return_caller(struct redis *redis, struct caller *caller)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct caller *empty = NULL;
        if (atomic_compare_exchange_strong(&redis->places[i], &empty, caller))
            return;
    }
    drop_caller(caller);
}

/* Takes a channel, and lets it act on earlier events: Redis may have closed it, or be back. */
static struct caller *begin_call(struct redis *redis)
{
    struct caller *caller = take_caller(redis);
    if (!caller)
        return NULL;
    poll_once(caller, 0);
    return caller;
}

/* Waits for all answers, also to lease calls and settlements, because a channel in the pool hears
 * none. Every question ends by its deadline, and so does this. */
static void finish_call(struct redis *redis, struct caller *caller, const bool *is_done)
{
    sl_channel_flush(caller->channel);
    while (!*is_done || sl_channel_has_lease_calls(caller->channel) ||
           sl_channel_settles(caller->channel, false))
        poll_once(caller, INT64_MAX);
    SL_CHECK(*is_done);
    return_caller(redis, caller);
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

/* A peek writes nothing: periodic work can wait for a call that does. */
static bool are_peeks(const struct sl_bundle *bundles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!bundles[i].peek)
            return false;
    return true;
}

static void decide_bundles(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    struct redis *redis = (struct redis *)store;
    struct decision decision = { .parcel = { bundles, count, .done = on_decided } };
    if (sl_answer_cache_answer_all(store->answers, bundles, count) == count &&
        !sl_answer_cache_is_due(store->answers))
        return;
    struct caller *caller = begin_call(redis);
    for (size_t i = 0; !caller && i < count; i++)
        if (!bundles[i].is_near)
            bundles[i].status = SLUICE_NO_MEMORY;
    if (!caller)
        return;
    if (!are_peeks(bundles, count))
        sl_channel_tend(caller->channel);
    sl_channel_decide(caller->channel, &decision.parcel);
    finish_call(redis, caller, &decision.is_done);
}

struct settling_wait {
    struct sl_settlement settlement; /* first */
    bool is_done;
};

static void on_settled(struct sl_settlement *settlement)
{
    ((struct settling_wait *)settlement)->is_done = true;
}

static int settle_reservation(struct sl_store *store, uint64_t id, uint32_t cost)
{
    struct redis *redis = (struct redis *)store;
    struct settling_wait settling = { .settlement = {
                                          .id = id, .cost = cost, .done = on_settled } };
    struct caller *caller = begin_call(redis);
    if (!caller)
        return SLUICE_NO_MEMORY;
    sl_channel_settle(caller->channel, &settling.settlement);
    finish_call(redis, caller, &settling.is_done);
    return settling.settlement.status;
}

/* The script has made the reservation while it decided. */
static int return_held(struct sl_store *store, const struct sl_bundle *bundle, int64_t expiry_us,
                       uint64_t *id)
{
    (void)store, (void)expiry_us;
    *id = bundle->held;
    return SLUICE_OK;
}

struct change_call {
    struct sl_channel_call call;  /* first */
    const struct sl_hash128 *key; /* the leases of this claim are given back first; or NULL */
    bool is_done;
};

static void on_changed(struct sl_channel_call *call)
{
    ((struct change_call *)call)->is_done = true;
}

/* Makes the prepared call. */
static int make_change(struct redis *redis, struct change_call *change, bool is_prepared)
{
    struct caller *caller = is_prepared ? begin_call(redis) : NULL;
    change->call.done = on_changed;
    size_t next = 0;
    if (caller && change->key)
        sl_channel_give_back(caller->channel, change->key, &next);
    if (caller) {
        sl_channel_call(caller->channel, &change->call);
        finish_call(redis, caller, &change->is_done);
    } else {
        change->call.status = SLUICE_NO_MEMORY;
    }
    sl_buffer_release(&change->call.bytes);
    sl_answer_cache_forget(redis->store.answers); /* also if it failed: it may have run */
    return change->call.status;
}

static int refund_charge(struct sl_store *store, const struct sl_claim *claim,
                         struct sl_charge charge)
{
    struct redis *redis = (struct redis *)store;
    struct change_call change = { .call.bytes = sl_buffer(1 << 16) };
    struct sl_changing changing = { .claim = claim, .charge = charge };
    return make_change(redis, &change,
                       sl_ask_change(&redis->shared.scripts, &changing, 1, &change.call.bytes,
                                     &change.call.query));
}

static int reset_claim(struct sl_store *store, const struct sl_claim *claim)
{
    struct redis *redis = (struct redis *)store;
    struct change_call change = { .call.bytes = sl_buffer(1 << 16), .key = &claim->key };
    return make_change(
        redis, &change,
        sl_ask_forget(&redis->shared.scripts, claim, &change.call.bytes, &change.call.query));
}

static void call_once(struct sl_store *store, struct sl_channel_call *call)
{
    struct redis *redis = (struct redis *)store;
    SL_CHECK(call->done);
    struct caller *caller = begin_call(redis);
    if (caller) {
        sl_channel_call(caller->channel, call);
        finish_call(redis, caller, &call->is_done);
        return;
    }
    call->status = SLUICE_NO_MEMORY;
    call->reply = NULL;
    call->done(call);
}

static struct sl_channel *open_channel(struct sl_store *store, const struct sl_link_host *host)
{
    return sl_channel_new(&((struct redis *)store)->shared, host);
}

static void copy_last_failure(struct sl_store *store, struct sluice_error *out)
{
    struct sl_link_shared *shared = &((struct redis *)store)->shared;
    pthread_mutex_lock(&shared->why_lock);
    sl_error_say(out, "%s", shared->why);
    pthread_mutex_unlock(&shared->why_lock);
}

static void fill_in_health(struct sl_store *store, struct sl_store_health *out)
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
    uint32_t masters = shared->target ? sl_target_reign(shared->target) : 0;
    out->master_changes = masters ? masters - 1 : 0; /* the first master is no change */
    for (size_t i = 0; i < SL_REDIRECTION_COUNT; i++)
        out->redirections[i] = atomic_load(&shared->redirections[i]);
    for (size_t i = 0; i < SL_UNDO_COUNT; i++)
        out->undos[i] = atomic_load(&shared->undos[i]);
    out->nodes = shared->cluster ? sl_cluster_masters(shared->cluster) : 1;
}

/* Gives back all leases, many calls at a time, for at most one deadline. */
static void give_back_leases(struct redis *redis)
{
    struct sl_leases *leases = sl_answer_cache_leases(redis->store.answers);
    struct caller *caller =
        leases && sl_leases_any(leases, sl_boottime_us()) ? begin_call(redis) : NULL;
    int64_t until_us = sl_link_now_us() + redis->shared.deadline_us;
    size_t next = 0;
    while (caller && next < SL_LEASES_MAX && sl_link_now_us() < until_us) {
        sl_channel_give_back(caller->channel, NULL, &next);
        sl_channel_flush(caller->channel);
        while (sl_channel_has_lease_calls(caller->channel))
            poll_once(caller, INT64_MAX);
    }
    drop_caller(caller);
}

/* Refunds that are tried again have until then. */
static void finish_refunds(struct caller *caller, int64_t until_us)
{
    while (caller && caller->pid == getpid() && sl_channel_settles(caller->channel, true) &&
           sl_link_now_us() < until_us)
        poll_once(caller, until_us);
    drop_caller(caller);
}

static void close_redis(struct sl_store *store)
{
    struct redis *redis = (struct redis *)store;
    give_back_leases(redis);
    int64_t until_us = sl_link_now_us() + redis->shared.deadline_us;
    for (size_t i = 0; i < PLACES; i++)
        finish_refunds(atomic_exchange(&redis->places[i], NULL), until_us);
    sl_scripts_release(&redis->shared.scripts);
    sl_cluster_free(redis->shared.cluster);
    sl_target_close(redis->shared.target);
    pthread_mutex_destroy(&redis->shared.why_lock);
    sl_store_close(redis->store.local);
    sl_answer_cache_free(redis->store.answers);
    free(redis);
}

static const struct sl_store_ops redis_ops = {
    .decide = decide_bundles,
    .refund = refund_charge,
    .reset = reset_claim,
    .hold = return_held,
    .settle = settle_reservation,
    .close = close_redis,
    .channel = open_channel,
    .call = call_once,
    .why = copy_last_failure,
    .health = fill_in_health,
};

/* ---- opening ---- */

/* Connects before the first decision, which has a short deadline: connecting may take a network
 * round trip and a TLS handshake. */
static void connect_first(struct redis *redis, struct sluice_error *note)
{
    struct caller *caller = new_caller(redis);
    int64_t until_us = sl_link_now_us() + FIRST_WAIT_US;
    if (!caller)
        return;
    sl_channel_open(caller->channel);
    struct sl_cluster *cluster = redis->shared.cluster;
    uint32_t tries = cluster ? sl_cluster_seeds(cluster) : 1;
    while (!sl_channel_is_up(caller->channel) && sl_link_now_us() < until_us &&
           atomic_load(&redis->shared.failed_connects) < tries)
        poll_once(caller, until_us);
    if (!sl_channel_is_up(caller->channel)) {
        struct sluice_error reason = { 0 };
        copy_last_failure(&redis->store, &reason);
        sl_error_say(note,
                     "Redis does not answer yet (%s); asking again, until then "
                     "`on_store_failure` decides",
                     *reason.text ? reason.text : sl_target_name(redis->shared.target));
    }
    return_caller(redis, caller);
}

struct sl_store *sl_redis_open(const struct sl_redis_config *config, struct sluice_error *error)
{
    SL_CHECK(config && config->url && config->deadline_us >= 0);
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
    bool is_there = redis->shared.target;
    if (is_there && config->url->kind == SL_STORE_REDIS_CLUSTER) {
        redis->shared.cluster = sl_cluster_new(redis->shared.target, config->url->hosts);
        is_there = redis->shared.cluster;
        if (!is_there)
            sl_error_say(error, "out of memory");
    }
    if (is_there)
        redis->store.local = sl_memory_open(&local, error);
    redis->shared.answers = redis->store.answers =
        sl_answer_cache_new(); /* NULL: every request asks Redis */
    if (!redis->store.local) {
        close_redis(&redis->store);
        return NULL;
    }
    connect_first(redis, error);
    return &redis->store;
}
