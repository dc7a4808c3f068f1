/* Reading one user from the user table: every read ends, whatever writers do. */
#include <pthread.h>
#include <unistd.h>

#include "registry/users/user_entry.h"
#include "unit/base/unit.h"

enum { ROOM = 1000, SECONDS = 60 };

static struct sl_user_table table;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t known;

static int open_table(void **unused)
{
    (void)unused;
    alarm(SECONDS); /* a read that does not end fails the test */
    return sl_user_table_open(&table, ROOM, &known, &writers) ? 0 : -1;
}

static int close_table(void **unused)
{
    (void)unused;
    sl_user_table_close(&table);
    alarm(0);
    return 0;
}

#define ON_TABLE(name) TEST_WITH(name, open_table, close_table)

/* Keys of one chain: their topmost bits are the same. */
static struct sl_hash128 key_of(uint64_t user)
{
    return (struct sl_hash128){ .low = user, .high = ~user };
}

static uint32_t save_user(uint64_t user)
{
    struct sl_user_limit limit = { .rule = "api", .capacity = user };
    struct sl_facts facts = {
        .key = key_of(user),
        .flags = SL_FACT_RECORD,
        .created_at_us = (int64_t)user,
        .tier_len = 3,
        .tier = "pro",
    };
    uint32_t number = 0;
    assert_true(sl_user_limits_save(&table, &limit, 1, &facts));
    assert_int_equal(sl_user_table_save(&table, &number, &facts), SL_SAVED);
    return number;
}

static void assert_is_read_whole(uint64_t user)
{
    struct sl_facts facts;
    struct sl_user with;
    assert_true(sl_user_table_read(&table, key_of(user), &facts, &with));
    assert_int_equal(facts.created_at_us, user);
    assert_memory_equal(facts.tier, "pro", 3);
    assert_int_equal(with.own_count, 1);
    assert_int_equal(with.own[0].capacity, user);
}

static void assert_is_unknown(uint64_t user)
{
    struct sl_facts facts;
    assert_false(sl_user_table_read(&table, key_of(user), &facts, NULL));
}

static void assert_lock_is_free(void)
{
    assert_int_equal(pthread_mutex_trylock(&writers), 0);
    pthread_mutex_unlock(&writers);
}

/* An odd version is what a reader sees of an entry that changes in each of its reads. */
ON_TABLE(a_read_ends_though_its_entry_changes_every_time)
{
    uint32_t number = save_user(7);
    atomic_fetch_add(&sl_entry_at(&table, number)->version, 1);
    assert_is_read_whole(7);
    assert_is_unknown(8);
    assert_lock_is_free();
}

ON_TABLE(a_chain_of_any_length_is_read_to_its_end)
{
    for (uint64_t user = 1; user <= 200; user++)
        save_user(user);
    for (uint64_t user = 1; user <= 200; user++)
        assert_is_read_whole(user);
    assert_is_unknown(201);
    assert_lock_is_free();
}

/* ---- a writer that never rests ---- */

static _Atomic bool is_over;

static void *replace_without_rest(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        struct sl_facts facts;
        pthread_mutex_lock(&writers);
        uint32_t number = sl_user_table_find(&table, key_of(7), &facts);
        sl_user_table_save(&table, &number, &facts);
        pthread_mutex_unlock(&writers);
    }
    return NULL;
}

ON_TABLE(reads_beside_a_writer_without_rest_are_whole)
{
    pthread_t writer;
    save_user(7);
    save_user(9); /* behind it comes the end of the chain */
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&writer, NULL, replace_without_rest, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        assert_is_read_whole(7);
        assert_is_read_whole(9);
        assert_is_unknown(8);
    }
    atomic_store(&is_over, true);
    pthread_join(writer, NULL);
}
