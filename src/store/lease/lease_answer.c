/* The end of a call for a lease, and what the instance then holds:
 *
 *   answer   more units and a later end; or the store did not know the lease, which is dropped (L6)
 *   lose     the call may or may not have run, so the lease is dropped (L7)
 *   keep     the call was never sent, and the lease is as before
 *
 * The reply also decides how soon to call again, and whether to deny requests until then. */
#include "algo/state.h"
#include "base/text/number.h"
#include "store/lease/lease_internal.h"

enum {
    SECOND_US = 1000000,
    PAUSE_US = 100000, /* after a call that was granted little, or failed */
    RENEW_FROM_US = 250000,
    RENEW_RANGE_US = 500000,
    DRIFT = 512, /* clocks run apart by less than 1/512 (A2) */
    SLACK_US = 1000,
    PAUSES = 64, /* a pause is at most 1/64 of a window */
    LOW = 4,     /* call again when 1/4 is left; pause when less than 1/4 is granted */
};

void sl_lease_count(struct sl_leases *leases, const struct sl_lease *lease, enum sl_lease_end end,
                    uint64_t units)
{
    SL_CHECK(end < SL_LEASE_END_COUNT);
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

/* Has the store's clock leapt ahead, or did ours stand still with the machine? Then every lease
 * that is held may have ended already (A3). */
static bool has_leapt(struct sl_lease *lease, const struct sl_lease_reply *reply, int64_t now_us)
{
    int64_t most_us = lease->ahead_most_us, gone_us = now_us - lease->ahead_at_us;
    bool leapt =
        lease->ahead_at_us && reply->now_us - now_us > most_us + gone_us / DRIFT + SLACK_US;
    lease->ahead_most_us = reply->now_us - lease->asked_us;
    lease->ahead_at_us = now_us;
    return leapt;
}

static void drop_all_leases(struct sl_leases *leases)
{
    for (size_t i = 0; i < SL_LEASES_MAX; i++)
        if (sl_word_left(sl_word_load(&leases->slots[i].word)) > 0)
            sl_lease_replace(&leases->slots[i], 0, 0);
}

/* Keeps the figures of the store's state after the grant, as if all units were spent at once. */
static void keep_figures(struct sl_lease *lease, const struct sl_lease_reply *reply, int64_t now_us)
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
    struct sl_answer one =
        lease->algo->decide(&lease->limit, &state, (struct sl_ask){ reply->now_us, 1 });
    sl_keep(&lease->passes_us, one.allowed ? 0 : now_us + one.retry_after_us);
}

/* The end by our clock (L4), a little early because our clock may be slower. */
static int64_t end_by_our_clock(const struct sl_lease *lease, const struct sl_lease_reply *reply)
{
    int64_t to_go_us = sl_min_i64(reply->end_us - reply->now_us, 2 * SECOND_US);
    return to_go_us > 0 ? lease->asked_us + to_go_us - to_go_us / DRIFT - 1 : 0;
}

/* At a random time, because the terms of all instances end together. A lease that ends with its
 * window is not renewed before. */
static int64_t renewal_time(const struct sl_lease *lease, int64_t end_us)
{
    if (lease->ends_with_window)
        return end_us;
    uint64_t chance[] = { (uint64_t)end_us, sl_load(&lease->key_low) };
    uint64_t hash = sl_hash64((struct sluice_text){ (const char *)chance, sizeof chance }, 0);
    int64_t before_us = RENEW_FROM_US + (int64_t)(hash % RENEW_RANGE_US);
    return end_us - sl_min_i64(before_us, (end_us - lease->asked_us) / 2);
}

/* Returns how many more units the store would need for a lease that is worth a call; 0 if this one
 * was. A small limit's leases are small: half of the largest is enough. */
static int64_t missing_units(const struct sl_lease *lease)
{
    int64_t batch = (int64_t)lease->ask.kept + lease->ask.want;
    int64_t least = sl_min_i64(sl_max_i64(batch / LOW, SL_LEASE_LEAST),
                               lease->limit.capacity / SL_LEASE_SHARE / 2);
    if (lease->ask.want == 0 || lease->granted >= least)
        return 0;
    return sl_max_i64(least * SL_LEASE_SHARE - sl_load(&lease->store_left), 0);
}

/* Not longer than `missing` units take to come back, nor than a small part of a window, nor beyond
 * its end. */
static int64_t pause_after(const struct sl_lease *lease, const struct sl_lease_reply *reply,
                           int64_t missing)
{
    const struct sl_limit *limit = &lease->limit;
    if (lease->algo->is_bucket)
        return sl_min_i64(PAUSE_US, missing * (limit->token_ns / 1000 + 1));
    int64_t end_us = sl_cut(reply->told[0], SL_TIME_MAX_US) + limit->window_us;
    int64_t rest_us = sl_max_i64(end_us - reply->now_us, 0);
    return sl_min_i64(PAUSE_US, sl_min_i64(limit->window_us / PAUSES, rest_us));
}

