/* A chain in a file that several may write to. */
#include "telemetry/audit/head.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "telemetry/audit/audit.h"
#include "unit/store/folder.h"

static struct sl_sha256 *hasher;
static struct sl_chain chain;

static int set_up(void **unused)
{
    hasher = sl_sha256_new();
    return open_folder(unused);
}

static int tear_down(void **unused)
{
    sl_sha256_free(hasher);
    return close_folder(unused);
}

static struct sluice_text text_of(const struct sl_buffer *line)
{
    return (struct sluice_text){ line->at, line->len };
}

static void open_chain(void)
{
    struct sluice_error error = { 0 };
    if (!sl_chain_open(&chain, path, hasher, &error))
        fail_msg("%s", error.text);
}

static bool append(const char *start)
{
    struct sl_buffer line = sl_buffer(1000);
    struct sluice_error error = { 0 };
    sl_buffer_add(&line, sl_text(start));
    bool good = sl_chain_append(&chain, &line, &error);
    if (!good) {
        SAME_TEXT("the line is as it was", text_of(&line), start);
        assert_string_not_equal(error.text, "");
    }
    sl_buffer_release(&line);
    return good;
}

/* Reads the file, of which every line must be the next one of the chain. How many there are. */
static uint64_t check_whole(void)
{
    static char line[1 << 16];
    char hex[SL_DIGEST_HEX + 1];
    struct sl_chain_head head;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    sl_chain_init(&head);
    while (fgets(line, sizeof line, file)) {
        struct sluice_text text = { line, strlen(line) - 1 };
        struct sl_chain_link link;
        if (!sl_chain_read(text, &link))
            continue;
        assert_int_equal(link.n, head.n + 1);
        assert_string_equal(link.prev, head.hash);
        assert_true(sl_chain_hash(text, hasher, hex));
        assert_string_equal(link.hash, hex);
        head.n = link.n;
        memcpy(head.hash, link.hash, sizeof head.hash);
    }
    fclose(file);
    struct sl_chain_file kept;
    assert_int_equal(sl_chain_file_read(path, &kept), 0);
    assert_false(kept.has_next);
    assert_int_equal(kept.head.n, head.n);
    assert_string_equal(kept.head.hash, head.hash);
    return head.n;
}

static void head_path_into(char out[80])
{
    snprintf(out, 80, "%s.chain", path);
}

static void add_bytes(const char *to, const char *bytes)
{
    FILE *file = fopen(to, "a");
    fputs(bytes, file);
    fclose(file);
}

#define CHAINED(name) TEST_WITH(name, set_up, tear_down)

CHAINED(a_chain_goes_on_where_it_was)
{
    char head[80];
    struct stat facts;
    for (int i = 1; i <= 3; i++) {
        open_chain();
        assert_true(append("{\"a\": 1"));
        assert_int_equal(chain.head.n, i);
        sl_chain_close(&chain);
        assert_int_equal(check_whole(), i);
    }
    head_path_into(head);
    assert_int_equal(stat(head, &facts), 0);
    assert_int_equal(facts.st_mode & 0007, 0);
}

CHAINED(without_its_head_it_goes_on_from_the_last_line)
{
    char head[80];
    head_path_into(head);
    open_chain();
    assert_true(append("{\"a\": 1"));
    assert_true(append("{\"a\": 2"));
    sl_chain_close(&chain);
    add_bytes(path, "{\"another\": \"line\"}\n");
    assert_int_equal(unlink(head), 0);
    open_chain();
    assert_int_equal(chain.head.n, 2);
    assert_true(append("{\"a\": 3"));
    assert_int_equal(check_whole(), 3);
    /* Nor with one that is nothing. */
    sl_chain_close(&chain);
    assert_int_equal(truncate(head, 0), 0);
    add_bytes(head, "rubbish");
    open_chain();
    assert_true(append("{\"a\": 4"));
    sl_chain_close(&chain);
    assert_int_equal(check_whole(), 4);
}

