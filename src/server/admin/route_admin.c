/* Calls of the admin API: checks the role, then sends a job to the main thread.
 *
 * Everything that the answer needs is copied: the connection's buffer goes on to other messages,
 * and the connection may be closed when the answer comes. */
#include <stdlib.h>

#include "server/auth/caller.h"
#include "server/conn.h"
#include "server/control/control.h"
#include "server/http/route.h"

enum { ANSWER_MAX_BYTES = 15 << 20 };

static const char wants_json[] = "Send JSON, with `Content-Type: application/json`.";

/* Returns true if this role may make the call; otherwise refuses it. */
static bool check_role(struct sl_message *message, enum sl_role role)
{
    struct sluice_text method = message->head->method;
    bool looks = sl_text_is(method, "GET") || sl_text_is(method, "HEAD") || message->route->looks;
    const char *tenants = message->route->tenants;
    if (role == SL_ROLE_ADMIN || (role == SL_ROLE_READER && looks) ||
        (role == SL_ROLE_TENANT && tenants && sl_methods_have(tenants, method)))
        return true;
    sl_message_refuse(message, 403,
                      role == SL_ROLE_READER
                          ? "That token may only look."
                          : "A tenant's key may not do that; it takes the admin's token.");
    return false;
}

static struct sluice_text copy_text(struct sl_job *job, struct sluice_text text)
{
    if (!text.at)
        return text;
    return (struct sluice_text){ sl_arena_copy(&job->arena, text), text.len };
}

static struct sluice_text copy_field(struct sl_job *job, const struct sl_http_head *head,
                                     struct sluice_text lower)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (sl_http_name_is(head->fields[i].name, lower))
            return copy_text(job, head->fields[i].value);
    return (struct sluice_text){ 0 };
}

/* Is the header field given at most once? Fields in several lines are legal and unused in practice;
 * using one of them would be wrong. */
static bool is_given_once(const struct sl_http_head *head, struct sluice_text lower)
{
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += sl_http_name_is(head->fields[i].name, lower);
    return count <= 1;
}

static bool copy_path_parts(struct sl_job *job, struct sluice_text path)
{
    struct sluice_text parts[SL_JOB_PARTS_MAX] = { { 0 } };
    sl_path_matches(job->route->path, path, parts);
    for (size_t i = 0; i < SL_JOB_PARTS_MAX && parts[i].at; i++) {
        job->parts[i] = sl_text(sl_percent_read(&job->arena, parts[i]));
        if (!job->parts[i].at)
            return false;
    }
    return true;
}

static struct sl_job *make_job(struct sl_message *message)
{
    const struct sl_http_head *head = message->head;
    struct sl_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->worker = message->conn->worker;
    job->conn = message->conn;
    job->call = *message->call;
    job->route = message->route;
    job->out = sl_buffer(ANSWER_MAX_BYTES);
    job->method = copy_text(job, sl_text_is(head->method, "HEAD") ? SL_TEXT("GET") : head->method);
    job->query = copy_text(job, head->query);
    job->if_match = copy_field(job, head, SL_TEXT("if-match"));
    job->if_none_match = copy_field(job, head, SL_TEXT("if-none-match"));
    if (message->body_len)
        job->body = copy_text(job, (struct sluice_text){ message->body, message->body_len });
    return job;
}

/* Sends the job to the main thread; the connection waits. That thread may be faster than this one,
 * so requests that came before are decided first: a reset must find their counts. */
static void send_job(struct sl_message *message, struct sl_job *job)
{
    struct sl_server *server = message->conn->worker->server;
    message->call = sl_round_finish_before(message->round, message->call);
    if (!sl_jobs_add(&server->jobs, job, SL_JOBS_MAX)) {
        sl_job_free(job);
        message->call->retry_after_s = 1;
        sl_message_refuse(message, 503, "Too many calls wait for the admin API; try again.");
        return;
    }
    sl_conn_park(message->conn, job);
    uv_async_send(&server->come);
}

void sl_call_admin(struct sl_message *message)
{
    enum sl_role role;
    const struct sl_key_owner *owner;
    if (!sl_caller_role(message, &role, &owner) || !check_role(message, role))
        return;
    /* A page of another site can make a browser send a body without asking the server first, but
     * only with other content types. */
    if (message->body_len && !message->head->known[SL_HTTP_CONTENT_TYPE].at) {
        sl_message_refuse(message, 415, wants_json);
        return;
    }
    if (!is_given_once(message->head, SL_TEXT("if-match")) ||
        !is_given_once(message->head, SL_TEXT("if-none-match"))) {
        sl_message_refuse(message, 400, "`If-Match` or `If-None-Match` is there twice; send one.");
        return;
    }
    struct sl_job *job = make_job(message);
    if (!job) {
        sl_message_refuse(message, 500, NULL);
        return;
    }
    job->role = role;
    job->is_local = role == SL_ROLE_ADMIN && !message->head->known[SL_HTTP_AUTHORIZATION].at;
    if (owner)
        job->tenant = sl_arena_copy(&job->arena, owner->tenant);
    if (!copy_path_parts(job, message->head->path)) {
        sl_job_free(job);
        sl_message_refuse(
            message, 400,
            "A name in the path is no text: UTF-8 without control characters, percent-encoded.");
        return;
    }
    send_job(message, job);
}

/* ---- the answer ---- */

static void send_answer(struct sl_round *round, struct sl_call *call)
{
    struct sl_job *job = call->job;
    if (job->out.failed) {
        call->status = 500;
        call->detail = "There is no memory for so long an answer.";
        sl_reply_problem(round, call);
        return;
    }
    sl_reply_print(round, call,
                   &(struct sl_answer_parts){ .status = job->status,
                                              .type = job->is_problem ? "application/problem+json"
                                                                      : "application/json",
                                              .body = { job->out.at, job->out.len },
                                              .etag = job->etag });
}

void sl_jobs_answer(struct sl_worker *worker, struct sl_job *answers)
{
    struct sl_round *round = &worker->round;
    struct sl_job *next;
    for (struct sl_job *job = answers; job; job = next) {
        struct sl_conn *conn = job->conn;
        next = job->next;
        if (conn) {
            struct sl_call *call = sl_round_call(round, conn);
            job->call.first = call->first;
            *call = job->call;
            call->job = job;
            call->reply = call->reply ? call->reply : send_answer;
            sl_round_add_now(round, call);
            sl_conn_unpark(conn);
        }
        sl_job_free(job);
    }
}
