/* Looking up a name can take seconds, so it is never done where somebody waits for a decision:
 * a thread of its own does it, once at the beginning and again after a connection has failed.
 * Who closes the target does not wait for it; the last of the two frees it. */
#include "store/redis_target.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/error.h"

enum { ADDRESSES_MAX = 8, FIRST_LOOK_US = 1000000, LOOK_EVERY_US = 1000000 };

struct address {
    struct sockaddr_storage at;
    socklen_t len;
};

struct sl_target {
    _Atomic uint32_t holders; /* who opened it, and a thread that looks up */
    char *host, *port, *user, *password, *name;
    uint32_t database;
    struct sl_tls *tls;
    bool is_fixed; /* no name to look up */

    pthread_mutex_t lock;
    pthread_cond_t found;
    struct address addresses[ADDRESSES_MAX];
    size_t address_count;
    bool is_looking;
    int64_t looked_us;
};

static void drop(struct sl_target *target)
{
    if (atomic_fetch_sub(&target->holders, 1) != 1)
        return;
    if (target->tls)
        sl_tls_drop(target->tls);
    free(target->host);
    free(target->port);
    free(target->user);
    free(target->password);
    free(target->name);
    pthread_cond_destroy(&target->found);
    pthread_mutex_destroy(&target->lock);
    free(target);
}

void sl_target_close(struct sl_target *target)
{
    if (target)
        drop(target);
}

/* ---- addresses ---- */

static bool look_up(struct sl_target *target, int flags)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags }, *all = NULL;
    size_t count = 0;
    struct address found[ADDRESSES_MAX];
    if (getaddrinfo(target->host, target->port, &hints, &all) != 0)
        return false;
    for (struct addrinfo *one = all; one && count < ADDRESSES_MAX; one = one->ai_next) {
        if (one->ai_addrlen > sizeof found[0].at)
            continue;
        memcpy(&found[count].at, one->ai_addr, one->ai_addrlen);
        found[count++].len = one->ai_addrlen;
    }
    freeaddrinfo(all);
    pthread_mutex_lock(&target->lock);
    memcpy(target->addresses, found, count * sizeof *found);
    target->address_count = count;
    pthread_mutex_unlock(&target->lock);
    return count > 0;
}

static void *look_up_once(void *about)
{
    struct sl_target *target = about;
    look_up(target, 0); /* not AI_ADDRCONFIG: a machine may have nothing but a loopback */
    pthread_mutex_lock(&target->lock);
    target->is_looking = false;
    pthread_cond_broadcast(&target->found);
    pthread_mutex_unlock(&target->lock);
    drop(target);
    return NULL;
}

/* With the lock. */
static void start_looking(struct sl_target *target)
{
    pthread_t thread;
    pthread_attr_t detached;
    int64_t now_us = sl_boottime_us();
    if (target->is_looking || (target->looked_us && now_us - target->looked_us < LOOK_EVERY_US))
        return;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    atomic_fetch_add(&target->holders, 1);
    target->looked_us = now_us;
    target->is_looking = pthread_create(&thread, &detached, look_up_once, target) == 0;
    if (!target->is_looking)
        atomic_fetch_sub(&target->holders, 1);
    pthread_attr_destroy(&detached);
}

void sl_target_refresh(struct sl_target *target)
{
    if (target->is_fixed)
        return;
    pthread_mutex_lock(&target->lock);
    start_looking(target);
    pthread_mutex_unlock(&target->lock);
}

bool sl_target_address(struct sl_target *target, uint32_t attempt, struct sockaddr_storage *out,
                       socklen_t *len)
{
    pthread_mutex_lock(&target->lock);
    bool is_there = target->address_count > 0;
    if (is_there) {
        const struct address *address = &target->addresses[attempt % target->address_count];
        *out = address->at;
        *len = address->len;
    }
    pthread_mutex_unlock(&target->lock);
    return is_there;
}

/* ---- opening ---- */

static bool use_socket(struct sl_target *target, const char *path, struct sluice_error *error)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&target->addresses[0].at;
    size_t len = strlen(path);
    if (len >= sizeof address->sun_path)
        return sl_error_say(error, "the path of the store's socket is too long: at most %zu bytes",
                            sizeof address->sun_path - 1);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, len + 1);
    target->addresses[0].len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    target->address_count = 1;
    target->is_fixed = true;
    return true;
}

/* "host:port" or "[v6]:port", as the URL's reader leaves it. */
static bool use_host(struct sl_target *target, const char *hosts, struct sluice_error *error)
{
    const char *colon = strrchr(hosts, ':');
    bool in_brackets = hosts[0] == '[';
    size_t len = (size_t)(colon - hosts) - (in_brackets ? 2 : 0);
    target->host = strndup(hosts + in_brackets, len);
    target->port = strdup(colon + 1);
    if (!target->host || !target->port)
        return sl_error_say(error, "out of memory");
    target->is_fixed = look_up(target, AI_NUMERICHOST);
    if (target->is_fixed)
        return true;
    pthread_mutex_lock(&target->lock);
    start_looking(target);
    if (target->is_looking)
        sl_wait_us(&target->found, &target->lock, FIRST_LOOK_US);
    pthread_mutex_unlock(&target->lock);
    return true;
}

/* Copies a text that may be missing. False: no memory. */
static bool keep(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

struct sl_target *sl_target_open(const struct sl_store_url *url, const struct sl_tls_client *tls,
                                 struct sluice_error *error)
{
    struct sl_target *target = calloc(1, sizeof *target);
    if (!target) {
        sl_error_say(error, "out of memory");
        return NULL;
    }
    target->holders = 1;
    target->database = url->database;
    pthread_mutex_init(&target->lock, NULL);
    sl_wait_init(&target->found);
    bool good = keep(&target->user, url->user) && keep(&target->password, url->password) &&
                keep(&target->name, url->path ? url->path : url->hosts);
    if (!good)
        sl_error_say(error, "out of memory");
    if (good && url->tls)
        good = (target->tls = sl_tls_client_new("store_tls", tls, error)) != NULL;
    if (good)
        good =
            url->path ? use_socket(target, url->path, error) : use_host(target, url->hosts, error);
    if (good)
        return target;
    drop(target);
    return NULL;
}

/* ---- what it wants to hear ---- */

struct sl_tls *sl_target_tls(const struct sl_target *target)
{
    return target->tls;
}

const char *sl_target_host(const struct sl_target *target)
{
    return target->host;
}

const char *sl_target_user(const struct sl_target *target)
{
    return target->user;
}

const char *sl_target_password(const struct sl_target *target)
{
    return target->password;
}

uint32_t sl_target_database(const struct sl_target *target)
{
    return target->database;
}

const char *sl_target_name(const struct sl_target *target)
{
    return target->name;
}