/* With lines cut off and the head taken away: what is written next shows it. */
CHAINED(a_running_server_does_not_begin_again)
{
    char head[80];
    struct sl_chain_link link;
    struct sl_buffer line = sl_buffer(1000);
    struct sluice_error error = { 0 };
    head_path_into(head);
    open_chain();
    assert_true(append("{\"a\": 1"));
    assert_true(append("{\"a\": 2"));
    assert_int_equal(unlink(head), 0);
    assert_int_equal(truncate(path, 0), 0);
    sl_buffer_add(&line, SL_TEXT("{\"a\": 3"));
    assert_true(sl_chain_append(&chain, &line, &error));
    line.len--;
    assert_true(sl_chain_read(text_of(&line), &link));
    assert_int_equal(link.n, 3);
    sl_buffer_release(&line);
    sl_chain_close(&chain);
}

CHAINED(it_goes_on_in_the_next_file_after_rotation)
{
    char moved[80];
    struct sl_chain_file kept;
    snprintf(moved, sizeof moved, "%s.1", path);
    open_chain();
    assert_true(append("{\"a\": 1"));
    assert_int_equal(rename(path, moved), 0);
    assert_true(append("{\"a\": 2"));
    assert_int_equal(chain.head.n, 2);
    sl_chain_close(&chain);
    assert_int_equal(sl_chain_file_read(path, &kept), 0);
    assert_int_equal(kept.head.n, 2);
    assert_int_equal(access(path, F_OK), 0);
}

/* Killed after `next` was written down, and before or after the line was. */
CHAINED(a_kill_between_line_and_head_neither_doubles_nor_loses_one)
{
    char head[80], intent[512];
    struct sl_chain_file before, after;
    struct stat size_before;
    head_path_into(head);
    for (int is_there = 0; is_there <= 1; is_there++) {
        unlink(path);
        unlink(head);
        open_chain();
        struct sl_chain ours = chain; /* that of a process that is not killed */
        open_chain();
        assert_true(append("{\"a\": 1"));
        assert_int_equal(sl_chain_file_read(path, &before), 0);
        assert_int_equal(stat(path, &size_before), 0);
        assert_true(append("{\"a\": 2"));
        assert_int_equal(sl_chain_file_read(path, &after), 0);
        if (!is_there)
            assert_int_equal(truncate(path, size_before.st_size), 0);
        snprintf(intent, sizeof intent,
                 "{\"n\": 1, \"hash\": \"%s\", \"next\": {\"n\": 2, \"hash\": \"%s\", \"from\": "
                 "%lld}}",
                 before.head.hash, after.head.hash, (long long)size_before.st_size);
        assert_int_equal(truncate(head, 0), 0);
        add_bytes(head, intent);
        sl_chain_close(&chain);
        chain = ours;
        assert_true(append("{\"a\": 3"));
        sl_chain_close(&chain);
        assert_int_equal(check_whole(), 2 + is_there);
    }
}

CHAINED(half_a_line_of_a_killed_writer_is_ended_first)
{
    open_chain();
    assert_true(append("{\"a\": 1"));
    add_bytes(path, "{\"half");
    assert_true(append("{\"a\": 2"));
    sl_chain_close(&chain);
    assert_int_equal(check_whole(), 2);
}

/* Each lets go of the lock between its lines, as a server does. The lock is polled and not fair: a
 * process that took it again at once could keep it from another for the whole second. */
CHAINED(several_processes_keep_one_chain)
{
    enum { PROCESSES = 4, LINES = 40, PAUSE_US = 1000 };
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            open_chain();
            int failed = 0;
            for (int j = 0; j < LINES; j++) {
                failed += !append("{\"a\": 1");
                usleep(PAUSE_US);
            }
            _exit(failed ? 1 : 0);
        }
    for (int i = 0, status; i < PROCESSES; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(check_whole(), PROCESSES * LINES);
}

