/* A Redis of one's own for a run: on a Unix socket in a folder that goes with it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "props/scenario.h"
#include "store/redis/redis.h"

static pid_t server;
static char folder[] = "/tmp/sluice-props-XXXXXX";
static char path[64];

static void stop(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    unlink(path);
    rmdir(folder);
}

/* The file is there before Redis listens on it. */
static bool answers(void)
{
    struct sockaddr_un place = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(place.sun_path, path, sizeof path);
    bool is_up = fd >= 0 && connect(fd, (const struct sockaddr *)&place, sizeof place) == 0;
    if (fd >= 0)
        close(fd);
    return is_up;
}

static bool start(void)
{
    if (server > 0)
        return true;
    if (!mkdtemp(folder))
        return false;
    snprintf(path, sizeof path, "%s/redis.sock", folder);
    server = fork();
    if (server == 0) {
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path, "--save", "",
               "--appendonly", "no", "--dir", folder, "--logfile", "/dev/null", (char *)NULL);
        _exit(127);
    }
    atexit(stop);
    bool is_up = false;
    for (int i = 0; i < 500 && !(is_up = answers()); i++)
        usleep(10000);
    return is_up;
}

/* A minute for an answer: nothing here is about time. */
struct sl_store *open_redis(void)
{
    struct sluice_error error = { 0 };
    struct sl_store_url url = { .kind = SL_STORE_REDIS_UNIX, .path = path };
    struct sl_redis_config config = { .url = &url, .deadline_us = 60000000 };
    struct sl_store *store = start() ? sl_redis_open(&config, &error) : NULL;
    if (!store || *error.text)
        fprintf(stderr, "no Redis: %s\n", error.text);
    return store;
}
