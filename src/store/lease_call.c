/* What a holder says and hears in calls for a lease: how much it asks for, what it gives back, and
 * what it makes of the answer.
 *
 *   called for ---> begin: told, spent and given back are out of it (L5)
 *                     |        … the call is under way; what is kept is spent on …
 *                     +--> answer: known, more units, a later end; or not known, and dropped (L6)
 *                     +--> lose: whether it ran is not known, so it is not there (L7)
 *                     +--> keep: it was never sent, and all is as before
 *
 * A call is the only one for its claim, because of `is_called`. */
#include <stdlib.h>

#include "base/number.h"
#include "store/lease_own.h"

enum {
    SECOND_US = 1000000,
    PAUSE_US = 100000, /* after a call that was given little, or failed */
    RENEW_FROM_US = 250000,
    RENEW_RANGE_US = 500000,
    DRIFT = 512, /* the clocks differ by less than such a part (A2) */
    SLACK_US = 1000,
    FEW = 96,   /* auto: an eighth of a second's demand, or this, at the most all of it */
    LOW = 4,    /* such a part is left: ask again; is granted: ask later */
    FINE = 256, /* of the demand */
};

static void count(struct sl_leases *leases, const struct sl_lease *lease, enum sl_lease_end end,
                  uint64_t units)
{
    struct sl_lease_counts *counts = sl_leases_counts(leases, sl_load(&lease->rule));
    if (counts && units)
        atomic_fetch_add_explicit(&counts->units[end], units, memory_order_relaxed);
}

static void count_call(struct sl_leases *leases, const struct sl_lease *lease,
                       enum sl_lease_result result)
{
    struct sl_lease_counts *counts = sl_leases_counts(leases, sl_load(&lease->rule));
    if (counts)
        atomic_fetch_add_explicit(&counts->calls[result], 1, memory_order_relaxed);
}

/* ---- owning a place ---- */

static bool own(struct sl_lease *lease)
{
    return !sl_load(&lease->is_called) &&
           !atomic_exchange_explicit(&lease->is_called, true, memory_order_acquire);
}

static void disown(struct sl_lease *lease)
{
    atomic_store_explicit(&lease->is_called, false, memory_order_release);
}

/* Swaps it for so much left until then, in a new generation. What was left. */
static uint32_t replace(struct sl_lease *lease, uint32_t left, int64_t end_us)
{
    struct sl_word word = sl_word_load(&lease->word);
    while (!sl_word_swap(&lease->word, &word,
                         sl_word_lease(left, sl_word_generation(word) + 1, end_us)))
        ;
    return sl_word_left(word);
}

/* ---- demand ---- */

/* An average that halves every second; between two seconds along a straight line. */
static void reckon(struct sl_lease *lease, uint64_t units, int64_t now_us)
{
    int64_t gone_us = sl_max_i64(now_us - lease->demand_us, 0);
    int64_t whole = gone_us / SECOND_US, rest_us = gone_us % SECOND_US;
    lease->demand = whole < 64 ? lease->demand >> whole : 0;
    lease->demand -= lease->demand / (2 * SECOND_US) * (uint64_t)rest_us +
                     lease->demand % (2 * SECOND_US) * (uint64_t)rest_us / (2 * SECOND_US);
    lease->demand += units * FINE;
    lease->demand_us = now_us;
}

/* Units in a second. What comes evenly adds up to twice that; in the first second it is what has
 * come. */
static uint64_t demand_of(const struct sl_lease *lease)
{
    bool is_new = lease->demand_us - lease->since_us < SECOND_US;
    return lease->demand / (is_new ? 1 : 2) / FINE;
}

/* How much to hold; 0: nothing. */
static uint32_t batch_of(const struct sl_lease *lease)
{
    uint64_t demand = demand_of(lease);
    uint64_t most = lease->mode > 0
                        ? (uint64_t)lease->mode
                        : (demand / SL_LEASE_SHARE > FEW ? demand / SL_LEASE_SHARE : FEW);
    uint64_t batch = demand < most ? demand : most;
    uint64_t share = (uint64_t)lease->limit.capacity / SL_LEASE_SHARE;
    batch = batch < share ? batch : share;
    return batch < SL_LEASE_LEAST ? 0 : (uint32_t)batch;
}

