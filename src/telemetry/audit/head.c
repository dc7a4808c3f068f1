/* The head of a file's chain: locking it, finding it after a kill, appending a line. */
#include "telemetry/audit/head.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "telemetry/audit/sink.h"

/* A head is written at once and within a sector: a reader finds the old one or the new. */
enum { HEAD_BYTES = 512, LINE_MAX_BYTES = 64 << 10, LOCK_TRIES = 5000, LOCK_EVERY_US = 200 };

/* ---- PATH.chain ---- */

static bool read_head(const json_t *json, struct sl_chain_head *out)
{
    const json_t *n = json_object_get(json, "n");
    const char *hash = json_string_value(json_object_get(json, "hash"));
    struct sl_digest digest;
    if (!json_is_integer(n) || json_integer_value(n) < 0 || !hash ||
        !sl_digest_parse(sl_text(hash), &digest))
        return false;
    out->n = (uint64_t)json_integer_value(n);
    sl_digest_print(&digest, out->hash);
    return true;
}

static bool parse_head(const char *text, size_t len, struct sl_chain_file *out)
{
    json_t *json = json_loadb(text, len, 0, NULL);
    const json_t *next = json_object_get(json, "next");
    bool good = read_head(json, &out->head);
    out->has_next = good && next;
    if (out->has_next) {
        good = read_head(next, &out->next);
        out->next_from = json_integer_value(json_object_get(next, "from"));
    }
    json_decref(json);
    return good;
}

static int read_fd(int fd, struct sl_chain_file *out)
{
    char text[HEAD_BYTES];
    ssize_t len = pread(fd, text, sizeof text, 0);
    if (len < 0)
        return errno;
    return parse_head(text, (size_t)len, out) ? 0 : EINVAL;
}

static char *head_path(const char *path)
{
    char *whole = malloc(strlen(path) + sizeof ".chain");
    if (whole)
        sprintf(whole, "%s.chain", path);
    return whole;
}

int sl_chain_file_read(const char *path, struct sl_chain_file *out)
{
    char *whole = head_path(path);
    int fd = whole ? open(whole, O_RDONLY | O_CLOEXEC) : -1;
    int error = whole ? errno : ENOMEM;
    free(whole);
    if (fd < 0)
        return error;
    error = read_fd(fd, out);
    close(fd);
    return error;
}

static bool write_head(int fd, const struct sl_chain_file *file)
{
    char text[HEAD_BYTES];
    int len = snprintf(text, sizeof text, "{\"n\": %" PRIu64 ", \"hash\": \"%s\"", file->head.n,
                       file->head.hash);
    if (file->has_next)
        len += snprintf(text + len, sizeof text - (size_t)len,
                        ", \"next\": {\"n\": %" PRIu64 ", \"hash\": \"%s\", \"from\": %" PRId64 "}",
                        file->next.n, file->next.hash, file->next_from);
    len += snprintf(text + len, sizeof text - (size_t)len, "}");
    memset(text + len, ' ', sizeof text - (size_t)len);
    text[sizeof text - 1] = '\n';
    return pwrite(fd, text, sizeof text, 0) == sizeof text && fdatasync(fd) == 0;
}

/* Another process holds the lock for as long as a line takes. One that hangs must not hold up this
 * process for ever: it gives up after a second. It looks often, because a busy process frees the
 * lock for a few microseconds only between two lines. */
static bool lock_head(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        sl_sleep_us(LOCK_EVERY_US);
    }
    errno = ETIMEDOUT;
    return false;
}

/* ---- searching the lines of the file ---- */

/* Reads the next line without its newline; skips lines too long to be ours. */
static bool read_line(FILE *file, char *room, struct sluice_text *out)
{
    bool is_start = true;
    while (fgets(room, LINE_MAX_BYTES, file)) {
        size_t len = strlen(room);
        bool ends = len > 0 && room[len - 1] == '\n';
        bool is_whole = is_start && ends;
        is_start = ends;
        if (is_whole) {
            *out = (struct sluice_text){ room, len - 1 };
            return true;
        }
    }
    return false;
}

/* Finds the last chained line from that byte on, or with `hash` only the line that has it. Returns
 * false if there is none. */
static bool find_line(const char *path, int64_t from, const char *hash, struct sl_chain_head *out)
{
    FILE *file = fopen(path, "re");
    char *room = malloc(LINE_MAX_BYTES);
    struct sluice_text line;
    struct sl_chain_link link;
    bool found = false;
    if (file && room && fseeko(file, (off_t)from, SEEK_SET) == 0)
        while (read_line(file, room, &line)) {
            if (!sl_chain_read(line, &link) || (hash && strcmp(link.hash, hash) != 0))
                continue;
            found = true;
            out->n = link.n;
            memcpy(out->hash, link.hash, sizeof link.hash);
        }
    free(room);
    if (file)
        fclose(file);
    return found;
}

