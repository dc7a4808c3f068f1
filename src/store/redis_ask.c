#include "store/redis_ask.h"

#include <inttypes.h>
#include <stdio.h>

#include "algo/bucket.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/number.h"
#include "store/claim.h"
#include "store/table_log.h"

enum { HELD_MAX = 65536 }; /* reservations in one Redis */

/* ---- words ---- */

struct words {
    struct sl_buffer *out;
    uint32_t count;
};

/* "$12\r\n…\r\n". Written by hand: a call is dozens of these, and printf is slow. */
static void add_text(struct words *words, struct sluice_text text)
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

static void add_number(struct words *words, int64_t number)
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

static void add_hex(struct words *words, uint64_t number)
{
    static const char hex[] = "0123456789abcdef";
    char digits[16];
    for (size_t i = 16; i-- > 0; number >>= 4)
        digits[i] = hex[number & 15];
    add_text(words, (struct sluice_text){ digits, sizeof digits });
}

/* The first two of every script: see redis_frame.lua. */
static void add_frame(struct words *words, int64_t now_us, struct sl_query *query)
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

/* Who keeps no log needs no name for its entries. */
static void add_nonce(struct words *words, uint64_t nonce, bool needs_one)
{
    if (needs_one)
        add_hex(words, nonce);
    else
        add_text(words, SL_TEXT(""));
}

static bool end_words(struct words *words, struct sl_query *query)
{
    query->bytes = words->out;
    query->len = words->out->len - query->start;
    query->words = words->count;
    return query->script && !words->out->failed;
}

/* The state's name for its algorithm and window: what was stored under another starts afresh. A
 * log's stands before each of its entries. */
static void add_kind(struct words *words, const struct sl_claim *claim)
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

static int64_t span_of(const struct sl_claim *claim)
{
    return claim->algo->is_bucket ? claim->limit.token_ns : claim->limit.window_us;
}

static void add_guard(struct words *words, const struct sl_guard *guard)
{
    char text[80];
    snprintf(text, sizeof text, "%" PRId64 "/%" PRId64 "/%" PRIu32, guard->window_us,
             guard->penalty_us, guard->threshold);
    add_text(words, sl_text(text));
    add_number(words, guard->window_us);
    add_number(words, guard->penalty_us);
    add_number(words, guard->threshold);
}

static void add_claim(struct words *words, const struct sl_claim *claim, bool is_one)
{
    static const char *const extras[] = { "", "s", "f", "sf" };
    add_kind(words, claim);
    add_number(words, claim->limit.capacity);
    add_number(words, span_of(claim));
    add_text(words, sl_text(extras[claim->shadow + 2 * claim->limit.first_request]));
    if (is_one)
        return; /* the script knows the rest */
    add_text(words, sl_text(claim->algo->name));
    if (claim->guard)
        add_guard(words, claim->guard);
    else
        add_text(words, SL_TEXT(""));
}

/* ---- deciding ---- */

/* How many keys, and which algorithms. */
static size_t survey(const struct sl_bundle *bundle, uint32_t *set)
{
    size_t keys = 0;
    *set = 0;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        keys += claim->guard ? 2 : 1;
        *set |= sl_script_bit(claim->algo) | (claim->guard ? SL_SCRIPT_GUARD : 0);
    }
    return keys;
}

/* Then it is denied, and only the guards count it. */
static bool lacks_identity(const struct sl_bundle *bundle)
{
    bool lacks = false;
    for (size_t i = 0; i < bundle->claim_count; i++)
        lacks |= bundle->claims[i].no_key && !bundle->claims[i].shadow;
    return lacks;
}

static void add_keys(struct words *words, const struct sl_bundle *bundle)
{
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (claim->no_key)
            continue;
        add_text(words, claim->name->key);
        if (claim->guard)
            add_text(words, claim->name->guard);
    }
}

static void add_held_keys(struct words *words, uint64_t id)
{
    char key[48];
    snprintf(key, sizeof key, "rl:~reservation:{%016" PRIx64 "}", id);
    add_text(words, sl_text(key));
    add_text(words, SL_TEXT("rl:~reservations"));
}

static void add_holding(struct words *words, const struct sl_bundle *bundle,
                        const struct sl_holding *holding)
{
    add_text(words, SL_TEXT("hold"));
    add_number(words, holding->expiry_us);
    add_number(words, HELD_MAX);
    add_hex(words, holding->id);
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_buffer text = sl_buffer(1 << 16);
        if (bundle->claims[i].no_key)
            continue;
        sl_held_print(&text, &bundle->claims[i]);
        add_text(words, (struct sluice_text){ text.at, text.len });
        words->out->failed |= text.failed;
        sl_buffer_release(&text);
    }
}