/* ---- beginning ---- */

enum why { RUNS_LOW, RENEWED, GIVEN_BACK };

/* A bucket's that has ended has lapsed, or is about to: nothing is told of it. If the store's clock
 * steps back its term may come again, and would be settled out of what others hold. */
static void leave_to_lapse(struct sl_leases *leases, struct sl_lease *lease)
{
    uint32_t left = replace(lease, 0, 0);
    count(leases, lease, SL_LEASE_SPENT, lease->granted - left);
    count(leases, lease, SL_LEASE_DROPPED, left);
    lease->granted = lease->reckoned = 0;
    lease->term_us = lease->window_us = 0;
}

/* What to say and to ask for; ask.cost is what the call needs. False: there is nothing of either.
 */
static bool begin(struct sl_leases *leases, struct sl_lease *lease, enum why why, struct sl_ask ask)
{
    int64_t now_us = ask.now_us;
    uint32_t need = ask.cost;
    struct sl_word word = sl_word_load(&lease->word);
    uint32_t spent = lease->granted - sl_word_left(word);
    uint64_t more = spent > lease->reckoned ? spent - lease->reckoned : 0; /* some may be back */
    reckon(lease, more + atomic_exchange(&lease->missed, 0), now_us);
    lease->reckoned = spent;
    if (lease->algo->is_bucket && lease->term_us && now_us >= (int64_t)word.hi) {
        leave_to_lapse(leases, lease);
        word = sl_word_load(&lease->word);
    }
    uint32_t batch = why == GIVEN_BACK || (why == RENEWED && spent == 0) ? 0 : batch_of(lease);
    bool keeps = batch > 0 && need == 0 && now_us < (int64_t)word.hi;
    if (batch == 0 ? lease->term_us == 0 || why == RUNS_LOW
                   : why == RUNS_LOW && keeps && sl_word_left(word) >= batch)
        return false;
    /* L5, in one swap: what goes back is gone, and what was taken before stays taken. */
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
    lease->granted = lease->ask.kept;
    lease->reckoned = 0;
    lease->asked_us = now_us;
    lease->pardons = atomic_load(&leases->pardons);
    sl_keep(&lease->page, sl_load(&leases->page));
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
    reckon(lease, 0, now_us);
    return lease->demand < FINE && sl_load(&lease->missed) == 0;
}

static void settle_in(struct sl_lease *lease, const struct sl_claim *claim, int64_t now_us)
{
    replace(lease, 0, 0); /* first: who has read the word of the claim before fails */
    sl_keep(&lease->key_low, claim->key.low);
    sl_keep(&lease->key_high, claim->key.high);
    sl_keep(&lease->capacity, claim->limit.capacity);
    sl_keep(&lease->span, sl_lease_span(claim));
    sl_keep(&lease->rule, claim->rule);
    sl_keep(&lease->missed, 0);
    sl_keep(&lease->again_us, 0);
    sl_keep(&lease->denied_until_us, 0);
    sl_keep(&lease->renew_us, 0);
    lease->algo = claim->algo;
    lease->limit = claim->limit;
    lease->name_len = 0;
    lease->granted = lease->reckoned = 0;
    lease->term_us = lease->window_us = 0;
    lease->demand = 0;
    lease->demand_us = lease->since_us = now_us;
    lease->ahead_at_us = 0;
}

/* A place for the claim: one that nobody uses gives way. It is the caller's. */
static struct sl_lease *adopt(struct sl_leases *leases, const struct sl_claim *claim,
                              int64_t now_us)
{
    struct sl_lease *lease = leases->slots + sl_leases_place(&claim->key);
    for (size_t i = 0; i < SL_LEASE_WAYS; i++, lease++) {
        if (!own(lease))
            continue;
        if (is_idle(lease, now_us)) {
            settle_in(lease, claim, now_us);
            return lease;
        }
        disown(lease);
    }
    return NULL;
}

