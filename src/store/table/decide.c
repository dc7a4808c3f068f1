/* Decides one bundle on the shared table.
 *
 *   guard, look up, judge, then write claim by claim
 *
 * look_up_claim finds a claim's slot and decides on the word it read. Nothing is
 * written until every claim is decided; then each is charged by one swap that
 * expects the very word the decision was made on. A swap fails if another thread
 * was faster: the claim is looked up again. If it has become a denial meanwhile,
 * the claims charged before it are refunded and the bundle is decided again. One
 * claim, the common case, takes one read of a line, one swap, no second look.
 *
 * All threads charge claims in the order of the rules, so of two requests that
 * race for the last unit one gets through. */
#include "store/table/decide.h"

#include "store/claim.h"
#include "store/table/adjust.h"
#include "store/table/fast_path.h"
#include "store/table/table_file.h"
#include "store/table/table_log.h"

enum { ROUNDS_MAX = 16 };

/* The slot of a claim, in claim->own while the claim is decided. */
struct lookup {
    struct sl_place place;
    bool found;
    bool prepared; /* not found, and place.word is tentative */
    bool measured; /* the figures are filled in, and valid (T11) */
};

_Static_assert(sizeof(struct lookup) <= sizeof(((struct sl_claim *)NULL)->own), "a claim holds it");

static struct lookup *lookup_of(struct sl_claim *claim)
{
    return (struct lookup *)(void *)claim->own;
}

/* The arguments of sl_table_decide. */
struct decide_pass {
    struct sl_table *table;
    struct sl_bundle *bundle;
    bool own_clock; /* now_us is a reading of the table's clock, not the caller's */
};

static void read_clock(struct decide_pass *pass)
{
    if (pass->own_clock)
        pass->bundle->now_us = sl_table_now_us(pass->table);
}

static struct sl_state state_of(const struct lookup *lookup)
{
    struct sl_state state = { .lo = 0 };
    SL_CHECK(!lookup->found || !lookup->prepared);
    if (lookup->found)
        state = sl_slot_state(lookup->place.word);
    if (lookup->found || lookup->prepared) {
        state.ring = lookup->place.ring;
        state.ring_len = lookup->place.ring_len;
        state.shared_lo = &lookup->place.slot->lo;
    }
    return state;
}

/* ---- the burst guard ------------------------------------------------------------- */

static struct sl_word guard_word(struct sl_word word, const struct sl_state *state)
{
    struct sl_word to = sl_slot_with(word, state);
    to.hi &= ~SL_SLOT_FLAG;
    if (sl_guard_is_loud(state))
        to.hi |= SL_SLOT_FLAG;
    SL_CHECK(to.hi >> SL_SLOT_KIND_SHIFT == word.hi >> SL_SLOT_KIND_SHIFT);
    return to;
}

/* Returns true if its window starts after now: then this thread's reading may be late. */
static bool is_ahead(const struct sl_guard *guard, struct sl_word word, int64_t now_us)
{
    struct sl_state state = sl_slot_state(word);
    return sl_state_until_us(&state) - guard->window_us > now_us;
}

/* Counts the request, whether the limits will allow it or not. */
static int count_guard(struct decide_pass *pass, struct sl_claim *claim)
{
    struct sl_bundle *bundle = pass->bundle;
    struct sl_probe probe = sl_probe(pass->table, claim->guard_key, SL_DATED_US);
    bool counts = sl_claim_takes(bundle, claim);
    for (;;) {
        struct sl_place place;
        bool found = sl_table_find(&probe, &place);
        if (!found && counts) {
            enum sl_prepared prepared = sl_table_prepare(&probe, bundle->now_us, &place);
            if (prepared == SL_FULL)
                return SLUICE_STORE_FULL;
            found = prepared == SL_THERE;
        }
        if (!found || is_ahead(claim->guard, place.word, bundle->now_us))
            read_clock(pass); /* T8 */
        struct sl_state state = found ? sl_slot_state(place.word) : (struct sl_state){ .lo = 0 };
        sl_claim_guard(claim, bundle, &state);
        if (!counts)
            return SLUICE_OK;
        struct sl_word live = found ? place.word : sl_table_live(place.word, &state);
        struct sl_word to = guard_word(live, &state);
        if (sl_word_equal(to, place.word) || sl_word_swap(place.slot, &place.word, to))
            return SLUICE_OK;
    }
}

/* ---- looking up ------------------------------------------------------------------ */

/* Returns true if the ring can be charged where it is. */
static bool ring_serves(const struct sl_claim *claim, const struct lookup *lookup)
{
    return sl_slot_kind(lookup->place.word.hi) == SL_DATED_RING &&
           lookup->place.ring_len >= claim->limit.capacity;
}

