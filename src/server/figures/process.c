/* The process' figures out of /proc: see process.h. */
#include "server/figures/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOOKS_EACH = 20 };

static uint64_t count_names(const char *at, const char *end)
{
    uint64_t count = 0;
    while (at < end) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)at;
        count += entry->d_name[0] != '.';
        at += entry->d_reclen;
    }
    return count;
}

/* Not by opendir(3), which allocates: a server at rest allocates nothing. The folder itself is one
 * of the open files while it is read. */
static uint64_t count_files(void)
{
    _Alignas(struct dirent64) char names[8192];
    uint64_t count = 0;
    ssize_t len;
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while ((len = getdents64(fd, names, sizeof names)) > 0)
        count += count_names(names, names + len);
    close(fd);
    return count ? count - 1 : 0;
}

void sl_process_look(struct sl_process *process)
{
    if (process->looks++ % LOOKS_EACH == 0)
        atomic_store_explicit(&process->open_files, count_files(), memory_order_relaxed);
}

/* Reads "ALL RESIDENT …", in pages. */
static void read_memory(struct sl_process_figures *out)
{
    char text[128] = "";
    char *rest;
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, text, sizeof text - 1) > 0) {
        out->virtual_bytes = strtoull(text, &rest, 10) * page_bytes;
        out->resident_bytes = strtoull(rest, NULL, 10) * page_bytes;
    }
    close(fd);
}

static uint64_t us_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

void sl_process_read(const struct sl_process *process, struct sl_process_figures *out)
{
    struct rusage usage;
    struct rlimit files;
    *out = (struct sl_process_figures){ 0 };
    read_memory(out);
    out->open_files = atomic_load_explicit(&process->open_files, memory_order_relaxed);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->most_files = files.rlim_cur;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
}
