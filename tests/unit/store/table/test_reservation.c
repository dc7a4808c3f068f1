#include "store/table/reservation.h"

#include "algo/bucket.h"
#include "unit/store/on_table.h"

#define NOW_US (1000 * S)

enum { RECORDS = TABLE_BYTES / 256 / 64, CLAIMS_MAX = 8, SETTLING_BY = 1, MINUTE = 60 };

/* What settling handed out. */
static struct sl_held given[CLAIMS_MAX];
static size_t given_count;

static void on_held(void *about, const struct sl_held *held)
{
    assert_ptr_equal(about, &given);
    assert_true(given_count < CLAIMS_MAX);
    given[given_count++] = *held;
}

static int take(uint64_t id)
{
    given_count = 0;
    return sl_reservation_take(&table, id, on_held, &given);
}

static int64_t expire(int64_t now_us)
{
    given_count = 0;
    return sl_reservation_expire(&table, now_us, on_held, &given);
}

static struct sl_claim charged_claim(uint64_t key)
{
    return (struct sl_claim){ .algo = &sl_fixed_window,
                              .limit = { .capacity = 10, .window_us = S },
                              .key = { key, ~key },
                              .charged = true };
}

static int hold_claims(struct sl_claim *claims, size_t count, int64_t expires_us, uint64_t *id)
{
    struct sl_bundle bundle = {
        .now_us = NOW_US, .cost = 3, .claims = claims, .claim_count = count
    };
    return sl_reservation_hold(&table, &bundle, expires_us, id);
}

/* `count` charges on the keys `key`, `key` + 1… */
static uint64_t held(uint64_t key, size_t count, int64_t expires_us)
{
    struct sl_claim claims[CLAIMS_MAX];
    uint64_t id;
    for (size_t i = 0; i < count; i++)
        claims[i] = charged_claim(key + i);
    assert_int_equal(hold_claims(claims, count, expires_us, &id), SLUICE_OK);
    return id;
}

static void is_full(size_t count)
{
    struct sl_claim claims[CLAIMS_MAX];
    uint64_t id = 77;
    for (size_t i = 0; i < count; i++)
        claims[i] = charged_claim(i);
    assert_int_equal(hold_claims(claims, count, NOW_US + S, &id), SLUICE_STORE_FULL);
    assert_int_equal(id, 0);
}

/* ---- holding and taking ------------------------------------------------------------ */

ON_A_TABLE(what_was_charged_is_handed_out_as_it_was)
{
    for (size_t i = 0; sl_algos[i]; i++) {
        const struct sl_algo *algo = sl_algos[i];
        struct sl_claim claim = charged_claim(i);
        claim.algo = algo;
        claim.answer.as_of_us = NOW_US + 5; /* its window starts then */
        claim.limit = (struct sl_limit){ .capacity = 7, .first_request = algo->takes_align };
        if (algo->is_bucket) {
            claim.limit.token_ns = 12048192772;
            claim.limit.token_form = sl_token_short(12048192772);
        } else {
            claim.limit.window_us = 3600 * S;
        }
        uint64_t id = 0;
        assert_int_equal(hold_claims(&claim, 1, NOW_US + S, &id), SLUICE_OK);
        assert_true(id != 0);
        assert_int_equal(take(id), SLUICE_OK);
        assert_int_equal(given_count, 1);
        assert_ptr_equal(given[0].claim.algo, algo);
        assert_memory_equal(&given[0].claim.key, &claim.key, sizeof claim.key);
        SAME(algo->name, given[0].claim.limit.capacity, 7);
        SAME(algo->name, given[0].claim.limit.window_us, claim.limit.window_us);
        SAME(algo->name, given[0].claim.limit.token_ns, claim.limit.token_ns);
        SAME(algo->name, given[0].claim.limit.token_form, claim.limit.token_form);
        SAME(algo->name, given[0].claim.limit.first_request, claim.limit.first_request);
        SAME(algo->name, given[0].claim.ring_len, algo->keeps_ring ? 7 : 0);
        SAME(algo->name, given[0].charge.cost, 3);
        SAME(algo->name, given[0].charge.at_us, NOW_US + 5);
    }
}

ON_A_TABLE(a_reservation_is_settled_once)
{
    uint64_t id = held(1, 1, NOW_US + S);
    assert_int_equal(sl_reservation_count(&table), 1);
    assert_int_equal(take(id), SLUICE_OK);
    assert_int_equal(sl_reservation_count(&table), 0);
    assert_int_equal(take(id), SLUICE_NO_RESERVATION);
    assert_int_equal(given_count, 0);
    assert_int_equal(expire(NOW_US + 2 * S), INT64_MAX);
    assert_int_equal(given_count, 0);
    for (uint64_t i = 0; i < 3 * RECORDS; i++) { /* nor when its record is another's */
        uint64_t other = held(i, 1, NOW_US + S);
        assert_int_equal(take(id), SLUICE_NO_RESERVATION);
        assert_int_equal(take(other), SLUICE_OK);
    }
}

