/* Any bytes as what Redis replies.
 *
 *   however the bytes arrive, the same replies come out, and the same end;
 *   the numbers of a reply, listed or packed, as the states of any bundle: it is answered, or the
 * store is down or full; one verdict of the two is ours; the figures for the client make sense; a
 * text as an error means something, and the same every time; a text as what is held is refused, or
 * says a limit that can be asked on, and printed again it says the same. */
#include <stdlib.h>

#include "algo/bucket.h"
#include "base/check.h"
#include "store/redis/ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define S INT64_C(1000000)

enum { ALGOS_MAX = 8, INPUT_MAX = 1 << 16 };

static const struct sl_guard guard = { .window_us = 10 * S, .penalty_us = 60 * S, .threshold = 3 };

/* ---- numbers ---- */

/* One claim of every algorithm, by turns with a guard and a shadow. */
static size_t make_claims(struct sl_claim *claims, uint32_t kind)
{
    size_t count = 0;
    for (; sl_algos[count]; count++) {
        struct sl_claim *claim = &claims[count];
        SL_CHECK(count < ALGOS_MAX);
        *claim = (struct sl_claim){ .algo = sl_algos[count] };
        claim->limit.capacity = kind & 1 ? 5 : 100000;
        if (claim->algo->is_bucket) {
            claim->limit.token_ns = kind & 2 ? 333333333 : 100000;
            claim->limit.token_form = sl_token_short(claim->limit.token_ns);
        } else {
            claim->limit.window_us = kind & 2 ? SL_WINDOW_MAX_US : 10 * S;
        }
        claim->ring_len = claim->algo->keeps_ring ? (uint32_t)claim->limit.capacity : 0;
        claim->guard = kind & 4 ? &guard : NULL;
        claim->shadow = kind & 8 && count % 2;
    }
    return count;
}

static void check_claim(const struct sl_claim *claim, const struct sl_bundle *bundle)
{
    const struct sl_answer *answer = &claim->answer;
    SL_CHECK(claim->allowed == answer->allowed);
    SL_CHECK(answer->allowed == (answer->retry_after_us == 0));
    SL_CHECK(answer->retry_after_us >= SL_NEVER && answer->delay_us >= 0);
    SL_CHECK(answer->as_of_us >= bundle->now_us);
    SL_CHECK(claim->figures.remaining >= 0 && claim->figures.remaining <= claim->limit.capacity);
    SL_CHECK(claim->figures.reset_at_us >= 0);
    SL_CHECK(claim->charged ==
             (bundle->allowed && claim->allowed && bundle->cost > 0 && !bundle->peek));
}

static void check_answered(const struct sl_bundle *bundle, int64_t verdict)
{
    bool allowed = true;
    SL_CHECK(bundle->now_us >= 0 && bundle->now_us <= SL_TIME_MAX_US);
    SL_CHECK(bundle->allowed == (verdict == 1));
    for (size_t i = 0; i < bundle->claim_count; i++) {
        check_claim(&bundle->claims[i], bundle);
        allowed &= bundle->claims[i].allowed || bundle->claims[i].shadow;
    }
    SL_CHECK(bundle->allowed == allowed);
}

/* Loading writes into the numbers: each time a copy, exactly as large. */
static int answer(struct sl_bundle bundle, const struct sl_redis_reply *reply, int64_t verdict)
{
    struct sl_redis_reply copy = *reply;
    copy.values = malloc(reply->value_count * sizeof *copy.values + 1);
    SL_CHECK(copy.values != NULL);
    if (reply->value_count)
        memcpy(copy.values, reply->values, reply->value_count * sizeof *copy.values);
    if (reply->value_count > 1)
        copy.values[1] = verdict;
    int status = sl_answer_decide(&bundle, &copy);
    if (status == SLUICE_OK)
        check_answered(&bundle, verdict);
    free(copy.values);
    return status;
}

static void check_bundle(struct sl_bundle bundle, const struct sl_redis_reply *reply)
{
    size_t needed = 2;
    for (size_t i = 0; i < bundle.claim_count; i++)
        needed += (size_t)(SL_TOLD + (bundle.claims[i].guard ? SL_TOLD_GUARD : 0));
    int no = answer(bundle, reply, 0), yes = answer(bundle, reply, 1);
    bool is_enough = reply->value_count >= needed;
    SL_CHECK((no == SLUICE_OK) + (yes == SLUICE_OK) == is_enough);
    SL_CHECK(no == SLUICE_OK || no == SLUICE_STORE_DOWN);
    SL_CHECK(yes == SLUICE_OK || yes == SLUICE_STORE_DOWN);
    if (reply->value_count == 2)
        SL_CHECK(answer(bundle, reply, -2) == SLUICE_STORE_FULL);
}

/* About a lease: what is believed can be. */
static void check_lease(const struct sl_redis_reply *reply)
{
    struct sl_lease_reply heard;
    if (!sl_answer_lease(reply, &heard))
        return;
    SL_CHECK(reply->value_count == 6 + SL_TOLD);
    SL_CHECK(heard.now_us >= 0 && heard.now_us <= SL_TIME_MAX_US);
    SL_CHECK(heard.end_us >= 0 && heard.end_us <= SL_TIME_MAX_US);
}

