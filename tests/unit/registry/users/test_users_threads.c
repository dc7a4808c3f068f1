/* Readers beside writers, with so little room that entries change hands all the time. */
#include <pthread.h>

#include "unit/registry/crowd.h"

enum { ROUNDS = 15000, READERS = 3 };

static int records; /* users who have one */

static _Atomic int running; /* writers */
static _Atomic int wrong;   /* what was read and cannot be */
static _Atomic uint64_t reads;

static void expect(bool is_so, int which)
{
    int none = 0;
    if (!is_so)
        atomic_compare_exchange_strong(&wrong, &none, which);
}

/* A record in which every part says the same number. */
static void put_number(int user, int number)
{
    char id[16], tier[65], limits[256];
    snprintf(id, sizeof id, "r%d", user);
    snprintf(tier, sizeof tier, "%064d", number);
    snprintf(limits, sizeof limits, "{\"a\":{\"capacity\":%d},\"b\":{\"capacity\":%d}}", number,
             number);
    expect(PUT(.id = id, .tier = tier, .has_created_at = true, .created_at_us = number,
               .limits = number % 3 ? limits : NULL),
           1);
}

static void look_at_record(int record)
{
    char id[16];
    struct sl_user user;
    snprintf(id, sizeof id, "r%d", record);
    if (!users->ops->find(users, SL_TEXT(""), sl_text(id), NOON, &user)) {
        expect(false, 2); /* a user with a record is always there */
        return;
    }
    int number = (int)user.created_at_us;
    expect(atoi(user.tier) == number && strlen(user.tier) == 64, 3);
    expect(user.own_count == (number % 3 ? 2 : 0), 4);
    for (size_t i = 0; i < user.own_count; i++) {
        expect(user.own[i].capacity == (uint64_t)number, 5);
        expect(strcmp(user.own[i].rule, i ? "b" : "a") == 0, 6);
    }
    expect(user.calls == user.successes && user.calls <= UINT32_MAX, 7);
    expect(user.is_exempt == (record == 0) || record == 1, 8); /* 0 always, 1 sometimes */
}

static void *read_records(void *unused)
{
    struct sl_user user;
    (void)unused;
    while (atomic_load(&running)) {
        for (int record = 0; record < records; record++)
            look_at_record(record);
        expect(!users->ops->find(users, SL_TEXT(""), SL_TEXT("nobody"), NOON, &user), 9);
        atomic_fetch_add(&reads, 1);
    }
    return NULL;
}

static void *write_records(void *unused)
{
    (void)unused;
    for (int i = 1; i <= ROUNDS; i++)
        put_number(i % records, i);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Each pushes another out. */
static void *write_strangers(void *unused)
{
    char id[16];
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(id, sizeof id, "s%d", i);
        violate(NULL, id, NOON + i * MINUTE / 100);
        snprintf(id, sizeof id, "r%d", i % records);
        ADD(.id = id, .calls = 1, .successes = 1);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void *write_exemptions(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS / 10; i++) {
        EXEMPT({ SL_EXEMPT_USER, "r0", 0, NULL }, { SL_EXEMPT_USER, "r1", 0, NULL },
               { SL_EXEMPT_USER, "e", NOON, NULL });
        EXEMPT({ SL_EXEMPT_USER, "r0", NOON + 1, NULL });
        sl_users_sweep(users, i % 8 ? TODAY - 29 : TODAY + 1);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void read_beside_writers(size_t room)
{
    void *(*const writers[])(void *) = { write_records, write_strangers, write_exemptions };
    pthread_t threads[COUNT(writers) + READERS];
    struct sl_users_counts counts;
    open_users(room);
    for (int user = 0; user < records; user++)
        put_number(user, user);
    EXEMPT({ SL_EXEMPT_USER, "r0", 0, NULL });
    atomic_store(&running, COUNT(writers));
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_create(&threads[i], NULL, i < COUNT(writers) ? writers[i] : read_records, NULL);
    while (atomic_load(&running)) { /* as the server does */
        struct sl_violation waiting[16];
        size_t count = sl_users_take_violations(users, waiting, COUNT(waiting));
        for (size_t i = 0; i < count; i++) {
            free(waiting[i].tenant);
            free(waiting[i].id);
        }
    }
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    sl_users_measure(users, &counts);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_true(counts.evicted > 0);
    assert_true(atomic_load(&reads) > 0);
    assert_true(users->count <= room);
}

TEST_WITH(readers_see_whole_users, NULL, close_crowd)
{
    records = 3; /* each is written over in the moment that it is read */
    read_beside_writers(10);
}

TEST_WITH(readers_never_miss_one, NULL, close_crowd)
{
    records = 40; /* in chains: 127 users are 64 of them */
    read_beside_writers(127);
}

/* ---- violations ---- */

enum { MINUTES = 300, DENIED = 8 };

static void *violate_all(void *unused)
{
    (void)unused;
    for (int i = 0; i < MINUTES; i++)
        for (int user = 0; user < DENIED; user++) {
            char id[16];
            snprintf(id, sizeof id, "d%d", user);
            violate("acme", id, NOON + i * MINUTE);
            violate("acme", id, NOON + i * MINUTE + MINUTE - 1);
        }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

TEST_WITH(a_minute_is_counted_once_among_threads, NULL, close_crowd)
{
    static bool seen[DENIED][MINUTES];
    pthread_t threads[4];
    struct sl_violation violation;
    size_t count = 0;
    open_users(0);
    atomic_store(&running, COUNT(threads));
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_create(&threads[i], NULL, violate_all, NULL);
    for (bool over = false; !over;) {
        over = atomic_load(&running) == 0; /* then what is there now is all */
        for (; sl_users_take_violations(users, &violation, 1); count++) {
            bool *is_seen = &seen[violation.id[1] - '0'][violation.minute - NOON / MINUTE];
            assert_false(*is_seen);
            *is_seen = true;
            free(violation.tenant);
            free(violation.id);
        }
    }
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(count, DENIED * MINUTES);
    for (int user = 0; user < DENIED; user++) {
        char id[] = { 'd', (char)('0' + user), '\0' };
        assert_true(knows_at("acme", id, NOON));
        assert_int_equal(found.violations, MINUTES);
    }
}

/* ---- digests ---- */

static void *find_hashed(void *unused)
{
    struct sl_user user;
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        expect(users->ops->find(users, SL_TEXT(""), SL_TEXT("u1"), NOON, &user), 10);
        expect(!users->ops->find(users, SL_TEXT(""), SL_TEXT("u2"), NOON, &user), 11);
    }
    return NULL;
}

TEST_WITH(threads_have_digests_of_their_own, NULL, close_crowd)
{
    pthread_t threads[6];
    struct sl_arena arena = { 0 };
    users = sl_users_open(&(struct sl_users_config){ .hash_identifiers = true });
    PUT(.id = sl_users_id(users, SL_TEXT("u1"), &arena));
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_create(&threads[i], NULL, find_hashed, NULL);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    sl_arena_release(&arena);
    assert_int_equal(atomic_load(&wrong), 0);
}