ON_A_TABLE(an_id_with_any_bit_wrong_is_unknown)
{
    uint64_t id = held(1, 1, NOW_US + S);
    for (int bit = 0; bit < 64; bit++)
        assert_int_equal(take(id ^ UINT64_C(1) << bit), SLUICE_NO_RESERVATION);
    assert_int_equal(take(0), SLUICE_NO_RESERVATION);
    assert_int_equal(take(UINT64_MAX), SLUICE_NO_RESERVATION);
    assert_int_equal(take(id), SLUICE_OK);
}

ON_A_TABLE(several_claims_are_one_reservation)
{
    struct sl_claim claims[5];
    for (uint64_t i = 0; i < COUNT(claims); i++) {
        claims[i] = charged_claim(i);
        claims[i].charged = i != 0 && i != 3; /* these two denied as shadows */
    }
    uint64_t id;
    assert_int_equal(hold_claims(claims, COUNT(claims), NOW_US + S, &id), SLUICE_OK);
    assert_int_equal(sl_reservation_count(&table), 1);
    assert_int_equal(table.header->held, 1);
    assert_int_equal(take(id), SLUICE_OK);
    static const uint64_t keys[] = { 1, 2, 4 };
    assert_int_equal(given_count, COUNT(keys));
    for (size_t i = 0; i < COUNT(keys); i++)
        assert_int_equal(given[i].claim.key.low, keys[i]);
    held(1, RECORDS, NOW_US + S); /* all records are free again */
}

ON_A_TABLE(what_charged_nothing_holds_nothing)
{
    struct sl_claim claim = charged_claim(1);
    claim.charged = false;
    uint64_t id = 77;
    assert_int_equal(hold_claims(&claim, 1, NOW_US + S, &id), SLUICE_OK);
    assert_int_equal(id, 0);
    assert_int_equal(table.header->held, 0);
    assert_int_equal(sl_reservation_count(&table), 0);
}

ON_A_TABLE(where_there_is_no_room_nothing_is_held)
{
    is_full(RECORDS + 1);
    uint64_t first = held(1, RECORDS - 2, NOW_US + S);
    is_full(3); /* takes two, and lets them go */
    uint64_t second = held(7, 2, NOW_US + S);
    is_full(1);
    assert_int_equal(sl_reservation_count(&table), 2);
    assert_int_equal(table.header->held, 2);
    assert_int_equal(take(second), SLUICE_OK);
    assert_int_equal(given_count, 2);
    held(7, 2, NOW_US + S);
    assert_int_equal(take(first), SLUICE_OK);
    assert_int_equal(given_count, RECORDS - 2);
}

ON_A_TABLE(a_table_without_records_is_always_full)
{
    table.reservation_count = 0;
    is_full(1);
    assert_int_equal(take(1), SLUICE_NO_RESERVATION);
    assert_int_equal(expire(NOW_US), INT64_MAX);
}

/* ---- expiring ----------------------------------------------------------------------- */

ON_A_TABLE(what_has_expired_is_handed_out_and_the_next_one_named)
{
    table.header->attention_us = INT64_MAX;
    uint64_t later = held(1, 1, NOW_US + 9 * S), sooner = held(2, 2, NOW_US + 5 * S);
    assert_int_equal(table.header->attention_us, NOW_US + 5 * S);
    assert_int_equal(expire(NOW_US + 5 * S - 1), NOW_US + 5 * S);
    assert_int_equal(given_count, 0);
    assert_int_equal(expire(NOW_US + 5 * S), NOW_US + 9 * S);
    assert_int_equal(given_count, 2);
    assert_int_equal(given[0].claim.key.low, 2);
    assert_int_equal(take(sooner), SLUICE_NO_RESERVATION);
    assert_int_equal(take(later), SLUICE_OK);
    assert_int_equal(expire(NOW_US + 99 * S), INT64_MAX);
    assert_int_equal(table.header->held, 0);
}

ON_A_TABLE(one_that_would_expire_unbelievably_late_has_expired)
{
    held(1, 1, NOW_US + SL_LIFE_MAX_US);
    held(2, 1, NOW_US + SL_LIFE_MAX_US + 1);
    assert_int_equal(expire(NOW_US), NOW_US + SL_LIFE_MAX_US);
    assert_int_equal(given_count, 1);
    assert_int_equal(given[0].claim.key.low, 2);
}

