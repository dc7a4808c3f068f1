/* Rings in the table: the extents of the log area, and moving a ring. */
#ifndef SL_STORE_TABLE_TABLE_LOG_H
#define SL_STORE_TABLE_TABLE_LOG_H

#include "store/table/table.h"

/* An iterator over the header's list of extents. */
struct sl_extents {
    struct sl_table *table;
    uint32_t next;
    uint64_t at_bytes;
};

static inline struct sl_extents sl_extents(struct sl_table *table)
{
    return (struct sl_extents){ .table = table };
}

/* Returns false if there are no more. */
bool sl_extents_next(struct sl_extents *extents, struct sl_region *region);

/* Claims another extent for rings of this length. Returns false if there is no room. */
bool sl_extents_claim(struct sl_table *table, uint32_t ring_len);

enum sl_moved {
    SL_MOVED,
    SL_MOVED_LOST, /* another thread was faster: look again */
    SL_MOVED_BUSY, /* another thread is moving it: look again in a moment */
    SL_MOVED_NOT,  /* `change` found nothing to do */
    SL_MOVED_FULL,
    SL_MOVED_NO_MEMORY
};

struct sl_move {
    const struct sl_probe *probe; /* into a ring of its length */
    const struct sl_algo *algo;
    struct sl_place from;
    int64_t now_us;
    bool own_clock; /* now_us is a reading of the table's clock, not the caller's */
    bool impatient; /* another thread that is moving it has had its time */
    /* Changes the private copy on the way; may be NULL. Returns false if nothing is to be done. */
    bool (*change)(void *about, struct sl_state *copy);
    void *about;
    bool found_frozen; /* set by sl_log_move */
};

/* Moves a log into another ring. Allocates: not for the common path. */
enum sl_moved sl_log_move(struct sl_move *move);

/* The same, but waits a little if another thread is moving it. Never returns BUSY. */
enum sl_moved sl_log_move_patiently(struct sl_move *move);

#endif
