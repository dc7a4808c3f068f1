/* Script calls, word by word, and the numbers of their replies.
 *
 *   sl_ask_X       *3 $7 EVALSHA …: keys, then the frame (frame.lua), then the script's own words
 *   sl_answer_X    the states that the script found, decided again by the same C as in memory */
#include "store/redis/ask.h"

#include <inttypes.h>
#include <stdio.h>

#include "algo/bucket.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/text/number.h"
#include "store/claim.h"
#include "store/redis/cluster/slot.h"

enum { HELD_MAX = 65536 }; /* reservations in one Redis */

/* ---- words ---- */

struct word_count {
    struct sl_buffer *out;
    uint32_t count;
    uint32_t slot; /* the cluster slot of the first key */
};

/* "$12\r\n…\r\n". Written by hand: a call has dozens of these, and printf is slow. */
static void add_text(struct word_count *words, struct sluice_text text)
{
    char head[24];
    char *at = head + sizeof head;
    size_t rest = text.len;
    *--at = '\n';
    *--at = '\r';
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    *--at = '$';
    sl_buffer_add(words->out, (struct sluice_text){ at, (size_t)(head + sizeof head - at) });
    sl_buffer_add(words->out, text);
    sl_buffer_add(words->out, SL_TEXT("\r\n"));
    words->count++;
}

static void add_number(struct word_count *words, int64_t number)
{
    char digits[24];
    char *end = digits + sizeof digits, *at = end;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--at = '-';
    add_text(words, (struct sluice_text){ at, (size_t)(end - at) });
}

static void add_hex(struct word_count *words, uint64_t number)
{
    static const char hex[] = "0123456789abcdef";
    char digits[16];
    for (size_t i = 16; i-- > 0; number >>= 4)
        digits[i] = hex[number & 15];
    add_text(words, (struct sluice_text){ digits, sizeof digits });
}

/* Keys follow the word that says how many there are. The first key decides the slot of the call: in
 * a cluster all its keys share it. */
static void add_key(struct word_count *words, struct sluice_text key)
{
    if (words->count == 1)
        words->slot = sl_slot_of(key);
    add_text(words, key);
}

/* The first two arguments of every script: see frame.lua. */
static void add_frame(struct word_count *words, int64_t now_us, struct sl_redis_query *query)
{
    if (now_us < 0)
        add_text(words, SL_TEXT(""));
    else
        add_number(words, now_us);
    query->deadline_at = 0;
    if (now_us < 0)
        query->deadline_at = (uint32_t)(words->out->len - query->start + strlen("$16\r\n"));
    add_text(words, SL_TEXT("9999999999999999"));
}

/* Only logs need the nonce: it names their entries. */
static void add_nonce(struct word_count *words, uint64_t nonce, bool needs_one)
{
    if (needs_one)
        add_hex(words, nonce);
    else
        add_text(words, SL_TEXT(""));
}

static bool end_words(struct word_count *words, struct sl_redis_query *query)
{
    SL_CHECK(query->start <= words->out->len);
    query->bytes = words->out;
    query->len = words->out->len - query->start;
    query->words = words->count;
    query->slot = words->slot;
    return query->script && !words->out->failed;
}

/* The state's kind: its algorithm and window. A state of another kind is ignored and starts afresh.
 * In a log the kind stands before each entry. */
static void add_kind(struct word_count *words, const struct sl_claim *claim)
{
    char room[96];
    struct sl_buffer text = { .at = room, .room = sizeof room, .most = sizeof room };
    const struct sl_limit *limit = &claim->limit;
    if (!claim->algo->keeps_ring)
        sl_buffer_add(&text, sl_text(claim->algo->name));
    if (!claim->algo->keeps_ring && !claim->algo->is_bucket)
        sl_buffer_add(&text, SL_TEXT("/"));
    if (!claim->algo->is_bucket)
        sl_buffer_add_i64(&text, limit->window_us);
    if (claim->algo->keeps_ring)
        sl_buffer_add(&text, SL_TEXT(":"));
    if (limit->first_request)
        sl_buffer_add(&text, SL_TEXT("/first_request"));
    add_text(words, (struct sluice_text){ text.at, text.len });
}

int64_t sl_ask_span(const struct sl_claim *claim)
{
    return claim->algo->is_bucket ? claim->limit.token_ns : claim->limit.window_us;
}

