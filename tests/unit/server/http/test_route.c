/* The table of routes: which handler a message goes to, and which messages are refused
 * before one is called. */
#include "server/http/route.h"

#include "unit/server/on_stage.h"

static const char yaml[] = "rules: [{ name: all, per: global, limit: 1000000/h }]\n";

static const char *const methods[] = { "GET",   "HEAD",  "POST",  "PUT",  "DELETE", "OPTIONS",
                                       "PATCH", "TRACE", "QUERY", "post", "Get",    "GETX",
                                       "GE",    "P",     "HEA",   "D",    "BREW" };

/* The rows as docs/server.md and docs/admin.md have them. */
static const struct {
    const char *path;
    const char *allow; /* NULL: any */
    bool takes_json;
} rows[] = {
    { "/v1/check", "POST", true },
    { "/v1/authorize", NULL, false },
    { "/v1/reserve", "POST", true },
    { "/v1/commit", "POST", true },
    { "/v1/cancel", "POST", true },
    { "/healthz", "GET, HEAD", false },
    { "/readyz", "GET, HEAD", false },
    { "/metrics", "GET, HEAD", false },
    { "/openapi.json", "GET, HEAD", false },
    { "/", "GET, HEAD", false },
    { "/dashboard/*", "GET, HEAD", false },
#define CHANGE "GET, HEAD, PUT, DELETE"
    { "/v1/outcomes", "POST", true },
    { "/v1/users/*", CHANGE, true },
    { "/v1/rules", "GET, HEAD", true },
    { "/v1/rules/*", CHANGE, true },
    { "/v1/tiers", "GET, HEAD", true },
    { "/v1/tiers/*", CHANGE, true },
    { "/v1/exemptions", "GET, HEAD, POST, DELETE", true },
    { "/v1/tenants", "GET, HEAD", true },
    { "/v1/tenants/*", CHANGE, true },
    { "/v1/tenants/*/keys", "POST", true },
    { "/v1/tenants/*/keys/*", "DELETE", true },
    { "/v1/tenants/*/rules", "GET, HEAD", true },
    { "/v1/tenants/*/rules/*", CHANGE, true },
    { "/v1/stats", "GET, HEAD", true },
    { "/v1/look", "POST", true },
    { "/v1/reload", "POST", true },
    { "/v1/reset", "POST", true },
    { "/v1/audit", "GET, HEAD", true },
};

static struct answer *answer_to_line(const char *method, const char *path, const char *fields)
{
    char text[512];
    bool is_head = strcmp(method, "HEAD") == 0;
    snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, path, fields);
    visitor_says(&visitor, sl_text(text));
    assert_int_equal(read_answers_of(&visitor, is_head ? "H" : ""), 1);
    return &answers[0];
}

/* ---- the table ---- */

ON_STAGE(the_table_has_these_rows_and_no_other, yaml)
{
    size_t count = 0;
    for (const struct sl_route *route = sl_routes; route->path.at; route++, count++) {
        assert_true(count < COUNT(rows));
        SAME_TEXT("path", route->path, rows[count].path);
        assert_true(route->call != NULL);
        SAME(rows[count].path, route->takes_json, rows[count].takes_json);
        SAME(rows[count].path, route->has_below, strcmp(rows[count].path, "/v1/authorize") == 0);
        if (rows[count].allow)
            assert_string_equal(route->allow, rows[count].allow);
        else
            assert_null(route->allow);
    }
    assert_int_equal(count, COUNT(rows));
}

ON_STAGE(a_path_is_found_as_it_is_written_and_not_otherwise, yaml)
{
    static const char *const others[] = {
        "//",          "*",          "/v1",           "/v1/",           "/v1/checks",
        "/v1/chec",    "/v1/check/", "/V1/check",     "/v1/Check",      "/v1//check",
        "/healthz/",   "/healthz/x", "/metrics.json", "/openapi",       "/v1/authorizex",
        "/v1/authori", "//healthz",  "/v1/%63heck",   "/v1/authorize;", "/readyz%00",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct sl_route *route = sl_route_find(sl_text(rows[i].path));
        assert_non_null(route);
        SAME_TEXT(rows[i].path, route->path, rows[i].path);
    }
    for (size_t i = 0; i < COUNT(others); i++)
        if (sl_route_find(sl_text(others[i])))
            fail_msg("%s was found", others[i]);
    assert_null(sl_route_find(SL_TEXT("")));
}

ON_STAGE(all_below_authorize_is_its_own, yaml)
{
    static const char *const paths[] = { "/v1/authorize", "/v1/authorize/", "/v1/authorize/a/b",
                                         "/v1/authorize//", "/v1/authorize/v1/check" };
    for (size_t i = 0; i < COUNT(paths); i++) {
        const struct sl_route *route = sl_route_find(sl_text(paths[i]));
        assert_non_null(route);
        SAME_TEXT(paths[i], route->path, "/v1/authorize");
    }
}

/* ---- refused ---- */

