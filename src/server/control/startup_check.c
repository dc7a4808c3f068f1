/* Compares settings with what this process can do, and with those it started with. */
#include "server/control/startup_check.h"

#include <stdio.h>
#include <sys/resource.h>
#include <uv.h>

/* File descriptors that are not clients': of the process; of each worker (its loop, its listeners,
 * connections about to be refused). */
enum { FILES_OF_OUR_OWN = 64, FILES_OF_A_WORKER = 12 + 64 };

bool sl_startup_is_serveable(const struct sl_settings *settings)
{
    return settings->http.address || settings->https.address || settings->grpc.address ||
           settings->resp.address;
}

static bool texts_differ(const char *a, const char *b)
{
    return !a != !b || (a && strcmp(a, b) != 0);
}

static bool listener_differs(const struct sl_listener *old, const struct sl_listener *new)
{
    return texts_differ(old->address, new->address) || old->proxy_protocol != new->proxy_protocol ||
           old->tls != new->tls;
}

const char *sl_startup_fixed_change(const struct sl_settings *old, const struct sl_settings *new)
{
    if (listener_differs(&old->http, &new->http) || listener_differs(&old->https, &new->https) ||
        listener_differs(&old->grpc, &new->grpc) || listener_differs(&old->resp, &new->resp))
        return "listen";
    if (old->workers != new->workers)
        return "workers";
    if (texts_differ(old->store.text, new->store.text))
        return "store";
    if (old->store.kind != SL_STORE_MEMORY && old->store_deadline_us != new->store_deadline_us)
        return "store_deadline";
    if (texts_differ(old->store_tls.ca, new->store_tls.ca) ||
        texts_differ(old->store_tls.certificate, new->store_tls.certificate) ||
        texts_differ(old->store_tls.key, new->store_tls.key))
        return "store_tls";
    if (texts_differ(old->audit, new->audit))
        return "audit";
    if (texts_differ(old->database, new->database))
        return "database";
    if (old->spread != new->spread && old->store.kind != SL_STORE_MEMORY)
        return "spread";
    if (old->hash_identifiers != new->hash_identifiers)
        return "hash_identifiers";
    if (new->hash_identifiers &&
        old->identity.user_id_sha256_email_ip != new->identity.user_id_sha256_email_ip)
        return "identity.user_id";
    return NULL;
}

bool sl_startup_files(struct sl_settings *settings, bool says)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    uint32_t workers = settings->workers ? settings->workers : uv_available_parallelism();
    rlim_t own = FILES_OF_OUR_OWN + (rlim_t)workers * FILES_OF_A_WORKER;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur <= own ||
        settings->max_connections <= limit.rlim_cur - own)
        return true;
    settings->max_connections = (uint32_t)(limit.rlim_cur - own);
    if (says)
        fprintf(stderr,
                "sluice: note: `max_connections` is %u here: this process may open %llu files "
                "(`ulimit -Hn`, LimitNOFILE=)\n",
                settings->max_connections, (unsigned long long)limit.rlim_cur);
    return false;
}

void sl_startup_listen(struct sl_settings *settings, const struct sl_serve_config *config)
{
    if (config->http)
        settings->http.address = config->http;
    if (config->grpc)
        settings->grpc.address = config->grpc;
    if (config->resp)
        settings->resp.address = config->resp;
}