static int64_t file_size(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? (int64_t)facts.st_size : 0;
}

/* Finds the head from the file of lines and PATH.chain, whose lock the caller holds. */
static void find_head(const struct sl_chain *chain, int fd, struct sl_chain_head *out)
{
    struct sl_chain_file file;
    if (read_fd(fd, &file) != 0) {
        sl_chain_init(out);
        find_line(chain->path, 0, NULL, out);
        return;
    }
    *out = file.head;
    if (!file.has_next)
        return;
    /* A file shorter than that is a newer one. */
    int64_t from = file.next_from <= file_size(chain->path) ? file.next_from : 0;
    find_line(chain->path, from, file.next.hash, out);
}

/* ---- opening ---- */

/* Opens and locks PATH.chain. Returns -1 with error->text. */
static int open_head(const struct sl_chain *chain, struct sluice_error *error)
{
    int fd = open(chain->head_path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (fd >= 0 && lock_head(fd))
        return fd;
    sl_error_say(error, "`%s`, the head of the audit chain, cannot be %s: %s", chain->head_path,
                 fd < 0 ? "opened" : "locked", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool load_head(struct sl_chain *chain, struct sluice_error *error)
{
    int fd = open_head(chain, error);
    if (fd < 0)
        return false;
    find_head(chain, fd, &chain->head);
    bool good = write_head(fd, &(struct sl_chain_file){ .head = chain->head });
    if (!good)
        sl_error_say(error, "`%s`, the head of the audit chain, cannot be written: %s",
                     chain->head_path, strerror(errno));
    close(fd);
    return good;
}

bool sl_chain_open(struct sl_chain *chain, const char *path, struct sl_sha256 *hasher,
                   struct sluice_error *error)
{
    *chain = (struct sl_chain){ .hasher = hasher };
    sl_chain_init(&chain->head);
    if (!path)
        return true;
    chain->path = strdup(path);
    chain->head_path = head_path(path);
    bool good = chain->path && chain->head_path;
    if (good ? load_head(chain, error) : sl_error_say(error, "out of memory"))
        return true;
    sl_chain_close(chain);
    return false;
}

void sl_chain_close(struct sl_chain *chain)
{
    free((char *)(uintptr_t)chain->path);
    free(chain->head_path);
    *chain = (struct sl_chain){ 0 };
}

/* ---- appending ---- */

/* Writes a line; the head stays as it was if the line could not be written whole. */
static bool write_line(const struct sl_chain *chain, int fd, struct sl_chain_file *file,
                       struct sluice_text line)
{
    size_t written = 0;
    bool is_torn = sl_audit_file_is_torn(chain->path);
    if ((is_torn && !sl_audit_file_write(fd, SL_TEXT("\n"), &written)) ||
        !sl_audit_file_write(fd, line, &written))
        return false;
    if (fdatasync(fd) != 0)
        fprintf(stderr, "sluice: the audit file `%s` cannot be synced: %s\n", chain->path,
                strerror(errno));
    file->head = file->next;
    return true;
}

/* Appends a line; both files are open, and the lock is held. */
static bool append_line(struct sl_chain *chain, int head_fd, int fd, struct sl_buffer *line)
{
    struct sl_chain_file file = { .has_next = true, .next_from = file_size(chain->path) };
    find_head(chain, head_fd, &file.head);
    /* The head only goes forward. If an older one was put back, verification will find it. */
    if (file.head.n < chain->head.n)
        file.head = chain->head;
    sl_chain_end_line(line, chain->hasher, &file.head, &file.next);
    if (line->failed) {
        errno = ENOMEM;
        return false;
    }
    bool good = write_head(head_fd, &file) &&
                write_line(chain, fd, &file, (struct sluice_text){ line->at, line->len });
    int error = errno;
    file.has_next = false;
    /* If the head cannot be written, it still has `next`, which says the same. */
    write_head(head_fd, &file);
    chain->head = file.head;
    errno = error;
    return good;
}

bool sl_chain_append(struct sl_chain *chain, struct sl_buffer *line, struct sluice_error *error)
{
    size_t len = line->len;
    int head_fd = open_head(chain, error);
    if (head_fd < 0)
        return false;
    int fd = sl_audit_file_open(chain->path);
    bool good = fd >= 0 && append_line(chain, head_fd, fd, line);
    if (!good) {
        sl_error_say(error, "the audit file `%s` cannot be written: %s", chain->path,
                     strerror(errno));
        line->len = len;
        line->failed = false;
    }
    if (fd >= 0)
        close(fd);
    close(head_fd);
    return good;
}