/* ---- what the killed and the stopped leave ------------------------------------------- */

static struct sl_reservation *record_of(uint64_t id)
{
    return &table.reservations[(id & 0x1ffff) - 1];
}

ON_A_TABLE(a_record_that_does_not_add_up_gives_nothing_back)
{
    for (size_t byte = 8; byte < sizeof(struct sl_reservation); byte++) {
        uint64_t id = held(1, 1, NOW_US + S);
        ((uint8_t *)record_of(id))[byte] ^= 4;
        assert_int_equal(take(id), SLUICE_OK);
        assert_int_equal(given_count, 0);
        assert_int_equal(take(id), SLUICE_NO_RESERVATION);
        memset(record_of(id), 0, sizeof *record_of(id));
    }
}

ON_A_TABLE(a_chain_is_followed_as_far_as_it_adds_up)
{
    static const uint32_t nexts[] = { 0, 1, RECORDS + 1, 0xfffff };
    for (size_t i = 0; i < COUNT(nexts); i++) {
        uint64_t id = held(1, 3, NOW_US + S);
        struct sl_reservation *second = &table.reservations[record_of(id)->next - 1];
        second->next = nexts[i] & 0xfffff;
        assert_int_equal(take(id), SLUICE_OK);
        assert_int_equal(given_count, 1);
        memset(table.reservations, 0, RECORDS * sizeof *table.reservations);
    }
    uint64_t id = held(1, 2, NOW_US + S); /* the second one is another reservation's by now */
    struct sl_reservation *second = &table.reservations[record_of(id)->next - 1];
    uint64_t other = held(7, 1, NOW_US + S);
    *second = *record_of(other);
    assert_int_equal(take(id), SLUICE_OK);
    assert_int_equal(given_count, 1);
}

ON_A_TABLE(what_a_killed_settler_left_is_free_a_minute_after_it_would_have_expired)
{
    uint64_t id = held(1, RECORDS, NOW_US + S);
    record_of(id)->owner += SETTLING_BY;
    assert_int_equal(take(id), SLUICE_NO_RESERVATION);
    assert_int_equal(expire(NOW_US + 10 * S), INT64_MAX);
    assert_int_equal(given_count, 0);
    struct sl_claim claim = charged_claim(1);
    struct sl_bundle bundle = { .cost = 3, .claims = &claim, .claim_count = 1 };
    bundle.now_us = NOW_US + S + MINUTE * S;
    assert_int_equal(sl_reservation_hold(&table, &bundle, NOW_US, &id), SLUICE_STORE_FULL);
    bundle.now_us++;
    assert_int_equal(sl_reservation_hold(&table, &bundle, NOW_US, &id), SLUICE_OK);
}

ON_A_TABLE(what_was_being_filled_is_free_after_about_a_minute)
{
    enum { FILLING = 1 };
    int64_t unit_us = INT64_C(1) << 20, made_us = 65530 * unit_us; /* 16 bits wrap meanwhile */
    for (size_t i = 0; i < RECORDS; i++)
        table.reservations[i].owner = (uint64_t)(made_us >> 20 & 0xffff) << 3 | FILLING;
    struct sl_claim claim = charged_claim(1);
    struct sl_bundle bundle = { .cost = 3, .claims = &claim, .claim_count = 1 };
    uint64_t id;
    bundle.now_us = made_us + 64 * unit_us - 1;
    assert_int_equal(sl_reservation_hold(&table, &bundle, made_us, &id), SLUICE_STORE_FULL);
    assert_int_equal(expire(made_us), INT64_MAX);
    bundle.now_us++;
    assert_int_equal(sl_reservation_hold(&table, &bundle, made_us, &id), SLUICE_OK);
}

/* Nothing that stands in the records leads astray. */
ON_A_TABLE(any_records_can_be_read)
{
    uint64_t seed = 6;
    for (int round = 0; round < 3000; round++) {
        uint64_t *words = (uint64_t *)(void *)table.reservations;
        for (size_t i = 0; i < RECORDS * 8; i++)
            words[i] = unit_random(&seed) >> unit_up_to(&seed, 63);
        uint64_t id = unit_random(&seed);
        take((id & ~UINT64_C(0x1ffff)) | 1);
        expire(NOW_US);
        struct sl_claim claim = charged_claim(1);
        if (hold_claims(&claim, 1, NOW_US + S, &id) == SLUICE_OK)
            assert_int_equal(take(id), SLUICE_OK);
    }
}