/* The claim's own place or a new one, owned. */
static struct sl_lease *own_place(struct sl_leases *leases, const struct sl_claim *claim,
                                  struct sl_ask ask, bool is_needed)
{
    struct sl_lease *lease = sl_leases_find(leases, claim);
    if (!lease) {
        lease = adopt(leases, claim, ask.now_us);
        if (lease)
            sl_keep(&lease->missed, ask.cost);
        return lease;
    }
    atomic_fetch_add_explicit(&lease->missed, ask.cost, memory_order_relaxed);
    if ((!is_needed && ask.now_us < sl_load(&lease->again_us)) || !own(lease))
        return NULL;
    if (sl_leases_find(leases, claim) == lease)
        return lease;
    disown(lease); /* it has given way meanwhile */
    return NULL;
}

struct sl_lease *sl_leases_want(struct sl_leases *leases, const struct sl_claim *claim,
                                struct sl_ask ask, uint32_t need)
{
    bool is_large = ask.cost > claim->limit.capacity / SL_LEASE_SHARE;
    if (is_large && sl_leases_left(leases, claim, ask.now_us) == 0)
        return NULL;
    struct sl_lease *lease = own_place(leases, claim, ask, need > 0);
    if (!lease)
        return NULL;
    lease->mode = claim->lease;
    ask.cost = is_large ? 0 : need;
    if (keep_name(lease, claim) && begin(leases, lease, is_large ? GIVEN_BACK : RUNS_LOW, ask))
        return lease;
    disown(lease);
    return NULL;
}

struct sl_lease *sl_leases_due(struct sl_leases *leases)
{
    return sl_lease_at(leases, atomic_exchange(&leases->due, 0));
}

bool sl_lease_begin(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us)
{
    if (begin(leases, lease, RUNS_LOW, (struct sl_ask){ now_us, 0 }))
        return true;
    disown(lease);
    return false;
}

struct sl_lease *sl_leases_recall(struct sl_leases *leases, size_t number,
                                  const struct sl_hash128 *key, int64_t now_us)
{
    struct sl_lease *lease = &leases->slots[number];
    if (key && (sl_load(&lease->key_low) != key->low || sl_load(&lease->key_high) != key->high))
        return NULL;
    if (now_us >= (int64_t)sl_word_load(&lease->word).hi || !own(lease))
        return NULL;
    if (begin(leases, lease, GIVEN_BACK, (struct sl_ask){ now_us, 0 }))
        return lease;
    disown(lease);
    return NULL;
}

enum sl_lease_turn sl_lease_look(struct sl_leases *leases, struct sl_lease *lease, uint32_t owner,
                                 int64_t now_us)
{
    bool turned = sl_load(&lease->page) != sl_load(&leases->page);
    int64_t renew_us = sl_load(&lease->renew_us);
    if (renew_us == 0 || sl_load(&lease->owner) != owner)
        return SL_LEASE_OVER;
    if ((now_us < renew_us && !turned) || !own(lease))
        return SL_LEASE_REST;
    /* Over: what it leaves is told by the next call, if there is one. */
    bool is_over = lease->term_us == 0 || now_us >= (int64_t)sl_word_load(&lease->word).hi;
    struct sl_ask ask = { now_us, 0 };
    if (!is_over && begin(leases, lease, turned ? GIVEN_BACK : RENEWED, ask))
        return SL_LEASE_CALL;
    sl_keep(&lease->renew_us, 0);
    disown(lease);
    return SL_LEASE_OVER;
}

void sl_lease_leave(struct sl_lease *lease, uint32_t owner)
{
    atomic_compare_exchange_strong(&lease->owner, &owner, 0);
}

/* ---- what came of it ---- */

/* A clock that leapt ahead, or ours that stood still while a machine did: whatever is held may have
 * ended already (A3). */