static void add_guard(struct word_count *words, const struct sl_guard *guard)
{
    char text[80];
    snprintf(text, sizeof text, "%" PRId64 "/%" PRId64 "/%" PRIu32, guard->window_us,
             guard->penalty_us, guard->threshold);
    add_text(words, sl_text(text));
    add_number(words, guard->window_us);
    add_number(words, guard->penalty_us);
    add_number(words, guard->threshold);
}

static void add_claim(struct word_count *words, const struct sl_claim *claim, bool is_one)
{
    static const char *const extras[] = { "", "s", "f", "sf" };
    add_kind(words, claim);
    add_number(words, claim->limit.capacity);
    add_number(words, sl_ask_span(claim));
    add_text(words, sl_text(extras[claim->shadow + 2 * claim->limit.first_request]));
    if (is_one)
        return; /* this script needs no more */
    add_text(words, sl_text(claim->algo->name));
    if (claim->guard)
        add_guard(words, claim->guard);
    else
        add_text(words, SL_TEXT(""));
}

/* One for all claims, or one for each: "1,5,1p", where `p` is a peek. */
static void add_costs(struct word_count *words, const struct sl_bundle *bundle)
{
    struct sl_buffer text = sl_buffer(1 << 16);
    if (!bundle->is_mixed) {
        add_number(words, bundle->cost);
        return;
    }
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (!sl_claim_is_asked(claim))
            continue;
        sl_buffer_add_i64(&text, claim->cost);
        sl_buffer_add(&text, claim->peek ? SL_TEXT("p,") : SL_TEXT(","));
    }
    add_text(words, (struct sluice_text){ text.at, text.len });
    words->out->failed |= text.failed;
    sl_buffer_release(&text);
}

/* ---- deciding ---- */

/* Returns the number of keys, and in *set the algorithms of the claims. */
static size_t count_keys(const struct sl_bundle *bundle, uint32_t *set)
{
    size_t keys = 0;
    *set = 0;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (!sl_claim_is_asked(claim))
            continue;
        keys += claim->guard ? 2 : 1;
        *set |= sl_script_bit(claim->algo) | (claim->guard ? SL_SCRIPT_GUARD : 0);
    }
    return keys;
}

/* Does an enforced claim have no identity? Then the bundle is denied, and only guards count it. */
static bool lacks_identity(const struct sl_bundle *bundle)
{
    bool lacks = false;
    for (size_t i = 0; i < bundle->claim_count; i++)
        lacks |= bundle->claims[i].no_key && !bundle->claims[i].shadow;
    return lacks;
}

static void add_keys(struct word_count *words, const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (!sl_claim_is_asked(claim))
            continue;
        SL_CHECK(claim->name);
        add_key(words, claim->name->key);
        if (claim->guard)
            add_key(words, claim->name->guard);
    }
}

/* The queue of all reservations by their end, or in a cluster of those of the shard. */
static void add_queue(struct word_count *words, uint32_t shard, bool in_cluster)
{
    char key[48];
    snprintf(key, sizeof key, "rl:~reservations:{%" PRIu32 "}", shard);
    add_key(words, in_cluster ? sl_text(key) : SL_TEXT("rl:~reservations"));
}

static void add_held_keys(struct word_count *words, uint64_t id, bool in_cluster)
{
    char key[64];
    uint32_t shard = id % SL_HELD_SHARDS;
    if (in_cluster)
        snprintf(key, sizeof key, "rl:~reservation:{%" PRIu32 "}:%016" PRIx64, shard, id);
    else
        snprintf(key, sizeof key, "rl:~reservation:{%016" PRIx64 "}", id);
    add_key(words, sl_text(key));
    add_queue(words, shard, in_cluster);
}

static void add_held(struct word_count *words, const struct sl_claim *claim)
{
    struct sl_buffer text = sl_buffer(1 << 16);
    sl_held_print(&text, claim);
    add_text(words, (struct sluice_text){ text.at, text.len });
    words->out->failed |= text.failed;
    sl_buffer_release(&text);
}

static void add_holding(struct word_count *words, const struct sl_bundle *bundle,
                        const struct sl_holding *holding)
{
    add_text(words, SL_TEXT("hold"));
    add_number(words, holding->expiry_us);
    add_number(words, HELD_MAX);
    add_hex(words, holding->id);
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (sl_claim_is_asked(&bundle->claims[i]))
            add_held(words, &bundle->claims[i]);
}

