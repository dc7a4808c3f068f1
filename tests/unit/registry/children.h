/* Child processes of a test. A child ends with _exit: it must never return into the test
 * runner that it has a copy of. */
#ifndef TEST_REGISTRY_CHILDREN_H
#define TEST_REGISTRY_CHILDREN_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/registry/on_registry.h"

/* In a child: what must hold. Its line is the exit status, more or less. */
#define CHILD(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: child: %s: %s\n", __FILE__, __LINE__, #condition, error.text); \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline pid_t start_child(void (*run)(void *about), void *about)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(about);
    _exit(0);
}

/* 0: it ended well; otherwise its status or, negative, the signal. */
static inline int end_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static inline void run_child(void (*run)(void *about), void *about)
{
    assert_int_equal(end_of(start_child(run, about)), 0);
}

/* Root may do anything: tests of permissions run as another user. */
static inline void drop_root(void)
{
    if (getuid() == 0)
        CHILD(setgid(65534) == 0 && setuid(65534) == 0);
}

#endif