static bool is_allowed(const char *allow, const char *method)
{
    char text[64], *rest = text;
    if (!allow)
        return true;
    strcpy(text, allow);
    for (char *word = strtok_r(rest, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest))
        if (strcmp(word, method) == 0)
            return true;
    return false;
}

ON_STAGE(every_row_answers_its_methods_and_405_with_allow_to_others, yaml)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t j = 0; j < COUNT(methods); j++) {
            struct answer *answer = answer_to_line(methods[j], rows[i].path, "");
            bool is_refused = answer->status == 405;
            SAME(rows[i].path, is_refused, !is_allowed(rows[i].allow, methods[j]));
            if (is_refused)
                SAME_TEXT(rows[i].path, field_of(answer, "Allow"), rows[i].allow);
            else
                SAME(rows[i].path, field_of(answer, "Allow").at != NULL, false);
            SAME(rows[i].path, answer->closes, false);
        }
    }
}

ON_STAGE(a_path_that_is_not_there_is_404_whatever_the_method, yaml)
{
    for (size_t i = 0; i < COUNT(methods); i++) {
        struct answer *answer = answer_to_line(methods[i], "/v2/check", "");
        SAME(methods[i], answer->status, 404);
        SAME(methods[i], answer->closes, false);
    }
    assert_int_equal(answer_to_line("OPTIONS", "*", "")->status, 404);
}

ON_STAGE(the_query_is_no_part_of_the_path, yaml)
{
    assert_int_equal(answer_to_line("GET", "/healthz?x=/y", "")->status, 200);
    assert_int_equal(answer_to_line("GET", "/healthz?", "")->status, 200);
    assert_int_equal(answer_to_line("GET", "http://a/healthz", "")->status, 200);
    assert_int_equal(answer_to_line("GET", "/nowhere?/healthz", "")->status, 404);
}

ON_STAGE(a_body_of_another_type_is_415_and_one_without_a_type_is_read, yaml)
{
    static const struct {
        const char *fields;
        bool is_json;
    } types[] = {
        { "", true },
        { "Content-Type: application/json\r\n", true },
        { "content-type: Application/JSON\r\n", true },
        { "Content-Type: application/json;charset=utf-8\r\n", true },
        { "Content-Type: application/json \t; charset=utf-8\r\n", true },
        { "Content-Type: text/json\r\n", false },
        { "Content-Type: application/jsonp\r\n", false },
        { "Content-Type: application/jso\r\n", false },
        { "Content-Type: application/json, text/html\r\n", false },
        { "Content-Type: application/x-www-form-urlencoded\r\n", false },
        { "Content-Type:\r\n", false },
        { "Content-Type: ;application/json\r\n", false },
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        for (size_t j = 0; j < COUNT(rows); j++) {
            const char *method = is_allowed(rows[j].allow, "POST")  ? "POST"
                                 : is_allowed(rows[j].allow, "GET") ? "GET"
                                                                    : "DELETE";
            struct answer *answer = answer_to_line(method, rows[j].path, types[i].fields);
            bool is_refused = rows[j].takes_json && !types[i].is_json;
            SAME(types[i].fields, answer->status == 415, is_refused);
            SAME(types[i].fields, answer->closes, false);
        }
    }
}

/* 404 before 405 before 415: what can be helped first is said first. */
ON_STAGE(the_path_is_wrong_before_the_method_and_the_method_before_the_type, yaml)
{
    assert_int_equal(answer_to_line("PUT", "/v1/chek", "Content-Type: a/b\r\n")->status, 404);
    assert_int_equal(answer_to_line("PUT", "/v1/check", "Content-Type: a/b\r\n")->status, 405);
    assert_int_equal(answer_to_line("POST", "/v1/check", "Content-Type: a/b\r\n")->status, 415);
}

ON_STAGE(what_was_refused_has_taken_nothing, yaml)
{
    answer_to_line("PUT", "/v1/check", "");
    answer_to_line("POST", "/v1/check", "Content-Type: a/b\r\n");
    answer_to_post("/v1/check", "[{}, {}, {\"cost\": \"x\"}]");
    answer_to_post("/v1/check", "{\"at_us\": 1}");
    answer_to_post("/v1/reserve", "{\"peek\": true}");
    assert_int_equal(model.slot_count, 0);
    assert_int_equal(model.decide_calls, 0);
    struct answer *answer = answer_to_post("/v1/check", "{}");
    assert_int_equal(number_in(answer->body, "remaining"), 999999);
}

/* ---- draining ---- */

ON_STAGE(readiness_ends_when_draining_begins_and_health_does_not, yaml)
{
    assert_int_equal(answer_to_line("GET", "/readyz", "")->status, 200);
    stage.workers[0].is_draining = true;
    struct answer *answer = answer_to_line("GET", "/readyz", "");
    assert_int_equal(answer->status, 503);
    SAME_TEXT("type", field_of(answer, "Content-Type"), "application/problem+json");
    assert_true(answer->closes);
    start_over();
    answer = answer_to_line("GET", "/healthz", "");
    assert_int_equal(answer->status, 200);
    assert_true(answer->closes);
}
