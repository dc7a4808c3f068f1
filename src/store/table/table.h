/* The lock-free table: finding a key's slot, and claiming one for a new key.
 * docs/table.md says what the words mean and why this is safe (T1…T14). */
#ifndef SL_STORE_TABLE_TABLE_H
#define SL_STORE_TABLE_TABLE_H

#include "base/hash.h"
#include "store/table/slot.h"

enum { SL_EXTENTS = 64, SL_STRIPES = 32, SL_HEADER_BYTES = 4096 };

/* Counters of rare events, spread over cache lines so that threads do not contend. */
struct sl_stripe {
    _Alignas(64) uint64_t nonce;
    uint64_t insertions;
    uint64_t evictions;
    uint64_t full;
    uint64_t moves; /* of rings */
};

/* docs/table.md, "Header". Only the fields from `clock` on ever change. */
struct sl_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t size_bytes;
    uint64_t line_count;
    uint64_t reservations_at;
    uint64_t reservation_count;
    uint64_t log_at;
    uint64_t log_bytes;
    uint64_t secret;
    int64_t created_at_us;
    uint64_t checksum;
    _Alignas(128) struct sl_word clock; /* lo: boot, hi: offset */
    int64_t attention_us;
    int64_t latest_us;
    uint64_t held; /* the number of reservations, or more: never fewer */
    _Alignas(256) uint64_t extents[SL_EXTENTS];
    _Alignas(1024) struct sl_stripe stripes[SL_STRIPES];
};

/* Lines that are searched together: the slots, or an extent of the log area. */
struct sl_region {
    struct sl_slot_line *lines;
    uint64_t line_count;
    uint64_t *rings; /* only in an extent: ring i belongs to slot i */
    uint32_t ring_len;
};

struct sl_table {
    struct sl_header *header;
    struct sl_region slots;
    uint8_t *log;
    uint64_t log_bytes;
    struct sl_reservation *reservations;
    uint64_t reservation_count;
    uint64_t size_bytes;
    uint64_t secret;
    /* Wall time − table time, and when that was looked up: */
    int64_t wall_shift_us;
    int64_t wall_seen_us;
};

/* A key's slot, and the word that was read there. */
struct sl_place {
    struct sl_word *slot;
    struct sl_word word;
    uint32_t line; /* how many lines after the key's home */
    uint32_t ring_len;
    uint64_t *ring;
};

static inline bool sl_place_unchanged(const struct sl_place *place)
{
    return sl_word_equal(sl_word_load(place->slot), place->word);
}

/* The search for one key. */
struct sl_probe {
    struct sl_table *table;
    uint64_t spread;   /* says the home line, for any number of lines */
    uint64_t want;     /* fingerprint and kind, as they stand in hi */
    uint32_t ring_len; /* of a log: new rings are at least that long. 0: no log */
};

static inline struct sl_probe sl_probe(struct sl_table *table, struct sl_hash128 key,
                                       enum sl_dating kind)
{
    return (struct sl_probe){
        .table = table,
        .spread = key.low,
        .want = key.high >> SL_SLOT_KEY_SHIFT << SL_SLOT_KEY_SHIFT | (uint64_t)kind
                                                                         << SL_SLOT_KIND_SHIFT,
    };
}

static inline uint64_t sl_home(uint64_t spread, uint64_t line_count)
{
    return (uint64_t)((sl_u128)spread * line_count >> 64);
}

static inline void sl_probe_prefetch(const struct sl_probe *probe)
{
    const struct sl_region *slots = &probe->table->slots;
    __builtin_prefetch(&slots->lines[sl_home(probe->spread, slots->line_count)], 1);
}

/* Returns true if the slot is the key's. Not for logs, which may also be frozen. */
static inline bool sl_slot_is(uint64_t hi, uint64_t want)
{
    return (hi ^ want) >> SL_SLOT_KIND_SHIFT == 0;
}

/* The common case of sl_table_find, without a ring: finds the key's slot in its
 * home line, where nine of ten are. Reads its two halves one after the other: the
 * word is valid for a swap, which compares both, or if a second read returns the
 * same. Returns NULL if the slot is not there: use sl_table_find. */