bool sl_ask_keep(struct sl_scripts *scripts, const struct sl_bundle *bundle,
                 const struct sl_holding *holding, struct sl_buffer *bytes,
                 struct sl_redis_query *query)
{
    struct word_count words = { .out = bytes };
    SL_CHECK(holding->id != 0);
    query->start = bytes->len;
    add_number(&words, 2);
    add_held_keys(&words, holding->id, true);
    add_frame(&words, -1, query);
    add_number(&words, holding->expiry_us);
    add_number(&words, HELD_MAX / SL_HELD_SHARDS);
    add_hex(&words, holding->id);
    add_number(&words, bundle->cost);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        if (!bundle->claims[i].charged)
            continue;
        add_held(&words, &bundle->claims[i]);
        add_number(&words, bundle->claims[i].answer.as_of_us);
    }
    query->script = sl_script_get(scripts, SL_SCRIPT_KEEP, 0);
    return end_words(&words, query);
}

bool sl_ask_decide(struct sl_scripts *scripts, const struct sl_bundle *bundle,
                   const struct sl_holding *holding, struct sl_buffer *bytes,
                   struct sl_redis_query *query)
{
    static const char *const modes[] = { "", "p", "d", "pd", "m", "m", "md", "md" };
    uint32_t set;
    struct word_count words = { .out = bytes };
    size_t keys = count_keys(bundle, &set);
    SL_CHECK(keys > 0 && (!holding || holding->id != 0));
    bool is_one = keys == 1 && !holding && !bundle->is_mixed;
    query->start = bytes->len;
    add_number(&words, (int64_t)(keys + (holding ? 2 : 0)));
    add_keys(&words, bundle);
    if (holding)
        add_held_keys(&words, holding->id, false);
    add_frame(&words, bundle->now_us, query);
    add_costs(&words, bundle);
    bool is_denied = bundle->is_denied || lacks_identity(bundle);
    add_text(&words, sl_text(modes[bundle->peek + 2 * is_denied + 4 * bundle->is_mixed]));
    if (bundle->max_delay_us < 0)
        add_text(&words, SL_TEXT(""));
    else
        add_number(&words, bundle->max_delay_us);
    add_nonce(&words, query->nonce, set & sl_script_bit(&sl_sliding_window_log));
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (sl_claim_is_asked(&bundle->claims[i]))
            add_claim(&words, &bundle->claims[i], is_one);
    if (holding)
        add_holding(&words, bundle, holding);
    enum sl_script_kind kind = is_one ? SL_SCRIPT_ONE : holding ? SL_SCRIPT_RESERVE : SL_SCRIPT_ALL;
    query->script = sl_script_get(scripts, kind, set);
    query->is_packed = true;
    return end_words(&words, query);
}

/* ---- answers ---- */

/* A claim's state, in `own` until its bundle is judged: the reply may be gone by then. */
struct found {
    struct sl_state state;
    int64_t told[SL_TOLD]; /* a log's state points to these */
};

static struct found *found_of(struct sl_claim *claim)
{
    _Static_assert(sizeof(struct found) <= sizeof claim->own, "the state fits");
    return (struct found *)(void *)claim->own;
}

/* Reads one claim's state from the reply, and decides it. Moves *at behind its numbers. */
static bool load_claim(struct sl_claim *claim, const struct sl_bundle *bundle,
                       const struct sl_redis_reply *reply, size_t *at)
{
    struct sl_state guard = { 0 };
    size_t numbers = SL_TOLD + (claim->guard ? SL_TOLD_GUARD : 0);
    if (reply->value_count - *at < numbers)
        return false;
    int64_t *told = reply->values + *at;
    *at += numbers;
    if (claim->guard) {
        sl_guard_load(claim->guard, told, &guard);
        sl_claim_guard(claim, bundle, &guard);
        told += SL_TOLD_GUARD;
    }
    struct found *found = found_of(claim);
    *found = (struct found){ 0 };
    memcpy(found->told, told, sizeof found->told);
    claim->algo->load(&claim->limit, found->told, &found->state);
    sl_claim_decide(claim, bundle, &found->state);
    return true;
}

static void finish_claim(struct sl_claim *claim, const struct sl_bundle *bundle)
{
    struct sl_state *state = &found_of(claim)->state;
    enum sl_write write = sl_claim_write(claim, bundle);
    uint32_t cost = write == SL_WRITE_CHARGE ? sl_claim_cost(bundle, claim) : 0;
    if (write != SL_WRITE_NOTHING)
        claim->algo->charge(&claim->limit, state, (struct sl_ask){ bundle->now_us, cost });
    claim->charged = write == SL_WRITE_CHARGE;
    sl_claim_measure(claim, bundle, state);
}

