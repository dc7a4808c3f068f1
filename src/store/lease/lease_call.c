/* The beginning of a call for a lease: how many units it asks for, and how many it gives back.
 *
 *   a call is due ---> begin: units spent and given back leave the lease (L5)
 *                        |        … the call is under way; kept units can be spent …
 *                        +--> the reply: lease_answer.c
 *
 * There is one call at a time for a claim, because of `is_called`. */
#include <stdlib.h>

#include "base/text/number.h"
#include "store/lease/lease_internal.h"

enum {
    SECOND_US = 1000000,
    FEW = 96,   /* `lease: auto` takes an eighth of a second's demand, or this many */
    FINE = 256, /* the demand is kept in 1/256 units */
};

/* ---- owning a slot ---- */

static bool try_own(struct sl_lease *lease)
{
    return !sl_load(&lease->is_called) &&
           !atomic_exchange_explicit(&lease->is_called, true, memory_order_acquire);
}

/* ---- demand ---- */

/* Adds units to an average that halves every second, and falls linearly in between. */
static void add_demand(struct sl_lease *lease, uint64_t units, int64_t now_us)
{
    int64_t gone_us = sl_max_i64(now_us - lease->demand_us, 0);
    int64_t whole = gone_us / SECOND_US, rest_us = gone_us % SECOND_US;
    lease->demand = whole < 64 ? lease->demand >> whole : 0;
    lease->demand -= lease->demand / (2 * SECOND_US) * (uint64_t)rest_us +
                     lease->demand % (2 * SECOND_US) * (uint64_t)rest_us / (2 * SECOND_US);
    lease->demand += units * FINE;
    lease->demand_us = now_us;
}

/* Adds the demand since the last time. Returns how many units are spent. */
static uint32_t add_spent_demand(struct sl_lease *lease, int64_t now_us)
{
    uint32_t spent = lease->granted - sl_word_left(sl_word_load(&lease->word));
    uint64_t more =
        spent > lease->reckoned ? spent - lease->reckoned : 0; /* fewer: some were put back */
    add_demand(lease, more + atomic_exchange(&lease->missed, 0), now_us);
    lease->reckoned = spent;
    return spent;
}

/* Returns the units wanted in a second. An even demand adds up to twice that; in the first second
 * it is the sum so far. */
static uint64_t demand_per_second(const struct sl_lease *lease)
{
    bool is_new = lease->demand_us - lease->since_us < SECOND_US;
    return lease->demand / (is_new ? 1 : 2) / FINE;
}

/* Returns how many units to hold; 0: none. */
static uint32_t batch_size(const struct sl_lease *lease)
{
    uint64_t demand = demand_per_second(lease);
    uint64_t most = lease->mode > 0
                        ? (uint64_t)lease->mode
                        : (demand / SL_LEASE_SHARE > FEW ? demand / SL_LEASE_SHARE : FEW);
    uint64_t batch = demand < most ? demand : most;
    uint64_t share = (uint64_t)lease->limit.capacity / SL_LEASE_SHARE;
    batch = batch < share ? batch : share;
    return batch < SL_LEASE_LEAST ? 0 : (uint32_t)batch;
}

/* ---- beginning a call ---- */

enum why { RUNS_LOW, RENEWED, GIVEN_BACK };

/* Has the lease ended, with nothing left to settle? A bucket's lease has lapsed in the store, or is
 * about to: if the store's clock steps back its term may come again, and would be settled from the
 * units of other instances. Of a fixed window that is over no units can be returned; of a counter's
 * window they can, as long as the store may know its term. */
static bool has_lapsed(const struct sl_lease *lease, int64_t now_us)
{
    int64_t end_us = (int64_t)sl_word_load(&lease->word).hi;
    if (lease->term_us == 0 || now_us < end_us)
        return false;
    return lease->algo->is_bucket || now_us >= end_us + 2 * SECOND_US ||
           (lease->ends_with_window && lease->algo == &sl_fixed_window);
}

static void leave_to_lapse(struct sl_leases *leases, struct sl_lease *lease)
{
    uint32_t left = sl_lease_replace(lease, 0, 0);
    sl_lease_count(leases, lease, SL_LEASE_SPENT, lease->granted - left);
    sl_lease_count(leases, lease, SL_LEASE_DROPPED, left);
    sl_keep(&lease->most, 0);
    lease->granted = lease->reckoned = 0;
    lease->term_us = lease->window_us = 0;
}

