/* The queue of audit lines, and the thread that writes them. */
#include "telemetry/audit/queue.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

#define FLUSH_US INT64_C(2000000) /* at the end: to write the queued lines, */
#define STUCK_US INT64_C(500000)  /* and then for the thread to notice that it must end */

/* Stands before each line in a buffer. */
struct record {
    uint32_t len; /* of the line; 0: no line, but an order to open the sink anew */
    enum sl_audit_severity severity;
};

enum { REOPENS_MAX_BYTES = 4096 };

struct sl_audit_queue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;   /* to the thread: there is a line, or it must end */
    pthread_cond_t over;   /* the thread has ended */
    struct sl_buffer full; /* lines go in here, */
    size_t waiting_bytes;  /* of both buffers, */
    bool is_ending;
    bool has_ended;

    struct sl_buffer writing; /* being written; for the thread alone */
    struct sl_audit_sink sink;
    _Atomic int64_t give_up_us; /* 0: not ending */
    _Atomic uint64_t written, dropped, failed;
};

/* ---- the thread ---- */

/* Waits for lines to write. Returns false if the thread must end. */
static bool take_full_buffer(struct sl_audit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->full.len == 0 && !queue->is_ending)
        pthread_cond_wait(&queue->wake, &queue->lock);
    struct sl_buffer empty = queue->writing;
    queue->writing = queue->full;
    queue->full = empty;
    pthread_mutex_unlock(&queue->lock);
    return queue->writing.len > 0;
}

static void give_room_back(struct sl_audit_queue *queue, size_t bytes)
{
    pthread_mutex_lock(&queue->lock);
    queue->waiting_bytes -= bytes;
    pthread_mutex_unlock(&queue->lock);
}

static void write_line(struct sl_audit_queue *queue, const struct record *record, const char *at)
{
    enum sl_sink_end end =
        sl_audit_sink_write(&queue->sink, (struct sluice_text){ at, record->len }, record->severity,
                            &queue->give_up_us);
    atomic_fetch_add(end == SL_SINK_WRITTEN  ? &queue->written
                     : end == SL_SINK_FAILED ? &queue->failed
                                             : &queue->dropped,
                     1);
}

static void write_taken(struct sl_audit_queue *queue)
{
    struct record record;
    for (size_t at = 0; at < queue->writing.len; at += sizeof record + record.len) {
        memcpy(&record, queue->writing.at + at, sizeof record);
        if (record.len)
            write_line(queue, &record, queue->writing.at + at + sizeof record);
        else
            sl_audit_sink_reopen(&queue->sink);
        give_room_back(queue, sizeof record + record.len);
    }
    sl_buffer_clear(&queue->writing);
}

static void *run_writer(void *about)
{
    struct sl_audit_queue *queue = about;
    while (take_full_buffer(queue))
        write_taken(queue);
    pthread_mutex_lock(&queue->lock);
    queue->has_ended = true;
    pthread_cond_signal(&queue->over);
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* ---- opening and closing ---- */

static void release_queue(struct sl_audit_queue *queue)
{
    sl_audit_sink_close(&queue->sink);
    sl_buffer_release(&queue->full);
    sl_buffer_release(&queue->writing);
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->wake);
    pthread_cond_destroy(&queue->over);
    free(queue);
}

struct sl_audit_queue *sl_audit_queue_open(const struct sl_audit_sink *sink,
                                           struct sluice_error *error)
{
    struct sl_audit_queue *queue = calloc(1, sizeof *queue);
    if (!queue) {
        struct sl_audit_sink unused = *sink;
        sl_audit_sink_close(&unused);
        sl_error_say(error, "out of memory");
        return NULL;
    }
    queue->sink = *sink;
    queue->full = sl_buffer(SL_AUDIT_QUEUE_MAX_BYTES + REOPENS_MAX_BYTES);
    queue->writing = queue->full;
    pthread_mutex_init(&queue->lock, NULL);
    sl_wait_init(&queue->wake);
    sl_wait_init(&queue->over);
    if (sl_thread_start(&queue->thread, run_writer, queue) == 0)
        return queue;
    sl_error_say(error, "cannot start a thread for the audit log");
    release_queue(queue);
    return NULL;
}

/* Returns false if the thread hangs in its sink, beyond any help. */
static bool wait_for_end(struct sl_audit_queue *queue)
{
    int64_t until_us = atomic_load(&queue->give_up_us) + STUCK_US;
    pthread_mutex_lock(&queue->lock);
    queue->is_ending = true;
    pthread_cond_signal(&queue->wake);
    for (int64_t now_us; !queue->has_ended && (now_us = sl_boottime_us()) < until_us;)
        sl_wait_us(&queue->over, &queue->lock, until_us - now_us);
    bool has_ended = queue->has_ended;
    pthread_mutex_unlock(&queue->lock);
    return has_ended;
}

void sl_audit_queue_close(struct sl_audit_queue *queue)
{
    uint64_t before = atomic_load(&queue->dropped);
    atomic_store(&queue->give_up_us, sl_boottime_us() + FLUSH_US);
    if (!wait_for_end(queue)) {
        fprintf(stderr, "sluice: the audit log does not take its last lines\n");
        pthread_detach(queue->thread); /* it still uses the memory */
        return;
    }
    pthread_join(queue->thread, NULL);
    uint64_t lost = atomic_load(&queue->dropped) - before;
    if (lost)
        fprintf(stderr, "sluice: the audit log did not take its last %" PRIu64 " line%s\n", lost,
                lost == 1 ? "" : "s");
    release_queue(queue);
}

/* ---- adding ---- */

/* The caller holds the lock. Returns false if there is no room. */
static bool append_record(struct sl_audit_queue *queue, struct record record,
                          struct sluice_text line, size_t most)
{
    struct sl_buffer *full = &queue->full;
    size_t need = sizeof record + line.len, len = full->len;
    if (queue->waiting_bytes + need > most)
        return false;
    sl_buffer_add(full, (struct sluice_text){ (const char *)&record, sizeof record });
    sl_buffer_add(full, line);
    if (full->failed) {
        full->len = len;
        full->failed = false;
        return false;
    }
    queue->waiting_bytes += need;
    pthread_cond_signal(&queue->wake);
    return true;
}

bool sl_audit_queue_add(struct sl_audit_queue *queue, struct sluice_text line,
                        enum sl_audit_severity severity, bool is_kept_room)
{
    size_t most = SL_AUDIT_QUEUE_MAX_BYTES - (is_kept_room ? 0 : SL_AUDIT_QUEUE_KEPT_BYTES);
    pthread_mutex_lock(&queue->lock);
    bool fits = append_record(queue, (struct record){ (uint32_t)line.len, severity }, line, most);
    pthread_mutex_unlock(&queue->lock);
    if (!fits)
        atomic_fetch_add(&queue->dropped, 1);
    return fits;
}

void sl_audit_queue_reopen(struct sl_audit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    append_record(queue, (struct record){ 0 }, (struct sluice_text){ 0 },
                  SL_AUDIT_QUEUE_MAX_BYTES + REOPENS_MAX_BYTES);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- counting ---- */

void sl_audit_queue_count(struct sl_audit_queue *queue, bool is_written)
{
    atomic_fetch_add(is_written ? &queue->written : &queue->failed, 1);
}

void sl_audit_queue_counts(const struct sl_audit_queue *queue, struct sl_audit_counts *out)
{
    *out = (struct sl_audit_counts){
        .written = atomic_load(&queue->written),
        .dropped = atomic_load(&queue->dropped),
        .failed = atomic_load(&queue->failed),
    };
}
