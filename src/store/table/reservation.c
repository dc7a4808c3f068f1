/* Reservations as chains of records. A record's owner word says which reservation it
 * belongs to, and its phase:
 *
 *   63      32 31       3 2     0
 *   [ nonce    | check    | phase ]
 *
 *   free → filling → member            → free
 *                  → head → settling   → free
 *
 * `check` is a hash of the other fields: a record is believed only if the hash is
 * right. A thread may be stopped while it fills a record, for so long that the
 * record is given to another reservation; the hash keeps that one from refunding
 * charges it did not make. While filling, `check` holds the time instead.
 *
 * A process may be killed after any step but the last. Then the charge stays, which
 * admits less, and the record is free again a minute after it would have expired. */
#include "store/table/reservation.h"

#include "algo/bucket.h"
#include "base/check.h"
#include "store/table/table_file.h"

enum record_phase { FREE, FILLING, MEMBER, HEAD, SETTLING };

enum { PHASE_BITS = 3, CHECK_BITS = 29, NONCE_SHIFT = 32, INDEX_BITS = 17, FILLING_UNIT = 20 };

#define CHECK_MASK  ((UINT64_C(1) << CHECK_BITS) - 1)
#define INDEX_MASK  ((UINT64_C(1) << INDEX_BITS) - 1)
#define LEFT_US     INT64_C(60000000) /* an orphan's time after its expiry */
#define FILLING_MAX 64                /* units of about a second */

static uint64_t load_owner(const struct sl_reservation *record)
{
    return __atomic_load_n(&record->owner, __ATOMIC_ACQUIRE);
}

