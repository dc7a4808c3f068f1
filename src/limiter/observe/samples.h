/* What a limiter has seen of whom, in a moment: written by the thread that decides, then handed to
 * the one that sums up.
 *
 *   noted     whom a rule has denied, all of them, and whom it has met, a sample: each identifier
 *             once, with how often
 *   samples   how long decisions took, and how much of a limit they found in use
 *
 * Both are bounded; what finds no room is counted as missed. Rules go by their numbers (see
 * observer.h): their names and all else that is theirs may be gone when this is read. */
#ifndef SL_LIMITER_OBSERVE_SAMPLES_H
#define SL_LIMITER_OBSERVE_SAMPLES_H

#include "base/hash.h"

enum {
    SL_NOTED_MAX = 512,
    SL_NOTED_WAYS = 4, /* places that one key may take, side by side */
    SL_NOTED_SETS = 256,
    SL_SAMPLES_MAX = 2048,
    SL_BURSTS_MAX = 64, /* rules that had some */
    SL_SAMPLES_TEXT_BYTES = 64 << 10,
    SL_NOTED_SAMPLE = 256, /* so many are met one by one, then every second, every fourth, … */
};

/* What stands in a place. */
enum { SL_NOTED_NUMBER_BITS = 10, SL_NOTED_NUMBER = (1 << SL_NOTED_NUMBER_BITS) - 1 };

static inline uint32_t sl_noted_tag(struct sl_hash128 key)
{
    return (uint32_t)(key.high >> (32 + SL_NOTED_NUMBER_BITS));
}

struct sl_noted {
    struct sl_hash128 key; /* of its claim */
    uint32_t rule;         /* its number */
    bool has_identifier;   /* else it was denied for want of one */
    bool is_shadow;        /* what it denied was not enforced */
    uint64_t met;          /* about so many requests, denied or not */
    uint64_t denied;
    uint64_t warned, blocked; /* by the burst guard */
    int64_t first_us;         /* its first denial, wall time, */
    int64_t retry_after_us;   /* and what that said */
    int64_t capacity;
    int64_t remaining;
    uint32_t request_count;                          /* of the guard's last event, */
    int64_t guard_us;                                /* and when that was */
    struct sluice_text tenant, identifier, resource; /* in the notes' own memory */
};

#define SL_ALL_RULES UINT32_MAX /* a sample's rule: of decisions, by however many rules */

struct sl_sample {
    uint32_t rule;
    uint32_t times;      /* decisions that took so long */
    uint64_t ns;         /* each */
    uint32_t in_use_sum; /* thousandths of the limit, of all of them together, */
    uint32_t in_use_max; /* and of the highest */
};

/* What burst guards of a rule did, whoever it was. */
struct sl_bursts {
    uint32_t rule;
    uint64_t warned, blocked;
};

struct sl_samples {
    size_t count;
    size_t burst_count;
    size_t sample_count;
    size_t text_len;
    uint64_t missed_denials; /* whose are not known */
    uint64_t missed_met;
    uint32_t stride;  /* each that is met stands for so many; */
    uint32_t in_step; /* met so far by this one */
    /* By key: bits of it and the number in `noted` + 1; 0: none. By the bits a stranger is told
     * from who is noted without a look at him, in the same few instructions for everybody. */
    _Alignas(16) uint32_t places[SL_NOTED_SETS][SL_NOTED_WAYS];
    struct sl_noted noted[SL_NOTED_MAX];
    struct sl_sample samples[SL_SAMPLES_MAX];
    struct sl_bursts bursts[SL_BURSTS_MAX];
    char text[SL_SAMPLES_TEXT_BYTES];
};

/* Empty. NULL: no memory. */
struct sl_samples *sl_samples_new(void);
void sl_samples_clear(struct sl_samples *samples);

/* The one of this key, or NULL. */
static inline struct sl_noted *sl_samples_find(struct sl_samples *samples, struct sl_hash128 key)
{
    const uint32_t *set = samples->places[key.low % SL_NOTED_SETS];
    uint32_t tag = sl_noted_tag(key);
    for (size_t i = 0; i < SL_NOTED_WAYS; i++) {
        uint32_t number = set[i] & SL_NOTED_NUMBER;
        if (set[i] >> SL_NOTED_NUMBER_BITS != tag || number == 0)
            continue;
        struct sl_noted *noted = &samples->noted[number - 1];
        if (noted->key.low == key.low && noted->key.high == key.high)
            return noted;
    }
    return NULL;
}

/* One of this key, which is not there, and nothing else; NULL: no room. */
struct sl_noted *sl_samples_add(struct sl_samples *samples, struct sl_hash128 key);

/* Keeps a copy, cut to the length that is kept of any text. False: no room. */
bool sl_samples_keep(struct sl_samples *samples, struct sluice_text text, struct sluice_text *out);

/* The one that was added last has no room for its texts: as if it had not been. */
void sl_samples_drop_last(struct sl_samples *samples);

/* A guard of this rule has warned or blocked; of rules beyond the bound it is not known. */
void sl_samples_burst(struct sl_samples *samples, uint32_t rule, bool warned, bool blocked);

/* A decision on this rule took so long; `from` is where the samples of its batch begin. */
void sl_samples_wanted(struct sl_samples *samples, size_t from, const struct sl_sample *sample);

#endif
