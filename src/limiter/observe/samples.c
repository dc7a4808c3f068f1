#include "limiter/observe/samples.h"

#include <stdlib.h>

#include "base/check.h"

enum { TEXT_MAX_BYTES = 512 };

struct sl_notes *sl_notes_new(void)
{
    struct sl_notes *notes = aligned_alloc(_Alignof(struct sl_notes), sizeof *notes);
    if (notes) {
        notes->count = SL_NOTED_MAX; /* so that all places are cleared */
        sl_notes_clear(notes);
    }
    return notes;
}

void sl_notes_clear(struct sl_notes *notes)
{
    if (notes->count)
        memset(notes->places, 0, sizeof notes->places);
    notes->burst_count = notes->count = notes->sample_count = notes->text_len = 0;
    notes->missed_denials = notes->missed_met = 0;
    notes->stride = 1;
    notes->in_step = 0;
}

_Static_assert((int)SL_NOTED_MAX <= (int)SL_NOTED_NUMBER, "a number has its bits");

struct sl_noted *sl_notes_add(struct sl_notes *notes, struct sl_hash128 key)
{
    uint32_t *set = notes->places[key.low % SL_NOTED_SETS];
    size_t way = 0;
    if (notes->count == SL_NOTED_MAX)
        return NULL;
    while (way < SL_NOTED_WAYS && set[way])
        way++;
    if (way == SL_NOTED_WAYS)
        return NULL;
    struct sl_noted *noted = &notes->noted[notes->count++];
    *noted = (struct sl_noted){ .key = key };
    set[way] = sl_noted_tag(key) << SL_NOTED_NUMBER_BITS | (uint32_t)notes->count;
    return noted;
}

void sl_notes_drop_last(struct sl_notes *notes)
{
    SL_CHECK(notes->count > 0);
    uint32_t *set = notes->places[notes->noted[notes->count - 1].key.low % SL_NOTED_SETS];
    while ((*set & SL_NOTED_NUMBER) != notes->count)
        set++;
    *set = 0;
    notes->count--;
}

/* A character is not cut in two. */
static size_t cut(struct sluice_text text)
{
    size_t len = text.len;
    if (len <= TEXT_MAX_BYTES)
        return len;
    for (len = TEXT_MAX_BYTES; len > TEXT_MAX_BYTES - 4; len--)
        if (((unsigned char)text.at[len] & 0xC0) != 0x80)
            break;
    return len;
}

bool sl_notes_keep(struct sl_notes *notes, struct sluice_text text, struct sluice_text *out)
{
    size_t len = cut(text);
    *out = (struct sluice_text){ 0 };
    if (!text.at)
        return true;
    if (len > SL_NOTES_TEXT_BYTES - notes->text_len)
        return false;
    char *copy = notes->text + notes->text_len;
    memcpy(copy, text.at, len);
    notes->text_len += len;
    *out = (struct sluice_text){ copy, len };
    return true;
}

void sl_notes_burst(struct sl_notes *notes, uint32_t rule, bool warned, bool blocked)
{
    size_t i = 0;
    while (i < notes->burst_count && notes->bursts[i].rule != rule)
        i++;
    if (i == SL_BURSTS_MAX)
        return;
    if (i == notes->burst_count)
        notes->bursts[notes->burst_count++] = (struct sl_bursts){ .rule = rule };
    notes->bursts[i].warned += warned;
    notes->bursts[i].blocked += blocked;
}

void sl_notes_sample(struct sl_notes *notes, size_t from, const struct sl_sample *sample)
{
    for (size_t i = from; i < notes->sample_count; i++) {
        struct sl_sample *old = &notes->samples[i];
        if (old->rule != sample->rule)
            continue;
        old->times += sample->times;
        old->in_use_sum += sample->in_use_sum;
        if (sample->in_use_max > old->in_use_max)
            old->in_use_max = sample->in_use_max;
        return;
    }
    if (notes->sample_count < SL_SAMPLES_MAX)
        notes->samples[notes->sample_count++] = *sample;
}