static bool swap_owner(struct sl_reservation *record, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(&record->owner, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static enum record_phase phase_of(uint64_t owner)
{
    return (enum record_phase)(owner & ((1 << PHASE_BITS) - 1));
}

static uint64_t owner_word(uint64_t nonce, uint64_t check, enum record_phase phase)
{
    SL_CHECK(nonce <= UINT32_MAX && phase < 1 << PHASE_BITS);
    return nonce << NONCE_SHIFT | (check & CHECK_MASK) << PHASE_BITS | phase;
}

static uint64_t check_of(const struct sl_reservation *copy, uint64_t nonce)
{
    const char *fields = (const char *)&copy->expires_us;
    size_t len = sizeof *copy - offsetof(struct sl_reservation, expires_us);
    return sl_hash64((struct sluice_text){ fields, len }, nonce) & CHECK_MASK;
}

enum { FIELD_WORDS = sizeof(struct sl_reservation) / sizeof(uint64_t) - 1 };

/* Returns a copy of the fields, word by word; another thread may be changing them. */
static struct sl_reservation copy_of_record(const struct sl_reservation *record, uint64_t owner)
{
    struct sl_reservation copy = { .owner = owner };
    const uint64_t *from = &record->owner + 1;
    uint64_t words[FIELD_WORDS];
    for (size_t i = 0; i < FIELD_WORDS; i++)
        words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    memcpy((char *)&copy + sizeof owner, words, sizeof words);
    return copy;
}

static void write_fields(struct sl_reservation *record, const struct sl_reservation *fields)
{
    uint64_t *to = &record->owner + 1;
    uint64_t words[FIELD_WORDS];
    memcpy(words, (const char *)fields + sizeof fields->owner, sizeof words);
    for (size_t i = 0; i < FIELD_WORDS; i++)
        __atomic_store_n(&to[i], words[i], __ATOMIC_RELAXED);
}

static bool has_right_check(const struct sl_reservation *copy)
{
    uint64_t nonce = copy->owner >> NONCE_SHIFT;
    return (copy->owner >> PHASE_BITS & CHECK_MASK) == check_of(copy, nonce);
}

/* ---- holding ------------------------------------------------------------------- */

static bool is_reusable(const struct sl_reservation *record, uint64_t owner, int64_t now_us)
{
    uint64_t made = owner >> PHASE_BITS & 0xffff;
    struct sl_reservation copy;
    switch (phase_of(owner)) {
    case FREE:
        return true;
    case FILLING:
        return (uint16_t)(((uint64_t)now_us >> FILLING_UNIT) - made) >= FILLING_MAX;
    case HEAD:
        return false;
    default:
        copy = copy_of_record(record, owner);
        return copy.expires_us < now_us - LEFT_US || copy.expires_us > now_us + SL_LIFE_MAX_US;
    }
}

/* Returns the number of a claimed record, from 1; 0 if none is free. */
static uint32_t claim_record(struct sl_table *table, uint64_t nonce, int64_t now_us)
{
    uint64_t made = (uint64_t)now_us >> FILLING_UNIT & 0xffff;
    SL_CHECK(table->reservation_count <= INDEX_MASK); /* a number has 17 bits in an id */
    for (uint64_t i = 0; i < table->reservation_count; i++) {
        uint64_t at = (nonce + i) % table->reservation_count;
        struct sl_reservation *record = &table->reservations[at];
        uint64_t owner = load_owner(record);
        if (is_reusable(record, owner, now_us) &&
            swap_owner(record, owner, owner_word(nonce, made, FILLING)))
            return (uint32_t)at + 1;
    }
    return 0;
}

static struct sl_reservation record_fields_of(const struct sl_claim *claim,
                                              const struct sl_bundle *bundle)
{
    const struct sl_limit *limit = &claim->limit;
    SL_CHECK(claim->charged && claim->algo->number <= UINT8_MAX);
    return (struct sl_reservation){
        .key = claim->key,
        .charged_at_us = claim->answer.as_of_us,
        .span = claim->algo->is_bucket ? limit->token_ns : limit->window_us,
        .capacity = limit->capacity,
        .cost = bundle->cost,
        .algo = (uint8_t)claim->algo->number,
        .first_request = limit->first_request,
    };
}

static uint64_t publish_record(struct sl_reservation *record, const struct sl_reservation *fields,
                               uint64_t nonce, enum record_phase phase)
{
    uint64_t owner = owner_word(nonce, check_of(fields, nonce), phase);
    write_fields(record, fields);
    __atomic_store_n(&record->owner, owner, __ATOMIC_RELEASE);
    return owner;
}

/* The numbers lie in memory that a damaged file or another process may have changed: they are
 * followed as far as they name records, and no longer than there are records. */
static void free_chain(struct sl_table *table, uint32_t number)
{
    for (uint32_t i = 0;
         number && number <= table->reservation_count && i < table->reservation_count; i++) {
        struct sl_reservation *record = &table->reservations[number - 1];
        number = copy_of_record(record, 0).next;
        __atomic_store_n(&record->owner, FREE, __ATOMIC_RELEASE);
    }
}

static uint64_t next_nonce(struct sl_table *table)
{
    uint64_t nonce = __atomic_add_fetch(&table->header->stripes[0].nonce, 1, __ATOMIC_RELAXED);
    return nonce & UINT32_MAX;
}

int sl_reservation_hold(struct sl_table *table, const struct sl_bundle *bundle, int64_t expires_us,
                        uint64_t *id)
{
    SL_CHECK(id && bundle->now_us >= 0 && (bundle->claims || bundle->claim_count == 0));
    uint64_t nonce = next_nonce(table), owner = 0;
    uint32_t head = 0;
    size_t last = bundle->claim_count; /* the chain is made from its end */
    for (size_t i = bundle->claim_count; i-- > 0;)
        if (bundle->claims[i].charged)
            last = i;
    *id = 0;
    if (last == bundle->claim_count)
        return SLUICE_OK; /* nothing was charged, so there is no reservation */
    __atomic_fetch_add(&table->header->held, 1, __ATOMIC_RELAXED); /* never fewer than there are */
    for (size_t i = bundle->claim_count; i-- > last;) {
        if (!bundle->claims[i].charged)
            continue;
        uint32_t number = claim_record(table, nonce, bundle->now_us);
        if (number == 0) {
            free_chain(table, head);
            __atomic_fetch_sub(&table->header->held, 1, __ATOMIC_RELAXED);
            return SLUICE_STORE_FULL;
        }
        struct sl_reservation fields = record_fields_of(&bundle->claims[i], bundle);
        fields.expires_us = expires_us;
        fields.next = head & 0xfffff;
        owner = publish_record(&table->reservations[number - 1], &fields, nonce,
                               i == last ? HEAD : MEMBER);
        head = number;
    }
    SL_CHECK(head > 0 && head <= table->reservation_count);
    sl_table_call_attention(table, expires_us);
    *id = nonce << NONCE_SHIFT | (owner >> PHASE_BITS & 0x7fff) << INDEX_BITS | head;
    return SLUICE_OK;
}

/* ---- settling ------------------------------------------------------------------- */

static const struct sl_algo *algo_numbered(uint32_t number)
{
    for (size_t i = 0; sl_algos[i]; i++)
        if (sl_algos[i]->number == number)
            return sl_algos[i];
    return NULL;
}

/* Returns true if a correct program could have made this charge. */
static bool is_legal_charge(const struct sl_reservation *copy, const struct sl_algo *algo)
{
    if (!algo || copy->capacity <= 0 || copy->charged_at_us < 0 ||
        copy->charged_at_us > 2 * SL_TIME_MAX_US)
        return false;
    if (algo->is_bucket)
        return copy->span > 0 && copy->capacity <= SL_SPAN_MAX_NS / copy->span;
    return copy->span >= SL_WINDOW_MIN_US && copy->span <= SL_WINDOW_MAX_US &&
           copy->capacity <= algo->capacity_max(copy->span);
}

static bool held_charge_of(const struct sl_reservation *copy, struct sl_held *held)
{
    const struct sl_algo *algo = algo_numbered(copy->algo);
    if (!is_legal_charge(copy, algo))
        return false;
    *held = (struct sl_held){ .charge = { copy->cost, copy->charged_at_us } };
    held->claim.algo = algo;
    held->claim.key = copy->key;
    held->claim.ring_len = algo->keeps_ring ? (uint32_t)copy->capacity : 0;
    held->claim.limit.capacity = copy->capacity;
    held->claim.limit.first_request = copy->first_request;
    if (algo->is_bucket) {
        held->claim.limit.token_ns = copy->span;
        held->claim.limit.token_form = sl_token_short(copy->span);
    } else {
        held->claim.limit.window_us = copy->span;
    }
    SL_CHECK(held->charge.at_us >= 0 && held->claim.limit.capacity > 0);
    return true;
}

/* Settles the chain from its head, whose phase is SETTLING and which this thread owns. */
static void settle_chain(struct sl_table *table, uint32_t number, sl_settle_held *settle,
                         void *about)
{
    SL_CHECK(number > 0 && number <= table->reservation_count);
    uint64_t nonce = load_owner(&table->reservations[number - 1]) >> NONCE_SHIFT;
    for (uint64_t steps = 0; number && steps < table->reservation_count; steps++) {
        if (number > table->reservation_count)
            return;
        struct sl_reservation *record = &table->reservations[number - 1];
        uint64_t owner = load_owner(record);
        struct sl_reservation copy = copy_of_record(record, owner);
        struct sl_held held;
        if (owner >> NONCE_SHIFT != nonce || !has_right_check(&copy))
            return;
        __atomic_store_n(&record->owner, FREE, __ATOMIC_RELEASE);
        if (held_charge_of(&copy, &held))
            settle(about, &held);
        number = copy.next;
    }
}

/* T13: only one thread moves it from HEAD to SETTLING. */
static bool claim_head(struct sl_table *table, struct sl_reservation *record, uint64_t owner)
{
    uint64_t settling = owner - HEAD + SETTLING;
    if (phase_of(owner) != HEAD || !swap_owner(record, owner, settling))
        return false;
    __atomic_fetch_sub(&table->header->held, 1, __ATOMIC_RELAXED);
    return true;
}

int sl_reservation_take(struct sl_table *table, uint64_t id, sl_settle_held *settle, void *about)
{
    uint64_t number = id & INDEX_MASK;
    if (number == 0 || number > table->reservation_count)
        return SLUICE_NO_RESERVATION;
    SL_CHECK(settle);
    struct sl_reservation *record = &table->reservations[number - 1];
    uint64_t owner = load_owner(record);
    bool same = owner >> NONCE_SHIFT == id >> NONCE_SHIFT &&
                (owner >> PHASE_BITS & 0x7fff) == (id >> INDEX_BITS & 0x7fff);
    if (!same || !claim_head(table, record, owner))
        return SLUICE_NO_RESERVATION;
    settle_chain(table, (uint32_t)number, settle, about);
    return SLUICE_OK;
}

int64_t sl_reservation_expire(struct sl_table *table, int64_t now_us, sl_settle_held *settle,
                              void *about)
{
    int64_t next_us = INT64_MAX;
    for (uint64_t i = 0; i < table->reservation_count; i++) {
        struct sl_reservation *record = &table->reservations[i];
        uint64_t owner = load_owner(record);
        if (phase_of(owner) != HEAD)
            continue;
        int64_t expires_us = copy_of_record(record, owner).expires_us;
        if (expires_us > now_us && expires_us - now_us <= SL_LIFE_MAX_US)
            next_us = sl_min_i64(next_us, expires_us);
        else if (claim_head(table, record, owner))
            settle_chain(table, (uint32_t)i + 1, settle, about);
    }
    SL_CHECK(next_us > now_us);
    return next_us;
}

uint64_t sl_reservation_count(const struct sl_table *table)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < table->reservation_count; i++)
        count += phase_of(load_owner(&table->reservations[i])) == HEAD;
    SL_CHECK(count <= table->reservation_count);
    return count;
}
