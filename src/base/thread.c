/* Starts threads that take no signals. */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

/* Signals of faults stay unblocked: a fault is reported in the thread that caused it. */
int sl_thread_start(pthread_t *out, void *(*run)(void *), void *about)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    int wrong = pthread_create(out, NULL, run, about);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return wrong;
}
