/* Threads that take no signals. Signals go to the main thread, or to the thread that a program has
 * for them; no handler of the program runs in one of our threads. */
#ifndef SL_BASE_THREAD_H
#define SL_BASE_THREAD_H

#include <pthread.h>

/* Returns 0 or an errno, as pthread_create does. */
int sl_thread_start(pthread_t *out, void *(*run)(void *), void *about);

#endif
