/* A target's addresses, and the thread that looks them up.
 *
 * Looking up a name can take seconds, so no thread that decides requests does it: a thread of its
 * own runs once at the beginning, and again after a connection has failed. Closing the target does
 * not wait for that thread; the last reference frees the target.
 *
 * With Sentinels the thread stays and follows the master. The last sl_target_close waits for it for
 * a while, for it may be in the middle of TLS, and a process that exits then would unload OpenSSL
 * while the thread uses it. Masters are counted. A link to an older master leaves it even if that
 * still answers, as an old master does that is only cut off from the others. */
#include "store/redis/link/target.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "store/redis/link/sentinel.h"

enum {
    FIRST_LOOK_US = 1000000,
    LOOK_EVERY_US = 1000000,
    ASK_EVERY_US = 1000000, /* asking Sentinels while connections are well */
    ASK_GAP_US = 50000,     /* the least time between two questions */
    NEWS_US = 1000000,      /* until all Sentinels have heard of a new master */
    END_US = 2000000,       /* the longest wait for the thread's end */
};

struct address {
    struct sockaddr_storage at;
    socklen_t len;
};

struct sl_target {
    _Atomic uint32_t holders; /* references: of callers, and of a running thread */
    char *host, *port, *user, *password, *name;
    uint32_t database;
    struct sl_tls *tls;
    bool is_fixed; /* no name to look up */

    pthread_mutex_t lock;
    pthread_cond_t found;
    struct address addresses[SL_ADDRESSES_MAX];
    size_t address_count;
    size_t preferred; /* the address that answered last */
    bool is_looking;
    int64_t looked_us;

    struct sl_sentinels *sentinels; /* used by the thread alone; NULL: the URL has the address */
    struct sl_master master;        /* that Sentinels name */
    int64_t changed_us;             /* when it replaced another; 0: it is the first */
    struct sluice_error why_none;   /* why no master is known */
    _Atomic uint32_t reign;         /* how many masters were named so far */
    _Atomic pid_t follower;         /* the process that runs the thread; 0: none */
    pthread_t thread;
    _Atomic bool is_left;    /* the last caller has closed, or is about to: the thread ends */
    _Atomic bool is_doubted; /* a connection failed: the next Sentinel is to be asked */
    int woken;               /* an eventfd that wakes the thread */
};

/* After a fork the follower thread runs in the parent only, and its reference here is never
 * released. `follower` is read before the decrement: afterwards another thread may free the
 * target. */
static void release_reference(struct sl_target *target)
{
    pid_t follower = atomic_load(&target->follower);
    uint32_t last = follower && follower != getpid() ? 2 : 1;
    uint32_t before = atomic_fetch_sub(&target->holders, 1);
    SL_CHECK(before >= last);
    if (before != last)
        return;
    if (target->tls)
        sl_tls_drop(target->tls);
    free(target->host);
    free(target->port);
    free(target->user);
    free(target->password);
    free(target->name);
    if (target->sentinels)
        close(target->woken);
    sl_sentinels_free(target->sentinels);
    pthread_cond_destroy(&target->found);
    pthread_mutex_destroy(&target->lock);
    free(target);
}

static void wake_follower(struct sl_target *target)
{
    uint64_t one = 1;
    ssize_t ignored = write(target->woken, &one, sizeof one);
    (void)ignored; /* full: the thread is awake already */
}

void sl_target_close(struct sl_target *target)
{
    if (!target)
        return;
    bool is_last = atomic_load(&target->follower) == getpid() && atomic_load(&target->holders) == 2;
    pthread_t thread = target->thread;
    atomic_store(&target->is_left, is_last);
    if (target->sentinels)
        wake_follower(target); /* it checks whether callers are left */
    release_reference(target);
    if (is_last)
        sl_join_us(thread, END_US);
}

/* ---- addresses ---- */

static size_t resolve_addresses(const char *host, const char *port, int flags,
                                struct address *found)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags }, *all = NULL;
    size_t count = 0;
    if (getaddrinfo(host, port, &hints, &all) != 0)
        return 0;
    for (struct addrinfo *one = all; one && count < SL_ADDRESSES_MAX; one = one->ai_next) {
        if (one->ai_addrlen > sizeof found[0].at)
            continue;
        memcpy(&found[count].at, one->ai_addr, one->ai_addrlen);
        found[count++].len = one->ai_addrlen;
    }
    freeaddrinfo(all);
    return count;
}

