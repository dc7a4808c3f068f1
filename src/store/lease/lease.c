/* The table of leases, and spending from it. A lease's word:
 *
 *   127                64 63          32 31      0
 *   [ end, µs: 64 bits   | generation    | left    ]
 *
 * One swap takes units, also while other threads do so. After its end a lease has no units to take.
 * The generation goes up with every call for the lease, so that units that the call reported as
 * spent are not put back afterwards. It also goes up when another claim gets the slot: a thread
 * that has read the word of one claim cannot swap that of another.
 *
 * A slot is found by the claim's key and the numbers of its limit (L1). It is owned by the thread
 * that has set `is_called`, except for the word and the atomic fields. */
#include "store/lease/lease.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/text/number.h"
#include "store/lease/lease_internal.h"

#define SLOTS_BYTES (SL_LEASES_MAX * sizeof(struct sl_lease))

struct sl_leases *sl_leases_new(void)
{
    struct sl_leases *leases = calloc(1, sizeof *leases);
    if (!leases || !sl_word_supported()) {
        free(leases);
        return NULL;
    }
    /* Zeros; they take no memory until they are used. */
    void *slots = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    leases->slots = slots == MAP_FAILED ? NULL : slots;
    leases->counts = calloc(SL_LEASE_RULES, sizeof *leases->counts);
    if (leases->slots && leases->counts)
        return leases;
    sl_leases_free(leases);
    return NULL;
}

void sl_leases_free(struct sl_leases *leases)
{
    if (!leases)
        return;
    for (size_t i = 0; leases->slots && i < SL_LEASES_MAX; i++)
        free(leases->slots[i].name);
    if (leases->slots)
        munmap(leases->slots, SLOTS_BYTES);
    free(leases->counts);
    free(leases);
}

size_t sl_leases_place(const struct sl_hash128 *key)
{
    return key->low % (SL_LEASES_MAX / SL_LEASE_WAYS) * SL_LEASE_WAYS;
}

/* ---- finding ---- */

static bool is_lease_of(const struct sl_lease *lease, const struct sl_claim *claim)
{
    return sl_load(&lease->key_low) == claim->key.low &&
           sl_load(&lease->key_high) == claim->key.high &&
           sl_load(&lease->capacity) == claim->limit.capacity &&
           sl_load(&lease->span) == sl_lease_span(claim);
}

struct sl_lease *sl_leases_find(const struct sl_leases *leases, const struct sl_claim *claim)
{
    struct sl_lease *lease = leases->slots + sl_leases_place(&claim->key);
    for (size_t i = 0; i < SL_LEASE_WAYS; i++)
        if (is_lease_of(&lease[i], claim))
            return &lease[i];
    return NULL;
}

/* ---- spending ---- */

/* Spends the cost; *word is then the word after it. Returns false if there is not so much. */
static bool spend_units(struct sl_lease *lease, const struct sl_claim *claim, struct sl_ask ask,
                        struct sl_word *word)
{
    *word = sl_word_load(&lease->word);
    /* The word first: if another claim has got the slot since it was found, the swap fails. */
    if (!is_lease_of(lease, claim))
        return false;
    while (sl_word_left(*word) >= ask.cost && ask.now_us < (int64_t)word->hi) {
        struct sl_word to = { word->lo - ask.cost, word->hi };
        SL_CHECK(sl_word_generation(to) == sl_word_generation(*word));
        if (sl_word_swap(&lease->word, word, to)) {
            *word = to;
            return true;
        }
    }
    return false;
}

/* The first thread that spends from the last quarter asks for a call. */
static void push_due(struct sl_leases *leases, struct sl_lease *lease)
{
    if (atomic_exchange(&lease->is_called, true))
        return;
    uint32_t first = atomic_load(&leases->due);
    do
        lease->next_due = first;
    while (
        !atomic_compare_exchange_weak(&leases->due, &first, (uint32_t)(lease - leases->slots) + 1));
}

static void fill_in_allowed(const struct sl_lease *lease, struct sl_claim *claim, uint32_t left,
                            int64_t store_now_us)
{
    claim->allowed = claim->charged = true;
    claim->is_unseen = false;
    claim->guard_answer = (struct sl_guard_answer){ 0 };
    claim->answer = (struct sl_answer){ .allowed = true, .as_of_us = store_now_us };
    claim->figures.remaining = left + sl_load(&lease->store_left);
    claim->figures.reset_at_us = sl_max_i64(sl_load(&lease->reset_at_us), store_now_us);
}

