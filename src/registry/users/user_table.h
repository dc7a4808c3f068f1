/* The book of users: facts by key, read by any number of threads while one writes. */
#ifndef SL_REGISTRY_USERS_USER_TABLE_H
#define SL_REGISTRY_USERS_USER_TABLE_H

#include <pthread.h>

#include "base/hash.h"
#include "limiter/users/users.h"
#include "registry/users/user_days.h"
#include "registry/users/user_slabs.h"

enum {
    SL_FACT_RECORD = 1, /* there is a record; else all that is known is exemption or days */
    SL_FACT_CREATED_AT = 2,
    SL_FACT_EMAIL = 4,
    SL_FACT_EMAIL_VERIFIED = 8,
    SL_FACT_EXEMPT = 16,
};

/* What is kept of a user, in whole words and without a gap. All zero but for the key:
 * nothing. */
struct sl_facts {
    struct sl_hash128 key;
    int64_t created_at_us;
    int64_t exempt_until_us; /* 0: it does not end */
    uint32_t own;            /* the first of the own limits; 0: none */
    uint8_t own_count;
    uint8_t tier_len;
    uint8_t flags;      /* SL_FACT_… */
    uint8_t generation; /* of the book, when it was written; the book's own matter */
    struct sl_days days;
    char tier[SL_USER_TIER_MAX]; /* not terminated */
};

struct sl_user_table {
    _Atomic uint64_t *heads; /* of each chain: its first entry, and how often one left it */
    uint32_t head_shift;     /* the topmost bits of a key say which */
    _Atomic uint32_t *known; /* how many there are, for whoever asks */
    struct sl_slabs entries;
    struct sl_slabs own;
    uint64_t own_revision; /* the last that was given */
    _Atomic uint8_t generation;
    pthread_mutex_t *writers; /* the lock of the one thread that writes */
    uint32_t most;
    uint32_t spare; /* an entry in no chain: the next that is written */

    /* Entries that are lists, the oldest first: */
    uint32_t strangers, exempt, leaving;
};

/* At most `most` users. Keeps `known`. False: no memory; it can be closed all the same. */
bool sl_user_table_open(struct sl_user_table *table, uint32_t most, _Atomic uint32_t *known,
                        pthread_mutex_t *writers);
void sl_user_table_close(struct sl_user_table *table);

/* ---- any thread, at any time ---- */

/* False: there is nobody of that key. Of `with` (or NULL) only the own limits are filled
 * in. */
bool sl_user_table_read(const struct sl_user_table *table, struct sl_hash128 key,
                        struct sl_facts *out, struct sl_user *with);

/* ---- one thread at a time ---- */

/* The entry's number and its facts; or 0 and what is known of nobody. */
uint32_t sl_user_table_find(const struct sl_user_table *table, struct sl_hash128 key,
                            struct sl_facts *out);

/* The same by number, from 1 up to book->entries.used. False: it is nobody's. */
bool sl_user_table_at(const struct sl_user_table *table, uint32_t number, struct sl_facts *out);

enum sl_saved { SL_SAVED, SL_SAVED_BY_EVICTING, SL_NOT_SAVED };

/* The facts take the place of those of entry *number, or (0) of a new one, and *number is
 * where they are. An entry whose facts say nothing any more goes, and so do own limits
 * that they do not name. Not saved: only for somebody new, where there is no memory, or no
 * room and no stranger to make it. */
enum sl_saved sl_user_table_save(struct sl_user_table *table, uint32_t *number,
                                 const struct sl_facts *facts);

/* From now on only exemptions are known of those who are in it, to readers too. To be
 * followed by saving each of them again, who is somewhere from 1 up to
 * book->entries.used, before it is done the next time. */
void sl_user_table_forget_all(struct sl_user_table *table);

/* Everybody who is exempt is asked to leave; who stays is told so. */
void sl_user_table_ask_exempt(struct sl_user_table *table);
void sl_user_table_stays_exempt(struct sl_user_table *table, uint32_t number);
/* The first of those still leaving; 0: nobody. */
uint32_t sl_user_table_leaving(const struct sl_user_table *table, struct sl_facts *out);

/* ---- own limits: user_limits.c ---- */

/* Into facts, which no entry has yet. False: no memory. */
bool sl_user_limits_save(struct sl_user_table *table, const struct sl_user_limit *own, size_t count,
                         struct sl_facts *facts);
void sl_user_limits_drop(struct sl_user_table *table, uint32_t first);
/* Any thread; what is read is good if the facts' entry is unchanged afterwards. */
void sl_user_limits_read(const struct sl_user_table *table, const struct sl_facts *facts,
                         struct sl_user *out);
bool sl_user_limits_open(struct sl_user_table *table);

#endif