bool sl_ask_decide(struct sl_scripts *scripts, const struct sl_bundle *bundle,
                   const struct sl_holding *holding, struct sl_buffer *bytes,
                   struct sl_query *query)
{
    static const char *const modes[] = { "", "p", "d", "pd" };
    uint32_t set;
    struct words words = { .out = bytes };
    size_t keys = survey(bundle, &set);
    bool is_one = keys == 1 && !holding;
    query->start = bytes->len;
    add_number(&words, (int64_t)(keys + (holding ? 2 : 0)));
    add_keys(&words, bundle);
    if (holding)
        add_held_keys(&words, holding->id);
    add_frame(&words, bundle->now_us, query);
    add_number(&words, bundle->cost);
    add_text(&words, sl_text(modes[bundle->peek + 2 * lacks_identity(bundle)]));
    if (bundle->max_delay_us < 0)
        add_text(&words, SL_TEXT(""));
    else
        add_number(&words, bundle->max_delay_us);
    add_nonce(&words, query->nonce, set & sl_script_bit(&sl_sliding_window_log));
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            add_claim(&words, &bundle->claims[i], is_one);
    if (holding)
        add_holding(&words, bundle, holding);
    enum sl_script_kind kind = is_one ? SL_SCRIPT_ONE : holding ? SL_SCRIPT_RESERVE : SL_SCRIPT_ALL;
    query->script = sl_script_get(scripts, kind, set);
    query->is_packed = true;
    return end_words(&words, query);
}

/* ---- answers ---- */

/* One claim's state out of the numbers of the reply; *at goes on behind them. */
static bool load_claim(struct sl_claim *claim, const struct sl_bundle *bundle,
                       const struct sl_reply *reply, size_t *at)
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
    /* The state is kept in `own` until the bundle is judged. */
    struct sl_state *state = (struct sl_state *)(void *)claim->own;
    _Static_assert(sizeof *state <= sizeof claim->own, "a state fits");
    *state = (struct sl_state){ 0 };
    claim->algo->load(&claim->limit, told, state);
    sl_claim_decide(claim, bundle, state);
    return true;
}

static void finish_claim(struct sl_claim *claim, const struct sl_bundle *bundle)
{
    struct sl_state *state = (struct sl_state *)(void *)claim->own;
    enum sl_write write = sl_claim_write(claim, bundle);
    uint32_t cost = write == SL_WRITE_CHARGE ? bundle->cost : 0;
    if (write != SL_WRITE_NOTHING)
        claim->algo->charge(&claim->limit, state, (struct sl_ask){ bundle->now_us, cost });
    claim->charged = write == SL_WRITE_CHARGE;
    sl_claim_measure(claim, bundle, state);
}

int sl_answer_decide(struct sl_bundle *bundle, const struct sl_reply *reply)
{
    size_t at = 2;
    if (reply->value_count == 2 && reply->values[1] == -2)
        return SLUICE_STORE_FULL;
    if (reply->value_count < 2)
        return SLUICE_STORE_DOWN;
    bundle->now_us = sl_min_i64(sl_max_i64(reply->values[0], 0), SL_TIME_MAX_US);
    bundle->wall_shift_us = 0;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key && !load_claim(&bundle->claims[i], bundle, reply, &at))
            return SLUICE_STORE_DOWN;
    sl_bundle_judge(bundle);
    /* Two who read the same and come to different ends are not the same version. */
    if (bundle->allowed != (reply->values[1] == 1))
        return SLUICE_STORE_DOWN;
    for (size_t i = 0; i < bundle->claim_count; i++)
        if (!bundle->claims[i].no_key)
            finish_claim(&bundle->claims[i], bundle);
    return SLUICE_OK;
}

/* ---- changes ---- */

static int64_t most_of(const struct sl_claim *claim)
{
    const struct sl_limit *limit = &claim->limit;
    if (claim->algo->keeps_ring) /* as long as the ring would be in memory */
        return sl_ring_class((uint32_t)sl_max_i64(claim->ring_len, limit->capacity));
    if (claim->algo->takes_align)
        return limit->first_request;
    return claim->algo->capacity_max ? claim->algo->capacity_max(limit->window_us) : 0;
}

static void add_change(struct words *words, const struct sl_changing *change)
{
    const struct sl_claim *claim = change->claim;
    add_text(words, sl_text(claim->algo->name));
    add_kind(words, claim);
    add_number(words, claim->limit.capacity);
    add_number(words, span_of(claim));
    add_number(words, most_of(claim));
    add_text(words, change->is_overcharge ? SL_TEXT("overcharge") : SL_TEXT("refund"));
    add_number(words, change->charge.cost);
    add_number(words, change->charge.at_us);
}