static bool is_same_address(const struct address *one, const struct address *other)
{
    return one->len == other->len && memcmp(&one->at, &other->at, one->len) == 0;
}

/* The address that answered last stays the preferred one, wherever it stands in the new list.
 * Call with the lock held. */
static void replace_addresses(struct sl_target *target, const struct address *found, size_t count)
{
    SL_CHECK(count > 0 && count <= SL_ADDRESSES_MAX);
    const struct address before = target->addresses[target->preferred];
    target->preferred = 0;
    for (size_t i = 0; i < count; i++) {
        target->addresses[i] = found[i];
        if (target->address_count && is_same_address(&found[i], &before))
            target->preferred = i;
    }
    target->address_count = count;
    SL_CHECK(target->preferred < target->address_count);
}

static bool look_up_host(struct sl_target *target, int flags)
{
    struct address found[SL_ADDRESSES_MAX];
    size_t count = resolve_addresses(target->host, target->port, flags, found);
    if (count == 0)
        return false;
    pthread_mutex_lock(&target->lock);
    replace_addresses(target, found, count);
    pthread_mutex_unlock(&target->lock);
    return true;
}

static void *look_up_once(void *about)
{
    struct sl_target *target = about;
    look_up_host(target, 0); /* not AI_ADDRCONFIG: a machine may have nothing but a loopback */
    pthread_mutex_lock(&target->lock);
    target->is_looking = false;
    pthread_cond_broadcast(&target->found);
    pthread_mutex_unlock(&target->lock);
    release_reference(target);
    return NULL;
}

/* Starts a thread that holds a reference. */
static bool start_thread(struct sl_target *target, void *(*run)(void *), pthread_t *out)
{
    atomic_fetch_add(&target->holders, 1);
    bool is_started = sl_thread_start(out, run, target) == 0;
    if (!is_started)
        atomic_fetch_sub(&target->holders, 1);
    return is_started;
}

/* Call with the lock held. */
static void start_looking(struct sl_target *target)
{
    int64_t now_us = sl_boottime_us();
    if (target->is_looking || (target->looked_us && now_us - target->looked_us < LOOK_EVERY_US))
        return;
    target->looked_us = now_us;
    pthread_t thread;
    target->is_looking = start_thread(target, look_up_once, &thread);
    if (target->is_looking)
        pthread_detach(thread);
}

/* ---- following the master by Sentinels ---- */

static void use_master_address(struct sl_target *target, const struct sl_master *master,
                               bool looks_again)
{
    struct address found[SL_ADDRESSES_MAX];
    bool is_same = strcmp(master->host, target->master.host) == 0 &&
                   strcmp(master->port, target->master.port) == 0;
    if (is_same && !looks_again)
        return;
    size_t count = resolve_addresses(master->host, master->port, 0, found);
    pthread_mutex_lock(&target->lock);
    if (count) {
        replace_addresses(target, found, count);
        target->master = *master;
        if (!is_same && atomic_fetch_add(&target->reign, 1) > 0)
            target->changed_us = sl_boottime_us();
    } else {
        sl_error_say(&target->why_none,
                     "the master is at `%s`, Sentinel says, a name that is not known",
                     master->host);
    }
    pthread_mutex_unlock(&target->lock);
}

static void ask_sentinels(struct sl_target *target)
{
    struct sl_master master;
    struct sluice_error why = { 0 };
    bool is_doubted = atomic_exchange(&target->is_doubted, false);
    /* The Sentinel that has just named a new master knows more than the others, which may not have
     * heard of it yet: they would send us back to the old one. */
    if (is_doubted && sl_boottime_us() - target->changed_us > NEWS_US)
        sl_sentinels_doubt(target->sentinels);
    if (sl_sentinels_ask(target->sentinels, &master, &why))
        use_master_address(target, &master, is_doubted);
    pthread_mutex_lock(&target->lock);
    if (*why.text)
        target->why_none = why;
    target->is_looking = false;
    pthread_cond_broadcast(&target->found);
    pthread_mutex_unlock(&target->lock);
}

/* Do callers hold it, besides the thread itself? */
static bool is_held(const struct sl_target *target)
{
    return !atomic_load(&target->is_left) && atomic_load(&target->holders) > 1;
}