/* Returns true if the claim is charged unless another claim of the bundle denies. */
static bool is_charged(const struct sl_claim *claim, const struct sl_bundle *bundle)
{
    return claim->allowed && sl_claim_takes(bundle, claim);
}

/* Decides the claim on what the table says now. */
static void look_up_claim(struct decide_pass *pass, struct sl_claim *claim)
{
    struct lookup *lookup = lookup_of(claim);
    struct sl_probe probe = sl_claim_probe(pass->table, claim);
    lookup->prepared = lookup->measured = false;
    for (bool again = false;; again = true) {
        lookup->found = sl_table_find(&probe, &lookup->place);
        if (!lookup->found || again || sl_slot_kind(lookup->place.word.hi) == SL_DATED_FROZEN)
            read_clock(pass); /* T8 */
        struct sl_state state = state_of(lookup);
        sl_claim_decide(claim, pass->bundle, &state);
        if (claim->answer.repair && pass->own_clock && !again)
            continue; /* T8: is it really that far ahead, or was our reading late? */
        if (!probe.ring_len || !lookup->found)
            return;
        lookup->measured = !is_charged(claim, pass->bundle);
        if (!lookup->measured)
            return; /* the swap will fail if the state has changed */
        sl_claim_measure(claim, pass->bundle, &state);
        if (sl_place_unchanged(&lookup->place)) /* T11 */
            return;
    }
}

/* ---- writing --------------------------------------------------------------------- */

enum decide_step { STEP_DONE, STEP_AGAIN, STEP_FAILED };

static enum decide_step fail_bundle(struct decide_pass *pass, int status)
{
    pass->bundle->status = status;
    return STEP_FAILED;
}

/* Prepares a slot for a claim that will be charged and is not in the table. */
static enum decide_step prepare_claim_slot(struct decide_pass *pass, struct sl_claim *claim)
{
    struct lookup *lookup = lookup_of(claim);
    SL_CHECK(!lookup->found && !lookup->prepared);
    struct sl_probe probe = sl_claim_probe(pass->table, claim);
    switch (sl_table_prepare(&probe, pass->bundle->now_us, &lookup->place)) {
    case SL_FULL:
        return fail_bundle(pass, SLUICE_STORE_FULL);
    case SL_PREPARED:
        lookup->prepared = true;
        return STEP_DONE;
    default:
        return STEP_AGAIN;
    }
}

static void retract_unused_slot(struct sl_claim *claim)
{
    struct lookup *lookup = lookup_of(claim);
    if (lookup->prepared)
        sl_table_retract(&lookup->place);
    lookup->prepared = false;
}

/* Prepares slots for all claims that are not in the table yet, then reads the clock
 * once for all (T8), so that a refund finds every charge at the same time. */
static enum decide_step prepare_all_slots(struct decide_pass *pass)
{
    struct sl_bundle *bundle = pass->bundle;
    bool prepared = false;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key || lookup_of(claim)->found ||
            sl_claim_write(claim, bundle) == SL_WRITE_NOTHING)
            continue;
        enum decide_step step = prepare_claim_slot(pass, claim);
        if (step != STEP_DONE)
            return step;
        prepared = true;
    }
    if (!prepared)
        return STEP_DONE;
    read_clock(pass);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        if (bundle->claims[i].no_key)
            continue;
        struct sl_state state = state_of(lookup_of(&bundle->claims[i]));
        sl_claim_decide(&bundle->claims[i], bundle, &state);
    }
    sl_bundle_judge(bundle);
    return bundle->allowed ? STEP_DONE : STEP_AGAIN;
}

/* The same for one claim that lost a race. */
static enum decide_step look_up_and_prepare(struct decide_pass *pass, struct sl_claim *claim)
{
    for (;;) {
        look_up_claim(pass, claim);
        if (lookup_of(claim)->found || sl_claim_write(claim, pass->bundle) == SL_WRITE_NOTHING)
            return STEP_DONE;
        enum decide_step step = prepare_claim_slot(pass, claim);
        if (step == STEP_FAILED)
            return step;
        if (step == STEP_AGAIN)
            continue;
        read_clock(pass); /* T8 */
        struct sl_state state = state_of(lookup_of(claim));
        sl_claim_decide(claim, pass->bundle, &state);
        return STEP_DONE;
    }
}

struct writing {
    struct decide_pass *pass;
    struct sl_claim *claim;
    enum sl_write write;
};

