/* One bundle's turn on the shared table.
 *
 *   guard, look, judge, then write claim by claim
 *
 * `look` finds a claim's slot and decides on the word it read. Nothing is
 * written until every claim is decided; then each is charged by one swap that
 * expects the very word the decision was made on. A swap that fails means
 * somebody else was faster: look again, and if the claim has become a denial
 * meanwhile, what was charged before it is refunded and the bundle decided
 * anew. With one claim, which is the common case, that is: one line read, one
 * swap, no second look.
 *
 * Claims are charged in the order of the rules, the same for everybody, so of
 * two requests that race for the last unit one gets through. */
#include "store/table/decide.h"

#include "store/claim.h"
#include "store/table/adjust.h"
#include "store/table/fast_path.h"
#include "store/table/table_file.h"
#include "store/table/table_log.h"

enum { ROUNDS_MAX = 16 };

/* A claim's own words while it is decided. */
struct seat {
    struct sl_place place;
    bool found;
    bool prepared; /* not found, and place->word is tentative */
    bool measured; /* the figures are there, and good (T11) */
};

_Static_assert(sizeof(struct seat) <= sizeof(((struct sl_claim *)NULL)->own), "a claim seats it");

static struct seat *seat_of(struct sl_claim *claim)
{
    return (struct seat *)(void *)claim->own;
}

/* What one bundle needs on the way. */
struct turn {
    struct sl_table *table;
    struct sl_bundle *bundle;
    bool own_clock; /* the table's, not the caller's */
};

static void read_clock(struct turn *turn)
{
    if (turn->own_clock)
        turn->bundle->now_us = sl_table_now_us(turn->table);
}