/* Sets when to call again, and whether to deny requests until then. */
static void set_pace(struct sl_lease *lease, const struct sl_lease_reply *reply)
{
    int64_t missing = missing_units(lease);
    bool is_poor = missing > 0;
    bool denies = is_poor && (reply->granted > 0 || lease->ask.need > 0);
    int64_t again_us = is_poor ? lease->asked_us + pause_after(lease, reply, missing) : 0;
    sl_keep(&lease->again_us, again_us);
    sl_keep(&lease->denied_until_us, denies ? again_us : 0);
    sl_keep(&lease->denied_pardons, lease->pardons);
    sl_keep(&lease->low, is_poor ? 0 : lease->granted / LOW);
}

/* Adds the new units to those that were kept, or puts them in their place if the lease was not
 * known. */
static void install_units(struct sl_leases *leases, struct sl_lease *lease, uint32_t more,
                          bool is_known, int64_t end_us)
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
    sl_lease_count(leases, lease, SL_LEASE_SPENT, lease->ask.kept - left);
    sl_lease_count(leases, lease, SL_LEASE_DROPPED, left);
    lease->granted -= lease->ask.kept;
}

static void count_answer(struct sl_leases *leases, const struct sl_lease *lease,
                         const struct sl_lease_reply *reply)
{
    const struct sl_lease_ask *ask = &lease->ask;
    bool is_known = reply->is_known || reply->is_late || ask->term_us == 0;
    sl_lease_count(leases, lease, SL_LEASE_SPENT, ask->spent);
    sl_lease_count(leases, lease, is_known ? SL_LEASE_RETURNED : SL_LEASE_DROPPED, ask->back);
    sl_lease_count(leases, lease, SL_LEASE_GRANTED, reply->granted);
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
    SL_CHECK(sl_load(&lease->is_called) && lease->algo);
    bool allowed = ask.need > 0 && reply->granted >= ask.need;
    if (has_leapt(lease, reply, now_us))
        drop_all_leases(leases); /* this one too: it gets only the new units */
    int64_t end_us = end_by_our_clock(lease, reply);
    lease->granted = ask.kept + reply->granted;
    lease->term_us = reply->term_us;
    lease->window_us = lease->algo->is_bucket ? 0 : reply->told[0];
    lease->ends_with_window =
        reply->end_us < sl_min_i64(reply->term_us, reply->now_us + 2 * SECOND_US);
    keep_figures(lease, reply, now_us);
    set_pace(lease, reply);
    count_answer(leases, lease, reply);
    install_units(leases, lease, reply->granted - (allowed ? ask.need : 0), reply->is_known,
                  end_us);
    if (lease->granted == 0)
        lease->term_us = lease->window_us = 0;
    sl_keep(&lease->most, lease->granted);
    sl_keep(&lease->page, lease->asked_page);
    sl_keep(&lease->renew_us, lease->granted ? renewal_time(lease, end_us) : 0);
    sl_lease_disown(lease);
    return allowed;
}

void sl_lease_lose(struct sl_leases *leases, struct sl_lease *lease, int64_t now_us)
{
    SL_CHECK(sl_load(&lease->is_called));
    uint32_t left = (uint32_t)sl_min_i64(sl_lease_replace(lease, 0, 0), lease->ask.kept);
    sl_lease_count(leases, lease, SL_LEASE_SPENT, lease->ask.spent + lease->ask.kept - left);
    sl_lease_count(leases, lease, SL_LEASE_DROPPED, lease->ask.back + left);
    count_call(leases, lease, SL_LEASE_CALL_FAILED);
    lease->granted = lease->reckoned = 0;
    lease->term_us = lease->window_us = 0;
    sl_keep(&lease->most, 0);
    sl_keep(&lease->page, lease->asked_page);
    sl_keep(&lease->again_us, now_us + PAUSE_US);
    sl_keep(&lease->denied_until_us, 0);
    sl_keep(&lease->renew_us, 0);
    sl_lease_disown(lease);
}

void sl_lease_keep(struct sl_lease *lease, int64_t now_us)
{
    const struct sl_lease_ask *ask = &lease->ask;
    SL_CHECK(sl_load(&lease->is_called));
    struct sl_word word = sl_word_load(&lease->word);
    lease->granted = ask->kept + ask->spent + ask->back;
    lease->reckoned = ask->spent;
    while (ask->back && sl_word_generation(word) == lease->generation) {
        struct sl_word to = { word.lo + ask->back, word.hi };
        if (sl_word_swap(&lease->word, &word, to))
            break;
    }
    sl_keep(&lease->again_us, now_us + PAUSE_US);
    sl_keep(&lease->denied_until_us, 0);
    sl_lease_disown(lease);
}
