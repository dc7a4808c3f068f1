/* Reservations: charges that wait for their real cost, kept in the table:
 * docs/table.md, "Reservation". Any process that has the table open can settle
 * one. A reservation that is not settled is refunded after it expires, by the
 * next decision. */
#ifndef SL_STORE_TABLE_RESERVATION_H
#define SL_STORE_TABLE_RESERVATION_H

#include "store/store.h"
#include "store/table/table.h"

struct sl_reservation {
    _Alignas(64) uint64_t owner;
    int64_t expires_us;
    struct sl_hash128 key;
    int64_t charged_at_us;
    int64_t span; /* window in µs, or token time in ns */
    int64_t capacity;
    uint32_t cost;
    uint32_t next : 20; /* the next record of the chain, from 1; 0 ends it */
    uint32_t algo : 8;  /* its number */
    uint32_t first_request : 4;
};

/* The charge to one claim of a reservation. */
struct sl_held {
    struct sl_claim claim; /* enough of it for a refund */
    struct sl_charge charge;
};

/* Turns the charges of a bundle into a reservation. Returns SLUICE_STORE_FULL if there is no
 * room. *id is 0 if nothing was charged. */
int sl_reservation_hold(struct sl_table *table, const struct sl_bundle *bundle, int64_t expires_us,
                        uint64_t *id);

typedef void sl_settle_held(void *about, const struct sl_held *held);

/* Removes the reservation and passes each of its charges to `settle`. Of all threads
 * that try, exactly one succeeds (T13); the others get SLUICE_NO_RESERVATION. */
int sl_reservation_take(struct sl_table *table, uint64_t id, sl_settle_held *settle, void *about);

/* The same for all reservations that have expired. Returns when the next one expires,
 * or INT64_MAX. */
int64_t sl_reservation_expire(struct sl_table *table, int64_t now_us, sl_settle_held *settle,
                              void *about);

/* Returns how many reservations are held now. */
uint64_t sl_reservation_count(const struct sl_table *table);

#endif