int sl_answer_read(struct sl_bundle *bundle, const struct sl_redis_reply *reply)
{
    size_t at = 2;
    if (reply->value_count == 2 && reply->values[1] == -2)
        return SLUICE_STORE_FULL;
    if (reply->value_count < 2)
        return SLUICE_STORE_DOWN;
    bundle->now_us = sl_min_i64(sl_max_i64(reply->values[0], 0), SL_TIME_MAX_US);
    bundle->wall_shift_us = 0;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (sl_claim_is_asked(&bundle->claims[i]) &&
            !load_claim(&bundle->claims[i], bundle, reply, &at))
            return SLUICE_STORE_DOWN;
    sl_bundle_judge(bundle);
    /* If C and Lua decide differently on the same state, they are not the same version. */
    return bundle->allowed == (reply->values[1] == 1) ? SLUICE_OK : SLUICE_STORE_DOWN;
}

void sl_answer_finish(struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (sl_claim_is_asked(&bundle->claims[i]))
            finish_claim(&bundle->claims[i], bundle);
}

int sl_answer_decide(struct sl_bundle *bundle, const struct sl_redis_reply *reply)
{
    int status = sl_answer_read(bundle, reply);
    if (status == SLUICE_OK)
        sl_answer_finish(bundle);
    return status;
}

/* ---- refunds and other changes ---- */

int64_t sl_ask_most(const struct sl_claim *claim)
{
    const struct sl_limit *limit = &claim->limit;
    if (claim->algo->keeps_ring) /* the length of the ring in memory */
        return sl_ring_class((uint32_t)sl_max_i64(claim->ring_len, limit->capacity));
    if (claim->algo->takes_align)
        return limit->first_request;
    return claim->algo->capacity_max ? claim->algo->capacity_max(limit->window_us) : 0;
}

static void add_change(struct word_count *words, const struct sl_changing *change)
{
    const struct sl_claim *claim = change->claim;
    add_text(words, sl_text(claim->algo->name));
    add_kind(words, claim);
    add_number(words, claim->limit.capacity);
    add_number(words, sl_ask_span(claim));
    add_number(words, sl_ask_most(claim));
    add_text(words, change->is_overcharge ? SL_TEXT("overcharge") : SL_TEXT("refund"));
    add_number(words, change->charge.cost);
    add_number(words, change->charge.at_us);
}

bool sl_ask_change(struct sl_scripts *scripts, const struct sl_changing *changes, size_t count,
                   struct sl_buffer *bytes, struct sl_redis_query *query)
{
    uint32_t set = 0;
    struct word_count words = { .out = bytes };
    SL_CHECK(count > 0);
    query->start = bytes->len;
    add_number(&words, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        add_key(&words, changes[i].claim->name->key);
        set |= sl_script_bit(changes[i].claim->algo);
    }
    add_frame(&words, -1, query);
    add_nonce(&words, query->nonce, set & sl_script_bit(&sl_sliding_window_log));
    for (size_t i = 0; i < count; i++)
        add_change(&words, &changes[i]);
    query->script = sl_script_get(scripts, SL_SCRIPT_CHANGE, set);
    return end_words(&words, query);
}

static bool was_charged(const struct sl_bundle *bundle, const struct sl_claim *claim)
{
    return !claim->no_key && claim->allowed && sl_claim_takes(bundle, claim);
}

bool sl_ask_undo(struct sl_scripts *scripts, const struct sl_bundle *bundle, int64_t now_us,
                 struct sl_buffer *bytes, struct sl_redis_query *query)
{
    uint32_t set = 0, count = 0;
    struct word_count words = { .out = bytes };
    for (size_t i = 0; i < bundle->claim_count; i++)
        count += was_charged(bundle, &bundle->claims[i]);
    query->start = bytes->len;
    add_number(&words, count);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (!was_charged(bundle, claim))
            continue;
        add_key(&words, claim->name->key);
        set |= sl_script_bit(claim->algo);
    }
    add_frame(&words, now_us, query);
    add_nonce(&words, query->nonce, set & sl_script_bit(&sl_sliding_window_log));
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        struct sl_charge charge = { sl_claim_cost(bundle, claim), claim->answer.as_of_us };
        if (was_charged(bundle, claim))
            add_change(&words, &(struct sl_changing){ .claim = claim, .charge = charge });
    }
    query->script = sl_script_get(scripts, SL_SCRIPT_CHANGE, set);
    return count > 0 && end_words(&words, query);
}