static struct sl_state state_of(const struct seat *seat)
{
    struct sl_state state = { .lo = 0 };
    if (seat->found)
        state = sl_slot_state(seat->place.word);
    if (seat->found || seat->prepared) {
        state.ring = seat->place.ring;
        state.ring_len = seat->place.ring_len;
        state.shared_lo = &seat->place.slot->lo;
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
    return to;
}

/* Does its window start after now? Then we may be late. */
static bool is_ahead(const struct sl_guard *guard, struct sl_word word, int64_t now_us)
{
    struct sl_state state = sl_slot_state(word);
    return sl_state_until_us(&state) - guard->window_us > now_us;
}

/* Counts the request, whatever the limits will say. */
static int count_guard(struct turn *turn, struct sl_claim *claim)
{
    struct sl_bundle *bundle = turn->bundle;
    struct sl_probe probe = sl_probe(turn->table, claim->guard_key, SL_DATED_US);
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
            read_clock(turn); /* T8 */
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

/* ---- looking --------------------------------------------------------------------- */

/* May the ring be used as it is? */
static bool ring_serves(const struct sl_claim *claim, const struct seat *seat)
{
    return sl_slot_kind(seat->place.word.hi) == SL_DATED_RING &&
           seat->place.ring_len >= claim->limit.capacity;
}

/* Is it, unless another claim of the bundle denies? */
static bool is_charged(const struct sl_claim *claim, const struct sl_bundle *bundle)
{
    return claim->allowed && sl_claim_takes(bundle, claim);
}

/* Decides the claim on what the table says now. */
static void look(struct turn *turn, struct sl_claim *claim)
{
    struct seat *seat = seat_of(claim);
    struct sl_probe probe = sl_claim_probe(turn->table, claim);
    seat->prepared = seat->measured = false;
    for (bool again = false;; again = true) {
        seat->found = sl_table_find(&probe, &seat->place);
        if (!seat->found || again || sl_slot_kind(seat->place.word.hi) == SL_DATED_FROZEN)
            read_clock(turn); /* T8 */
        struct sl_state state = state_of(seat);
        sl_claim_decide(claim, turn->bundle, &state);
        if (claim->answer.repair && turn->own_clock && !again)
            continue; /* T8: is it really that far ahead, or are we late? */
        if (!probe.ring_len || !seat->found)
            return;
        seat->measured = !is_charged(claim, turn->bundle);
        if (!seat->measured)
            return; /* the swap will tell */
        sl_claim_measure(claim, turn->bundle, &state);
        if (sl_place_unchanged(&seat->place)) /* T11 */
            return;
    }
}

/* ---- writing --------------------------------------------------------------------- */

enum decide_step { STEP_DONE, STEP_AGAIN, STEP_FAILED };

static enum decide_step fail(struct turn *turn, int status)
{
    turn->bundle->status = status;
    return STEP_FAILED;
}

/* A slot for a claim that is about to be charged and is not there. */
static enum decide_step seat_claim(struct turn *turn, struct sl_claim *claim)
{
    struct seat *seat = seat_of(claim);
    struct sl_probe probe = sl_claim_probe(turn->table, claim);
    switch (sl_table_prepare(&probe, turn->bundle->now_us, &seat->place)) {
    case SL_FULL:
        return fail(turn, SLUICE_STORE_FULL);
    case SL_PREPARED:
        seat->prepared = true;
        return STEP_DONE;
    default:
        return STEP_AGAIN;
    }
}

static void leave_seat(struct sl_claim *claim)
{
    struct seat *seat = seat_of(claim);
    if (seat->prepared)
        sl_table_retract(&seat->place);
    seat->prepared = false;
}

/* Slots for all that are not there yet, then one reading of the clock for all
 * (T8), so that a refund finds every charge at the same time. */
static enum decide_step seat_all(struct turn *turn)
{
    struct sl_bundle *bundle = turn->bundle;
    bool prepared = false;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key || seat_of(claim)->found ||
            sl_claim_write(claim, bundle) == SL_WRITE_NOTHING)
            continue;
        enum decide_step step = seat_claim(turn, claim);
        if (step != STEP_DONE)
            return step;
        prepared = true;
    }
    if (!prepared)
        return STEP_DONE;
    read_clock(turn);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        if (bundle->claims[i].no_key)
            continue;
        struct sl_state state = state_of(seat_of(&bundle->claims[i]));
        sl_claim_decide(&bundle->claims[i], bundle, &state);
    }
    sl_bundle_judge(bundle);
    return bundle->allowed ? STEP_DONE : STEP_AGAIN;
}

/* The same for one claim that lost a race. */
static enum decide_step look_and_seat(struct turn *turn, struct sl_claim *claim)
{
    for (;;) {
        look(turn, claim);
        if (seat_of(claim)->found || sl_claim_write(claim, turn->bundle) == SL_WRITE_NOTHING)
            return STEP_DONE;
        enum decide_step step = seat_claim(turn, claim);
        if (step == STEP_FAILED)
            return step;
        if (step == STEP_AGAIN)
            continue;
        read_clock(turn); /* T8 */
        struct sl_state state = state_of(seat_of(claim));
        sl_claim_decide(claim, turn->bundle, &state);
        return STEP_DONE;
    }
}

struct writing {
    struct turn *turn;
    struct sl_claim *claim;
    enum sl_write write;
};

/* Applies it to the state, and measures what is left. */
static bool apply(void *about, struct sl_state *state)
{
    const struct writing *writing = about;
    struct sl_claim *claim = writing->claim;
    struct sl_bundle *bundle = writing->turn->bundle;
    uint32_t cost = writing->write == SL_WRITE_CHARGE ? sl_claim_cost(bundle, claim) : 0;
    struct sl_ask ask = { bundle->now_us, cost };
    /* Another claim may have read the clock since this one was decided. */
    claim->answer.as_of_us = claim->algo->decide(&claim->limit, state, ask).as_of_us;
    claim->algo->charge(&claim->limit, state, ask);
    sl_claim_measure(claim, bundle, state);
    return true;
}

