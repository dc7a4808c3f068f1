/* Users in memory: the user table (user_table.c), written under one lock and read without.
 *
 *   decisions   find      digest of the id?, key, read the table
 *               violated  the same read; the first time in a minute: lock, count, queue
 *   registry    put, put_day, add_outcomes, drop, set_exempt, sweep     lock
 *               take_violations                                         lock
 *
 * Ids are not stored. A user is found by 128 bits of XXH3 over tenant and id, each with
 * its length, under a random seed of this process: two of a million users share a key
 * with a chance of about 2^-89, and a client cannot search for two that do. A client that
 * names an id learns from the answer whether it is known, so there is nothing to hide.
 *
 * Decisions never wait for a change that takes long: a change of many users takes the lock
 * for one of them, or for a few, at a time.
 *
 * A stranger is a user with nothing but outcomes and violations. Where all room is taken,
 * the one not heard of for longest makes room; records and exemptions are an operator's
 * word, and stay. */
#include "registry/users/users.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "registry/users/limits_json.h"
#include "registry/users/pending_users.h"
#include "registry/users/user_facts.h"
#include "registry/users/user_ids.h"

enum { MOST_MAX = 1 << 24, VISITED_AT_ONCE = 256 };

struct users {
    struct sl_users seam;
    struct sl_ids ids;
    uint64_t seed;
    struct sl_user_table table;

    pthread_mutex_t lock;
    pthread_mutex_t many; /* held for a whole change of many users; taken first */
    struct sl_users_counts counts;
    struct sl_waiting waiting;
};

static struct users *users_of(struct sl_users *users)
{
    return (struct users *)users;
}

static struct sl_hash128 key_of(const struct users *users, const char *tenant, const char *id)
{
    return sl_ids_key(users->seed, sl_text(tenant), sl_text(id));
}

/* ---- finding, in the path of a decision ---- */

static bool find_key(struct users *users, struct sl_hash128 key, int64_t now_us,
                     struct sl_user *out)
{
    struct sl_facts facts;
    return sl_user_table_read(&users->table, key, &facts, out) &&
           sl_facts_show(&facts, now_us, out);
}

/* Without memory for the digest the user is unknown: the limits of unknown users hold. */
static bool find_user(struct sl_users *seam, struct sluice_text tenant, struct sluice_text user,
                      int64_t now_us, struct sl_user *out)
{
    struct users *users = users_of(seam);
    char room[SL_DIGEST_HEX + 1];
    struct sluice_text id;
    return sl_ids_keep(&users->ids, user, room, &id) &&
           find_key(users, sl_ids_key(users->seed, tenant, id), now_us, out);
}

bool sl_users_find_kept(struct sl_users *users, const char *tenant, const char *id, int64_t now_us,
                        struct sl_user *out)
{
    struct users *self = users_of(users);
    return find_key(self, key_of(self, tenant, id), now_us, out);
}

const char *sl_users_id(struct sl_users *users, struct sluice_text user, struct sl_arena *arena)
{
    struct users *self = users_of(users);
    char room[SL_DIGEST_HEX + 1];
    struct sluice_text id;
    return sl_ids_keep_either(&self->ids, user, room, &id) ? sl_arena_copy(arena, id) : NULL;
}

/* ---- changing one user ---- */

/* Only under the lock. */
static bool save_facts(struct users *users, uint32_t *number, const struct sl_facts *facts)
{
    enum sl_saved saved = sl_user_table_save(&users->table, number, facts);
    users->counts.evicted += saved == SL_SAVED_BY_EVICTING;
    users->counts.refused += saved == SL_NOT_SAVED;
    return saved != SL_NOT_SAVED;
}

bool sl_users_put(struct sl_users *users, const struct sl_user_record *record)
{
    struct users *self = users_of(users);
    struct sl_user_limit limits[SL_USER_LIMITS_MAX];
    struct sluice_error unreadable;
    size_t count = 0;
    if (record->limits && !sl_limits_read(sl_text(record->limits), limits, &count, &unreadable))
        count = 0;
    struct sl_facts facts;
    pthread_mutex_lock(&self->lock);
    uint32_t number =
        sl_user_table_find(&self->table, key_of(self, record->tenant, record->id), &facts);
    sl_facts_take_record(&facts, record);
    bool good = !count || sl_user_limits_save(&self->table, limits, count, &facts);
    if (good && !save_facts(self, &number, &facts)) {
        sl_user_limits_drop(&self->table, facts.own);
        good = false;
    }
    pthread_mutex_unlock(&self->lock);
    return good;
}