static bool has_leapt(struct sl_lease *lease, const struct sl_lease_reply *reply, int64_t now_us)
{
    int64_t most_us = lease->ahead_most_us, gone_us = now_us - lease->ahead_at_us;
    bool leapt =
        lease->ahead_at_us && reply->now_us - now_us > most_us + gone_us / DRIFT + SLACK_US;
    lease->ahead_most_us = reply->now_us - lease->asked_us;
    lease->ahead_at_us = now_us;
    return leapt;
}

static void drop_all(struct sl_leases *leases)
{
    for (size_t i = 0; i < SL_LEASES_MAX; i++)
        if (sl_word_left(sl_word_load(&leases->slots[i].word)) > 0)
            replace(&leases->slots[i], 0, 0);
}

/* After the grant, as if all of it were spent at once. */
static void learn(struct sl_lease *lease, const struct sl_lease_reply *reply, int64_t now_us)
{
    struct sl_state state = { 0 };
    int64_t told[SL_TOLD];
    memcpy(told, reply->told, sizeof told);
    lease->algo->load(&lease->limit, told, &state);
    if (reply->granted)
        lease->algo->charge(&lease->limit, &state,
                            (struct sl_ask){ reply->now_us, reply->granted });
    struct sl_figures figures = lease->algo->figures(&lease->limit, &state, reply->now_us);
    sl_keep(&lease->store_left, figures.remaining);
    sl_keep(&lease->reset_at_us, figures.reset_at_us);
    sl_keep(&lease->ahead_us, reply->now_us - now_us);
}

/* L4, less a little because our clock may be slower. */
static int64_t end_of(const struct sl_lease *lease, const struct sl_lease_reply *reply)
{
    int64_t to_go_us = sl_min_i64(reply->end_us - reply->now_us, 2 * SECOND_US);
    return to_go_us > 0 ? lease->asked_us + to_go_us - to_go_us / DRIFT - 1 : 0;
}

/* At random, because terms end for everybody at once; of a window that ends with it, not at all. */
static int64_t renewal_of(const struct sl_lease *lease, const struct sl_lease_reply *reply,
                          int64_t end_us)
{
    if (reply->end_us < sl_min_i64(reply->term_us, reply->now_us + 2 * SECOND_US))
        return end_us;
    uint64_t chance[] = { (uint64_t)end_us, sl_load(&lease->key_low) };
    uint64_t hash = sl_hash64((struct sluice_text){ (const char *)chance, sizeof chance }, 0);
    int64_t before_us = RENEW_FROM_US + (int64_t)(hash % RENEW_RANGE_US);
    return end_us - sl_min_i64(before_us, (end_us - lease->asked_us) / 2);
}

/* When to ask again, and whether to deny until then. */
static void pace(struct sl_lease *lease, const struct sl_lease_reply *reply)
{
    uint32_t batch = lease->ask.kept + lease->ask.want;
    uint32_t least = batch / LOW > SL_LEASE_LEAST ? batch / LOW : SL_LEASE_LEAST;
    bool is_poor = lease->ask.want > 0 && lease->granted < least;
    bool denies = is_poor && (reply->granted > 0 || lease->ask.need > 0);
    int64_t again_us = is_poor ? lease->asked_us + PAUSE_US : 0;
    sl_keep(&lease->again_us, again_us);
    sl_keep(&lease->denied_until_us, denies ? again_us : 0);
    sl_keep(&lease->denied_pardons, lease->pardons);
    sl_keep(&lease->low, is_poor ? 0 : lease->granted / LOW);
    sl_keep(&lease->most, lease->granted);
}

/* Kept units and new ones, or only these. */
static void install(struct sl_leases *leases, struct sl_lease *lease, uint32_t more, bool is_known,
                    int64_t end_us)
{
    struct sl_word word = sl_word_load(&lease->word), to;
    bool is_same;
    do {
        is_same = is_known && sl_word_generation(word) == lease->generation;
        to = is_same ? sl_word_lease(sl_word_left(word) + more, lease->generation, end_us)
                     : sl_word_lease(more, sl_word_generation(word) + 1, end_us);
    } while (!sl_word_swap(&lease->word, &word, to));
    if (is_same)
        return;
    uint32_t left = (uint32_t)sl_min_i64(sl_word_left(word), lease->ask.kept);
    count(leases, lease, SL_LEASE_SPENT, lease->ask.kept - left);
    count(leases, lease, SL_LEASE_DROPPED, left);
    lease->granted -= lease->ask.kept;
}