/* Charges or repairs the state, and fills in the figures after it. */
static bool apply_write(void *about, struct sl_state *state)
{
    const struct writing *writing = about;
    struct sl_claim *claim = writing->claim;
    struct sl_bundle *bundle = writing->pass->bundle;
    uint32_t cost = writing->write == SL_WRITE_CHARGE ? sl_claim_cost(bundle, claim) : 0;
    struct sl_ask ask = { bundle->now_us, cost };
    /* Another claim may have read the clock since this one was decided. */
    claim->answer.as_of_us = claim->algo->decide(&claim->limit, state, ask).as_of_us;
    SL_CHECK(claim->answer.as_of_us >= bundle->now_us);
    claim->algo->charge(&claim->limit, state, ask);
    sl_claim_measure(claim, bundle, state);
    return true;
}

/* The same on a ring that cannot be charged in place. */
static enum decide_step write_by_moving(struct writing *writing)
{
    struct lookup *lookup = lookup_of(writing->claim);
    SL_CHECK(lookup->found && writing->claim->algo->keeps_ring);
    struct sl_probe probe = sl_claim_probe(writing->pass->table, writing->claim);
    if (probe.ring_len < lookup->place.ring_len)
        probe.ring_len = lookup->place.ring_len;
    struct sl_move move = { .probe = &probe,
                            .algo = writing->claim->algo,
                            .from = lookup->place,
                            .now_us = writing->pass->bundle->now_us,
                            .own_clock = writing->pass->own_clock,
                            .change = apply_write,
                            .about = writing };
    switch (sl_log_move_patiently(&move)) {
    case SL_MOVED:
        return STEP_DONE;
    case SL_MOVED_FULL:
        return fail_bundle(writing->pass, SLUICE_STORE_FULL);
    case SL_MOVED_NO_MEMORY:
        return fail_bundle(writing->pass, SLUICE_NO_MEMORY);
    default:
        return STEP_AGAIN;
    }
}

/* Returns true if one swap of the state alone does the write. */
static bool is_one_swap(const struct writing *writing)
{
    const struct sl_claim *claim = writing->claim;
    const struct lookup *lookup = lookup_of(writing->claim);
    if (!claim->algo->keeps_ring)
        return true;
    if (lookup->found && (!ring_serves(claim, lookup) || writing->write == SL_WRITE_REPAIR))
        return false;
    /* A tentative slot that another thread made may have a ring of another length. */
    return lookup->place.ring_len >= claim->limit.capacity &&
           sl_claim_cost(writing->pass->bundle, claim) <=
               claim->algo->charge_most(lookup->place.ring_len);
}

static struct sl_word word_after(const struct writing *writing, const struct sl_state *state)
{
    const struct lookup *lookup = lookup_of(writing->claim);
    if (!lookup->found)
        return sl_table_live(lookup->place.word, state);
    struct sl_word to = sl_slot_with(lookup->place.word, state);
    if (!sl_slot_is_live(lookup->place.word, writing->pass->bundle->now_us))
        to.hi &= ~SL_SLOT_FLAG; /* it starts afresh, and has denied no request yet */
    return to;
}

static enum decide_step try_to_write_claim(struct writing *writing)
{
    struct lookup *lookup = lookup_of(writing->claim);
    SL_CHECK(lookup->found || lookup->prepared);
    struct sl_state state = state_of(lookup);
    if (!is_one_swap(writing)) {
        if (lookup->found)
            return write_by_moving(writing);
        /* Insert an empty log first; the next try moves it. */
        struct sl_word empty = sl_table_live(lookup->place.word, &state);
        sl_word_swap(lookup->place.slot, &lookup->place.word, empty);
        return STEP_AGAIN;
    }
    if (!lookup->found && !writing->pass->own_clock)
        /* The caller's times may jump back, so old entries may be later: T11 does not help. */
        for (uint32_t i = 0; i < state.ring_len; i++)
            __atomic_store_n(&state.ring[i], 0, __ATOMIC_RELAXED);
    apply_write(writing, &state);
    struct sl_word to = word_after(writing, &state);
    SL_CHECK((to.hi ^ lookup->place.word.hi) >> SL_SLOT_LINE_SHIFT == 0); /* the same key */
    return sl_word_swap(lookup->place.slot, &lookup->place.word, to) ? STEP_DONE : STEP_AGAIN;
}

/* Marks a state that has denied a request, so that it is not evicted (T9). */
static void mark_limiting(const struct sl_bundle *bundle, struct sl_claim *claim)
{
    struct lookup *lookup = lookup_of(claim);
    if (sl_claim_peeks(bundle, claim) || !lookup->found || claim->shadow || claim->answer.allowed ||
        claim->answer.retry_after_us == SL_NEVER || (lookup->place.word.hi & SL_SLOT_FLAG))
        return;
    if (sl_slot_kind(lookup->place.word.hi) == SL_DATED_FROZEN)
        return; /* T12 */
    struct sl_word to = lookup->place.word;
    to.hi |= SL_SLOT_FLAG;
    sl_word_swap(lookup->place.slot, &lookup->place.word, to);
}

