/* Samples of one observer: written by the thread that decides, then handed to the one that sums up.
 *
 *   noted     the identifiers that a rule has denied, all of them, and of those it has met a
 * sample: each once, with how often samples   how long decisions took, and how much of a limit they
 * found in use
 *
 * Both are bounded; what finds no room is counted as missed. Rules have numbers (see observer.h):
 * their names may be gone when the samples are read. */
#ifndef SL_LIMITER_OBSERVE_SAMPLES_H
#define SL_LIMITER_OBSERVE_SAMPLES_H

#include "base/hash.h"

enum {
    SL_NOTED_MAX = 512,
    SL_NOTED_WAYS = 4, /* places for one key, side by side */
    SL_NOTED_SETS = 256,
    SL_SAMPLES_MAX = 2048,
    SL_BURSTS_MAX = 64, /* rules with bursts */
    SL_SAMPLES_TEXT_BYTES = 64 << 10,
    SL_NOTED_SAMPLE = 256, /* so many are noted one by one, then every second, every fourth, … */
};

/* The parts of a place. */
enum { SL_NOTED_NUMBER_BITS = 10, SL_NOTED_NUMBER = (1 << SL_NOTED_NUMBER_BITS) - 1 };

static inline uint32_t sl_noted_tag(struct sl_hash128 key)
{
    return (uint32_t)(key.high >> (32 + SL_NOTED_NUMBER_BITS));
}

struct sl_noted {
    struct sl_hash128 key; /* of its claim */
    uint32_t rule;         /* number of its rule */
    bool has_identifier;   /* else it was denied because it lacks one */
    bool is_shadow;        /* its denials were not enforced */
    uint64_t met;          /* approximate count of requests, denied or not */
    uint64_t denied;
    uint64_t warned, blocked; /* by the burst guard */
    int64_t first_us;         /* its first denial, wall time */
    int64_t retry_after_us;   /* the wait of that denial */
    int64_t capacity;
    int64_t remaining;
    uint32_t request_count;                          /* of the guard's last event */
    int64_t guard_us;                                /* when that was, wall time */
    struct sluice_text tenant, identifier, resource; /* in the samples' own memory */
};

#define SL_ALL_RULES UINT32_MAX /* the rule of a sample of whole decisions */

struct sl_sample {
    uint32_t rule;
    uint32_t times;      /* decisions that took so long */
    uint64_t ns;         /* each */
    uint32_t in_use_sum; /* thousandths of the limit, summed */
    uint32_t in_use_max; /* the highest of them */
};

/* Events of a rule's burst guards, of all identifiers. */
struct sl_bursts {
    uint32_t rule;
    uint64_t warned, blocked;
};

struct sl_samples {
    size_t count;
    size_t burst_count;
    size_t sample_count;
    size_t text_len;
    uint64_t missed_denials; /* denials without a note */
    uint64_t missed_met;
    uint32_t stride;  /* each noted request stands for so many */
    uint32_t in_step; /* requests since the last noted one */
    /* By key: bits of it, and the number in `noted` + 1; 0: none. The bits tell a new identifier
     * from a noted one without reading the note, in the same few instructions for all. */
    _Alignas(16) uint32_t places[SL_NOTED_SETS][SL_NOTED_WAYS];
    struct sl_noted noted[SL_NOTED_MAX];
    struct sl_sample samples[SL_SAMPLES_MAX];
    struct sl_bursts bursts[SL_BURSTS_MAX];
    char text[SL_SAMPLES_TEXT_BYTES];
};

/* Returns empty samples; NULL if there is no memory. */
struct sl_samples *sl_samples_new(void);
void sl_samples_clear(struct sl_samples *samples);

/* Returns the note of this key, or NULL. */
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

/* Adds a note of this key, which is not there. Returns NULL if there is no room. */
struct sl_noted *sl_samples_add(struct sl_samples *samples, struct sl_hash128 key);

/* Keeps a copy, cut to the length that is kept of any text. Returns false if there is no room. */
bool sl_samples_keep(struct sl_samples *samples, struct sluice_text text, struct sluice_text *out);

/* Removes the note added last, if there is no room for its texts. */
void sl_samples_drop_last(struct sl_samples *samples);

/* Counts a warning or a block by a guard of this rule; not for rules beyond the bound. */
void sl_samples_burst(struct sl_samples *samples, uint32_t rule, bool warned, bool blocked);

/* Adds the time of a decision on this rule; `from` is where the samples of its batch begin. */
void sl_samples_wanted(struct sl_samples *samples, size_t from, const struct sl_sample *sample);

#endif