static void *follow_master(void *about)
{
    struct sl_target *target = about;
    uint64_t count;
    while (is_held(target)) {
        ask_sentinels(target);
        sl_sleep_us(ASK_GAP_US);
        if (is_held(target))
            sl_sentinels_wait(target->sentinels, target->woken, ASK_EVERY_US);
        while (read(target->woken, &count, sizeof count) > 0)
            ;
    }
    release_reference(target);
    return NULL;
}

/* Also in a forked process: the thread runs in the parent, and may have held the lock when the
 * parent forked, so both are made anew. */
static void start_following(struct sl_target *target)
{
    pid_t before = atomic_load(&target->follower), mine = getpid();
    if (before == mine || !atomic_compare_exchange_strong(&target->follower, &before, mine))
        return;
    if (before) {
        pthread_mutex_init(&target->lock, NULL);
        sl_wait_init(&target->found);
        sl_sentinels_abandon(target->sentinels);
        close(target->woken);
        target->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        atomic_fetch_sub(&target->holders, 1);
    }
    if (!start_thread(target, follow_master, &target->thread))
        atomic_store(&target->follower, 0);
}

/* ---- what connections ask for ---- */

void sl_target_refresh(struct sl_target *target)
{
    if (target->is_fixed)
        return;
    if (target->sentinels) {
        atomic_store(&target->is_doubted, true);
        wake_follower(target);
        return;
    }
    pthread_mutex_lock(&target->lock);
    start_looking(target);
    pthread_mutex_unlock(&target->lock);
}

uint32_t sl_target_reign(const struct sl_target *target)
{
    return atomic_load_explicit(&target->reign, memory_order_relaxed);
}

bool sl_target_has_sentinels(const struct sl_target *target)
{
    return target->sentinels;
}

void sl_target_why_none(struct sl_target *target, struct sluice_error *out)
{
    if (!target->sentinels) {
        sl_error_say(out, "the address of `%s` is not known (yet)", target->host);
        return;
    }
    pthread_mutex_lock(&target->lock);
    *out = target->why_none;
    pthread_mutex_unlock(&target->lock);
    if (!*out->text)
        sl_error_say(out, "no Sentinel has answered yet");
}

uint32_t sl_target_address_count(struct sl_target *target)
{
    if (target->sentinels)
        start_following(target);
    pthread_mutex_lock(&target->lock);
    size_t count = target->address_count;
    pthread_mutex_unlock(&target->lock);
    return (uint32_t)count;
}

void sl_target_prefer(struct sl_target *target, uint32_t number)
{
    pthread_mutex_lock(&target->lock);
    if (target->address_count)
        target->preferred = number % target->address_count;
    pthread_mutex_unlock(&target->lock);
}

uint32_t sl_target_preferred(struct sl_target *target)
{
    pthread_mutex_lock(&target->lock);
    size_t preferred = target->preferred;
    SL_CHECK(preferred < SL_ADDRESSES_MAX);
    pthread_mutex_unlock(&target->lock);
    return (uint32_t)preferred;
}