static void leave_state_as_is(struct decide_pass *pass, struct sl_claim *claim)
{
    struct lookup *lookup = lookup_of(claim);
    if (!lookup->measured) {
        struct sl_state state = state_of(lookup);
        sl_claim_measure(claim, pass->bundle, &state);
    }
    retract_unused_slot(claim);
    mark_limiting(pass->bundle, claim);
}

/* Returns STEP_AGAIN if the claim has become a denial meanwhile. */
static enum decide_step write_claim_until_done(struct decide_pass *pass, struct sl_claim *claim)
{
    struct sl_bundle *bundle = pass->bundle;
    for (;;) {
        struct writing writing = { pass, claim, sl_claim_write(claim, bundle) };
        if (writing.write == SL_WRITE_NOTHING) {
            leave_state_as_is(pass, claim);
            return STEP_DONE;
        }
        enum decide_step step = try_to_write_claim(&writing);
        lookup_of(claim)->prepared = false;
        if (step == STEP_DONE)
            claim->charged = writing.write == SL_WRITE_CHARGE;
        SL_CHECK(!claim->charged || (bundle->allowed && claim->allowed));
        if (step != STEP_AGAIN)
            return step;
        if (writing.write == SL_WRITE_REPAIR) { /* another thread has written the state by now */
            leave_state_as_is(pass, claim);
            return STEP_DONE;
        }
        if (look_up_and_prepare(pass, claim) == STEP_FAILED)
            return STEP_FAILED;
        if (!claim->shadow && !claim->allowed)
            return STEP_AGAIN;
    }
}

/* ---- a bundle -------------------------------------------------------------------- */

/* Refunds the claims that were charged before the bundle turned out to be denied. */
static void refund_charged_claims(struct decide_pass *pass)
{
    struct sl_bundle *bundle = pass->bundle;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        retract_unused_slot(claim);
        struct sl_charge charge = { sl_claim_cost(bundle, claim), claim->answer.as_of_us };
        if (claim->charged)
            sl_adjust_refund(pass->table, claim, charge, pass->own_clock ? -1 : bundle->now_us);
        claim->charged = false;
    }
}

static enum decide_step write_all_claims(struct decide_pass *pass)
{
    struct sl_bundle *bundle = pass->bundle;
    enum decide_step step = bundle->allowed ? prepare_all_slots(pass) : STEP_DONE;
    for (size_t i = 0; i < bundle->claim_count && step == STEP_DONE; i++)
        if (!bundle->claims[i].no_key)
            step = write_claim_until_done(pass, &bundle->claims[i]);
    if (step != STEP_DONE)
        refund_charged_claims(pass);
    return step;
}

/* Denies after every round lost a race, in which another request was admitted. The
 * client may try again at once. */
static void deny_after_lost_races(struct decide_pass *pass)
{
    struct sl_bundle *bundle = pass->bundle;
    bundle->allowed = false;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        struct sl_state state = state_of(lookup_of(claim));
        sl_claim_measure(claim, bundle, &state);
        if (!claim->shadow && claim->allowed) {
            claim->allowed = claim->answer.allowed = false;
            claim->answer.retry_after_us = 1;
        }
    }
}

static void decide_claims(struct decide_pass *pass)
{
    struct sl_bundle *bundle = pass->bundle;
    enum decide_step step = STEP_AGAIN;
    for (int round = 0; step == STEP_AGAIN && round < ROUNDS_MAX; round++) {
        for (size_t i = 0; i < bundle->claim_count; i++)
            if (!bundle->claims[i].no_key)
                look_up_claim(pass, &bundle->claims[i]);
        sl_bundle_judge(bundle);
        step = write_all_claims(pass);
    }
    if (step == STEP_AGAIN)
        deny_after_lost_races(pass);
    SL_CHECK(bundle->status <= SLUICE_OK && (step != STEP_AGAIN || !bundle->allowed));
}

static void count_guards(struct decide_pass *pass)
{
    struct sl_bundle *bundle = pass->bundle;
    bundle->status = SLUICE_OK;
    SL_CHECK(bundle->now_us >= 0 && bundle->now_us <= SL_TIME_MAX_US);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        claim->charged = false;
        lookup_of(claim)->prepared = false;
        if (bundle->status == SLUICE_OK && claim->guard && !claim->no_key)
            bundle->status = count_guard(pass, claim);
    }
}

void sl_table_decide(struct sl_table *table, struct sl_bundle *bundle, bool own_clock)
{
    struct decide_pass pass = { table, bundle, own_clock };
    bundle->wall_shift_us = own_clock ? sl_table_wall_shift_us(table, bundle->now_us) : 0;
    if (sl_bundle_fast_path(table, bundle))
        return;
    count_guards(&pass);
    if (bundle->status == SLUICE_OK)
        decide_claims(&pass);
}
