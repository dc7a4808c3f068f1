/* Prints and parses what a reservation stores of a claim, which suffices to give it back. */
#include <inttypes.h>
#include <stdio.h>

#include "algo/bucket.h"
#include "base/check.h"
#include "base/text/number.h"
#include "store/redis/ask.h"

void sl_held_print(struct sl_buffer *out, const struct sl_claim *claim)
{
    char numbers[96];
    SL_CHECK(claim->algo && claim->name);
    snprintf(numbers, sizeof numbers, " %" PRId64 " %" PRId64 " %" PRId64 " ",
             claim->limit.capacity, sl_ask_span(claim), sl_ask_most(claim));
    sl_buffer_add(out, sl_text(claim->algo->name));
    sl_buffer_add(out, sl_text(numbers));
    sl_buffer_add(out, claim->name->key);
}

static bool next_word(struct sluice_text *rest, struct sluice_text *word)
{
    const char *blank = rest->len ? memchr(rest->at, ' ', rest->len) : NULL;
    if (!blank)
        return false;
    *word = (struct sluice_text){ rest->at, (size_t)(blank - rest->at) };
    rest->at = blank + 1;
    rest->len -= word->len + 1;
    return true;
}

static bool next_number(struct sluice_text *rest, int64_t most, int64_t *out)
{
    struct sluice_text word;
    uint64_t number;
    if (!next_word(rest, &word) || !sl_parse_u64(word, &number) || number > (uint64_t)most)
        return false;
    *out = (int64_t)number;
    return true;
}

bool sl_held_parse(struct sluice_text text, struct sl_claim *claim, struct sl_claim_name *name)
{
    struct sluice_text word;
    int64_t capacity, span, most;
    size_t i = 0;
    if (!next_word(&text, &word))
        return false;
    while (sl_algos[i] && !sl_text_is(word, sl_algos[i]->name))
        i++;
    if (!sl_algos[i] || !next_number(&text, UINT32_MAX, &capacity) ||
        !next_number(&text, SL_SPAN_MAX_NS, &span) || !next_number(&text, UINT32_MAX, &most) ||
        capacity == 0 || span == 0)
        return false;
    *name = (struct sl_claim_name){ .key = text };
    *claim = (struct sl_claim){ .algo = sl_algos[i], .name = name };
    claim->limit.capacity = capacity;
    SL_CHECK(claim->algo && capacity > 0 && span > 0);
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
