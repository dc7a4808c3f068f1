/* Sends notifications to systemd (see systemd.h). */
#include "server/main/systemd.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

/* Reads a path, or `@` and a name without a file: such addresses begin with a zero byte. */
static bool read_address(const char *name, struct sockaddr_un *out, socklen_t *len)
{
    size_t count = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || count < 2 || count >= sizeof out->sun_path)
        return false;
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(out->sun_path, name, count);
    if (name[0] == '@')
        out->sun_path[0] = '\0';
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count + (name[0] == '/'));
    return true;
}

void sl_notify(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t len;
    if (!name || !read_address(name, &address, &len))
        return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    /* A receiver that is not listening loses the message; the server goes on. */
    ssize_t sent =
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, len);
    (void)sent;
    close(fd);
}

void sl_notify_reloading(void)
{
    char state[64];
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, sl_monotonic_ns() / 1000);
    sl_notify(state);
}
