/* Makes the calls for leases, and lets requests wait for them.
 *
 *   sl_lease_client_open → a call that decides the request ─┐
 *   sl_lease_client_wait → waits for such a call            ├→ the reply → sl_lease_client_wake
 *   sl_lease_client_tend → a call of its own               ─┘ */
#include "store/redis/lease_client.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "store/claim.h"
#include "store/redis/ask.h"
#include "store/redis/channel.h"

enum { CALL_MAX_BYTES = 1 << 16, GIVEN_BACK_AT_ONCE = 1024, LOOK_US = 1000 };

/* A lease that moves back and forth between two threads may be listed more than once, until the
 * next sl_lease_client_tend finds that it is the other's. */
enum { TENDED_MAX = 2 * SL_LEASES_MAX };

void sl_lease_client_init(struct sl_lease_client *lease_client, struct sl_channel *channel,
                          struct sl_link_shared *shared, bool takes)
{
    static _Atomic uint32_t last;
    *lease_client = (struct sl_lease_client){ .channel = channel,
                                              .scripts = &shared->scripts,
                                              .answers = shared->answers,
                                              .leases = sl_answer_cache_leases(shared->answers),
                                              .takes = takes,
                                              .spare_us = shared->deadline_us / 2,
                                              .number = atomic_fetch_add(&last, 1) + 1 };
}

void sl_lease_client_release(struct sl_lease_client *lease_client)
{
    struct sl_lease_wait *first = lease_client->parked;
    lease_client->parked = NULL;
    sl_lease_client_wake(lease_client, first, SLUICE_STORE_DOWN);
    free(lease_client->tended);
}

/* ---- calls ---- */

/* Makes this client the lease's owner. Without room it has none, and ends by itself. */
static void own_lease(struct sl_lease_client *lease_client, struct sl_lease *lease)
{
    if (!lease_client->takes || atomic_load(&lease->renew_us) == 0 ||
        atomic_exchange(&lease->owner, lease_client->number) == lease_client->number)
        return;
    if (lease_client->count == lease_client->room) {
        size_t room = lease_client->room ? lease_client->room * 2 : 64;
        uint32_t *tended =
            room <= TENDED_MAX ? realloc(lease_client->tended, room * sizeof *tended) : NULL;
        if (!tended) {
            atomic_store(&lease->owner, 0);
            return;
        }
        lease_client->tended = tended;
        lease_client->room = room;
    }
    lease_client->tended[lease_client->count++] = (uint32_t)(lease - lease_client->leases->slots);
}

/* From now on requests that find no units wait for this call. */
static void open_waiting_list(struct sl_lease_client *lease_client, struct sl_lease *lease)
{
    lease->waiting = NULL;
    lease->waiting_end = &lease->waiting;
    atomic_store(&lease->caller, lease_client->number);
}

struct sl_lease_wait *sl_lease_client_waiting(struct sl_lease *lease)
{
    struct sl_lease_wait *first = lease->waiting;
    lease->waiting = NULL;
    atomic_store(&lease->caller, 0);
    return first;
}

/* Applies the reply, or the lack of one. Returns true if the request that needed it is allowed. The
 * list of waiting requests has been taken before. */
static bool apply_reply(struct sl_lease_client *lease_client, struct sl_lease *lease,
                        const struct sl_redis_query *query, const struct sl_redis_reply *reply,
                        struct sl_lease_reply *out)
{
    int64_t now_us = sl_boottime_us();
    if (reply && sl_answer_lease(reply, out)) {
        bool allowed = sl_lease_answer(lease_client->leases, lease, out, now_us);
        own_lease(lease_client, lease);
        return allowed;
    }
    *out = (struct sl_lease_reply){ 0 };
    if (query->may_have_run)
        sl_lease_lose(lease_client->leases, lease, now_us);
    else
        sl_lease_keep(lease, now_us);
    return false;
}

