/* Makes every atomic access of src/ a point at which another task may run.
 *
 * The explorer links objects that were compiled for ThreadSanitizer, whose
 * runtime this stands in for: each access calls one of these functions. The
 * tasks are coroutines of one thread, so plain memory does; before each access
 * the task asks the schedule whether it goes on. */
#ifdef SL_EXPLORE

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "stress/explore.h"

__extension__ typedef unsigned __int128 u128;

/* ThreadSanitizer's names, called by what the compiler has put in. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define IGNORED(name, ...)                                                                         \
    void name(__VA_ARGS__)                                                                         \
    {                                                                                              \
    }

IGNORED(__tsan_init, void)
IGNORED(__tsan_func_entry, void *caller __attribute__((unused)))
IGNORED(__tsan_func_exit, void)
IGNORED(__tsan_read1, void *at __attribute__((unused)))
IGNORED(__tsan_read2, void *at __attribute__((unused)))
IGNORED(__tsan_read4, void *at __attribute__((unused)))
IGNORED(__tsan_read8, void *at __attribute__((unused)))
IGNORED(__tsan_read16, void *at __attribute__((unused)))
IGNORED(__tsan_write1, void *at __attribute__((unused)))
IGNORED(__tsan_write2, void *at __attribute__((unused)))
IGNORED(__tsan_write4, void *at __attribute__((unused)))
IGNORED(__tsan_write8, void *at __attribute__((unused)))
IGNORED(__tsan_write16, void *at __attribute__((unused)))
IGNORED(__tsan_read_range, void *at __attribute__((unused)), size_t len __attribute__((unused)))
IGNORED(__tsan_write_range, void *at __attribute__((unused)), size_t len __attribute__((unused)))

#define ATOMICS(bits, type)                                                                        \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                            \
    {                                                                                              \
        (void)order;                                                                               \
        explore_point();                                                                           \
        return *at;                                                                                \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                     \
    {                                                                                              \
        (void)order;                                                                               \
        explore_point();                                                                           \
        *at = value;                                                                               \
    }                                                                                              \
    type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order)                  \
    {                                                                                              \
        (void)order;                                                                               \
        explore_point();                                                                           \
        type old = *at;                                                                            \
        *at = value;                                                                               \
        return old;                                                                                \
    }                                                                                              \
    type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int order)                 \
    {                                                                                              \
        (void)order;                                                                               \
        explore_point();                                                                           \
        type old = *at;                                                                            \
        *at = (type)(old + value);                                                                 \
        return old;                                                                                \
    }                                                                                              \
    type __tsan_atomic##bits##_fetch_sub(volatile type *at, type value, int order)                 \
    {                                                                                              \
        (void)order;                                                                               \
        explore_point();                                                                           \
        type old = *at;                                                                            \
        *at = (type)(old - value);                                                                 \
        return old;                                                                                \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected,           \
                                                      type value, int order, int other)            \
    {                                                                                              \
        (void)order, (void)other;                                                                  \
        explore_point();                                                                           \
        type old = *at;                                                                            \
        if (old != *expected) {                                                                    \
            *expected = old;                                                                       \
            return 0;                                                                              \
        }                                                                                          \
        *at = value;                                                                               \
        return 1;                                                                                  \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *at, type *expected, type value, \
                                                    int order, int other)                          \
    {                                                                                              \
        return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, order, other);   \
    }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
ATOMICS(128, u128)

/* A task that yields waits for another task. */
int __wrap_sched_yield(void)
{
    explore_yield();
    return 0;
}

#endif
