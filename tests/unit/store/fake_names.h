/* Names with the addresses that a test gives them, in place of the system's resolver; and an
 * address that does not answer. */
#ifndef TEST_STORE_FAKE_NAMES_H
#define TEST_STORE_FAKE_NAMES_H

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/base/unit.h"

enum { FAKE_ADDRESSES_MAX = 24, FILLERS = 3 };

/* "127.0.0.2 127.0.0.1": of every name, in this order. A target looks up in a thread of its own. */
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static char fake_addresses[512];

static inline void set_addresses(const char *addresses)
{
    pthread_mutex_lock(&names_lock);
    snprintf(fake_addresses, sizeof fake_addresses, "%s", addresses);
    pthread_mutex_unlock(&names_lock);
}

struct fake_address {
    struct addrinfo info; /* first */
    struct sockaddr_in at;
};

int getaddrinfo(const char *restrict host, const char *restrict port,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    char text[sizeof fake_addresses], *rest = text, *word;
    size_t count = 0;
    bool is_number = hints->ai_flags & AI_NUMERICHOST;
    pthread_mutex_lock(&names_lock);
    snprintf(text, sizeof text, "%s",
             strspn(host, "0123456789.") == strlen(host) ? host
             : is_number                                 ? ""
                                                         : fake_addresses);
    pthread_mutex_unlock(&names_lock);
    struct fake_address *all = calloc(FAKE_ADDRESSES_MAX, sizeof *all);
    while (all && count < FAKE_ADDRESSES_MAX && (word = strtok_r(rest, " ", &rest))) {
        struct fake_address *one = &all[count];
        one->at.sin_family = AF_INET;
        one->at.sin_port = htons((uint16_t)atoi(port));
        if (inet_pton(AF_INET, word, &one->at.sin_addr) != 1)
            break;
        one->info = (struct addrinfo){ .ai_family = AF_INET,
                                       .ai_socktype = SOCK_STREAM,
                                       .ai_addrlen = sizeof one->at,
                                       .ai_addr = (struct sockaddr *)&one->at };
        if (count++ > 0)
            all[count - 2].info.ai_next = &one->info;
    }
    if (count == 0) {
        free(all);
        return EAI_NONAME;
    }
    *out = &all->info;
    return 0;
}

void freeaddrinfo(struct addrinfo *all)
{
    free(all);
}

/* A listener whose queue is full: the kernel drops what else comes, so a connection to it is
 * neither made nor refused. */
struct silent {
    int listener, fillers[FILLERS];
};

static inline void start_silent(struct silent *silent, const char *host, int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    assert_int_equal(inet_pton(AF_INET, host, &at.sin_addr), 1);
    silent->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(silent->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(silent->listener, 0), 0);
    for (size_t i = 0; i < FILLERS; i++) {
        silent->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int ignored = connect(silent->fillers[i], (struct sockaddr *)&at, sizeof at);
        (void)ignored; /* under way, or waiting like those that come later */
    }
}

static inline void stop_silent(struct silent *silent)
{
    for (size_t i = 0; i < FILLERS; i++)
        close(silent->fillers[i]);
    close(silent->listener);
}

#endif
