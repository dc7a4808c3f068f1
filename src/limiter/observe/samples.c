/* Bounded memory for what one thread has observed (see samples.h). */
#include "limiter/observe/samples.h"

#include <stdlib.h>

#include "base/check.h"

enum { TEXT_MAX_BYTES = 512 };

struct sl_samples *sl_samples_new(void)
{
    struct sl_samples *samples = aligned_alloc(_Alignof(struct sl_samples), sizeof *samples);
    if (samples) {
        samples->count = SL_NOTED_MAX; /* clears all places */
        sl_samples_clear(samples);
    }
    return samples;
}

void sl_samples_clear(struct sl_samples *samples)
{
    if (samples->count)
        memset(samples->places, 0, sizeof samples->places);
    samples->burst_count = samples->count = samples->sample_count = samples->text_len = 0;
    samples->missed_denials = samples->missed_met = 0;
    samples->stride = 1;
    samples->in_step = 0;
}

_Static_assert((int)SL_NOTED_MAX <= (int)SL_NOTED_NUMBER, "a number has its bits");

struct sl_noted *sl_samples_add(struct sl_samples *samples, struct sl_hash128 key)
{
    uint32_t *set = samples->places[key.low % SL_NOTED_SETS];
    size_t way = 0;
    if (samples->count == SL_NOTED_MAX)
        return NULL;
    while (way < SL_NOTED_WAYS && set[way])
        way++;
    if (way == SL_NOTED_WAYS)
        return NULL;
    struct sl_noted *noted = &samples->noted[samples->count++];
    *noted = (struct sl_noted){ .key = key };
    set[way] = sl_noted_tag(key) << SL_NOTED_NUMBER_BITS | (uint32_t)samples->count;
    return noted;
}

void sl_samples_drop_last(struct sl_samples *samples)
{
    SL_CHECK(samples->count > 0);
    uint32_t *set = samples->places[samples->noted[samples->count - 1].key.low % SL_NOTED_SETS];
    while ((*set & SL_NOTED_NUMBER) != samples->count)
        set++;
    *set = 0;
    samples->count--;
}

/* Returns the length to keep, without cutting a character in two. */
static size_t kept_len(struct sluice_text text)
{
    size_t len = text.len;
    if (len <= TEXT_MAX_BYTES)
        return len;
    for (len = TEXT_MAX_BYTES; len > TEXT_MAX_BYTES - 4; len--)
        if (((unsigned char)text.at[len] & 0xC0) != 0x80)
            break;
    return len;
}

bool sl_samples_keep(struct sl_samples *samples, struct sluice_text text, struct sluice_text *out)
{
    size_t len = kept_len(text);
    *out = (struct sluice_text){ 0 };
    if (!text.at)
        return true;
    if (len > SL_SAMPLES_TEXT_BYTES - samples->text_len)
        return false;
    char *copy = samples->text + samples->text_len;
    memcpy(copy, text.at, len);
    samples->text_len += len;
    *out = (struct sluice_text){ copy, len };
    return true;
}

void sl_samples_burst(struct sl_samples *samples, uint32_t rule, bool warned, bool blocked)
{
    size_t i = 0;
    while (i < samples->burst_count && samples->bursts[i].rule != rule)
        i++;
    if (i == SL_BURSTS_MAX)
        return;
    if (i == samples->burst_count)
        samples->bursts[samples->burst_count++] = (struct sl_bursts){ .rule = rule };
    samples->bursts[i].warned += warned;
    samples->bursts[i].blocked += blocked;
}

void sl_samples_wanted(struct sl_samples *samples, size_t from, const struct sl_sample *sample)
{
    for (size_t i = from; i < samples->sample_count; i++) {
        struct sl_sample *old = &samples->samples[i];
        if (old->rule != sample->rule)
            continue;
        old->times += sample->times;
        old->in_use_sum += sample->in_use_sum;
        if (sample->in_use_max > old->in_use_max)
            old->in_use_max = sample->in_use_max;
        return;
    }
    if (samples->sample_count < SL_SAMPLES_MAX)
        samples->samples[samples->sample_count++] = *sample;
}