/* Fills in lease->ask; ask.cost is the units that the call needs. Returns false if there is nothing
 * to settle and nothing to ask for. */
static bool begin_call(struct sl_leases *leases, struct sl_lease *lease, enum why why,
                       struct sl_ask ask)
{
    int64_t now_us = ask.now_us;
    uint32_t need = ask.cost;
    SL_CHECK(sl_load(&lease->is_called) && lease->algo);
    uint32_t spent = add_spent_demand(lease, now_us);
    if (has_lapsed(lease, now_us))
        leave_to_lapse(leases, lease);
    struct sl_word word = sl_word_load(&lease->word);
    uint32_t batch = why == GIVEN_BACK || (why == RENEWED && spent == 0) ? 0 : batch_size(lease);
    bool keeps = batch > 0 && need == 0 && now_us < (int64_t)word.hi;
    if (batch == 0 ? lease->term_us == 0 || why == RUNS_LOW
                   : why == RUNS_LOW && keeps && sl_word_left(word) >= batch)
        return false;
    /* One swap (L5): returned units can no longer be spent, and units spent before stay spent. */
    while (!sl_word_swap(&lease->word, &word,
                         sl_word_lease(keeps ? sl_word_left(word) : 0, sl_word_generation(word) + 1,
                                       (int64_t)word.hi)))
        ;
    uint32_t left = sl_word_left(word);
    lease->generation = sl_word_generation(word) + 1;
    lease->ask = (struct sl_lease_ask){ .term_us = lease->term_us,
                                        .window_us = lease->window_us,
                                        .spent = lease->granted - left,
                                        .kept = keeps ? left : 0,
                                        .back = keeps ? 0 : left,
                                        .need = need };
    lease->ask.want = batch > lease->ask.kept ? batch - lease->ask.kept : 0;
    SL_CHECK(lease->ask.kept == 0 || lease->ask.back == 0);
    lease->granted = lease->ask.kept;
    lease->reckoned = 0;
    lease->asked_us = now_us;
    lease->pardons = atomic_load(&leases->pardons);
    lease->asked_page = sl_load(&leases->page);
    return true;
}

static bool keep_name(struct sl_lease *lease, const struct sl_claim *claim)
{
    if (!claim->name)
        return lease->name_len > 0;
    struct sluice_text name = claim->name->key;
    if (name.len > lease->name_room) {
        char *room = realloc(lease->name, name.len);
        if (!room)
            return false;
        lease->name = room;
        lease->name_room = name.len;
    }
    memcpy(lease->name, name.at, name.len);
    lease->name_len = name.len;
    return true;
}

static bool is_idle(struct sl_lease *lease, int64_t now_us)
{
    if (lease->term_us && now_us < (int64_t)sl_word_load(&lease->word).hi)
        return false;
    add_demand(lease, 0, now_us);
    return lease->demand < FINE && sl_load(&lease->missed) == 0;
}

static void move_claim_in(struct sl_leases *leases, struct sl_lease *lease,
                          const struct sl_claim *claim, int64_t now_us)
{
    leave_to_lapse(leases, lease); /* first: a thread that has read the old claim's word fails */
    sl_keep(&lease->key_low, claim->key.low);
    sl_keep(&lease->key_high, claim->key.high);
    sl_keep(&lease->capacity, claim->limit.capacity);
    sl_keep(&lease->span, sl_lease_span(claim));
    sl_keep(&lease->rule, claim->rule);
    sl_keep(&lease->missed, 0);
    sl_keep(&lease->again_us, 0);
    sl_keep(&lease->denied_until_us, 0);
    sl_keep(&lease->passes_us, 0);
    sl_keep(&lease->renew_us, 0);
    lease->algo = claim->algo;
    lease->limit = claim->limit;
    lease->name_len = 0;
    lease->demand = 0;
    lease->demand_us = lease->since_us = now_us;
    lease->ahead_at_us = 0;
}

/* Finds a slot for the claim: an idle lease gives way. Returns it owned, or NULL. */
static struct sl_lease *adopt_idle_slot(struct sl_leases *leases, const struct sl_claim *claim,
                                        int64_t now_us)
{
    struct sl_lease *lease = leases->slots + sl_leases_place(&claim->key);
    for (size_t i = 0; i < SL_LEASE_WAYS; i++, lease++) {
        if (!try_own(lease))
            continue;
        if (is_idle(lease, now_us)) {
            move_claim_in(leases, lease, claim, now_us);
            return lease;
        }
        sl_lease_disown(lease);
    }
    return NULL;
}