/* All algorithms together, and each alone: a denial of one does not hide another. */
static void check_numbers(const struct sl_redis_reply *reply, uint32_t kind)
{
    struct sl_claim claims[ALGOS_MAX];
    size_t count = make_claims(claims, kind);
    struct sl_bundle bundle = { .now_us = -1,
                                .cost = (uint32_t[]){ 0, 1, 5, UINT32_MAX }[kind >> 4 & 3],
                                .peek = kind & 64,
                                .max_delay_us = kind & 128 ? 0 : -1 };
    for (size_t i = 0; i <= count; i++) {
        bundle.claims = i < count ? &claims[i] : claims;
        bundle.claim_count = i < count ? 1 : count;
        check_bundle(bundle, reply);
    }
}

/* ---- texts ---- */

static void check_held(struct sluice_text text)
{
    struct sl_claim claim, again;
    struct sl_claim_name name, named;
    struct sl_buffer printed = sl_buffer(INPUT_MAX + 256);
    if (!sl_held_parse(text, &claim, &name))
        return;
    const struct sl_limit *limit = &claim.limit;
    SL_CHECK(claim.name == &name && limit->capacity > 0);
    SL_CHECK(name.key.at + name.key.len == text.at + text.len);
    if (claim.algo->is_bucket)
        SL_CHECK(limit->token_ns > 0 && limit->capacity * limit->token_ns <= SL_SPAN_MAX_NS);
    else
        SL_CHECK(limit->window_us >= SL_WINDOW_MIN_US && limit->window_us <= SL_WINDOW_MAX_US);
    sl_held_print(&printed, &claim);
    SL_CHECK(!printed.failed);
    SL_CHECK(sl_held_parse((struct sluice_text){ printed.at, printed.len }, &again, &named));
    SL_CHECK(again.algo == claim.algo && sl_text_equal(named.key, name.key));
    SL_CHECK(again.limit.capacity == limit->capacity && again.limit.token_ns == limit->token_ns &&
             again.limit.window_us == limit->window_us &&
             again.limit.first_request == limit->first_request);
    SL_CHECK(again.ring_len >= claim.ring_len);
    sl_buffer_release(&printed);
}

static void check_text(struct sluice_text text)
{
    const struct sl_redis_meaning *meaning = sl_redis_meaning(text);
    SL_CHECK(meaning >= sl_redis_meanings && meaning < sl_redis_meanings + SL_REDIS_ERROR_COUNT);
    SL_CHECK(meaning == &sl_redis_meanings[meaning->error]);
    SL_CHECK(meaning->status < 0);
    check_held(text);
}

/* ---- replies ---- */

/* What came out, in one number. */
struct heard {
    uint64_t hash;
    size_t replies;
    enum sl_read end;
};

static void hear(struct heard *heard, const struct sl_redis_reply *reply)
{
    struct sluice_text values = { (const char *)reply->values,
                                  reply->value_count * sizeof *reply->values };
    heard->hash = sl_hash64(values, heard->hash + reply->is_error);
    for (size_t i = 0; i < reply->text_count; i++)
        heard->hash = sl_hash64(sl_reply_text(reply, i), heard->hash + 1);
    heard->replies++;
}

static void check_reply(struct sl_redis_reply *reply, uint32_t kind)
{
    SL_CHECK(!reply->is_broken);
    SL_CHECK(!reply->is_error || reply->text_count > 0);
    size_t listed = reply->value_count;
    sl_reply_unpack(reply);
    SL_CHECK(reply->value_count == listed || (listed == 0 && reply->text_count == 1));
    check_numbers(reply, kind);
    check_lease(reply);
    for (size_t i = 0; i < reply->text_count && i < 64; i++)
        check_text(sl_reply_text(reply, i));
}

/* `step` bytes at a time; with `kind`, each reply is looked at too. */
static struct heard read_all(const uint8_t *bytes, size_t len, size_t step, const uint32_t *kind)
{
    struct heard heard = { .end = SL_READ_MORE };
    struct sl_reply_reader *reader = sl_reply_reader_new();
    struct sl_redis_reply *reply;
    SL_CHECK(reader != NULL && step > 0);
    for (size_t at = 0; at < len && heard.end != SL_READ_WRONG; at += step) {
        SL_CHECK(sl_reply_reader_feed(reader, (const char *)bytes + at,
                                      step < len - at ? step : len - at));
        while ((heard.end = sl_reply_reader_next(reader, &reply)) == SL_READ_REPLY) {
            hear(&heard, reply);
            if (kind)
                check_reply(reply, *kind);
        }
    }
    sl_reply_reader_free(reader);
    return heard;
}

/* The first byte says which bundle; the rest is Redis'. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0 || len > INPUT_MAX)
        return 0;
    uint32_t kind = bytes[0];
    struct heard whole = read_all(bytes + 1, len - 1, len, &kind);
    struct heard split = read_all(bytes + 1, len - 1, 1 + kind % 7, NULL);
    SL_CHECK(whole.hash == split.hash && whole.replies == split.replies && whole.end == split.end);
    check_text((struct sluice_text){ (const char *)bytes + 1, len - 1 });
    return 0;
}
