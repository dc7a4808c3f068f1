/* A call of the admin API on its way to the main thread: what the job carries, and what
 * is refused before there is one. */
#include "server/http/route.h"
#include "unit/server/known_callers.h"

static const char yaml[] = SOME_RULES;

static struct sl_job *the_job(void)
{
    struct sl_job *job = stage.server.jobs.first;
    assert_non_null(job);
    assert_null(job->next);
    return job;
}

/* Its bytes are overwritten, as the next message would. */
static void spoil_connection(void)
{
    struct sl_conn *conn = visitor.conn;
    if (conn->in)
        memset(conn->in, '#', conn->in_room);
}

/* ---- the job ---- */

WITH_TENANTS(the_job_has_copies_of_everything, yaml)
{
    visitor_comes_from(&visitor, "127.0.0.1");
    char *text = call_text("PUT /v1/tenants/acme/rules/a%20b?dry_run=true&x=y",
                           "If-Match: \"r1\", \"r2\"\r\nif-none-match: *\r\nX-API-Key: sk_acme\r\n",
                           "{\"per\": \"user\"}");
    /* A message behind it keeps the bytes where they are. */
    assert_int_equal(visitor_put(&visitor, sl_text(text)), strlen(text));
    visitor_put(&visitor, SL_TEXT("GET /healthz HTTP/1.1\r\n"));
    visitor_turn(&visitor);
    assert_non_null(visitor.conn->in);
    spoil_connection();
    memset(text, '#', strlen(text));
    free(text);
    struct sl_job *job = the_job();
    SAME_TEXT("method", job->method, "PUT");
    SAME_TEXT("tenant", job->parts[0], "acme");
    SAME_TEXT("rule", job->parts[1], "a b");
    SAME_TEXT("query", job->query, "dry_run=true&x=y");
    SAME_TEXT("If-Match", job->if_match, "\"r1\", \"r2\"");
    SAME_TEXT("If-None-Match", job->if_none_match, "*");
    SAME_TEXT("body", job->body, "{\"per\": \"user\"}");
    assert_int_equal(job->body.at[job->body.len], 0);
    assert_int_equal(job->role, SL_ROLE_TENANT);
    assert_string_equal(job->tenant, "acme");
    SAME_TEXT("route", job->route->path, "/v1/tenants/*/rules/*");
    assert_ptr_equal(job->conn, visitor.conn);
    assert_ptr_equal(job->worker, &stage.workers[0]);
    assert_true(job->call.keep_alive);
    assert_false(job->call.is_head || job->call.is_1_0);
}

WITHOUT_TENANTS(what_is_not_there_is_null, yaml)
{
    visitor_comes_from(&visitor, "127.0.0.1");
    char *text = call_text("GET /v1/rules", "", NULL);
    assert_int_equal(says(text), 0);
    free(text);
    struct sl_job *job = the_job();
    assert_null(job->query.at);
    assert_null(job->if_match.at);
    assert_null(job->if_none_match.at);
    assert_null(job->body.at);
    assert_null(job->parts[0].at);
    assert_null(job->tenant);
    assert_int_equal(job->role, SL_ROLE_ADMIN);
}

/* An empty query is one, and so is an empty tag. */
WITHOUT_TENANTS(what_is_empty_is_there, yaml)
{
    visitor_comes_from(&visitor, "127.0.0.1");
    char *text = call_text("PUT /v1/tiers/a?", "If-Match:\r\n", NULL);
    assert_int_equal(says(text), 0);
    free(text);
    struct sl_job *job = the_job();
    assert_non_null(job->query.at);
    assert_non_null(job->if_match.at);
    assert_int_equal(job->query.len + job->if_match.len, 0);
    assert_null(job->body.at);
}

WITHOUT_TENANTS(head_is_asked_as_get_and_answered_without_a_body, yaml)
{
    visitor_comes_from(&visitor, "127.0.0.1");
    char *text = call_text("HEAD /v1/rules", "", NULL);
    assert_int_equal(says(text), 0);
    free(text);
    SAME_TEXT("method", the_job()->method, "GET");
    assert_true(the_job()->call.is_head);
    desk.is_away = false;
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, "H"), 1);
    assert_int_equal(answers[0].status, 200);
    assert_true(answers[0].length > 0);
    struct answer head = answers[0];
    struct answer *got = answer_to_call("GET /v1/rules", "", NULL);
    assert_int_equal(got->length, head.length);
    assert_int_equal(got->body.len, got->length);
}

/* ---- names ---- */

WITHOUT_TENANTS(names_in_a_path_are_decoded_and_rubbish_is_400, yaml)
{
    static const struct {
        const char *path, *name; /* NULL: refused */
    } rows[] = {
        { "/v1/users/a%2Fb", "a/b" }, { "/v1/users/%C3%A9", "\xc3\xa9" },
        { "/v1/users/a+b", "a+b" },   { "/v1/users/%25", "%" },
        { "/v1/users/..", ".." },     { "/v1/users/a?b", "a" },
        { "/v1/users/%", NULL },      { "/v1/users/%zz", NULL },
        { "/v1/users/%00", NULL },    { "/v1/users/a%0d%0aX-Evil:%201", NULL },
        { "/v1/users/%ff", NULL },
    };
    visitor_comes_from(&visitor, "127.0.0.1");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char line[128];
        snprintf(line, sizeof line, "GET %s", rows[i].path);
        char *text = call_text(line, "", NULL);
        SAME(rows[i].path, says(text), !rows[i].name);
        free(text);
        struct sl_job *job = sl_jobs_take(&stage.server.jobs);
        SAME(rows[i].path, job != NULL, rows[i].name != NULL);
        if (!job) {
            SAME(rows[i].path, answers[0].status, 400);
            continue;
        }
        SAME_TEXT(rows[i].path, job->parts[0], rows[i].name);
        visitor.conn->job = NULL;
        sl_job_free(job);
    }
}

