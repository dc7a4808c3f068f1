/* Reads a file whole. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sl_file_read_fd(int fd, struct sl_buffer *out)
{
    char chunk[64 * 1024];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? 0 : errno;
        sl_buffer_add(out, (struct sluice_text){ chunk, (size_t)got });
        if (out->failed)
            return EFBIG;
    }
}

int sl_file_read(const char *path, struct sl_buffer *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = sl_file_read_fd(fd, out);
    close(fd);
    return error;
}