static bool change_days(struct sl_users *users, const struct sl_user_day *day,
                        void (*change)(struct sl_days *days, const struct sl_user_day *day))
{
    struct users *self = users_of(users);
    struct sl_facts facts;
    pthread_mutex_lock(&self->lock);
    uint32_t number = sl_user_table_find(&self->table, key_of(self, day->tenant, day->id), &facts);
    change(&facts.days, day);
    bool good = save_facts(self, &number, &facts);
    pthread_mutex_unlock(&self->lock);
    return good;
}

static void put_day(struct sl_days *days, const struct sl_user_day *day)
{
    sl_days_put_outcomes(days, day->day, day->calls, day->successes);
    sl_days_put_violations(days, day->day, day->violations, day->last_minute);
}

bool sl_users_put_day(struct sl_users *users, const struct sl_user_day *day)
{
    return change_days(users, day, put_day);
}

static void add_outcomes(struct sl_days *days, const struct sl_user_day *more)
{
    sl_days_add_outcomes(days, more->day, more->calls, more->successes);
}

bool sl_users_add_outcomes(struct sl_users *users, const struct sl_user_day *more)
{
    return change_days(users, more, add_outcomes);
}

/* ---- violations ---- */

/* Once in a minute, and only for a denied user: a lock and two allocations. */
static void count_violation(struct users *users, struct sl_hash128 key,
                            struct sl_violation *violation)
{
    struct sl_facts facts;
    pthread_mutex_lock(&users->lock);
    uint32_t number = sl_user_table_find(&users->table, key, &facts);
    if (sl_days_is_news(&facts.days, violation->minute)) { /* else another thread has counted it */
        sl_days_add_violation(&facts.days, violation->minute);
        if (save_facts(users, &number, &facts) && !sl_waiting_put(&users->waiting, violation))
            users->counts.violations_dropped++;
    }
    pthread_mutex_unlock(&users->lock);
}

/* The registry holds no name with a zero byte in it, and none that is longer. */
static bool is_keepable(struct sluice_text name)
{
    return name.len <= SL_USER_ID_MAX && (name.len == 0 || !memchr(name.at, 0, name.len));
}

static void count_denial(struct sl_users *seam, struct sluice_text tenant, struct sluice_text user,
                         int64_t now_us)
{
    struct users *users = users_of(seam);
    int64_t minute = now_us / SL_MINUTE_US;
    char room[SL_DIGEST_HEX + 1];
    struct sluice_text id;
    struct sl_facts facts;
    if (now_us < 0 || !sl_ids_keep(&users->ids, user, room, &id))
        return;
    struct sl_hash128 key = sl_ids_key(users->seed, tenant, id);
    if (sl_user_table_read(&users->table, key, &facts, NULL) &&
        !sl_days_is_news(&facts.days, minute))
        return;
    if (!is_keepable(tenant) || !is_keepable(id))
        return;
    struct sl_violation violation = { sl_text_copy(tenant), sl_text_copy(id), minute };
    count_violation(users, key, &violation);
    sl_violation_free(&violation);
}

size_t sl_users_take_violations(struct sl_users *users, struct sl_violation *out, size_t room)
{
    struct users *self = users_of(users);
    pthread_mutex_lock(&self->lock);
    size_t taken = sl_waiting_take(&self->waiting, out, room);
    pthread_mutex_unlock(&self->lock);
    return taken;
}

void sl_users_drop(struct sl_users *users, const char *tenant, const char *id)
{
    struct users *self = users_of(users);
    struct sl_facts facts;
    pthread_mutex_lock(&self->lock);
    uint32_t number = sl_user_table_find(&self->table, key_of(self, tenant, id), &facts);
    facts = (struct sl_facts){
        .key = facts.key,
        .flags = facts.flags & SL_FACT_EXEMPT,
        .exempt_until_us = facts.exempt_until_us,
    };
    save_facts(self, &number, &facts);
    sl_waiting_drop(&self->waiting, tenant, id);
    pthread_mutex_unlock(&self->lock);
}

/* ---- exemptions ---- */

/* "tenant/id", cut at the first slash, or the bare id of a user without a tenant. */
static struct sl_hash128 exempt_key(const struct users *users, const char *value)
{
    const char *slash = strchr(value, '/');
    struct sluice_text tenant = { slash ? value : NULL, slash ? (size_t)(slash - value) : 0 };
    return sl_ids_key(users->seed, tenant, sl_text(slash ? slash + 1 : value));
}

static bool exempt_user(struct users *users, const struct sl_exemption *exemption)
{
    struct sl_facts facts;
    pthread_mutex_lock(&users->lock);
    uint32_t number =
        sl_user_table_find(&users->table, exempt_key(users, exemption->value), &facts);
    facts.flags |= SL_FACT_EXEMPT;
    facts.exempt_until_us = exemption->until_us;
    bool good = save_facts(users, &number, &facts);
    if (good)
        sl_user_table_stays_exempt(&users->table, number);
    pthread_mutex_unlock(&users->lock);
    return good;
}