static void count_answer(struct sl_leases *leases, const struct sl_lease *lease,
                         const struct sl_lease_reply *reply)
{
    const struct sl_lease_ask *ask = &lease->ask;
    bool is_known = reply->is_known || ask->term_us == 0;
    count(leases, lease, SL_LEASE_SPENT, ask->spent);
    count(leases, lease, is_known ? SL_LEASE_RETURNED : SL_LEASE_DROPPED, ask->back);
    count(leases, lease, SL_LEASE_GRANTED, reply->granted);
    bool is_short = ask->need > reply->granted &&
                    ask->need <= sl_load(&lease->store_left) + (int64_t)reply->out;
    struct sl_lease_counts *counts = sl_leases_counts(leases, sl_load(&lease->rule));
    if (counts && is_short)
        atomic_fetch_add_explicit(&counts->short_of, 1, memory_order_relaxed);
    count_call(leases, lease,
               !is_known                          ? SL_LEASE_CALL_UNKNOWN
               : ask->want == 0 && ask->need == 0 ? SL_LEASE_CALL_RETURN
               : sl_load(&lease->again_us)        ? SL_LEASE_CALL_POOR
                                                  : SL_LEASE_CALL_OK);
}

bool sl_lease_answer(struct sl_leases *leases, struct sl_lease *lease,
                     const struct sl_lease_reply *reply, int64_t now_us)
{
    struct sl_lease_ask ask = lease->ask;
    bool allowed = ask.need > 0 && reply->granted >= ask.need;
    if (has_leapt(lease, reply, now_us))
        drop_all(leases); /* this one too: its answer begins anew */
    int64_t end_us = end_of(lease, reply);
    lease->granted = ask.kept + reply->granted;
    lease->term_us = reply->term_us;
    lease->window_us = lease->algo->is_bucket ? 0 : reply->told[0];
    learn(lease, reply, now_us);
    pace(lease, reply);
    count_answer(leases, lease, reply);
    install(leases, lease, reply->granted - (allowed ? ask.need : 0), reply->is_known, end_us);
    if (lease->granted == 0)
        lease->term_us = lease->window_us = 0;
    sl_keep(&lease->renew_us, lease->granted ? renewal_of(lease, reply, end_us) : 0);
    disown(lease);
    return allowed;
}

void sl_lease_lose(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us)
{
    uint32_t left = (uint32_t)sl_min_i64(replace(lease, 0, 0), lease->ask.kept);
    count(leases, lease, SL_LEASE_SPENT, lease->ask.spent + lease->ask.kept - left);
    count(leases, lease, SL_LEASE_DROPPED, lease->ask.back + left);
    count_call(leases, lease, SL_LEASE_CALL_FAILED);
    lease->granted = lease->reckoned = 0;
    lease->term_us = lease->window_us = 0;
    sl_keep(&lease->again_us, now_us + PAUSE_US);
    sl_keep(&lease->denied_until_us, 0);
    sl_keep(&lease->renew_us, 0);
    disown(lease);
}

void sl_lease_keep(struct sl_lease *lease, int64_t now_us)
{
    const struct sl_lease_ask *ask = &lease->ask;
    struct sl_word word = sl_word_load(&lease->word);
    lease->granted = ask->kept + ask->spent;
    lease->reckoned = ask->spent;
    while (ask->back && sl_word_generation(word) == lease->generation) {
        struct sl_word to = { word.lo + ask->back, word.hi };
        if (!sl_word_swap(&lease->word, &word, to))
            continue;
        lease->granted += ask->back;
        break;
    }
    sl_keep(&lease->again_us, now_us + PAUSE_US);
    sl_keep(&lease->denied_until_us, 0);
    disown(lease);
}

void sl_leases_turn_page(struct sl_leases *leases)
{
    atomic_fetch_add(&leases->page, 1);
}