struct lease_call {
    struct sl_redis_query query; /* first */
    struct sl_lease_client *lease_client;
    struct sl_lease *lease;
    struct sl_buffer bytes;
};

static void on_lease_called(struct sl_redis_query *query, int status,
                            const struct sl_redis_reply *reply)
{
    struct lease_call *call = (struct lease_call *)query;
    struct sl_lease_client *lease_client = call->lease_client;
    SL_CHECK(lease_client->waiting > 0);
    struct sl_lease_wait *first = sl_lease_client_waiting(call->lease);
    struct sl_lease_reply heard;
    apply_reply(lease_client, call->lease, query, status == SLUICE_OK ? reply : NULL, &heard);
    lease_client->waiting--;
    sl_buffer_release(&call->bytes);
    free(call);
    sl_lease_client_wake(lease_client, first, status);
}

/* Sends a call that decides no request. */
static void send_call(struct sl_lease_client *lease_client, struct sl_lease *lease)
{
    struct lease_call *call = calloc(1, sizeof *call);
    open_waiting_list(lease_client, lease);
    if (!call) {
        sl_lease_client_waiting(lease);
        sl_lease_keep(lease, sl_boottime_us());
        return;
    }
    *call = (struct lease_call){ .lease_client = lease_client,
                                 .lease = lease,
                                 .bytes = sl_buffer(CALL_MAX_BYTES) };
    call->query.done = on_lease_called;
    call->query.is_quiet = true;
    lease_client->waiting++;
    if (sl_ask_lease(lease_client->scripts, lease, &call->bytes, &call->query))
        sl_channel_ask(lease_client->channel, &call->query);
    else
        on_lease_called(&call->query, SLUICE_NO_MEMORY, NULL);
}

bool sl_lease_client_call_due(struct sl_lease_client *lease_client)
{
    struct sl_lease *lease = sl_leases_due(lease_client->leases), *next;
    int64_t now_us = lease ? sl_boottime_us() : 0;
    bool any = false;
    for (; lease; lease = next) {
        next = sl_lease_next(lease_client->leases, lease);
        if (!sl_lease_begin(lease_client->leases, lease, now_us))
            continue;
        send_call(lease_client, lease);
        any = true;
    }
    return any;
}

bool sl_lease_client_tend(struct sl_lease_client *lease_client)
{
    int64_t now_us = lease_client->count ? sl_boottime_us() : 0;
    bool any = false;
    SL_CHECK(lease_client->count <= lease_client->room);
    for (size_t i = 0; i < lease_client->count;) {
        struct sl_lease *lease = &lease_client->leases->slots[lease_client->tended[i]];
        switch (sl_lease_look(lease_client->leases, lease, lease_client->number, now_us)) {
        case SL_LEASE_CALL:
            send_call(lease_client, lease);
            any = true;
            i++;
            break;
        case SL_LEASE_REST:
            i++;
            break;
        case SL_LEASE_OVER:
            sl_lease_leave(lease, lease_client->number);
            lease_client->tended[i] = lease_client->tended[--lease_client->count];
            break;
        }
    }
    return any;
}

size_t sl_lease_client_give_back(struct sl_lease_client *lease_client, const struct sl_hash128 *key,
                                 size_t *next)
{
    size_t given = 0, end = key ? sl_leases_place(key) + SL_LEASE_WAYS : SL_LEASES_MAX;
    if (key)
        *next = sl_leases_place(key);
    while (lease_client->leases && *next < end && given < GIVEN_BACK_AT_ONCE) {
        struct sl_lease *lease =
            sl_leases_recall(lease_client->leases, (*next)++, key, sl_boottime_us());
        if (!lease)
            continue;
        send_call(lease_client, lease);
        given++;
    }
    return given;
}

/* ---- requests ---- */

/* May the bundle be decided from a lease? */
static bool may_lease(const struct sl_lease_client *lease_client, const struct sl_bundle *bundle)
{
    if (!lease_client->leases || !lease_client->takes || bundle->now_us >= 0 || bundle->peek ||
        bundle->max_delay_us >= 0 || bundle->hold_us || bundle->wants_all)
        return false;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (bundle->claims[i].no_key && !bundle->claims[i].shadow)
            return false; /* the bundle is denied, and nothing is charged */
    return true;
}

