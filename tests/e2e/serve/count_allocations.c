/* Counts a program's allocations, for test_serve_allocations.py: preloaded, it
 * stands before the C library's functions and keeps its counts in the file that
 * SLUICE_ALLOCATIONS names, where the test reads them while the program runs: those of
 * the main thread, which reads rules and sums up figures, and those of all others, which answer.
 *
 * Allocations before main (the dynamic linker's, the C library's own) may come
 * before the file is mapped; they are not counted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The C library's own, under the names it keeps for such cases. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *old);

struct counts {
    _Atomic uint64_t taken, given_back;           /* by others */
    _Atomic uint64_t taken_main, given_back_main; /* by the main thread */
};

static struct counts nowhere;
static struct counts *_Atomic counts = &nowhere;

__attribute__((constructor)) static void map_counts(void)
{
    const char *path = getenv("SLUICE_ALLOCATIONS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED)
        counts = mapped;
}

static int is_main(void)
{
    return gettid() == getpid();
}

static void take(void)
{
    atomic_fetch_add(is_main() ? &counts->taken_main : &counts->taken, 1);
}

void *malloc(size_t size)
{
    take();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    take();
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    take();
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    take();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    take();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    take();
    void *made = __libc_memalign(alignment, size);
    if (!made)
        return ENOMEM;
    *out = made;
    return 0;
}

void free(void *old)
{
    if (old)
        atomic_fetch_add(is_main() ? &counts->given_back_main : &counts->given_back, 1);
    __libc_free(old);
}
