/* The roles that may read and change what the API keeps: tokens, keys, this machine. The
 * jobs that result are checked, and not run. */
#include "unit/server/known_callers.h"

static const char open_to_local[] = SOME_RULES;
static const char with_tokens[] = WITH_TOKENS SOME_RULES;
static const char with_reader[] = WITH_READER SOME_RULES;

static const char *const role_names[] = { "nobody", "tenant", "reader", "admin" };

/* The role that a job came with, and its tenant; or the status. The job is dropped. */
static const char *role_for(const char *line, const char *fields)
{
    static char text[64];
    char *message = call_text(line, fields, NULL);
    size_t count = says(message);
    struct sl_job *job = sl_jobs_take(&stage.server.jobs);
    assert_int_equal(count, job ? 0 : 1);
    if (job) {
        snprintf(text, sizeof text, "%s%s%s", role_names[job->role], job->tenant ? " " : "",
                 job->tenant ? job->tenant : "");
        assert_null(job->next);
        assert_ptr_equal(visitor.conn->job, job);
        visitor.conn->job = NULL; /* as if it had been answered */
        sl_job_free(job);
    } else {
        struct sluice_text how = field_of(&answers[0], "WWW-Authenticate");
        snprintf(text, sizeof text, "%u%s%.*s", answers[0].status, how.at ? " " : "", (int)how.len,
                 how.len ? how.at : "");
    }
    free(message);
    return text;
}

struct row {
    const char *fields, *role;
};

/* The counts are forgotten in between: guessing is another test's. */
static void check_rows(const char *peer, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        start_over();
        visitor_comes_from(&visitor, peer);
        const char *role = role_for("GET /v1/rules", rows[i].fields);
        if (strcmp(role, rows[i].role) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].fields, role, rows[i].role);
    }
}

#define WRONG "401 Bearer error=\"invalid_token\""

WITH_TENANTS(without_tokens_this_machine_is_the_admin, open_to_local)
{
    static const struct row rows[] = {
        { "", "admin" },
        { AS_ADMIN, WRONG }, /* what is not configured is a wrong one */
        { "Authorization: Basic YTpi\r\n", WRONG },
        { "Authorization:\r\n", WRONG },
        { AS_ACME, "tenant acme" },
        { AS_BOLT, "tenant bolt" },
        { AS_UNKNOWN, "401 Bearer" },
        { "X-API-Key:\r\n", "401 Bearer" },
        { AS_ADMIN AS_ACME, WRONG },
        { "Via: 1.1 a\r\n", "403" },
        { "Via: 1.1 a\r\n" AS_ACME, "tenant acme" },
    };
    check_rows("127.0.0.1", rows, COUNT(rows));
    check_rows(NULL, rows, COUNT(rows));
}