/* ---- what is refused at once ---- */

WITHOUT_TENANTS(a_body_without_a_type_is_415_for_that_a_page_can_send, yaml)
{
    static const struct {
        const char *fields;
        uint32_t status; /* 0: it goes on */
    } rows[] = {
        { "Content-Length: 2\r\n\r\n{}", 415 },
        { "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415 },
        { "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 0 },
        { "Content-Type: application/json;charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", 0 },
        { "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 415 },
        { "Content-Length: 0\r\n\r\n", 0 },
        { "\r\n", 0 },
    };
    visitor_comes_from(&visitor, "127.0.0.1");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[512];
        snprintf(text, sizeof text, "PUT /v1/tiers/a HTTP/1.1\r\nHost: localhost\r\n%s",
                 rows[i].fields);
        SAME(rows[i].fields, says(text), rows[i].status != 0);
        struct sl_job *job = sl_jobs_take(&stage.server.jobs);
        SAME(rows[i].fields, job == NULL, rows[i].status != 0);
        if (job) {
            visitor.conn->job = NULL;
            sl_job_free(job);
        } else {
            SAME(rows[i].fields, answers[0].status, rows[i].status);
        }
    }
}

WITHOUT_TENANTS(a_call_that_takes_no_body_is_422_with_one, yaml)
{
    static const struct {
        const char *line;
        bool takes;
    } rows[] = {
        { "GET /v1/rules", false },      { "DELETE /v1/rules/a", false },
        { "POST /v1/reload", false },    { "GET /v1/exemptions", false },
        { "DELETE /v1/users/u", false }, { "DELETE /v1/exemptions", true },
        { "PUT /v1/tiers/a", true },     { "POST /v1/reset", true },
    };
    desk.is_away = false;
    visitor_comes_from(&visitor, "127.0.0.1");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer *answer = answer_to_call(rows[i].line, "", "{}");
        SAME(rows[i].line, body_has(answer, "takes no body"), !rows[i].takes);
        if (!rows[i].takes)
            SAME(rows[i].line, answer->status, 422);
    }
    assert_int_equal(desk.reloads, 0);
}

WITHOUT_TENANTS(with_the_queue_full_it_is_503_and_comes_again, yaml)
{
    visitor_comes_from(&visitor, "127.0.0.1");
    for (int i = 0; i < SL_JOBS_MAX; i++)
        assert_true(sl_jobs_add(&stage.server.jobs, calloc(1, sizeof(struct sl_job)), SL_JOBS_MAX));
    struct answer *answer = answer_to_call("GET /v1/rules", "", NULL);
    assert_int_equal(answer->status, 503);
    assert_int_equal(number_of(field_of(answer, "Retry-After")), 1);
    SAME_TEXT("type", field_of(answer, "Content-Type"), "application/problem+json");
    assert_false(answer->closes);
    assert_null(visitor.conn->job); /* it is not parked */
    struct sl_job *next;
    for (struct sl_job *job = sl_jobs_take(&stage.server.jobs); job; job = next) {
        next = job->next;
        sl_job_free(job);
    }
    desk.is_away = false;
    assert_int_equal(answer_to_call("GET /v1/rules", "", NULL)->status, 200);
}

/* ---- the answer ---- */

WITHOUT_TENANTS(an_answer_has_type_and_tag_and_a_problem_its_own, yaml)
{
    desk.is_away = false;
    visitor_comes_from(&visitor, "127.0.0.1");
    struct answer *answer = answer_to_call("GET /v1/rules/all", "", NULL);
    assert_int_equal(answer->status, 200);
    SAME_TEXT("type", field_of(answer, "Content-Type"), "application/json");
    assert_int_equal(field_of(answer, "ETag").at[0], '"');
    answer = answer_to_call("GET /v1/rules/none", "", NULL);
    assert_int_equal(answer->status, 404);
    SAME_TEXT("type", field_of(answer, "Content-Type"), "application/problem+json");
    assert_null(field_of(answer, "ETag").at);
    assert_null(field_of(answer, "RateLimit").at);
    answer = answer_to_call("PUT /v1/tiers/new", "", "{\"scale\": 2}");
    assert_int_equal(answer->status, 201);
    assert_non_null(field_of(answer, "ETag").at);
}

/* Cut short, it would be wrong. */
WITHOUT_TENANTS(an_answer_that_is_too_long_is_500, yaml)
{
    visitor_comes_from(&visitor, "127.0.0.1");
    char *text = call_text("GET /v1/rules", "", NULL);
    assert_int_equal(says(text), 0);
    free(text);
    struct sl_job *job = sl_jobs_take(&stage.server.jobs);
    job->out = sl_buffer(8);
    job->status = 200;
    sl_buffer_add(&job->out, SL_TEXT("{\"rules\": []}"));
    assert_true(job->out.failed);
    assert_true(sl_jobs_add(&stage.workers[0].answers, job, SIZE_MAX));
    stage_wakes(&stage.workers[0]);
    visitor_turn(&visitor);
    assert_int_equal(read_answers_of(&visitor, NULL), 1);
    assert_int_equal(answers[0].status, 500);
    assert_false(answers[0].closes);
}