struct sl_lease *sl_lease_client_open(struct sl_lease_client *lease_client,
                                      struct sl_bundle *bundle)
{
    if (!may_lease(lease_client, bundle))
        return NULL;
    int64_t now_us = 0, ahead_us;
    bool is_one = bundle->claim_count == 1;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (!claim->lease || claim->no_key || !claim->name || !sl_claim_takes(bundle, claim))
            continue;
        now_us = now_us ? now_us : sl_boottime_us();
        struct sl_ask ask = { now_us, sl_claim_cost(bundle, claim) };
        claim->is_here = !is_one && sl_leases_take(lease_client->leases, claim, ask, &ahead_us,
                                                   sl_lease_ticket_of(claim));
        struct sl_lease *lease = claim->is_here ? NULL
                                                : sl_leases_want(lease_client->leases, claim, ask,
                                                                 is_one ? ask.cost : 0);
        if (lease && lease->ask.need) {
            open_waiting_list(lease_client, lease);
            return lease;
        }
        if (lease)
            send_call(lease_client, lease);
    }
    return NULL;
}

/* ---- waiting ---- */

/* A request waits for a call of this client in that call's list. Another thread cannot tell us when
 * its call ends, so for such a call the request is parked and looked at every LOOK_US. The other
 * thread may be late to read its answer: so it waits only as long as there is time left to ask the
 * store. */
static bool wait_for_call(struct sl_lease_client *lease_client, struct sl_lease_wait *wait)
{
    const struct sl_claim *claim = &wait->bundle->claims[0];
    struct sl_lease *lease = sl_leases_called(lease_client->leases, claim);
    if (!lease || sl_link_now_us() >= wait->due_us)
        return false;
    wait->next = NULL;
    if (atomic_load(&lease->caller) == lease_client->number) {
        *lease->waiting_end = wait;
        lease->waiting_end = &wait->next;
        return true;
    }
    if (sl_link_now_us() >= wait->due_us - lease_client->spare_us)
        return false;
    if (!lease_client->parked)
        lease_client->parked_end = &lease_client->parked;
    *lease_client->parked_end = wait;
    lease_client->parked_end = &wait->next;
    sl_channel_wake_by(lease_client->channel, sl_link_now_us() + LOOK_US);
    return true;
}

bool sl_lease_client_wait(struct sl_lease_client *lease_client, struct sl_lease_wait *wait)
{
    struct sl_bundle *bundle = wait->bundle;
    struct sl_claim *claim = &bundle->claims[0];
    if (bundle->claim_count != 1 || !claim->lease || !may_lease(lease_client, bundle) ||
        !sl_claim_takes(bundle, claim) ||
        sl_claim_cost(bundle, claim) > claim->limit.capacity / SL_LEASE_SHARE ||
        !wait_for_call(lease_client, wait))
        return false;
    claim->name = NULL;
    return true;
}

/* Answers the bundle from the lease, or by a remembered denial, or because it is too early to ask
 * the store. Returns false if none of these can. */
static bool answer_here(struct sl_lease_client *lease_client, struct sl_bundle *bundle,
                        struct sl_ask ask)
{
    struct sl_claim *claim = &bundle->claims[0];
    int64_t ahead_us;
    if (!sl_leases_take(lease_client->leases, claim, ask, &ahead_us, sl_lease_ticket_of(claim))) {
        if (sl_answer_cache_recall(lease_client->answers, bundle))
            return true;
        if (!sl_leases_deny(lease_client->leases, claim, ask, &ahead_us))
            return false;
    }
    bundle->now_us = ask.now_us + ahead_us;
    sl_answer_cache_decide(bundle);
    return true;
}

