/* Any damage to a table's file, then any operations on it.
 *
 *   input:  flags | size | edits… | operations…
 *
 * Opening refuses with a reason, or every operation ends, says something that
 * can be said (remaining between 0 and the limit, …), and touches nothing but
 * the table. Most edits are aimed: slots where the keys that are asked about
 * will be looked for, of any kind and state; ring entries; extents;
 * reservations that add up; the clock.
 *
 * An input that starts with `random SEED COUNT` is so many random ones, unless a
 * fuzzer runs it. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algo/bucket.h"
#include "base/check.h"
#include "store/store.h"
#include "store/table/reservation.h"
#include "store/table/table_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#ifdef SL_LIBFUZZER
#define LIBFUZZER true
#else
#define LIBFUZZER false
#endif

enum {
    SIZE_BYTES = 96 << 10,
    LOG_BYTES = 32 << 10,
    KEYS = 20,
    EDITS_MAX = 24,
    OPERATIONS_MAX = 24,
    INPUT_MAX = 400,
    PATIENCE_S = 20
};

/* ---- reading the input ----------------------------------------------------------- */

struct input {
    const uint8_t *at;
    size_t len;
};

static uint8_t take_byte(struct input *input)
{
    if (input->len == 0)
        return 0;
    input->len--;
    return *input->at++;
}

static uint64_t take_u64(struct input *input)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | take_byte(input);
    return value;
}

/* Any value, but often a small or a nearly largest one. */
static uint64_t take_number(struct input *input)
{
    uint8_t form = take_byte(input);
    if (form < 64)
        return form;
    if (form < 128)
        return (uint64_t)take_byte(input) << form % 56;
    return form < 160 ? ~(uint64_t)take_byte(input) : take_u64(input);
}

/* ---- what is asked --------------------------------------------------------------- */

static struct sl_claim claim_of(uint8_t key, uint8_t size)
{
    static const int64_t windows_us[] = { 1000, 1000000, 60000000, SL_WINDOW_MAX_US };
    static const int64_t capacities[] = { 1, 5, 3, 70, 0, 150, 1000000 };
    size_t algos = 0;
    while (sl_algos[algos])
        algos++;
    key %= KEYS;
    uint64_t name[] = { key, 0x7ab1e };
    struct sl_claim claim = { .algo = sl_algos[key % algos] };
    claim.key = sl_hash128((struct sluice_text){ (const char *)name, sizeof name }, 1);
    claim.limit.capacity = capacities[size % 7];
    claim.limit.first_request = key & 1;
    if (claim.algo->is_bucket) {
        claim.limit.token_ns = 1 + INT64_C(7000000) * key;
        claim.limit.token_form = sl_token_short(claim.limit.token_ns);
    } else {
        claim.limit.window_us = windows_us[key / algos % 4];
    }
    if (claim.algo->keeps_ring) {
        claim.limit.capacity %= 1000;
        claim.ring_len = (uint32_t)claim.limit.capacity;
    }
    return claim;
}

static const struct sl_guard guard = { .window_us = 1000000,
                                       .penalty_us = 5000000,
                                       .threshold = 2 };

/* ---- the table ------------------------------------------------------------------- */

static _Alignas(4096) uint8_t pristine[SIZE_BYTES];
static uint8_t *memory; /* the file, mapped */
static int fd = -1;
static char path[32];

static struct sl_store *open_store(const char *file, struct sluice_error *error)
{
    struct sl_memory_config config = {
        .path = file, .size_bytes = SIZE_BYTES, .log_bytes = LOG_BYTES, .sync_us = SL_SYNC_OFF
    };
    return sl_memory_open(&config, error);
}

/* Something of everything: every key, a ring that was moved, a reservation. */
static void fill_table(struct sl_store *store)
{
    for (uint8_t key = 0; key < KEYS; key++) {
        for (uint8_t size = 1; size < 4; size += 2) {
            struct sl_claim claim = claim_of(key, size);
            struct sl_bundle bundle = {
                .now_us = -1, .cost = 2, .max_delay_us = -1, .claims = &claim, .claim_count = 1
            };
            uint64_t id;
            SL_CHECK(sl_store_decide(store, &bundle) == SLUICE_OK);
            if (bundle.allowed && key < 6)
                store->ops->hold(store, &bundle, 1000000, &id);
        }
    }
}