bool sl_ask_change(struct sl_scripts *scripts, const struct sl_changing *changes, size_t count,
                   struct sl_buffer *bytes, struct sl_query *query)
{
    uint32_t set = 0;
    struct words words = { .out = bytes };
    query->start = bytes->len;
    add_number(&words, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        add_text(&words, changes[i].claim->name->key);
        set |= sl_script_bit(changes[i].claim->algo);
    }
    add_frame(&words, -1, query);
    add_nonce(&words, query->nonce, set & sl_script_bit(&sl_sliding_window_log));
    for (size_t i = 0; i < count; i++)
        add_change(&words, &changes[i]);
    query->script = sl_script_get(scripts, SL_SCRIPT_CHANGE, set);
    return end_words(&words, query);
}

bool sl_ask_take(struct sl_scripts *scripts, uint64_t id, bool is_due, struct sl_buffer *bytes,
                 struct sl_query *query)
{
    struct words words = { .out = bytes };
    query->start = bytes->len;
    add_number(&words, 2);
    add_held_keys(&words, id);
    add_frame(&words, -1, query);
    add_hex(&words, id);
    add_text(&words, is_due ? SL_TEXT("due") : SL_TEXT("held"));
    query->script = sl_script_get(scripts, SL_SCRIPT_TAKE, 0);
    return end_words(&words, query);
}

bool sl_ask_due(struct sl_scripts *scripts, struct sl_buffer *bytes, struct sl_query *query)
{
    struct words words = { .out = bytes };
    query->start = bytes->len;
    add_number(&words, 1);
    add_text(&words, SL_TEXT("rl:~reservations"));
    add_frame(&words, -1, query);
    query->script = sl_script_get(scripts, SL_SCRIPT_DUE, 0);
    return end_words(&words, query);
}

bool sl_ask_forget(struct sl_scripts *scripts, const struct sl_claim *claim,
                   struct sl_buffer *bytes, struct sl_query *query)
{
    struct words words = { .out = bytes };
    query->start = bytes->len;
    add_number(&words, claim->guard ? 2 : 1);
    add_text(&words, claim->name->key);
    if (claim->guard)
        add_text(&words, claim->name->guard);
    add_frame(&words, -1, query);
    query->script = sl_script_get(scripts, SL_SCRIPT_FORGET, 0);
    return end_words(&words, query);
}

/* ---- what is held, as text ---- */

void sl_held_print(struct sl_buffer *out, const struct sl_claim *claim)
{
    char numbers[96];
    snprintf(numbers, sizeof numbers, " %" PRId64 " %" PRId64 " %" PRId64 " ",
             claim->limit.capacity, span_of(claim), most_of(claim));
    sl_buffer_add(out, sl_text(claim->algo->name));
    sl_buffer_add(out, sl_text(numbers));
    sl_buffer_add(out, claim->name->key);
}

static bool take_word(struct sluice_text *rest, struct sluice_text *word)
{
    const char *blank = rest->len ? memchr(rest->at, ' ', rest->len) : NULL;
    if (!blank)
        return false;
    *word = (struct sluice_text){ rest->at, (size_t)(blank - rest->at) };
    rest->at = blank + 1;
    rest->len -= word->len + 1;
    return true;
}

static bool take_number(struct sluice_text *rest, int64_t most, int64_t *out)
{
    struct sluice_text word;
    uint64_t number;
    if (!take_word(rest, &word) || !sl_parse_u64(word, &number) || number > (uint64_t)most)
        return false;
    *out = (int64_t)number;
    return true;
}

bool sl_held_parse(struct sluice_text text, struct sl_claim *claim, struct sl_claim_name *name)
{
    struct sluice_text word;
    int64_t capacity, span, most;
    size_t i = 0;
    if (!take_word(&text, &word))
        return false;
    while (sl_algos[i] && !sl_text_is(word, sl_algos[i]->name))
        i++;
    if (!sl_algos[i] || !take_number(&text, UINT32_MAX, &capacity) ||
        !take_number(&text, SL_SPAN_MAX_NS, &span) || !take_number(&text, UINT32_MAX, &most) ||
        capacity == 0 || span == 0)
        return false;
    *name = (struct sl_claim_name){ .key = text };
    *claim = (struct sl_claim){ .algo = sl_algos[i], .name = name };
    claim->limit.capacity = capacity;
    if (claim->algo->is_bucket)
        claim->limit.token_ns = span;
    else
        claim->limit.window_us = span;
    if (claim->algo->is_bucket)
        return capacity <= SL_SPAN_MAX_NS / span;
    claim->ring_len = claim->algo->keeps_ring ? (uint32_t)most : 0;
    claim->limit.first_request = claim->algo->takes_align && most == 1;
    return span >= SL_WINDOW_MIN_US && span <= SL_WINDOW_MAX_US;
}
