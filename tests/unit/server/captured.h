/* What is said on standard error while something runs. */
#ifndef TEST_SERVER_CAPTURED_H
#define TEST_SERVER_CAPTURED_H

#include <unistd.h>

#include "unit/base/unit.h"

/* Good until the next call. An assertion that fails in `act` is lost: ask afterwards. */
static inline const char *said_by(void (*act)(void *about), void *about)
{
    static char text[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    act(about);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

#endif