/* Returns the claim's slot or a new one, owned; or NULL. */
static struct sl_lease *own_slot(struct sl_leases *leases, const struct sl_claim *claim,
                                 struct sl_ask ask, bool is_needed)
{
    struct sl_lease *lease = sl_leases_find(leases, claim);
    if (!lease) {
        lease = adopt_idle_slot(leases, claim, ask.now_us);
        if (lease)
            sl_keep(&lease->missed, ask.cost);
        return lease;
    }
    atomic_fetch_add_explicit(&lease->missed, ask.cost, memory_order_relaxed);
    if ((!is_needed && ask.now_us < sl_load(&lease->again_us)) || !try_own(lease))
        return NULL;
    if (sl_leases_find(leases, claim) == lease)
        return lease;
    sl_lease_disown(lease); /* another claim has got the slot since */
    return NULL;
}

struct sl_lease *sl_leases_want(struct sl_leases *leases, const struct sl_claim *claim,
                                struct sl_ask ask, uint32_t need)
{
    bool is_large = ask.cost > claim->limit.capacity / SL_LEASE_SHARE;
    SL_CHECK(claim->lease && ask.cost > 0 && need <= ask.cost);
    if (is_large && sl_leases_left(leases, claim, ask.now_us) == 0)
        return NULL;
    struct sl_lease *lease = own_slot(leases, claim, ask, need > 0);
    if (!lease)
        return NULL;
    lease->mode = claim->lease;
    ask.cost = is_large ? 0 : need;
    if (keep_name(lease, claim) && begin_call(leases, lease, is_large ? GIVEN_BACK : RUNS_LOW, ask))
        return lease;
    sl_lease_disown(lease);
    return NULL;
}

struct sl_lease *sl_leases_due(struct sl_leases *leases)
{
    return sl_lease_at(leases, atomic_exchange(&leases->due, 0));
}

bool sl_lease_begin(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us)
{
    if (begin_call(leases, lease, RUNS_LOW, (struct sl_ask){ now_us, 0 }))
        return true;
    sl_lease_disown(lease);
    return false;
}

struct sl_lease *sl_leases_recall(struct sl_leases *leases, size_t number,
                                  const struct sl_hash128 *key, int64_t now_us)
{
    SL_CHECK(number < SL_LEASES_MAX);
    struct sl_lease *lease = &leases->slots[number];
    if (key && (sl_load(&lease->key_low) != key->low || sl_load(&lease->key_high) != key->high))
        return NULL;
    if (now_us >= (int64_t)sl_word_load(&lease->word).hi || !try_own(lease))
        return NULL;
    if (begin_call(leases, lease, GIVEN_BACK, (struct sl_ask){ now_us, 0 }))
        return lease;
    sl_lease_disown(lease);
    return NULL;
}

enum sl_lease_turn sl_lease_look(struct sl_leases *leases, struct sl_lease *lease, uint32_t owner,
                                 int64_t now_us)
{
    bool turned = sl_load(&lease->page) != sl_load(&leases->page);
    int64_t renew_us = sl_load(&lease->renew_us);
    SL_CHECK(owner != 0);
    if (renew_us == 0 || sl_load(&lease->owner) != owner)
        return SL_LEASE_OVER;
    if ((now_us < renew_us && !turned) || !try_own(lease))
        return SL_LEASE_REST;
    struct sl_word word = sl_word_load(&lease->word);
    bool is_over = now_us >= (int64_t)word.hi;
    struct sl_ask ask = { now_us, 0 };
    if (is_over && sl_word_left(word) == 0) {
        add_spent_demand(lease, now_us);
        leave_to_lapse(leases, lease);
    }
    if (lease->term_us && begin_call(leases, lease, turned || is_over ? GIVEN_BACK : RENEWED, ask))
        return SL_LEASE_CALL;
    sl_keep(&lease->renew_us, 0);
    sl_lease_disown(lease);
    return SL_LEASE_OVER;
}

void sl_lease_leave(struct sl_lease *lease, uint32_t owner)
{
    SL_CHECK(owner != 0);
    atomic_compare_exchange_strong(&lease->owner, &owner, 0);
}

void sl_leases_turn_page(struct sl_leases *leases)
{
    atomic_fetch_add(&leases->page, 1);
}