bool sl_ask_take(struct sl_scripts *scripts, uint64_t id, bool is_due, struct sl_buffer *bytes,
                 struct sl_redis_query *query)
{
    struct word_count words = { .out = bytes };
    query->start = bytes->len;
    add_number(&words, 2);
    add_held_keys(&words, id, query->in_cluster);
    add_frame(&words, -1, query);
    add_hex(&words, id);
    add_text(&words, is_due ? SL_TEXT("due") : SL_TEXT("held"));
    query->script = sl_script_get(scripts, SL_SCRIPT_TAKE, 0);
    return end_words(&words, query);
}

bool sl_ask_due(struct sl_scripts *scripts, uint32_t shard, struct sl_buffer *bytes,
                struct sl_redis_query *query)
{
    struct word_count words = { .out = bytes };
    SL_CHECK(shard < SL_HELD_SHARDS);
    query->start = bytes->len;
    add_number(&words, 1);
    add_queue(&words, shard, query->in_cluster);
    add_frame(&words, -1, query);
    query->script = sl_script_get(scripts, SL_SCRIPT_DUE, 0);
    return end_words(&words, query);
}

bool sl_ask_count(struct sl_scripts *scripts, const struct sl_guard_backlog_sum *sum,
                  struct sl_buffer *bytes, struct sl_redis_query *query)
{
    struct word_count words = { .out = bytes };
    SL_CHECK(sum->count > 0 && sum->name_len <= SL_GUARD_BACKLOG_NAME_MAX);
    query->start = bytes->len;
    add_number(&words, 1);
    add_key(&words, (struct sluice_text){ sum->name, sum->name_len });
    add_frame(&words, -1, query);
    add_guard(&words, &sum->guard);
    add_number(&words, sum->start_us);
    add_number(&words, sum->count);
    query->script = sl_script_get(scripts, SL_SCRIPT_COUNT, SL_SCRIPT_GUARD);
    return end_words(&words, query);
}

bool sl_ask_forget(struct sl_scripts *scripts, const struct sl_claim *claim,
                   struct sl_buffer *bytes, struct sl_redis_query *query)
{
    struct word_count words = { .out = bytes };
    query->start = bytes->len;
    add_number(&words, claim->guard ? 2 : 1);
    add_key(&words, claim->name->key);
    if (claim->guard)
        add_key(&words, claim->name->guard);
    add_frame(&words, -1, query);
    add_number(&words, claim->limit.capacity);
    query->script = sl_script_get(scripts, SL_SCRIPT_FORGET, 0);
    return end_words(&words, query);
}

/* ---- leases ---- */

bool sl_ask_lease(struct sl_scripts *scripts, const struct sl_lease *lease, struct sl_buffer *bytes,
                  struct sl_redis_query *query)
{
    const struct sl_lease_ask *ask = &lease->ask;
    struct sl_claim claim = { .algo = lease->algo, .limit = lease->limit };
    struct word_count words = { .out = bytes };
    SL_CHECK(lease->algo);
    query->start = bytes->len;
    add_number(&words, 1);
    add_key(&words, (struct sluice_text){ lease->name, lease->name_len });
    add_frame(&words, -1, query);
    add_claim(&words, &claim, true);
    add_number(&words, ask->term_us);
    add_number(&words, ask->window_us);
    add_number(&words, ask->spent);
    add_number(&words, ask->kept);
    add_number(&words, ask->back);
    add_number(&words, ask->want);
    add_number(&words, ask->need);
    query->script = sl_script_get(scripts, SL_SCRIPT_LEASE, sl_script_bit(lease->algo));
    query->is_packed = true;
    return end_words(&words, query);
}

static bool is_count(int64_t number)
{
    return number >= 0 && number <= UINT32_MAX;
}

static bool is_time(int64_t number)
{
    return number >= 0 && number <= SL_TIME_MAX_US;
}

bool sl_answer_lease(const struct sl_redis_reply *reply, struct sl_lease_reply *out)
{
    const int64_t *values = reply->values;
    if (reply->value_count != 6 + SL_TOLD || !is_time(values[0]) || !is_count(values[2]) ||
        !is_time(values[3]) || !is_time(values[4]) || !is_count(values[5]))
        return false;
    *out = (struct sl_lease_reply){ .now_us = values[0],
                                    .is_known = values[1] == 1,
                                    .is_late = values[1] == 2,
                                    .granted = (uint32_t)values[2],
                                    .term_us = values[3],
                                    .end_us = values[4],
                                    .out = (uint32_t)values[5] };
    memcpy(out->told, values + 6, sizeof out->told);
    return true;
}