/* The same on a ring that cannot be charged in place. */
static enum decide_step write_by_moving(struct writing *writing)
{
    struct seat *seat = seat_of(writing->claim);
    struct sl_probe probe = sl_claim_probe(writing->turn->table, writing->claim);
    if (probe.ring_len < seat->place.ring_len)
        probe.ring_len = seat->place.ring_len;
    struct sl_move move = { .probe = &probe,
                            .algo = writing->claim->algo,
                            .from = seat->place,
                            .now_us = writing->turn->bundle->now_us,
                            .own_clock = writing->turn->own_clock,
                            .change = apply,
                            .about = writing };
    switch (sl_log_move_patiently(&move)) {
    case SL_MOVED:
        return STEP_DONE;
    case SL_MOVED_FULL:
        return fail(writing->turn, SLUICE_STORE_FULL);
    case SL_MOVED_NO_MEMORY:
        return fail(writing->turn, SLUICE_NO_MEMORY);
    default:
        return STEP_AGAIN;
    }
}

/* Can the write be said by a swap of the state alone? */
static bool swaps(const struct writing *writing)
{
    const struct sl_claim *claim = writing->claim;
    const struct seat *seat = seat_of(writing->claim);
    if (!claim->algo->keeps_ring)
        return true;
    if (seat->found && (!ring_serves(claim, seat) || writing->write == SL_WRITE_REPAIR))
        return false;
    /* A slot that somebody else began to take may have a ring of another length. */
    return seat->place.ring_len >= claim->limit.capacity &&
           sl_claim_cost(writing->turn->bundle, claim) <=
               claim->algo->charge_most(seat->place.ring_len);
}

static struct sl_word word_after(const struct writing *writing, const struct sl_state *state)
{
    const struct seat *seat = seat_of(writing->claim);
    if (!seat->found)
        return sl_table_live(seat->place.word, state);
    struct sl_word to = sl_slot_with(seat->place.word, state);
    if (!sl_slot_is_live(seat->place.word, writing->turn->bundle->now_us))
        to.hi &= ~SL_SLOT_FLAG; /* it starts afresh, and has denied nobody yet */
    return to;
}

static enum decide_step write_claim(struct writing *writing)
{
    struct seat *seat = seat_of(writing->claim);
    struct sl_state state = state_of(seat);
    if (!swaps(writing)) {
        if (seat->found)
            return write_by_moving(writing);
        /* An empty log first, which is then moved. */
        struct sl_word empty = sl_table_live(seat->place.word, &state);
        sl_word_swap(seat->place.slot, &seat->place.word, empty);
        return STEP_AGAIN;
    }
    if (!seat->found && !writing->turn->own_clock)
        for (uint32_t i = 0; i < state.ring_len; i++) /* times may go anywhere: T11 does not help */
            __atomic_store_n(&state.ring[i], 0, __ATOMIC_RELAXED);
    apply(writing, &state);
    struct sl_word to = word_after(writing, &state);
    return sl_word_swap(seat->place.slot, &seat->place.word, to) ? STEP_DONE : STEP_AGAIN;
}

/* Keeps a state that denies somebody from being evicted. */
static void mark(const struct sl_bundle *bundle, struct sl_claim *claim)
{
    struct seat *seat = seat_of(claim);
    if (sl_claim_peeks(bundle, claim) || !seat->found || claim->shadow || claim->answer.allowed ||
        claim->answer.retry_after_us == SL_NEVER || (seat->place.word.hi & SL_SLOT_FLAG))
        return;
    if (sl_slot_kind(seat->place.word.hi) == SL_DATED_FROZEN)
        return; /* T12 */
    struct sl_word to = seat->place.word;
    to.hi |= SL_SLOT_FLAG;
    sl_word_swap(seat->place.slot, &seat->place.word, to);
}

static void leave_as_is(struct turn *turn, struct sl_claim *claim)
{
    struct seat *seat = seat_of(claim);
    if (!seat->measured) {
        struct sl_state state = state_of(seat);
        sl_claim_measure(claim, turn->bundle, &state);
    }
    leave_seat(claim);
    mark(turn->bundle, claim);
}

