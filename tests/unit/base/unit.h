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

/* A test registers itself, under the name of its file (tests/unit/main.c):
 *
 *   TEST(the_name_is_the_claim)
 *   {
 *       assert_true(…);
 *   }
 *
 * TEST_WITH has a set-up and a tear-down of its own, either may be NULL; TEST_ON gives them a state
 * to begin with, `*fixture`. TESTS_WITH, once in a file, is set up before its first test and torn
 * down after its last. */
void unit_register(const char *file, int line, struct CMUnitTest test);
void unit_register_group(const char *file, CMFixtureFunction setup, CMFixtureFunction teardown);

#define TEST(name)                       TEST_ON(name, NULL, NULL, NULL)
#define TEST_WITH(name, setup, teardown) TEST_ON(name, setup, teardown, NULL)
#define TEST_ON(name, setup, teardown, state_)                                                     \
    static void name(void **fixture);                                                              \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        unit_register(__FILE__, __LINE__,                                                          \
                      (struct CMUnitTest){ #name, name, setup, teardown, (void *)(state_) });      \
    }                                                                                              \
    static void name(__attribute__((unused)) void **fixture)

#define TESTS_WITH(setup, teardown)                                                                \
    __attribute__((constructor)) static void register_group(void)                                  \
    {                                                                                              \
        unit_register_group(__FILE__, setup, teardown);                                            \
    }

/* This file replaces a function of a library (a clock, a disk), or includes a .c file to test its
 * static functions: it is a program of its own, because
 * the replacement holds for everything that is linked with it. */
#define TESTS_ALONE _Static_assert(1, "read by the Makefile")

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