static inline struct sl_word *sl_table_find_home(const struct sl_probe *probe, struct sl_word *word)
{
    const struct sl_region *slots = &probe->table->slots;
    struct sl_slot_line *line = &slots->lines[sl_home(probe->spread, slots->line_count)];
    for (uint32_t i = 0; i < SL_LINE_SLOTS; i++) {
        struct sl_word *slot = &line->slots[i];
        word->hi = __atomic_load_n(&slot->hi, __ATOMIC_ACQUIRE);
        if (!sl_slot_is(word->hi, probe->want))
            continue;
        word->lo = __atomic_load_n(&slot->lo, __ATOMIC_ACQUIRE);
        return slot;
    }
    return NULL;
}

/* Returns true if the key is at *place, live or (a log) frozen. Only reads. */
bool sl_table_find(const struct sl_probe *probe, struct sl_place *place);

enum sl_prepared {
    SL_PREPARED, /* place->word is tentative: swap it for the live one */
    SL_THERE,    /* the key is in the table after all, at *place */
    SL_FULL      /* only limiting states left; the answer was counted as `full` */
};

/* Does steps 1 to 3 of docs/table.md, "Finding a key", for a key that was not
 * found. now_us decides which slots are fresh; the caller reads the clock again
 * before it decides (T8). */
enum sl_prepared sl_table_prepare(const struct sl_probe *probe, int64_t now_us,
                                  struct sl_place *place);

/* Makes a tentative slot dead that will not be used. */
void sl_table_retract(struct sl_place *place);

/* Returns the live word for a tentative one. */
static inline struct sl_word sl_table_live(struct sl_word tentative, const struct sl_state *state)
{
    uint64_t kind = tentative.hi >> SL_SLOT_MEANT_SHIFT & 7;
    uint64_t identity = tentative.hi >> SL_SLOT_LINE_SHIFT << SL_SLOT_LINE_SHIFT;
    SL_CHECK(sl_slot_is_tentative(tentative.hi) && sl_state_fits(state));
    return (struct sl_word){ state->lo, identity | kind << SL_SLOT_KIND_SHIFT | state->hi };
}

/* Fills in all figures and counts keys slot by slot; only `reservations` may be too high. tally.h
 * does it in small steps. */
void sl_table_measure(struct sl_table *table, int64_t now_us, struct sluice_stats *out);

/* Fills in only the figures that need no counting; leaves the others as they are. */
void sl_table_glance(struct sl_table *table, struct sluice_stats *out);

/* Returns how many slots of these lines are live; adds to *limiting those that have denied. */
uint64_t sl_table_count_live(const struct sl_slot_line *lines, uint64_t line_count, int64_t now_us,
                             uint64_t *limiting);

/* Returns the counter of moved rings of this key's stripe. A scan may pass the new
 * slot too early and the old one too late, so a thread that found nothing looks again
 * if the counter has changed. */
static inline uint64_t *sl_table_moves(const struct sl_probe *probe)
{
    return &probe->table->header->stripes[probe->spread % SL_STRIPES].moves;
}

/* Makes all slots of the key dead. */
void sl_table_forget(const struct sl_probe *probe);

/* ---- inserting: for table.c and table_log.c ---- */

enum { SL_TENTATIVES_SEEN = 4 };

/* The result of a full scan of a key's window. */
struct sl_survey {
    bool is_there;
    struct sl_place there; /* live; or frozen, if there is no live one */
    struct sl_place frozen[SL_TENTATIVES_SEEN];
    uint32_t frozen_count; /* of all that were found; only SL_TENTATIVES_SEEN are kept */
    struct sl_place tentative[SL_TENTATIVES_SEEN];
    uint32_t tentative_count; /* likewise */
    struct sl_place free;     /* slot NULL: none */
    struct sl_place nearest;  /* the next to be fresh, of those not limiting; slot NULL: none */
    int64_t nearest_us;
};

void sl_table_survey(const struct sl_probe *probe, int64_t now_us, struct sl_survey *survey);

enum sl_took { SL_TOOK, SL_TOOK_LOST, SL_TOOK_FULL };

/* Takes the free or nearest slot of the survey and makes it tentative, at *place. */
enum sl_took sl_table_take(const struct sl_probe *probe, int64_t now_us,
                           const struct sl_survey *survey, struct sl_place *place);

/* Makes all tentative slots of the key dead except the one at `but`. Returns false if
 * another thread has changed one first, or if there are more than the survey kept. */
bool sl_table_kill_others(struct sl_survey *survey, const struct sl_word *but);

/* The same for frozen slots, which are void beside a live one. */
bool sl_table_kill_frozen(struct sl_survey *survey, const struct sl_word *but);

#endif
