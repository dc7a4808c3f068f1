/* Memory that is used up when a test says so: every allocation fails then, of whichever library.
 *
 * The sanitizers bring allocators of their own, so there such a test skips itself. */
#ifndef TEST_BASE_NO_MEMORY_H
#define TEST_BASE_NO_MEMORY_H

#include <errno.h>

#include "unit/base/unit.h"

static bool memory_is_gone;

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { MEMORY_CAN_FAIL = false };
#else
enum { MEMORY_CAN_FAIL = true };

void *__libc_malloc(size_t len);
void *__libc_calloc(size_t count, size_t len);
void *__libc_realloc(void *old, size_t len);
void *__libc_memalign(size_t align, size_t len);

void *malloc(size_t len)
{
    return memory_is_gone ? (errno = ENOMEM, NULL) : __libc_malloc(len);
}

void *calloc(size_t count, size_t len)
{
    return memory_is_gone ? (errno = ENOMEM, NULL) : __libc_calloc(count, len);
}

void *realloc(void *old, size_t len)
{
    return memory_is_gone ? (errno = ENOMEM, NULL) : __libc_realloc(old, len);
}

void *aligned_alloc(size_t align, size_t len)
{
    return memory_is_gone ? (errno = ENOMEM, NULL) : __libc_memalign(align, len);
}
#endif

/* At the start of a test that needs it. */
#define NEEDS_FAILING_MEMORY()                                                                     \
    do {                                                                                           \
        if (!MEMORY_CAN_FAIL)                                                                      \
            skip();                                                                                \
    } while (false)

#endif