static void end_exemption(struct users *users, uint32_t number, struct sl_facts *facts)
{
    facts->flags &= (uint8_t)~SL_FACT_EXEMPT;
    facts->exempt_until_us = 0;
    save_facts(users, &number, facts);
}

/* Ends one exemption of those leaving. Returns false if there was none left. */
static bool end_one_exemption(struct users *users)
{
    struct sl_facts facts;
    pthread_mutex_lock(&users->lock);
    uint32_t number = sl_user_table_leaving(&users->table, &facts);
    if (number)
        end_exemption(users, number, &facts);
    pthread_mutex_unlock(&users->lock);
    return number != 0;
}

/* A user in the old set and in the new is exempt all the time. */
bool sl_users_set_exempt(struct sl_users *users, const struct sl_exemption *exemptions,
                         size_t count)
{
    struct users *self = users_of(users);
    bool good = true;
    pthread_mutex_lock(&self->many);
    pthread_mutex_lock(&self->lock);
    sl_user_table_ask_exempt(&self->table);
    pthread_mutex_unlock(&self->lock);
    for (size_t i = 0; i < count; i++)
        if (exemptions[i].kind == SL_EXEMPT_USER)
            good &= exempt_user(self, &exemptions[i]);
    while (end_one_exemption(self))
        ;
    pthread_mutex_unlock(&self->many);
    return good;
}

/* ---- changing all users ---- */

/* Visits each entry, a few under the lock at a time. It may miss an entry that is saved meanwhile:
 * that was written with what is known now. */
static void visit_all(struct users *users, int64_t before_day,
                      void (*visit)(struct users *users, uint32_t number, int64_t before_day))
{
    bool more = true;
    for (uint32_t next = 1; more;) {
        pthread_mutex_lock(&users->lock);
        for (int i = 0; i < VISITED_AT_ONCE && next <= users->table.entries.used; i++)
            visit(users, next++, before_day);
        more = next <= users->table.entries.used;
        pthread_mutex_unlock(&users->lock);
    }
}

static void sweep_entry(struct users *users, uint32_t number, int64_t before_day)
{
    struct sl_facts facts;
    if (!sl_user_table_at(&users->table, number, &facts) || facts.flags & SL_FACT_RECORD ||
        sl_days_newest(&facts.days) >= before_day ||
        sl_facts_exempt(&facts, before_day * SL_DAY_US))
        return;
    facts = (struct sl_facts){ .key = facts.key };
    save_facts(users, &number, &facts);
}

void sl_users_sweep(struct sl_users *users, int64_t before_day)
{
    visit_all(users_of(users), before_day, sweep_entry);
}

/* Saving an entry again frees it if its facts are forgotten. */
static void save_again(struct users *users, uint32_t number, int64_t unused)
{
    struct sl_facts facts;
    (void)unused;
    if (sl_user_table_at(&users->table, number, &facts))
        save_facts(users, &number, &facts);
}

void sl_users_clear(struct sl_users *users)
{
    struct users *self = users_of(users);
    pthread_mutex_lock(&self->many);
    pthread_mutex_lock(&self->lock);
    sl_user_table_forget_all(&self->table);
    pthread_mutex_unlock(&self->lock);
    visit_all(self, 0, save_again);
    pthread_mutex_unlock(&self->many);
}

void sl_users_measure(struct sl_users *users, struct sl_users_counts *out)
{
    struct users *self = users_of(users);
    pthread_mutex_lock(&self->lock);
    *out = self->counts;
    pthread_mutex_unlock(&self->lock);
}

/* ---- opening ---- */

static const struct sl_users_ops users_ops = { find_user, count_denial };

struct sl_users *sl_users_open(const struct sl_users_config *config)
{
    size_t most = config->most ? config->most : SL_USERS_MAX;
    struct users *users = calloc(1, sizeof *users);
    if (!users)
        return NULL;
    users->seam.ops = &users_ops;
    users->ids.hashed = config->hash_identifiers;
    users->ids.are_digests = config->ids_are_digests;
    users->seed = sl_random64();
    pthread_mutex_init(&users->lock, NULL);
    pthread_mutex_init(&users->many, NULL);
    if (sl_waiting_open(&users->waiting) &&
        sl_user_table_open(&users->table, most < MOST_MAX ? (uint32_t)most : MOST_MAX,
                           &users->seam.count, &users->lock))
        return &users->seam;
    sl_users_close(&users->seam);
    return NULL;
}

void sl_users_close(struct sl_users *users)
{
    struct users *self = users_of(users);
    if (!users)
        return;
    sl_waiting_close(&self->waiting);
    sl_user_table_close(&self->table);
    sl_ids_release(&self->ids);
    pthread_mutex_destroy(&self->lock);
    pthread_mutex_destroy(&self->many);
    free(self);
}