/* AGAIN: it has become a denial meanwhile. */
static enum decide_step finish_claim(struct turn *turn, struct sl_claim *claim)
{
    struct sl_bundle *bundle = turn->bundle;
    for (;;) {
        struct writing writing = { turn, claim, sl_claim_write(claim, bundle) };
        if (writing.write == SL_WRITE_NOTHING) {
            leave_as_is(turn, claim);
            return STEP_DONE;
        }
        enum decide_step step = write_claim(&writing);
        seat_of(claim)->prepared = false;
        if (step == STEP_DONE)
            claim->charged = writing.write == SL_WRITE_CHARGE;
        if (step != STEP_AGAIN)
            return step;
        if (writing.write == SL_WRITE_REPAIR) { /* somebody else's by now */
            leave_as_is(turn, claim);
            return STEP_DONE;
        }
        if (look_and_seat(turn, claim) == STEP_FAILED)
            return STEP_FAILED;
        if (!claim->shadow && !claim->allowed)
            return STEP_AGAIN;
    }
}

/* ---- a bundle -------------------------------------------------------------------- */

/* Takes back what a bundle has charged before it turned out to be denied. */
static void undo(struct turn *turn)
{
    struct sl_bundle *bundle = turn->bundle;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        leave_seat(claim);
        struct sl_charge charge = { sl_claim_cost(bundle, claim), claim->answer.as_of_us };
        if (claim->charged)
            sl_adjust_refund(turn->table, claim, charge, turn->own_clock ? -1 : bundle->now_us);
        claim->charged = false;
    }
}

static enum decide_step finish_all(struct turn *turn)
{
    struct sl_bundle *bundle = turn->bundle;
    enum decide_step step = bundle->allowed ? seat_all(turn) : STEP_DONE;
    for (size_t i = 0; i < bundle->claim_count && step == STEP_DONE; i++)
        if (!bundle->claims[i].no_key)
            step = finish_claim(turn, &bundle->claims[i]);
    if (step != STEP_DONE)
        undo(turn);
    return step;
}

/* Every race was lost: somebody else was admitted each time. A denial then, to be
 * tried again at once. */
static void give_up(struct turn *turn)
{
    struct sl_bundle *bundle = turn->bundle;
    bundle->allowed = false;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        struct sl_state state = state_of(seat_of(claim));
        sl_claim_measure(claim, bundle, &state);
        if (!claim->shadow && claim->allowed) {
            claim->allowed = claim->answer.allowed = false;
            claim->answer.retry_after_us = 1;
        }
    }
}

static void decide_claims(struct turn *turn)
{
    struct sl_bundle *bundle = turn->bundle;
    enum decide_step step = STEP_AGAIN;
    for (int round = 0; step == STEP_AGAIN && round < ROUNDS_MAX; round++) {
        for (size_t i = 0; i < bundle->claim_count; i++)
            if (!bundle->claims[i].no_key)
                look(turn, &bundle->claims[i]);
        sl_bundle_judge(bundle);
        step = finish_all(turn);
    }
    if (step == STEP_AGAIN)
        give_up(turn);
}

static void begin(struct turn *turn)
{
    struct sl_bundle *bundle = turn->bundle;
    bundle->status = SLUICE_OK;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        claim->charged = false;
        seat_of(claim)->prepared = false;
        if (bundle->status == SLUICE_OK && claim->guard && !claim->no_key)
            bundle->status = count_guard(turn, claim);
    }
}

void sl_table_decide(struct sl_table *table, struct sl_bundle *bundle, bool own_clock)
{
    struct turn turn = { table, bundle, own_clock };
    bundle->wall_shift_us = own_clock ? sl_table_wall_shift_us(table, bundle->now_us) : 0;
    if (sl_bundle_fast_path(table, bundle))
        return;
    begin(&turn);
    if (bundle->status == SLUICE_OK)
        decide_claims(&turn);
}
