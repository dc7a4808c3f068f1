/* What a unit test includes: cmocka with the headers it wants before it, and
 * checks that say which row of a table failed. */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

/* What a row of a table leaves out is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CLAIM(name)  cmocka_unit_test(name)
#define RUN(tests)   cmocka_run_group_tests(tests, NULL, NULL)

/* Two integers are the same; if not, `row` says where. */
#define SAME(row, got, wanted)                                                                     \
    unit_same(row, #got, (int64_t)(got), (int64_t)(wanted), __FILE__, __LINE__)

static inline void unit_same(const char *row, const char *what, int64_t got, int64_t wanted,
                             const char *file, int line)
{
    if (got == wanted)
        return;
    print_error("%s: %s is %" PRId64 ", not %" PRId64 "\n", row, what, got, wanted);
    _fail(file, line);
}

/* A text is what it should be. */
#define SAME_TEXT(row, got, wanted) unit_same_text(row, #got, got, wanted, __FILE__, __LINE__)

static inline void unit_same_text(const char *row, const char *what, struct sluice_text got,
                                  const char *wanted, const char *file, int line)
{
    if (sl_text_is(got, wanted))
        return;
    print_error("%s: %s is \"%.*s\", not \"%s\"\n", row, what, (int)got.len, got.at, wanted);
    _fail(file, line);
}

/* Numbers that look random and are the same in every run (splitmix64). */
static inline uint64_t unit_random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From 0 up to and including `most`. */
static inline int64_t unit_up_to(uint64_t *seed, int64_t most)
{
    return (int64_t)(unit_random(seed) % ((uint64_t)most + 1));
}

#endif
