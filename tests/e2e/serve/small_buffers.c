/* Gives the connections of a server the smallest send buffers there are, for
 * test_serve_pressure.py: preloaded, it stands before accept4.
 *
 * On loopback the kernel takes megabytes before a send falls short, more or fewer as
 * its settings and the moment have it. Here nearly all that a client does not read
 * stays with the server, so that a test knows what is where. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

typedef int accept_function(int, struct sockaddr *, socklen_t *, int);

int accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
    accept_function *next = (accept_function *)dlsym(RTLD_NEXT, "accept4");
    int accepted = next(fd, from, len, flags);
    if (accepted >= 0)
        setsockopt(accepted, SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int));
    return accepted;
}