/* Waits until the file is longer than that; gives up after a minute. */
static void wait_for_more(off_t than)
{
    struct stat now = { 0 };
    for (int i = 0; i < 60000 && (stat(path, &now) != 0 || now.st_size <= than); i++)
        usleep(1000);
}

/* At any moment, many times. */
CHAINED(killed_writers_leave_a_whole_chain)
{
    uint64_t seed = 7;
    for (int round = 0; round < 30; round++) {
        struct stat before = { 0 };
        stat(path, &before);
        pid_t writer = fork();
        if (writer == 0) {
            open_chain();
            for (;;)
                append("{\"a\": 1");
        }
        wait_for_more(before.st_size);
        usleep((useconds_t)(unit_random(&seed) % 4000));
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
    }
    open_chain();
    assert_true(append("{\"a\": 1"));
    sl_chain_close(&chain);
    assert_true(check_whole() > 30);
}

CHAINED(a_lock_that_hangs_is_not_waited_for_for_ever)
{
    char head[80];
    head_path_into(head);
    open_chain();
    int fd = open(head, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_false(append("{\"a\": 1"));
    close(fd);
    assert_true(append("{\"a\": 1"));
    sl_chain_close(&chain);
    assert_int_equal(check_whole(), 1);
}

CHAINED(a_head_that_cannot_be_made_is_said)
{
    struct sluice_error error = { 0 };
    assert_false(sl_chain_open(&chain, "/nowhere/at/all", hasher, &error));
    assert_non_null(strstr(error.text, "/nowhere/at/all.chain"));
}

/* ---- by the audit log ---- */

static void write_change(struct sl_audit *audit, enum sl_audit_kind kind)
{
    sl_audit_write(audit, &(struct sl_audit_event){ .kind = kind }, 1700000000000000);
}

CHAINED(changes_are_chained_and_on_disk_at_once_and_the_rest_is_not)
{
    char where[80];
    struct sluice_error error = { 0 };
    struct sl_audit audit;
    struct sl_audit_counts counts;
    snprintf(where, sizeof where, "file:%s", path);
    assert_true(sl_audit_open(&audit, where, &error));
    write_change(&audit, SL_AUDIT_CONFIG_UPDATED);
    write_change(&audit, SL_AUDIT_WHITELIST_ADDED);
    write_change(&audit, SL_AUDIT_WHITELIST_REMOVED);
    write_change(&audit, SL_AUDIT_RESET);
    assert_int_equal(check_whole(), 4);
    sl_audit_counts(&audit, &counts);
    assert_int_equal(counts.written, 4);
    write_change(&audit, SL_AUDIT_EXCEEDED);
    write_change(&audit, SL_AUDIT_STORE_RECOVERED);
    assert_int_equal(audit.chain.head.n, 4);
    sl_audit_close(&audit);
    assert_int_equal(check_whole(), 4);
}

/* The directory in place of its file cannot be written to; the old file still can. */
CHAINED(a_change_that_cannot_be_chained_is_written_without)
{
    char where[80], moved[80], text[2000] = { 0 };
    struct sluice_error error = { 0 };
    struct sl_audit audit;
    snprintf(where, sizeof where, "file:%s", path);
    snprintf(moved, sizeof moved, "%s.1", path);
    assert_true(sl_audit_open(&audit, where, &error));
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    write_change(&audit, SL_AUDIT_RESET);
    sl_audit_close(&audit);
    assert_int_equal(rmdir(path), 0);
    assert_true(sl_audit_open(&audit, where, &error));
    write_change(&audit, SL_AUDIT_RESET);
    sl_audit_close(&audit);
    assert_int_equal(check_whole(), 1);
    FILE *file = fopen(moved, "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_non_null(strstr(text, "rate_limit_reset"));
    assert_null(strstr(text, "chain"));
}
