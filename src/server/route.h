/* What can be asked over HTTP: one row a path, from which the look-up, 405's
 * `Allow` and the handling of bodies are made. */
#ifndef SL_SERVER_ROUTE_H
#define SL_SERVER_ROUTE_H

#include "server/reply.h"
#include "wire/http_head.h"

/* A whole message, on its way to becoming a call. */
struct sl_message {
    struct sl_round *round;
    struct sl_conn *conn;
    struct sl_call *call;
    const struct sl_http_head *head;
    char *body; /* may be used up */
    size_t body_len;
    const struct sl_route *route;
    struct sluice_text told_ip; /* the address in the body, where there is one */
    bool is_authorize;          /* attributes come from headers, and no token is the admin's */
    bool is_familiar;           /* its secret was good on this connection: it is no guess */
};

struct sl_job;
struct sl_office;

struct sl_route {
    struct sluice_text path; /* a star is a segment that is not empty */
    bool has_stars;          /* in its path */
    bool has_below;          /* paths below it too */
    const char *allow;       /* its methods; NULL: any */
    bool takes_json;         /* a body of that type */

    /* Fills in message->call and its requests, and adds it to the round. */
    void (*call)(struct sl_message *message);

    /* Calls of the admin API (`call` is sl_call_admin): what the main thread does then. */
    void (*run)(struct sl_office *office, struct sl_job *job);
    bool looks;          /* though it is no GET: for readers too */
    const char *tenants; /* methods that tenants may use; NULL: none */
    const char *bodies;  /* those that take a body; NULL: none */
    bool has_tag;        /* `If-Match` has something to be compared with */
};

extern const struct sl_route sl_routes[]; /* ended by a row without a path */

/* NULL: there is no such path. */
const struct sl_route *sl_route_find(struct sluice_text path);

/* Is the message one for this route? Else its call is made a problem; it is not
 * added yet. The body may still be on its way. */
bool sl_route_accepts(const struct sl_route *route, struct sl_message *message);

/* Makes the call a problem and adds it; its requests are taken back. `detail` is
 * static or in the round's memory. */
void sl_message_refuse(struct sl_message *message, uint32_t status, const char *detail);

/* ---- the routes' own files ---- */

enum { SL_ARRAY_MAX = 1000 }; /* requests in one */

void sl_call_check(struct sl_message *message);     /* route_check.c */
void sl_call_authorize(struct sl_message *message); /* route_authorize.c */
void sl_call_reserve(struct sl_message *message);   /* route_reserve.c */
void sl_call_commit(struct sl_message *message);
void sl_call_cancel(struct sl_message *message);
void sl_call_health(struct sl_message *message); /* route_look.c */
void sl_call_ready(struct sl_message *message);
void sl_call_metrics(struct sl_message *message);
void sl_call_openapi(struct sl_message *message);
void sl_call_page(struct sl_message *message);  /* route_page.c */
void sl_call_admin(struct sl_message *message); /* route_admin.c */

/* Is the path one of the pattern's? parts[i] is then the i-th star's segment. */
bool sl_path_matches(struct sluice_text pattern, struct sluice_text path,
                     struct sluice_text *parts);

/* Is the method in a list such as "GET, HEAD"? */
bool sl_methods_have(const char *methods, struct sluice_text method);

/* ---- what they share ---- */

/* One request off the body; false: refused already. */
bool sl_message_read_request(struct sl_message *message, struct sluice_request *out);

struct sl_explained_rows {
    const struct sluice_explained *at; /* NULL: it is not explained */
    size_t count;
};

/* A decision's status, and its JSON with `error` where it is a denial. `before` are
 * members that come first, as in `{"a": 1,`; or nothing. */
uint32_t sl_decision_status(const struct sluice_decision *decision);
void sl_denial_print(struct sl_buffer *out, struct sluice_text before,
                     const struct sluice_decision *decision, struct sl_explained_rows rows);

#endif
