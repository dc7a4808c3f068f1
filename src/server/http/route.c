/* The table of HTTP routes: see route.h. */
#include "server/http/route.h"

#include "server/conn.h"
#include "server/front.h"
#include "server/job.h"
#include "server/worker.h"

#define JSON_IS "application/json"

#define READ   "GET, HEAD"
#define CHANGE "GET, HEAD, PUT, DELETE"
#define ADMIN  .takes_json = true, .call = sl_call_admin
/* A thing that is changed by its name. */
#define NAMED .has_stars = true, .allow = CHANGE, .bodies = "PUT", .has_tag = true, ADMIN

const struct sl_route sl_routes[] = {
    { SL_TEXT("/v1/check"), .allow = "POST", .takes_json = true, .call = sl_call_check },
    { SL_TEXT("/v1/authorize"), .has_below = true, .call = sl_call_authorize },
    { SL_TEXT("/v1/reserve"), .allow = "POST", .takes_json = true, .call = sl_call_reserve },
    { SL_TEXT("/v1/commit"), .allow = "POST", .takes_json = true, .call = sl_call_commit },
    { SL_TEXT("/v1/cancel"), .allow = "POST", .takes_json = true, .call = sl_call_cancel },
    { SL_TEXT("/healthz"), .allow = READ, .call = sl_call_health },
    { SL_TEXT("/readyz"), .allow = READ, .call = sl_call_ready },
    { SL_TEXT("/metrics"), .allow = READ, .call = sl_call_metrics },
    { SL_TEXT("/openapi.json"), .allow = READ, .call = sl_call_openapi },
    { SL_TEXT("/"), .allow = READ, .call = sl_call_page },
    { SL_TEXT("/dashboard/*"), .has_stars = true, .allow = READ, .call = sl_call_page },

    { SL_TEXT("/v1/outcomes"), .allow = "POST", .bodies = "POST", ADMIN, .run = sl_run_outcomes,
      .tenants = "POST" },
    { SL_TEXT("/v1/users/*"), NAMED, .run = sl_run_user, .tenants = CHANGE },
    { SL_TEXT("/v1/rules"), .allow = READ, ADMIN, .run = sl_run_rules, .tenants = READ },
    { SL_TEXT("/v1/rules/*"), NAMED, .run = sl_run_rule, .tenants = CHANGE },
    { SL_TEXT("/v1/tiers"), .allow = READ, ADMIN, .run = sl_run_tiers },
    { SL_TEXT("/v1/tiers/*"), NAMED, .run = sl_run_tier },
    { SL_TEXT("/v1/exemptions"), .allow = "GET, HEAD, POST, DELETE", .bodies = "POST, DELETE",
      ADMIN, .run = sl_run_exemptions },
    { SL_TEXT("/v1/tenants"), .allow = READ, ADMIN, .run = sl_run_tenants },
    { SL_TEXT("/v1/tenants/*"), NAMED, .run = sl_run_tenant, .tenants = READ },
    { SL_TEXT("/v1/tenants/*/keys"), .has_stars = true, .allow = "POST", .bodies = "POST", ADMIN,
      .run = sl_run_tenant_keys },
    { SL_TEXT("/v1/tenants/*/keys/*"), .has_stars = true, .allow = "DELETE", ADMIN,
      .run = sl_run_tenant_key },
    { SL_TEXT("/v1/tenants/*/rules"), .has_stars = true, .allow = READ, ADMIN,
      .run = sl_run_tenant_rules, .tenants = READ },
    { SL_TEXT("/v1/tenants/*/rules/*"), NAMED, .run = sl_run_tenant_rule, .tenants = CHANGE },
    { SL_TEXT("/v1/stats"), .allow = READ, ADMIN, .run = sl_run_stats },
    { SL_TEXT("/v1/look"), .allow = "POST", .bodies = "POST", ADMIN, .run = sl_run_look,
      .looks = true },
    { SL_TEXT("/v1/reload"), .allow = "POST", ADMIN, .run = sl_run_reload },
    { SL_TEXT("/v1/reset"), .allow = "POST", .bodies = "POST", ADMIN, .run = sl_run_reset,
      .tenants = "POST" },
    { SL_TEXT("/v1/audit"), .allow = READ, ADMIN, .run = sl_run_audit },
    { .allow = NULL },
};

bool sl_path_matches(struct sluice_text pattern, struct sluice_text path, struct sluice_text *parts)
{
    size_t at = 0, part = 0;
    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.at[i] != '*') {
            if (at >= path.len || path.at[at++] != pattern.at[i])
                return false;
            continue;
        }
        const char *start = path.at + at;
        while (at < path.len && path.at[at] != '/')
            at++;
        parts[part] = (struct sluice_text){ start, (size_t)(path.at + at - start) };
        if (parts[part++].len == 0)
            return false;
    }
    return at == path.len;
}

const struct sl_route *sl_route_find(struct sluice_text path)
{
    struct sluice_text parts[SL_JOB_PARTS_MAX];
    for (const struct sl_route *route = sl_routes; route->path.at; route++) {
        size_t len = route->path.len;
        bool is_longer = route->has_below && path.len > len && path.at[len] == '/';
        if (path.len == len || is_longer) {
            if (memcmp(path.at, route->path.at, len) == 0)
                return route;
        }
        if (route->has_stars && sl_path_matches(route->path, path, parts))
            return route;
    }
    return NULL;
}

/* No Content-Type is fine too: JSON is all it can be. */
static bool is_json(struct sluice_text type)
{
    if (!type.at)
        return true;
    struct sluice_text name = type;
    const char *semicolon = memchr(type.at, ';', type.len);
    if (semicolon)
        name.len = (size_t)(semicolon - type.at);
    while (name.len && (name.at[name.len - 1] == ' ' || name.at[name.len - 1] == '\t'))
        name.len--;
    return sl_http_name_is(name, SL_TEXT(JSON_IS));
}

/* Methods are case-sensitive. */
bool sl_methods_have(const char *methods, struct sluice_text method)
{
    const char *at = methods;
    for (; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        size_t len = strcspn(at, ",");
        if (sl_text_equal(method, (struct sluice_text){ at, len }))
            return true;
    }
    return false;
}

bool sl_route_accepts(const struct sl_route *route, struct sl_message *message)
{
    const struct sl_http_head *head = message->head;
    if (!route)
        return sl_message_problem(
            message, 404, "There is nothing at this path; /openapi.json lists what there is.");
    if (route->allow && !sl_methods_have(route->allow, head->method)) {
        message->call->allow = route->allow;
        return sl_message_problem(message, 405,
                                  "This path has no such method; see `Allow` for its own.");
    }
    if (route->takes_json && !is_json(head->known[SL_HTTP_CONTENT_TYPE]))
        return sl_message_problem(message, 415, "Send JSON, with `Content-Type: " JSON_IS "`.");
    return true;
}
