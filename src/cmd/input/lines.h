/* Reads the lines of a file or a pipe, one after the other, in bounded memory. */
#ifndef SL_CMD_INPUT_LINES_H
#define SL_CMD_INPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_LINE_MAX_BYTES = 64 * 1024 };

struct sl_lines {
    int fd;
    char *buffer; /* of 16 lines' length */
    size_t start; /* what is read and not yet given out: [start, end) */
    size_t end;
    bool ended;
    uint64_t bytes; /* given out so far */
    uint64_t size;  /* of the file; 0: unknown */
    int error;      /* errno of a failed read */
};

struct sl_input_line {
    char *at; /* the caller may write into it, until the next line */
    size_t len;
    bool too_long; /* cut at SL_LINE_MAX_BYTES; the rest was skipped */
};

/* Opens a file; NULL or "-" is standard input. Returns false with errno set. */
bool sl_lines_open(struct sl_lines *lines, const char *path);
bool sl_lines_next(struct sl_lines *lines, struct sl_input_line *line);
void sl_lines_close(struct sl_lines *lines);

#endif
