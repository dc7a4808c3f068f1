/* Patterns of paths with their stars, and lists of methods. */
#include "server/http/route.h"
#include "server/job.h"

#include "unit/base/unit.h"

/* In memory of exactly its size: one byte further is seen. */
static struct sluice_text exactly(const char *text)
{
    size_t len = strlen(text);
    char *at = malloc(len ? len : 1);
    assert_non_null(at);
    memcpy(at, text, len);
    return (struct sluice_text){ at, len };
}

static void free_text(struct sluice_text text)
{
    free((void *)(uintptr_t)text.at);
}

TEST(a_star_is_one_segment_that_is_not_empty)
{
    static const struct {
        const char *pattern, *path;
        const char *parts[SL_JOB_PARTS_MAX]; /* "-" first: it does not match */
    } rows[] = {
        { "/a", "/a", { "", "" } },
        { "/a", "/b", { "-" } },
        { "/a", "/", { "-" } },
        { "/a", "", { "-" } },
        { "/a", "/ab", { "-" } },
        { "/a", "/a/", { "-" } },
        { "/a", "/A", { "-" } },
        { "/ab", "/a", { "-" } },
        { "/a/*", "/a/x", { "x" } },
        { "/a/*", "/a/*", { "*" } },
        { "/a/*", "/a/x%2Fy", { "x%2Fy" } },
        { "/a/*", "/a/..", { ".." } },
        { "/a/*", "/a/", { "-" } },
        { "/a/*", "/a", { "-" } },
        { "/a/*", "/a//", { "-" } },
        { "/a/*", "/a/x/", { "-" } },
        { "/a/*", "/a/x/y", { "-" } },
        { "/a/*/k", "/a/x/k", { "x" } },
        { "/a/*/k", "/a/k/k", { "k" } },
        { "/a/*/k", "/a//k", { "-" } },
        { "/a/*/k", "/a/x/kk", { "-" } },
        { "/a/*/k", "/a/x/", { "-" } },
        { "/a/*/k", "/a/x", { "-" } },
        { "/a/*/k/*", "/a/x/k/y", { "x", "y" } },
        { "/a/*/k/*", "/a/x/k/", { "-" } },
        { "/a/*/k/*", "/a/x/k", { "-" } },
        { "/a/*/k/*", "/a//k/y", { "-" } },
        { "/a/*/k/*", "/a/x/k/y/z", { "-" } },
        { "/a/*/k/*", "/a/x/y/k/z", { "-" } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text parts[SL_JOB_PARTS_MAX] = { { 0 } };
        struct sluice_text pattern = exactly(rows[i].pattern), path = exactly(rows[i].path);
        bool matches = sl_path_matches(pattern, path, parts);
        SAME(rows[i].path, matches, strcmp(rows[i].parts[0], "-") != 0);
        for (size_t j = 0; matches && j < SL_JOB_PARTS_MAX; j++)
            SAME_TEXT(rows[i].path, parts[j], rows[i].parts[j] ? rows[i].parts[j] : "");
        free_text(pattern);
        free_text(path);
    }
}

/* Two rows never fit one path: which comes first does not matter. */
TEST(every_path_of_the_api_has_one_row)
{
    static const struct {
        const char *path, *row; /* NULL: none */
    } rows[] = {
        { "/v1/rules", "/v1/rules" },
        { "/v1/rules/a", "/v1/rules/*" },
        { "/v1/rules/", NULL },
        { "/v1/rules/a/b", NULL },
        { "/v1/rules/a%2Fb", "/v1/rules/*" },
        { "/v1/users", NULL },
        { "/v1/users/u1", "/v1/users/*" },
        { "/v1/tenants/a", "/v1/tenants/*" },
        { "/v1/tenants/keys", "/v1/tenants/*" },
        { "/v1/tenants/keys/keys", "/v1/tenants/*/keys" },
        { "/v1/tenants/a/keys/b", "/v1/tenants/*/keys/*" },
        { "/v1/tenants/a/rules/b", "/v1/tenants/*/rules/*" },
        { "/v1/tenants/a/tiers", NULL },
        { "/v1/tenants//rules", NULL },
        { "/v1/tenants/a/rules/", NULL },
        { "/v1/exemptions/a", NULL },
        { "/v1/reset/", NULL },
        { "/", "/" },
        { "/dashboard", NULL },
        { "/dashboard/", NULL },
        { "/dashboard/main.js", "/dashboard/*" },
        { "/dashboard/main.js/", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text path = exactly(rows[i].path), parts[SL_JOB_PARTS_MAX];
        const struct sl_route *route = sl_route_find(path);
        SAME(rows[i].path, route != NULL, rows[i].row != NULL);
        if (route)
            SAME_TEXT(rows[i].path, route->path, rows[i].row);
        size_t count = 0;
        for (const struct sl_route *each = sl_routes; each->path.at; each++)
            count += sl_path_matches(each->path, path, parts);
        SAME(rows[i].path, count, rows[i].row != NULL);
        free_text(path);
    }
}

/* More would be written past the array's end. */
TEST(no_row_has_more_stars_than_a_job_has_room_for)
{
    for (const struct sl_route *route = sl_routes; route->path.at; route++) {
        size_t stars = 0;
        for (size_t i = 0; i < route->path.len; i++)
            stars += route->path.at[i] == '*';
        assert_true(stars <= SL_JOB_PARTS_MAX);
        SAME(route->path.at, route->run != NULL, route->call == sl_call_admin);
    }
}

TEST(a_method_is_in_a_list_as_a_whole_or_not_at_all)
{
    static const struct {
        const char *methods, *method;
        bool is_in;
    } rows[] = {
        { "GET", "GET", true },
        { "GET", "get", false },
        { "GET", "GE", false },
        { "GET", "GETX", false },
        { "GET", "", false },
        { "GET", "ET", false },
        { "GET, HEAD", "GET", true },
        { "GET, HEAD", "HEAD", true },
        { "GET, HEAD", "HEA", false },
        { "GET, HEAD", "EAD", false },
        { "GET, HEAD", "GET, HEAD", false },
        { "GET, HEAD", "GET,", false },
        { "GET, HEAD", ", HEAD", false },
        { "GET, HEAD", " HEAD", false },
        { "GET, HEAD", "POST", false },
        { "GET, HEAD, PUT, DELETE", "PUT", true },
        { "GET, HEAD, PUT, DELETE", "DELETE", true },
        { "GET, HEAD, PUT, DELETE", "DELET", false },
        { "GET, HEAD, PUT, DELETE", "DELETED", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sluice_text method = exactly(rows[i].method);
        SAME(rows[i].method, sl_methods_have(rows[i].methods, method), rows[i].is_in);
        free_text(method);
    }
}

/* As docs/admin.md has it: what is not listed there takes the admin's token. */
TEST(tenants_may_use_these_and_nothing_else)
{
    static const struct {
        const char *path, *methods;
    } rows[] = {
        { "/v1/outcomes", "POST" },
        { "/v1/users/*", "GET, HEAD, PUT, DELETE" },
        { "/v1/rules", "GET, HEAD" },
        { "/v1/rules/*", "GET, HEAD, PUT, DELETE" },
        { "/v1/tenants/*", "GET, HEAD" },
        { "/v1/tenants/*/rules", "GET, HEAD" },
        { "/v1/tenants/*/rules/*", "GET, HEAD, PUT, DELETE" },
        { "/v1/reset", "POST" },
    };
    for (const struct sl_route *route = sl_routes; route->path.at; route++) {
        const char *wanted = NULL;
        for (size_t i = 0; i < COUNT(rows); i++)
            if (sl_text_is(route->path, rows[i].path))
                wanted = rows[i].methods;
        SAME(route->path.at, route->tenants != NULL, wanted != NULL);
        if (wanted)
            assert_string_equal(route->tenants, wanted);
    }
}
