/* Assertions that stay on in release: a programming error stops the program
 * before it can decide wrongly. Never for anything that a user, a file or a peer
 * can cause. */
#ifndef SL_BASE_CHECK_H
#define SL_BASE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define SL_CHECK(condition)                                                                        \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0)) {                                                   \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