/* The first request that cannot be answered makes the next call, and the others wait for that. */
static void wake_request(struct sl_lease_client *lease_client, struct sl_lease_wait *wait,
                         int64_t now_us)
{
    const struct sl_claim *claim = &wait->bundle->claims[0];
    SL_CHECK(wait->bundle->claim_count == 1);
    struct sl_ask ask = { now_us, sl_claim_cost(wait->bundle, claim) };
    if (answer_here(lease_client, wait->bundle, ask)) {
        wait->answered(wait, SLUICE_OK);
        return;
    }
    if (sl_leases_any_due(lease_client->leases)) /* requests before this one have left little */
        sl_lease_client_call_due(lease_client);
    if (wait_for_call(lease_client, wait))
        return;
    struct sl_lease *lease = sl_leases_want(lease_client->leases, claim, ask, ask.cost);
    if (lease)
        open_waiting_list(lease_client, lease);
    wait->asks(wait, lease);
}

void sl_lease_client_wake(struct sl_lease_client *lease_client, struct sl_lease_wait *first,
                          int status)
{
    struct sl_lease_wait *wait = first, *next;
    int64_t now_us = first ? sl_boottime_us() : 0;
    for (; wait; wait = next) {
        next = wait->next;
        if (status == SLUICE_OK)
            wake_request(lease_client, wait, now_us);
        else
            wait->answered(wait, status);
    }
    if (first && status == SLUICE_OK && sl_leases_any_due(lease_client->leases))
        sl_lease_client_call_due(lease_client);
}

bool sl_lease_client_look(struct sl_lease_client *lease_client)
{
    struct sl_lease_wait *first = lease_client->parked;
    lease_client->parked = NULL;
    sl_lease_client_wake(lease_client, first, SLUICE_OK);
    return first;
}

/* ---- answers ---- */

/* Decides on the state in the reply. Fails if C and the script come to different decisions. */
static int fill_in_bundle(struct sl_bundle *bundle, const struct sl_lease_reply *reply,
                          bool allowed)
{
    struct sl_claim *claim = &bundle->claims[0];
    struct sl_state *state = (struct sl_state *)(void *)claim->own;
    int64_t told[SL_TOLD];
    memcpy(told, reply->told, sizeof told);
    *state = (struct sl_state){ 0 };
    bundle->now_us = reply->now_us;
    bundle->wall_shift_us = 0;
    claim->algo->load(&claim->limit, told, state);
    sl_claim_decide(claim, bundle, state);
    sl_bundle_judge(bundle);
    if (claim->allowed != allowed)
        return SLUICE_STORE_DOWN;
    claim->charged = allowed;
    if (allowed)
        claim->algo->charge(&claim->limit, state,
                            (struct sl_ask){ bundle->now_us, sl_claim_cost(bundle, claim) });
    sl_claim_measure(claim, bundle, state);
    return SLUICE_OK;
}

int sl_lease_client_decide(struct sl_lease_client *lease_client, struct sl_lease *lease,
                           struct sl_bundle *bundle, const struct sl_redis_query *query,
                           const struct sl_redis_reply *reply)
{
    struct sl_lease_reply heard;
    SL_CHECK(bundle->claim_count == 1);
    bool allowed = apply_reply(lease_client, lease, query, reply, &heard);
    return heard.now_us ? fill_in_bundle(bundle, &heard, allowed) : SLUICE_STORE_DOWN;
}

void sl_lease_client_close(struct sl_lease_client *lease_client, struct sl_bundle *bundle)
{
    if (!lease_client->leases)
        return;
    bool keeps = bundle->status == SLUICE_OK && bundle->allowed;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->is_here && !keeps) {
            sl_lease_put_back(*sl_lease_ticket_of(claim), sl_claim_cost(bundle, claim));
            claim->charged = false;
        }
        if (bundle->peek && claim->lease && bundle->status == SLUICE_OK)
            claim->figures.remaining +=
                sl_leases_left(lease_client->leases, claim, sl_boottime_us());
    }
}
