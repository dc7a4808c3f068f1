/* The thread behind `sync=1s`. Without it the kernel writes back at its own time.
 * No decision waits for it. */
#include "store/table/table_sync.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/thread.h"
#include "store/table/table_file.h"

struct sl_syncer {
    struct sl_table *table;
    int64_t every_us;
    pthread_t thread;
    pid_t owner;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopped;
};

static void *sync_until_stopped(void *about)
{
    struct sl_syncer *syncer = about;
    pthread_mutex_lock(&syncer->lock);
    while (!syncer->stopped) {
        sl_wait_us(&syncer->wake, &syncer->lock, syncer->every_us);
        if (!syncer->stopped)
            sl_table_sync(syncer->table);
    }
    pthread_mutex_unlock(&syncer->lock);
    return NULL;
}

struct sl_syncer *sl_syncer_start(struct sl_table *table, int64_t every_us)
{
    SL_CHECK(table && every_us > 0);
    struct sl_syncer *syncer = calloc(1, sizeof *syncer);
    if (!syncer)
        return NULL;
    syncer->table = table;
    syncer->every_us = every_us;
    syncer->owner = getpid();
    pthread_mutex_init(&syncer->lock, NULL);
    sl_wait_init(&syncer->wake);
    if (sl_thread_start(&syncer->thread, sync_until_stopped, syncer) != 0) {
        free(syncer);
        return NULL;
    }
    return syncer;
}

void sl_syncer_stop(struct sl_syncer *syncer)
{
    if (!syncer)
        return;
    if (syncer->owner == getpid()) {
        pthread_mutex_lock(&syncer->lock);
        SL_CHECK(!syncer->stopped);
        syncer->stopped = true;
        pthread_cond_signal(&syncer->wake);
        pthread_mutex_unlock(&syncer->lock);
        pthread_join(syncer->thread, NULL);
    }
    free(syncer);
}
