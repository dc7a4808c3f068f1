/* The user table: facts by key, read by any number of threads while one writes. */
#ifndef SL_REGISTRY_USERS_USER_TABLE_H
#define SL_REGISTRY_USERS_USER_TABLE_H

#include <pthread.h>

#include "base/hash.h"
#include "limiter/users/users.h"
#include "registry/users/user_days.h"
#include "registry/users/user_slabs.h"

enum {
    SL_FACT_RECORD = 1, /* there is a record; else there are only an exemption or days */
    SL_FACT_CREATED_AT = 2,
    SL_FACT_EMAIL = 4,
    SL_FACT_EMAIL_VERIFIED = 8,
    SL_FACT_EXEMPT = 16,
};

/* The facts of one user, in whole words and without a gap. All zero but for the key: no facts. */
struct sl_facts {
    struct sl_hash128 key;
    int64_t created_at_us;
    int64_t exempt_until_us; /* 0: it does not end */
    uint32_t own;            /* the first of the own limits; 0: none */
    uint8_t own_count;
    uint8_t tier_len;
    uint8_t flags;      /* SL_FACT_… */
    uint8_t generation; /* of the table when this was written; for user_table.c alone */
    struct sl_days days;
    char tier[SL_USER_TIER_MAX]; /* not terminated */
};

struct sl_user_table {
    _Atomic uint64_t *heads; /* of each chain: its first entry, and how often an entry left it */
    uint32_t head_shift;     /* the topmost bits of a key are its head's number */
    _Atomic uint32_t *known; /* the number of users, for any thread */
    struct sl_slabs entries;
    struct sl_slabs own;
    uint64_t own_revision; /* the last that was given out */
    _Atomic uint8_t generation;
    pthread_mutex_t *writers; /* the lock of the one thread that writes */
    uint32_t most;
    uint32_t spare; /* an entry in no chain: the next to be written */

    /* Entries that are lists, the oldest first: */
    uint32_t strangers, exempt, leaving;
};

/* Opens a table for at most `most` users; `writers` is the lock under which a thread writes. Keeps
 * *known up to date. Returns false if there is no memory; the table can be closed all the same. */
bool sl_user_table_open(struct sl_user_table *table, uint32_t most, _Atomic uint32_t *known,
                        pthread_mutex_t *writers);
void sl_user_table_close(struct sl_user_table *table);

/* ---- any thread, at any time ---- */

/* Returns false if there is no user of that key. Of `with` (or NULL) only the own limits are
 * filled in. Takes no lock, unless writers disturb it again and again: then it takes `writers`,
 * which the caller must not hold. */
bool sl_user_table_read(const struct sl_user_table *table, struct sl_hash128 key,
                        struct sl_facts *out, struct sl_user *with);

/* ---- one thread at a time, under the lock `writers` ---- */

/* Returns the entry's number and its facts; or 0 and facts with nothing but the key. */
uint32_t sl_user_table_find(const struct sl_user_table *table, struct sl_hash128 key,
                            struct sl_facts *out);

/* The same by number, from 1 up to table->entries.used. Returns false if the entry is unused. */
bool sl_user_table_at(const struct sl_user_table *table, uint32_t number, struct sl_facts *out);

enum sl_saved { SL_SAVED, SL_SAVED_BY_EVICTING, SL_NOT_SAVED };

/* Replaces the facts of entry *number, or (0) adds an entry; then *number is where they are. An
 * entry whose facts say nothing any more is removed, and so are own limits that the new facts do
 * not name. SL_NOT_SAVED only for a new user: there is no memory, or no room and no stranger to
 * make it. */
enum sl_saved sl_user_table_save(struct sl_user_table *table, uint32_t *number,
                                 const struct sl_facts *facts);

/* From now on only exemptions count of all facts in the table, for readers too. The caller then
 * saves every entry again, from 1 up to table->entries.used, before it calls this the next time. */
void sl_user_table_forget_all(struct sl_user_table *table);

/* Marks all exempt users as leaving; sl_user_table_stays_exempt takes one back. */
void sl_user_table_ask_exempt(struct sl_user_table *table);
void sl_user_table_stays_exempt(struct sl_user_table *table, uint32_t number);
/* Returns the first of those still leaving, or 0. */
uint32_t sl_user_table_leaving(const struct sl_user_table *table, struct sl_facts *out);

/* ---- own limits: user_limits.c ---- */

/* Saves limits and names them in `facts`, which no entry has yet. Returns false if there is no
 * memory. */
bool sl_user_limits_save(struct sl_user_table *table, const struct sl_user_limit *own, size_t count,
                         struct sl_facts *facts);
void sl_user_limits_drop(struct sl_user_table *table, uint32_t first);
/* Any thread; the result is good if the facts' entry is unchanged afterwards. */
void sl_user_limits_read(const struct sl_user_table *table, const struct sl_facts *facts,
                         struct sl_user *out);
bool sl_user_limits_open(struct sl_user_table *table);

#endif
