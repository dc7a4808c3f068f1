#include "server/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOOKS_EACH = 20 };

/* The folder itself is open while it is read. */
static uint64_t count_files(void)
{
    DIR *all = opendir("/proc/self/fd");
    uint64_t count = 0;
    if (!all)
        return 0;
    for (struct dirent *one = readdir(all); one; one = readdir(all))
        count += one->d_name[0] != '.';
    closedir(all);
    return count - 1;
}

void sl_process_look(struct sl_process *process)
{
    if (process->looks++ % LOOKS_EACH == 0)
        atomic_store_explicit(&process->open_files, count_files(), memory_order_relaxed);
}

static void read_memory(struct sl_process_figures *out)
{
    uint64_t all_pages, resident_pages, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &all_pages, &resident_pages) == 2) {
        out->virtual_bytes = all_pages * page_bytes;
        out->resident_bytes = resident_pages * page_bytes;
    }
    fclose(file);
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