bool sl_target_address(struct sl_target *target, uint32_t number, struct sockaddr_storage *out,
                       socklen_t *len)
{
    if (target->sentinels)
        start_following(target);
    pthread_mutex_lock(&target->lock);
    bool is_there = target->address_count > 0;
    if (is_there) {
        const struct address *address = &target->addresses[number % target->address_count];
        *out = address->at;
        *len = address->len;
    }
    pthread_mutex_unlock(&target->lock);
    SL_CHECK(!is_there || (*len > 0 && *len <= sizeof *out));
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

/* Splits "host:port" or "[v6]:port", as the URL's reader leaves it; of a cluster's list the first.
 * Returns false if it is malformed or memory is missing. */
static bool split_host_and_port(struct sl_target *target, const char *hosts)
{
    const char *end = strchrnul(hosts, ','), *colon = memrchr(hosts, ':', (size_t)(end - hosts));
    bool in_brackets = hosts[0] == '[';
    if (!colon || (in_brackets && (colon - hosts < 2 || colon[-1] != ']')))
        return false;
    size_t len = (size_t)(colon - hosts) - (in_brackets ? 2 : 0);
    target->host = strndup(hosts + in_brackets, len);
    target->port = strndup(colon + 1, (size_t)(end - colon - 1));
    return target->host && target->port;
}

static bool use_host_name(struct sl_target *target, const char *hosts, struct sluice_error *error)
{
    if (!split_host_and_port(target, hosts))
        return sl_error_say(error, "out of memory");
    target->is_fixed = look_up_host(target, AI_NUMERICHOST);
    if (target->is_fixed)
        return true;
    pthread_mutex_lock(&target->lock);
    start_looking(target);
    if (target->is_looking)
        sl_wait_us(&target->found, &target->lock, FIRST_LOOK_US);
    pthread_mutex_unlock(&target->lock);
    return true;
}

static bool use_sentinels(struct sl_target *target, const struct sl_store_url *url,
                          struct sluice_error *error)
{
    target->sentinels =
        sl_sentinels_new(url->hosts, url->master, url->sentinel_password, target->tls);
    target->woken = target->sentinels ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
    if (target->woken < 0)
        return sl_error_say(error, "out of memory");
    target->is_looking = true;
    start_following(target);
    pthread_mutex_lock(&target->lock);
    if (target->is_looking)
        sl_wait_us(&target->found, &target->lock, FIRST_LOOK_US);
    pthread_mutex_unlock(&target->lock);
    return true;
}

/* Copies a text that may be NULL. Returns false if memory is missing. */
static bool copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

/* The name that messages show. */
static const char *name_of(const struct sl_store_url *url)
{
    if (url->path)
        return url->path;
    return url->master ? url->master : url->hosts;
}

static bool use_url(struct sl_target *target, const struct sl_store_url *url,
                    struct sluice_error *error)
{
    if (url->path)
        return use_socket(target, url->path, error);
    return url->master ? use_sentinels(target, url, error)
                       : use_host_name(target, url->hosts, error);
}

struct sl_target *sl_target_open(const struct sl_store_url *url, const struct sl_tls_client *tls,
                                 struct sluice_error *error)
{
    SL_CHECK(url && tls && error && (url->path || url->hosts));
    struct sl_target *target = calloc(1, sizeof *target);
    if (!target) {
        sl_error_say(error, "out of memory");
        return NULL;
    }
    target->holders = 1;
    target->database = url->database;
    pthread_mutex_init(&target->lock, NULL);
    sl_wait_init(&target->found);
    bool good = copy_text(&target->user, url->user) &&
                copy_text(&target->password, url->password) &&
                copy_text(&target->name, name_of(url));
    if (!good)
        sl_error_say(error, "out of memory");
    if (good && url->tls)
        good = (target->tls = sl_tls_client_new("store_tls", tls, error)) != NULL;
    if (good)
        good = use_url(target, url, error);
    if (good)
        return target;
    release_reference(target);
    return NULL;
}

struct sl_target *sl_target_like(const struct sl_target *like, const char *address)
{
    SL_CHECK(like && address);
    struct sl_target *target = calloc(1, sizeof *target);
    if (!target)
        return NULL;
    target->holders = 1;
    pthread_mutex_init(&target->lock, NULL);
    sl_wait_init(&target->found);
    target->tls = like->tls ? sl_tls_keep(like->tls) : NULL;
    if (!copy_text(&target->user, like->user) || !copy_text(&target->password, like->password) ||
        !copy_text(&target->name, address) || !split_host_and_port(target, address)) {
        release_reference(target);
        return NULL;
    }
    target->is_fixed = look_up_host(target, AI_NUMERICHOST);
    sl_target_refresh(target);
    return target;
}

struct sl_target *sl_target_keep(struct sl_target *target)
{
    uint32_t before = atomic_fetch_add(&target->holders, 1);
    SL_CHECK(before > 0);
    return target;
}

/* ---- accessors ---- */

struct sl_tls *sl_target_tls(const struct sl_target *target)
{
    return target->tls;
}

const char *sl_target_host(const struct sl_target *target)
{
    return target->host;
}

struct sl_tls_stream *sl_target_shake_hands(struct sl_target *target, int fd)
{
    struct sl_master master;
    SL_CHECK(target->tls && fd >= 0);
    if (!target->sentinels)
        return sl_tls_connect(target->tls, fd, target->host);
    pthread_mutex_lock(&target->lock);
    master = target->master;
    pthread_mutex_unlock(&target->lock);
    return sl_tls_connect(target->tls, fd, master.host);
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
