/* Reading a file whole. */
#ifndef SL_BASE_FILE_H
#define SL_BASE_FILE_H

#include "base/buffer.h"

/* Appends the file's bytes. Returns 0 or an errno; EFBIG if the buffer cannot take them all. */
int sl_file_read(const char *path, struct sl_buffer *out);

/* The same from an open file, to its end. */
int sl_file_read_fd(int fd, struct sl_buffer *out);

#endif
