/* Threads that take no signals: those are for the main thread, or for whichever a program has for
 * them, and no handler of its runs in one of ours. */
#ifndef SL_BASE_THREAD_H
#define SL_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create: 0, or what is wrong. */
int sl_thread_start(pthread_t *out, void *(*run)(void *), void *about);

#endif