WITH_TENANTS(without_tokens_another_machine_is_a_tenant_or_has_no_role, open_to_local)
{
    static const struct row rows[] = {
        { "", "403" },
        { AS_ADMIN, WRONG },
        { AS_ACME, "tenant acme" },
        { AS_UNKNOWN, "401 Bearer" },
        { AS_ADMIN AS_ACME, WRONG },
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
}

WITH_TENANTS(with_tokens_the_token_decides_and_not_the_address, with_tokens)
{
    static const char *const peers[] = { "127.0.0.1", "192.0.2.1", NULL };
    static const struct row rows[] = {
        { "", "401 Bearer" },
        { AS_ADMIN, "admin" },
        { AS_READER, "reader" },
        { AS_NOBODY, WRONG },
        { "Authorization: bearer " ADMIN_TOKEN "\r\n", "admin" },
        { "authorization: BEARER  \t " ADMIN_TOKEN " \r\n", "admin" },
        { "Authorization: Bearer\t" ADMIN_TOKEN "\r\n", "admin" },
        { "Authorization: " ADMIN_TOKEN "\r\n", WRONG },
        { "Authorization: Bearer" ADMIN_TOKEN "\r\n", WRONG },
        { "Authorization: Bearer\r\n", WRONG },
        { "Authorization: Basic " ADMIN_TOKEN "\r\n", WRONG },
        { "Authorization: Bearer " ADMIN_TOKEN "x\r\n", WRONG },
        { "Authorization: Bearer " ADMIN_TOKEN ", x\r\n", WRONG },
        { "X-API-Key: " ADMIN_TOKEN "\r\n", "401 Bearer" },
        { AS_ACME, "tenant acme" },
        { AS_UNKNOWN, "401 Bearer" },
        { "Via: 1.1 a\r\nOrigin: null\r\n" AS_ADMIN, "admin" },
    };
    for (size_t i = 0; i < COUNT(peers); i++)
        check_rows(peers[i], rows, COUNT(rows));
}

WITH_TENANTS(of_a_token_and_a_key_the_token_decides, with_tokens)
{
    static const struct row rows[] = {
        { AS_ADMIN AS_ACME, "admin" },    { AS_ACME AS_ADMIN, "admin" },
        { AS_ADMIN AS_UNKNOWN, "admin" }, { AS_READER AS_ACME, "reader" },
        { AS_NOBODY AS_ACME, WRONG },
    };
    check_rows("192.0.2.1", rows, COUNT(rows));
}

WITH_TENANTS(what_is_there_twice_is_400, with_tokens)
{
    static const struct row rows[] = {
        { AS_ADMIN AS_ADMIN, "400" },        { AS_ADMIN AS_NOBODY, "400" },
        { AS_ACME AS_ACME, "400" },          { AS_ACME AS_BOLT, "400" },
        { AS_ADMIN AS_ACME AS_ACME, "400" },
    };
    check_rows("127.0.0.1", rows, COUNT(rows));
}

WITH_TENANTS(a_readers_token_alone_leaves_this_machine_the_admin, with_reader)
{
    static const struct row local[] = {
        { "", "admin" },
        { AS_READER, "reader" },
        { AS_ADMIN, WRONG },
        { AS_ACME, "tenant acme" },
    };
    static const struct row remote[] = { { "", "403" }, { AS_READER, "reader" } };
    check_rows("127.0.0.1", local, COUNT(local));
    check_rows("192.0.2.1", remote, COUNT(remote));
}

/* ---- what each role may do ---- */

WITH_TENANTS(a_reader_looks_and_changes_nothing, with_tokens)
{
    static const struct {
        const char *line, *role;
    } rows[] = {
        { "GET /v1/rules", "reader" },
        { "GET /v1/rules/a", "reader" },
        { "GET /v1/tenants", "reader" },
        { "GET /v1/users/u", "reader" },
        { "PUT /v1/rules/a", "403" },
        { "DELETE /v1/rules/a", "403" },
        { "POST /v1/exemptions", "403" },
        { "POST /v1/reset", "403" },
        { "POST /v1/reload", "403" },
        { "POST /v1/outcomes", "403" },
        { "PUT /v1/rules/a?dry_run=true", "403" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(role_for(rows[i].line, AS_READER), rows[i].role);
}

WITH_TENANTS(a_tenant_does_what_its_rows_say_and_the_admin_everything, with_tokens)
{
    static const struct {
        const char *line;
        bool is_tenants;
    } rows[] = {
        { "GET /v1/rules", true },
        { "PUT /v1/rules/a", true },
        { "DELETE /v1/rules/a", true },
        { "GET /v1/users/u", true },
        { "PUT /v1/users/u", true },
        { "POST /v1/outcomes", true },
        { "POST /v1/reset", true },
        { "GET /v1/tenants/acme", true },
        { "GET /v1/tenants/bolt", true }, /* which is answered as if it were not there */
        { "PUT /v1/tenants/acme/rules/a", true },
        { "GET /v1/tenants", false },
        { "PUT /v1/tenants/acme", false },
        { "DELETE /v1/tenants/acme", false },
        { "POST /v1/tenants/acme/keys", false },
        { "DELETE /v1/tenants/acme/keys/0123456789ab", false },
        { "GET /v1/tiers", false },
        { "GET /v1/tiers/pro", false },
        { "GET /v1/exemptions", false },
        { "POST /v1/exemptions", false },
        { "POST /v1/reload", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *wanted = rows[i].is_tenants ? "tenant acme" : "403";
        if (strcmp(role_for(rows[i].line, AS_ACME), wanted) != 0)
            fail_msg("%s", rows[i].line);
        assert_string_equal(role_for(rows[i].line, AS_ADMIN), "admin");
    }
}

/* ---- what is said ---- */

WITH_TENANTS(no_answer_has_the_token_or_the_key, with_tokens)
{
    static const char *const fields[] = { "Authorization: Bearer QZXQZXQZXQZXQZXQZX\r\n",
                                          "X-API-Key: QZXQZXQZXQZX\r\n",
                                          "Authorization: QZXQZXQZXQZX\r\n" };
    for (size_t i = 0; i < COUNT(fields); i++) {
        char *text = call_text("GET /v1/rules", fields[i], NULL);
        visitor_says(&visitor, sl_text(text));
        assert_null(memmem(visitor.got.at, visitor.got.len, "QZX", 3));
        assert_non_null(memmem(visitor.got.at, visitor.got.len, " 401 ", 5));
        free(text);
    }
}
