/* Reads lines through one buffer. */
#include "cmd/input/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 16 * SL_LINE_MAX_BYTES };

bool sl_lines_open(struct sl_lines *lines, const char *path)
{
    bool standard = !path || strcmp(path, "-") == 0;
    *lines = (struct sl_lines){ .fd = STDIN_FILENO };
    if (!standard)
        lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (lines->fd < 0)
        return false;
    struct stat file;
    if (fstat(lines->fd, &file) == 0) {
        if (S_ISDIR(file.st_mode)) {
            close(lines->fd);
            errno = EISDIR;
            return false;
        }
        lines->size = S_ISREG(file.st_mode) ? (uint64_t)file.st_size : 0;
    }
    lines->buffer = malloc(BUFFER_BYTES);
    if (!lines->buffer)
        sl_lines_close(lines);
    return lines->buffer != NULL;
}

/* Moves the rest to the front and reads on. Returns false if nothing more came. */
static bool refill(struct sl_lines *lines)
{
    if (lines->ended)
        return false;
    memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->start = 0;
    ssize_t got;
    do
        got = read(lines->fd, lines->buffer + lines->end, BUFFER_BYTES - lines->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        lines->error = errno;
    if (got <= 0) {
        lines->ended = true;
        return false;
    }
    lines->end += (size_t)got;
    return true;
}

/* Returns the end of the next line; reads on while the line may still fit. */
static char *find_newline(struct sl_lines *lines)
{
    size_t looked = 0;
    for (;;) {
        char *line = lines->buffer + lines->start;
        size_t len = lines->end - lines->start;
        char *newline = len > looked ? memchr(line + looked, '\n', len - looked) : NULL;
        if (newline || len > SL_LINE_MAX_BYTES)
            return newline;
        looked = len;
        if (!refill(lines))
            return NULL;
    }
}

/* Skips the rest of a line that is too long, with its newline. */
static void skip_rest(struct sl_lines *lines)
{
    for (;;) {
        size_t len = lines->end - lines->start;
        char *newline = len ? memchr(lines->buffer + lines->start, '\n', len) : NULL;
        size_t skipped = newline ? (size_t)(newline - lines->buffer) - lines->start + 1 : len;
        lines->start += skipped;
        lines->bytes += skipped;
        if (newline || !refill(lines))
            return;
    }
}

/* Skips the byte order mark that some editors write at the start of a file. */
static void skip_mark(struct sl_lines *lines)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (lines->end >= 3 && memcmp(lines->buffer, mark, 3) == 0)
        lines->start = lines->bytes = 3;
}

bool sl_lines_next(struct sl_lines *lines, struct sl_input_line *line)
{
    char *newline = find_newline(lines);
    if (lines->bytes == 0 && lines->start == 0) {
        skip_mark(lines);
        newline = find_newline(lines);
    }
    size_t len = lines->end - lines->start;
    if (!newline && len == 0)
        return false;
    char *at = lines->buffer + lines->start;
    if (newline)
        len = (size_t)(newline - at);
    *line = (struct sl_input_line){ at, len, len > SL_LINE_MAX_BYTES };
    if (line->too_long && !newline) {
        skip_rest(lines); /* overwrites the line, which is not used */
        line->len = 0;
        return true;
    }
    lines->start += len + (newline != NULL);
    lines->bytes += len + (newline != NULL);
    return true;
}

void sl_lines_close(struct sl_lines *lines)
{
    if (lines->fd > STDIN_FILENO)
        close(lines->fd);
    free(lines->buffer);
}
