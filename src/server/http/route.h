/* The table of HTTP routes: one row for each path. Look-up, the `Allow` of a 405 and the handling
 * of bodies are made from it. */
#ifndef SL_SERVER_HTTP_ROUTE_H
#define SL_SERVER_HTTP_ROUTE_H

#include "server/http/reply.h"
#include "server/message.h"

struct sl_job;
struct sl_control;

/* A call of the admin API, on the main thread. */
typedef void sl_run(struct sl_control *control, struct sl_job *job);

struct sl_route {
    struct sluice_text path; /* a star matches one segment that is not empty */
    bool has_stars;          /* in its path */
    bool has_below;          /* paths below it too */
    const char *allow;       /* its methods; NULL: any */
    bool takes_json;         /* its body is JSON */

    /* Fills in message->call and its requests, and adds the call to the round. */
    void (*call)(struct sl_message *message);

    /* For calls of the admin API (`call` is sl_call_admin): what the main thread runs. */
    sl_run *run;
    bool looks;          /* it changes nothing, though it is no GET: for readers too */
    const char *tenants; /* methods that tenants may use; NULL: none */
    const char *bodies;  /* those that take a body; NULL: none */
    bool has_tag;        /* it answers with an ETag, so `If-Match` may be sent */
};

extern const struct sl_route sl_routes[]; /* ended by a row without a path */

/* Returns NULL if there is no such path. */
const struct sl_route *sl_route_find(struct sluice_text path);

/* Does the route take this message? Else its call becomes a problem, which is not added yet. The
 * body may still be on its way. */
bool sl_route_accepts(const struct sl_route *route, struct sl_message *message);

/* ---- the routes' own files ---- */

enum { SL_ARRAY_MAX = 1000 }; /* requests in one */

void sl_call_check(struct sl_message *message);     /* route_check.c */
void sl_call_authorize(struct sl_message *message); /* route_authorize.c */
void sl_call_reserve(struct sl_message *message);   /* route_reserve.c */
void sl_call_commit(struct sl_message *message);
void sl_call_cancel(struct sl_message *message);
void sl_call_health(struct sl_message *message); /* route_status.c */
void sl_call_ready(struct sl_message *message);
void sl_call_metrics(struct sl_message *message);
void sl_call_openapi(struct sl_message *message);
void sl_call_page(struct sl_message *message);  /* route_dashboard.c */
void sl_call_admin(struct sl_message *message); /* route_admin.c */

/* ---- what the main thread does for the admin API ---- */

sl_run sl_run_rules, sl_run_rule, sl_run_tenant_rules, sl_run_tenant_rule;   /* admin_rules.c */
sl_run sl_run_tiers, sl_run_tier;                                            /* admin_tiers.c */
sl_run sl_run_exemptions;                                                    /* admin_exempt.c */
sl_run sl_run_user;                                                          /* admin_users.c */
sl_run sl_run_outcomes;                                                      /* admin_outcomes.c */
sl_run sl_run_tenants, sl_run_tenant, sl_run_tenant_keys, sl_run_tenant_key; /* admin_tenants.c */
sl_run sl_run_stats;                                                         /* admin_stats.c */
sl_run sl_run_look;                                                          /* admin_look.c */
sl_run sl_run_audit;                                                         /* admin_audit.c */
sl_run sl_run_reload, sl_run_reset;                                          /* admin_reset.c */

/* Does the path match the pattern? parts[i] is then the i-th star's segment. */
bool sl_path_matches(struct sluice_text pattern, struct sluice_text path,
                     struct sluice_text *parts);

/* Is the method in a list such as "GET, HEAD"? */
bool sl_methods_have(const char *methods, struct sluice_text method);

/* ---- what they share ---- */

/* One request off the body; false: refused already. */
bool sl_message_read_request(struct sl_message *message, struct sluice_request *out);

#endif