/* Once: a table in a file that has no name and is gone with us. */
static void make_pristine(void)
{
    char name[] = "/tmp/fuzz-table-XXXXXX";
    struct sluice_error error;
    int temporary = mkstemp(name);
    SL_CHECK(temporary >= 0 && unlink(name) == 0);
    close(temporary);
    struct sl_store *store = open_store(name, &error);
    SL_CHECK(store);
    fill_table(store);
    sl_store_close(store);
    FILE *file = fopen(name, "rb");
    SL_CHECK(file && fread(pristine, 1, SIZE_BYTES, file) == SIZE_BYTES);
    fclose(file);
    unlink(name);

    fd = memfd_create("table", MFD_CLOEXEC);
    SL_CHECK(fd >= 0 && ftruncate(fd, SIZE_BYTES) == 0);
    memory = mmap(NULL, SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    SL_CHECK(memory != MAP_FAILED);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
}

/* The file as a table, as it was before any damage. */
static struct sl_table table_here(void)
{
    const struct sl_header *header = (const struct sl_header *)(const void *)pristine;
    return (struct sl_table){
        .header = (struct sl_header *)(void *)memory,
        .slots = { .lines = (struct sl_slot_line *)(void *)(memory + SL_HEADER_BYTES),
                   .line_count = header->line_count },
        .log = memory + header->log_at,
        .log_bytes = header->log_bytes,
        .reservations = (struct sl_reservation *)(void *)(memory + header->reservations_at),
        .reservation_count = header->reservation_count,
    };
}

/* ---- damage ----------------------------------------------------------------------- */

static void seal_header(void)
{
    struct sl_header *header = (struct sl_header *)(void *)memory;
    size_t len = offsetof(struct sl_header, checksum);
    header->checksum = sl_hash64((struct sluice_text){ (const char *)memory, len }, 0);
}

/* As reservation.c does it: the owner's nonce, a hash of the rest, a phase. */
static void seal_record(struct sl_reservation *record, uint8_t phase)
{
    uint64_t nonce = record->owner >> 32;
    const char *rest = (const char *)&record->expires_us;
    size_t len = sizeof *record - offsetof(struct sl_reservation, expires_us);
    uint64_t check = sl_hash64((struct sluice_text){ rest, len }, nonce) & ((1u << 29) - 1);
    record->owner = nonce << 32 | check << 3 | (phase & 7);
}

/* A region in which the key may be looked for. */
static struct sl_region region_for(const struct sl_claim *claim, uint8_t which)
{
    struct sl_table table = table_here();
    if (!claim->algo->keeps_ring)
        return table.slots;
    struct sl_extents extents = sl_extents(&table);
    struct sl_region region = table.slots, next;
    for (int n = which % 4; n >= 0 && sl_extents_next(&extents, &next); n--)
        region = next;
    return region;
}

static void damage_slot(struct input *input)
{
    struct sl_claim claim = claim_of(take_byte(input), 1);
    uint8_t form = take_byte(input), where = take_byte(input), kind = take_byte(input);
    struct sl_region region = region_for(&claim, form >> 2);
    uint64_t home = sl_home(claim.key.low, region.line_count);
    struct sl_word *slot =
        &region.lines[(home + where / 4 % 8) % region.line_count].slots[where % 4];
    struct sl_word word = { take_number(input), take_number(input) };
    word.hi &= SL_SLOT_STATE_HI | SL_SLOT_FLAG;
    word.hi |= claim.key.high >> SL_SLOT_KEY_SHIFT << SL_SLOT_KEY_SHIFT;
    word.hi |= (uint64_t)(where / 4 % 8) << SL_SLOT_LINE_SHIFT;
    word.hi |= (uint64_t)(kind & 7) << SL_SLOT_KIND_SHIFT;
    if (form & 1) /* as it stands, a little changed */
        word = (struct sl_word){ slot->lo ^ word.lo % 256, slot->hi ^ (uint64_t)kind << 20 };
    *slot = word;
}

static void damage_ring(struct input *input)
{
    struct sl_claim claim = { .algo = &sl_sliding_window_log };
    struct sl_region region = region_for(&claim, take_byte(input));
    uint64_t slot = take_number(input), entry = take_byte(input);
    if (region.rings)
        region.rings[slot % (region.line_count * SL_LINE_SLOTS) * region.ring_len +
                     entry % region.ring_len] = take_number(input);
}

static void damage_record(struct input *input)
{
    struct sl_table table = table_here();
    struct sl_reservation *record = &table.reservations[take_byte(input) % table.reservation_count];
    uint8_t word = take_byte(input) % 8, phase = take_byte(input);
    uint64_t value = take_number(input);
    memcpy((uint8_t *)record + word * 8, &value, sizeof value);
    if (phase & 8)
        seal_record(record, phase);
}

static void damage_at(size_t at, uint64_t value)
{
    memcpy(memory + at % (SIZE_BYTES - sizeof value), &value, sizeof value);
}

static void damage(struct input *input)
{
    switch (take_byte(input) % 10) {
    case 0:
        damage_at(take_u64(input) >> 8, take_number(input));
        break;
    case 1:
        damage_at(take_byte(input) % 11u * 8, take_number(input));
        break;
    case 2: /* clock, attention, latest, held */
        damage_at(128 + take_byte(input) % 6u * 8, take_number(input));
        break;
    case 3: /* extents */
        damage_at(256 + take_byte(input) % 64u * 8, take_number(input) << take_byte(input) % 64);
        break;
    case 4: /* counters */
        damage_at(1024 + take_byte(input) * 8u, take_number(input));
        break;
    case 5:
        damage_record(input);
        break;
    case 6:
        damage_ring(input);
        break;
    default:
        damage_slot(input);
    }
}

/* ---- failing ------------------------------------------------------------------------ */

static uint64_t random_input; /* which of `random`, 0: none */

/* Also called by a sanitizer that gives up. */
static void say_which(void)
{
    if (random_input)
        fprintf(stderr, "repeat with a file that says: random %" PRIu64 " 1\n", random_input);
    random_input = 0;
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void on_alarm(int signal)
{
    (void)signal;
    fprintf(stderr, "an operation does not end\n");
    say_which();
    abort();
}

/* libFuzzer has an alarm and a way to keep its inputs. */
static void prepare_to_fail(void)
{
    if (LIBFUZZER)
        return;
    signal(SIGALRM, on_alarm);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(say_which);
}

static void expect(bool good, const char *what, const struct sl_bundle *bundle,
                   const struct sl_claim *claim)
{
    if (good)
        return;
    fprintf(stderr,
            "%s: %s, capacity %" PRId64 " window %" PRId64 " token %" PRId64 ", cost %" PRIu32
            " at %" PRId64 ": allowed %d retry %" PRId64 " delay %" PRId64 " remaining %" PRId64
            " reset %" PRId64 " charged %d\n",
            what, claim->algo->name, claim->limit.capacity, claim->limit.window_us,
            claim->limit.token_ns, bundle->cost, bundle->now_us, claim->allowed,
            claim->answer.retry_after_us, claim->answer.delay_us, claim->figures.remaining,
            claim->figures.reset_at_us, claim->charged);
    say_which();
    abort();
}

/* ---- operations -------------------------------------------------------------------- */

static void check_claim(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    const struct sl_answer *answer = &claim->answer;
    const struct sl_figures *figures = &claim->figures;
    int64_t retry_us = answer->retry_after_us;
    expect(claim->allowed == answer->allowed, "allowed or not", bundle, claim);
    expect(answer->allowed ? retry_us == 0 : retry_us == SL_NEVER || retry_us > 0, "retry_after",
           bundle, claim);
    expect(answer->delay_us >= 0, "delay", bundle, claim);
    expect(figures->remaining >= 0 && figures->remaining <= claim->limit.capacity, "remaining",
           bundle, claim);
    /* Of several claims, one may have been measured just before the clock was
     * read for another. */
    int64_t slack_us = bundle->claim_count > 1 ? 1000000 : 0;
    expect(figures->reset_at_us >= bundle->now_us - slack_us, "reset_at", bundle, claim);
    expect(!claim->charged || (claim->allowed && !bundle->peek && bundle->cost > 0), "charged",
           bundle, claim);
}

static void check_bundle(const struct sl_bundle *bundle)
{
    SL_CHECK(bundle->status <= 0);
    if (bundle->status != SLUICE_OK)
        return;
    SL_CHECK(bundle->now_us >= 0 && bundle->now_us <= SL_TIME_MAX_US);
    for (size_t i = 0; i < bundle->claim_count; i++)
        check_claim(bundle, &bundle->claims[i]);
}

static uint32_t take_cost(struct input *input)
{
    uint8_t form = take_byte(input);
    return form < 200 ? form % 8 : (uint32_t)take_number(input);
}

static int64_t take_time_us(struct input *input)
{
    uint8_t form = take_byte(input);
    return form < 220 ? -1 : (int64_t)(take_number(input) % ((uint64_t)SL_TIME_MAX_US + 1));
}

static uint64_t decide(struct sl_store *store, struct input *input)
{
    struct sl_claim claims[2];
    uint8_t form = take_byte(input);
    uint64_t id = 0;
    size_t count = 1 + (form & 1);
    for (size_t i = 0; i < count; i++) {
        claims[i] = claim_of(take_byte(input), take_byte(input));
        if (form & 2) {
            claims[i].guard = &guard;
            claims[i].guard_key = claim_of((uint8_t)(form >> 4), 0).key;
        }
    }
    struct sl_bundle bundle = { .now_us = take_time_us(input),
                                .cost = take_cost(input),
                                .peek = form & 4,
                                .max_delay_us = form & 8 ? 1000 : -1,
                                .claims = claims,
                                .claim_count = count };
    sl_store_decide(store, &bundle);
    check_bundle(&bundle);
    if (form & 128 && bundle.status == SLUICE_OK && bundle.allowed && claims[0].charged)
        store->ops->hold(store, &bundle, 1 + take_byte(input), &id);
    return id;
}

static void operate(struct sl_store *store, struct input *input)
{
    static uint64_t id;
    struct sluice_stats stats;
    uint8_t form = take_byte(input);
    struct sl_claim claim = claim_of(form >> 3, form);
    switch (form % 8) {
    case 0:
        store->ops->refund(
            store, &claim,
            (struct sl_charge){ take_cost(input),
                                (int64_t)(take_number(input) % (uint64_t)SL_TIME_MAX_US) });
        break;
    case 1:
        store->ops->reset(store, &claim);
        break;
    case 2:
        store->ops->settle(store, take_byte(input) & 1 ? take_number(input) : id, take_cost(input));
        break;
    case 3:
        store->ops->measure(store, &stats);
        SL_CHECK(stats.live <= stats.slots && stats.log_used_bytes <= stats.log_bytes);
        break;
    default:
        id = decide(store, input);
    }
}

/* ---- one input ------------------------------------------------------------------------ */

static void try_table(struct input *input, uint8_t flags)
{
    struct sluice_error error = { "" };
    struct sl_store *store = open_store(path, &error);
    if (!store) {
        SL_CHECK(error.text[0]);
        return;
    }
    SL_CHECK((flags & 7) != 1); /* the size is wrong: that must be seen */
    if (flags & 8)              /* more of it while it is open */
        for (int i = 0; i < EDITS_MAX && input->len > 0; i++) {
            damage(input);
            operate(store, input);
        }
    for (int i = 0; i < OPERATIONS_MAX && input->len > 0; i++)
        operate(store, input);
    sl_store_close(store);
}

static void try_input(struct input input)
{
    if (!LIBFUZZER)
        alarm(PATIENCE_S);
    memcpy(memory, pristine, SIZE_BYTES);
    uint8_t flags = take_byte(&input), edits = take_byte(&input);
    for (int i = 0; i < edits % EDITS_MAX; i++)
        damage(&input);
    if (flags & 4)
        seal_header();
    bool resized = (flags & 3) == 1;
    off_t size = (off_t)(take_byte(&input) * 997 % SIZE_BYTES);
    if (resized)
        SL_CHECK(ftruncate(fd, flags & 16 ? SIZE_BYTES + size + 1 : size) == 0);
    try_table(&input, flags);
    if (resized)
        SL_CHECK(ftruncate(fd, SIZE_BYTES) == 0);
}

/* `random SEED COUNT` */
static bool try_random(const uint8_t *bytes, size_t len)
{
    char text[64] = "";
    uint64_t state, count;
    memcpy(text, bytes, len < sizeof text - 1 ? len : sizeof text - 1);
    if (sscanf(text, "random %" SCNu64 " %" SCNu64, &state, &count) != 2)
        return false;
    while (count-- > 0) {
        uint8_t input[INPUT_MAX];
        random_input = state;
        for (size_t i = 0; i < sizeof input; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            input[i] = (uint8_t)(state >> 56);
        }
        try_input((struct input){ input, state % sizeof input });
    }
    random_input = 0;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (fd < 0) {
        make_pristine();
        prepare_to_fail();
    }
    if (!LIBFUZZER && try_random(bytes, len))
        return 0;
    try_input((struct input){ bytes, len });
    return 0;
}
