#include "base/thread.h"

#include <signal.h>

#include "unit/base/unit.h"

static sigset_t seen;

static void *look(void *unused)
{
    (void)unused;
    pthread_sigmask(SIG_SETMASK, NULL, &seen);
    return NULL;
}

TEST(a_thread_takes_no_signals_but_for_its_own_faults)
{
    static const int blocked[] = { SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGCHLD };
    static const int open[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    sigset_t before, after;
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(sl_thread_start(&thread, look, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < COUNT(blocked); i++)
        assert_true(sigismember(&seen, blocked[i]));
    for (size_t i = 0; i < COUNT(open); i++)
        assert_false(sigismember(&seen, open[i]));
    for (int i = 1; i < NSIG; i++)
        assert_int_equal(sigismember(&before, i), sigismember(&after, i));
}
