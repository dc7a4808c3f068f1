/* Sinks that are slow, and that fail: no thread waits for them, and all losses are counted. */
#include "telemetry/audit/queue.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "unit/telemetry/audit_log.h"

/* A pipe without a reader, as standard output; the end to read from, and what it was before. */
struct pipe_out {
    int read, kept;
};

static struct pipe_out pipe_as_stdout(void)
{
    int ends[2];
    fflush(stdout);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct pipe_out out = { ends[0], dup(STDOUT_FILENO) };
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    return out;
}

static void stdout_again(struct pipe_out *out)
{
    dup2(out->kept, STDOUT_FILENO);
    close(out->kept);
}

static size_t lines_in(int fd)
{
    char bytes[65536];
    size_t lines = 0;
    for (ssize_t some; (some = read(fd, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < some; i++)
            lines += bytes[i] == '\n';
    return lines;
}

static void *read_lines(void *about)
{
    struct pipe_out *out = about;
    return (void *)(uintptr_t)lines_in(out->read);
}

/* The main thread is never held up, lines without room are counted, and queued lines come out
 * when the pipe is read again. */
IN_A_FOLDER(a_pipe_that_is_not_read_drops_lines_and_counts_them)
{
    enum { WRITTEN = 12000 };
    struct sl_audit_counts counts;
    pthread_t reader;
    void *lines;
    struct pipe_out out = pipe_as_stdout();
    open_audit("stdout");
    for (int i = 0; i < WRITTEN; i++)
        write_event("nobody reads this");
    sl_audit_counts(&audit, &counts);
    assert_in_range(counts.dropped, 1000, WRITTEN - 1000);
    assert_int_equal(counts.failed, 0);
    uint64_t dropped = counts.dropped;
    pthread_create(&reader, NULL, read_lines, &out);
    sl_audit_close(&audit);
    stdout_again(&out);
    pthread_join(reader, &lines);
    close(out.read);
    assert_int_equal((uintptr_t)lines, WRITTEN - dropped);
}

/* What the queue holds back for changes is theirs. */
IN_A_FOLDER(changes_have_room_kept_for_them)
{
    struct sl_audit_counts before, after;
    struct pipe_out out = pipe_as_stdout();
    open_audit("stdout");
    for (int i = 0; i < 12000; i++)
        write_event("nobody reads this");
    sl_audit_counts(&audit, &before);
    for (int i = 0; i < 200; i++)
        sl_audit_write(&audit, &(struct sl_audit_event){ .kind = SL_AUDIT_RESET }, AT_US);
    sl_audit_counts(&audit, &after);
    assert_true(before.dropped > 0);
    assert_int_equal(after.dropped, before.dropped);
    close(out.read); /* it fails at once then */
    signal(SIGPIPE, SIG_IGN);
    sl_audit_close(&audit);
    stdout_again(&out);
}

IN_A_FOLDER(the_end_waits_two_seconds_for_a_pipe_and_no_longer)
{
    struct pipe_out out = pipe_as_stdout();
    open_audit("stdout");
    for (int i = 0; i < 2000; i++)
        write_event("nobody reads this");
    int64_t began_ns = sl_monotonic_ns();
    sl_audit_close(&audit);
    int64_t took_ms = (sl_monotonic_ns() - began_ns) / 1000000;
    stdout_again(&out);
    close(out.read);
    assert_in_range(took_ms, 1900, 2400);
}

/* /dev/full takes nothing. */
IN_A_FOLDER(a_sink_that_fails_is_counted_and_holds_nothing_up)
{
    struct sl_audit_counts counts;
    open_audit("file:/dev/full");
    for (int i = 0; i < 5; i++)
        write_event("e");
    for (int i = 0; i < 1000; i++, usleep(1000)) {
        sl_audit_counts(&audit, &counts);
        if (counts.failed == 5)
            break;
    }
    sl_audit_close(&audit);
    assert_int_equal(counts.failed, 5);
    assert_int_equal(counts.written, 0);
}

/* A limit on the size of files stands in for a disk that is full and then is not. */
IN_A_FOLDER(half_a_line_is_ended_before_the_next)
{
    struct rlimit old, small;
    open_audit(to_file());
    write_event("one");
    sl_audit_close(&audit);
    size_t len = strlen(content_of(path));
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = len + 10;
    signal(SIGXFSZ, SIG_IGN);
    open_audit(to_file());
    setrlimit(RLIMIT_FSIZE, &small);
    write_event("two");
    struct sl_audit_counts counts = { 0 };
    for (int i = 0; i < 1000 && !counts.failed; i++, usleep(1000))
        sl_audit_counts(&audit, &counts);
    setrlimit(RLIMIT_FSIZE, &old);
    write_event("three");
    sl_audit_close(&audit);
    assert_string_equal(content_of(path), REASON("one") "{\"at\": \"20\n" REASON("three"));
}

/* Nor is the half line of a killed process. */
IN_A_FOLDER(half_a_line_that_was_there_is_ended_too)
{
    FILE *file = fopen(path, "w");
    fputs("{\"half", file);
    fclose(file);
    open_audit(to_file());
    write_event("e");
    sl_audit_close(&audit);
    assert_string_equal(content_of(path), "{\"half\n" REASON("e"));
}