bool sl_leases_take(struct sl_leases *leases, struct sl_claim *claim, struct sl_ask ask,
                    int64_t *ahead_us, struct sl_lease_ticket *ticket)
{
    struct sl_word word;
    SL_CHECK(ask.cost > 0);
    struct sl_lease *lease = sl_leases_find(leases, claim);
    if (!lease || !spend_units(lease, claim, ask, &word))
        return false;
    uint32_t left = sl_word_left(word);
    *ahead_us = sl_load(&lease->ahead_us);
    *ticket = (struct sl_lease_ticket){ lease, sl_word_generation(word) };
    fill_in_allowed(lease, claim, left, ask.now_us + *ahead_us);
    if (left <= sl_load(&lease->low) && ask.now_us >= sl_load(&lease->again_us))
        push_due(leases, lease);
    return true;
}

void sl_lease_put_back(struct sl_lease_ticket ticket, uint32_t cost)
{
    SL_CHECK(ticket.lease && cost > 0);
    struct sl_word word = sl_word_load(&ticket.lease->word);
    while (sl_word_generation(word) == ticket.generation) {
        struct sl_word to = { word.lo + cost, word.hi };
        if (sl_word_swap(&ticket.lease->word, &word, to))
            return;
    }
}

bool sl_leases_deny(struct sl_leases *leases, struct sl_claim *claim, struct sl_ask ask,
                    int64_t *ahead_us)
{
    struct sl_lease *lease = sl_leases_find(leases, claim);
    int64_t until_us = lease ? sl_load(&lease->denied_until_us) : 0;
    SL_CHECK(ask.cost > 0);
    if (ask.now_us >= until_us || ask.cost > claim->limit.capacity / SL_LEASE_SHARE ||
        sl_load(&lease->denied_pardons) != sl_load(&leases->pardons))
        return false;
    *ahead_us = sl_load(&lease->ahead_us);
    atomic_fetch_add_explicit(&lease->missed, ask.cost, memory_order_relaxed);
    fill_in_allowed(lease, claim, 0, ask.now_us + *ahead_us);
    claim->allowed = claim->charged = claim->answer.allowed = false;
    claim->answer.retry_after_us = sl_max_i64(until_us, sl_load(&lease->passes_us)) - ask.now_us;
    claim->figures.remaining = 0;
    return is_lease_of(lease, claim);
}

void sl_leases_pardon(struct sl_leases *leases)
{
    atomic_fetch_add(&leases->pardons, 1);
}

struct sl_lease *sl_leases_called(const struct sl_leases *leases, const struct sl_claim *claim)
{
    struct sl_lease *lease = sl_leases_find(leases, claim);
    return lease && sl_load(&lease->is_called) ? lease : NULL;
}

uint32_t sl_leases_left(const struct sl_leases *leases, const struct sl_claim *claim,
                        int64_t now_us)
{
    const struct sl_lease *lease = sl_leases_find(leases, claim);
    if (!lease)
        return 0;
    struct sl_word word = sl_word_load(&lease->word);
    return is_lease_of(lease, claim) && now_us < (int64_t)word.hi ? sl_word_left(word) : 0;
}

/* ---- figures ---- */

bool sl_leases_any(const struct sl_leases *leases, int64_t now_us)
{
    for (size_t i = 0; i < SL_LEASES_MAX; i++)
        if (now_us < (int64_t)sl_word_load(&leases->slots[i].word).hi)
            return true;
    return false;
}

struct sl_lease_counts *sl_leases_counts(struct sl_leases *leases, uint32_t rule)
{
    return rule < SL_LEASE_RULES ? &leases->counts[rule] : NULL;
}

static void clear_counts(_Atomic uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&counts[i], 0, memory_order_relaxed);
}

void sl_leases_name(struct sl_leases *leases, uint32_t rule, struct sluice_text name)
{
    struct sl_lease_counts *counts = sl_leases_counts(leases, rule);
    uint64_t hash = sl_hash64(name, 0) | 1;
    if (!counts || counts->name == hash)
        return;
    counts->name = hash;
    clear_counts(counts->units, SL_LEASE_END_COUNT);
    clear_counts(counts->calls, SL_LEASE_RESULT_COUNT);
    clear_counts(&counts->short_of, 1);
}

void sl_leases_held(const struct sl_leases *leases, struct sl_lease_held *out, int64_t now_us)
{
    memset(out, 0, SL_LEASE_RULES * sizeof *out);
    for (size_t i = 0; i < SL_LEASES_MAX; i++) {
        const struct sl_lease *lease = &leases->slots[i];
        struct sl_word word = sl_word_load(&lease->word);
        uint32_t rule = sl_load(&lease->rule);
        if (rule >= SL_LEASE_RULES)
            continue;
        out[rule].units += now_us < (int64_t)word.hi ? sl_word_left(word) : 0;
        out[rule].most += sl_load(&lease->most);
    }
}
