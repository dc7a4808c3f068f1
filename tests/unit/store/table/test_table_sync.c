#include "store/table/table_sync.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "store/table/table_file.h"
#include "unit/store/folder.h"

TESTS_ALONE;

#define S INT64_C(1000000)

/* What is written back, seen from here. */
static int sync_count;
static void *sync_at;
static size_t sync_bytes;
static int sync_flags;
static int sync_fails;
static bool sync_lasts; /* until this is false again */

int msync(void *at, size_t bytes, int flags)
{
    sync_at = at;
    sync_bytes = bytes;
    sync_flags = flags;
    __atomic_fetch_add(&sync_count, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&sync_lasts, __ATOMIC_ACQUIRE))
        sl_sleep_us(100);
    errno = sync_fails;
    return sync_fails ? -1 : 0;
}

static struct sl_table table;

static int open_table(void **unused)
{
    if (open_folder(unused) != 0)
        return -1;
    struct sluice_error error;
    struct sl_memory_config config = { .path = path, .size_bytes = 64 << 10 };
    __atomic_store_n(&sync_count, 0, __ATOMIC_RELEASE);
    return sl_table_open(&config, &table, &error) ? 0 : -1;
}

static int close_table(void **unused)
{
    sl_table_close(&table);
    return close_folder(unused);
}

static int syncs(void)
{
    return __atomic_load_n(&sync_count, __ATOMIC_ACQUIRE);
}

#define ON_A_FILE(name) TEST_WITH(name, open_table, close_table)

ON_A_FILE(it_writes_all_of_the_table_back_again_and_again)
{
    struct sl_syncer *syncer = sl_syncer_start(&table, 1000);
    assert_non_null(syncer);
    for (int waited = 0; syncs() < 3 && waited < 10000; waited++)
        sl_sleep_us(1000);
    sl_syncer_stop(syncer);
    int count = syncs();
    assert_true(count >= 3);
    assert_ptr_equal(sync_at, table.header);
    assert_int_equal(sync_bytes, table.size_bytes);
    assert_int_equal(sync_flags, MS_SYNC);
    sl_sleep_us(3000);
    assert_int_equal(syncs(), count); /* stopped is stopped */
}

ON_A_FILE(stopping_does_not_wait_for_the_next_time)
{
    int64_t before_us = sl_boottime_us();
    struct sl_syncer *syncer = sl_syncer_start(&table, 3600 * S);
    assert_non_null(syncer);
    sl_syncer_stop(syncer);
    sl_syncer_stop(NULL);
    assert_true(sl_boottime_us() - before_us < 60 * S);
    assert_int_equal(syncs(), 0);
}

ON_A_FILE(a_disk_that_fails_does_not_stop_the_syncer)
{
    sync_fails = EIO;
    assert_int_equal(sl_table_sync(&table), EIO);
    struct sl_syncer *syncer = sl_syncer_start(&table, 1000);
    for (int waited = 0; syncs() < 3 && waited < 10000; waited++)
        sl_sleep_us(1000);
    sl_syncer_stop(syncer);
    sync_fails = 0;
    assert_true(syncs() >= 3);
    assert_int_equal(sl_table_sync(&table), 0);
}

static void ignore(int number)
{
    (void)number;
}

ON_A_FILE(signals_are_the_programs)
{
    sigset_t one, before, pending;
    signal(SIGUSR1, ignore);
    struct sl_syncer *syncer = sl_syncer_start(&table, 3600 * S);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    assert_false(sigismember(&before, SIGUSR1)); /* ours are as they were */
    kill(getpid(), SIGUSR1);
    sl_sleep_us(2000);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1)); /* the thread did not take it */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGUSR1, SIG_DFL);
    sl_syncer_stop(syncer);
}

ON_A_FILE(a_child_has_no_such_thread_and_does_not_wait_for_it)
{
    sync_lasts = true;
    struct sl_syncer *syncer = sl_syncer_start(&table, 1000);
    while (syncs() == 0)
        sl_sleep_us(100);
    pid_t child = fork(); /* while it is at work */
    if (child == 0) {
        alarm(10);
        sl_syncer_stop(syncer);
        _exit(7);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    __atomic_store_n(&sync_lasts, false, __ATOMIC_RELEASE);
    sl_syncer_stop(syncer);
}
