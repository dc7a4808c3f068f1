/* A loop that cannot watch a socket when a test says so: uv_poll_start fails. */
#ifndef TEST_SERVER_DEAF_LOOP_H
#define TEST_SERVER_DEAF_LOOP_H

#include <dlfcn.h>
#include <uv.h>

static int deaf_calls; /* so many of the next calls fail */

int uv_poll_start(uv_poll_t *poll, int events, uv_poll_cb on_poll)
{
    typedef int start_function(uv_poll_t * poll, int events, uv_poll_cb on_poll);
    start_function *real = (start_function *)dlsym(RTLD_NEXT, "uv_poll_start");
    if (deaf_calls > 0) {
        deaf_calls--;
        return UV_ENOMEM;
    }
    return real(poll, events, on_poll);
}

#endif
