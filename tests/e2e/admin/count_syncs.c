/* Counts how often a program waits for the disk, for test_admin_database.py: preloaded, it
 * stands before fsync and fdatasync and keeps the count in the file that SLUICE_SYNCS
 * names, where the test reads it while the program runs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint64_t nowhere;
static _Atomic uint64_t *count = &nowhere;

__attribute__((constructor)) static void map_count(void)
{
    const char *path = getenv("SLUICE_SYNCS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED)
        count = mapped;
}

/* Counted when it is done: until then nothing may be acknowledged. */
static int counted(long status)
{
    if (status == 0)
        atomic_fetch_add(count, 1);
    return (int)status;
}

int fsync(int fd)
{
    return counted(syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    return counted(syscall(SYS_fdatasync, fd));
}
