/* Changes: whole or not at all, on disk before they are told, in force at once; tried and
 * refused. */
#include <sys/stat.h>

#include "unit/server/control_changes.h"

/* ---- our own ---- */

WITHOUT_TENANTS(a_change_is_on_disk_and_in_force_when_it_is_told, in_a_file)
{
    come_in();
    struct sl_registry *other = open_another();
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201);
    assert_string_equal(on_disk(other), "more=" GOOD);
    assert_string_equal(in_force(), "api more");
    assert_int_equal(status_of("DELETE /v1/rules/more", NULL), 200);
    assert_string_equal(on_disk(other), "");
    assert_string_equal(in_force(), "api");
    sl_registry_close(other);
}

WITHOUT_TENANTS(a_dry_run_changes_nothing_and_says_what_would_be, yaml)
{
    come_in();
    struct sl_edition *edition = stage.server.edition;
    uint64_t revision = sl_registry_revision(desk.control.registry);
    struct answer *answer = answer_to_call("PUT /v1/rules/more?dry_run=true", "", GOOD);
    assert_int_equal(answer->status, 200);
    assert_true(body_has(answer, "\"dry_run\": true"));
    assert_null(field_of(answer, "ETag").at);
    assert_int_equal(status_of("DELETE /v1/rules/api?dry_run=true", NULL), 200);
    assert_int_equal(status_of("PUT /v1/rules/more?dry_run=true", BAD), 422);
    assert_ptr_equal(stage.server.edition, edition);
    assert_null(atomic_load(&stage.workers[0].next));
    assert_int_equal(sl_registry_revision(desk.control.registry), revision);
    assert_string_equal(on_disk(desk.control.registry), "");
    assert_int_equal(status_of("GET /v1/rules/more", NULL), 404);
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201); /* the next is none */
    assert_string_equal(in_force(), "api more");
}

WITHOUT_TENANTS(a_dry_run_makes_no_database, in_a_file)
{
    come_in();
    assert_int_equal(status_of("PUT /v1/rules/more?dry_run=true", GOOD), 200);
    assert_int_equal(status_of("PUT /v1/tenants/acme?dry_run=true", "{}"), 200);
    assert_int_equal(status_of("PUT /v1/rules/more?dry_run=true", BAD), 422);
    assert_int_equal(status_of("DELETE /v1/rules/none?dry_run=true", NULL), 404);
    assert_int_equal(access(in_folder("sluice.db"), F_OK), -1);
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201);
    assert_int_equal(status_of("PUT /v1/rules/other?dry_run=true", UNFIT), 422);
    struct sl_registry *other = open_another();
    assert_string_equal(on_disk(other), "more=" GOOD);
    assert_string_equal(in_force(), "api more");
    sl_registry_close(other);
}

WITHOUT_TENANTS(a_refused_change_makes_no_database, in_a_file)
{
    come_in();
    assert_int_equal(status_of("PUT /v1/rules/more", BAD), 422);
    assert_int_equal(status_of("PUT /v1/rules/more", UNFIT), 422);
    assert_int_equal(status_of("PUT /v1/users/u", "{\"tier\": \"gold\"}"), 422);
    assert_int_equal(status_of("DELETE /v1/rules/none", NULL), 404);
    assert_int_equal(status_of("DELETE /v1/users/u", NULL), 404);
    assert_int_equal(access(in_folder("sluice.db"), F_OK), -1);
    assert_string_equal(in_force(), "api");
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201);
    struct sl_registry *other = open_another();
    assert_string_equal(on_disk(other), "more=" GOOD);
    assert_int_equal(sl_registry_revision(other), 1);
    sl_registry_close(other);
}

WITHOUT_TENANTS(a_database_that_cannot_be_opened_is_not_an_absent_one, in_a_file)
{
    come_in();
    assert_int_equal(mkdir(in_folder("sluice.db"), 0700), 0);
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 503);
    assert_int_equal(status_of("DELETE /v1/rules/none", NULL), 503);
    assert_string_equal(in_force(), "api");
    assert_int_equal(rmdir(in_folder("sluice.db")), 0);
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201);
}

/* The first change here is tried in memory first: by then another process may have made it. */
WITHOUT_TENANTS(the_first_change_is_made_on_what_another_process_has_made_meanwhile, in_a_file)
{
    come_in();
    struct sl_registry *other = open_another();
    DONE(sl_registry_begin(other, SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_rule(other, NULL, "theirs", GOOD, &error));
    DONE(sl_registry_commit(other, &error));
    assert_int_equal(answer_to_call("PUT /v1/rules/theirs", "If-None-Match: *\r\n", BETTER)->status,
                     412);
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201);
    assert_string_equal(in_force(), "api theirs more");
    assert_string_equal(on_disk(other), "theirs=" GOOD " more=" GOOD);
    sl_registry_close(other);
}

/* What cannot be read is not empty: what was made of it stays in force. */
WITHOUT_TENANTS(where_the_database_is_gone_nothing_can_be_changed_or_tried, in_a_file)
{
    static const char *const lines[] = { "PUT /v1/rules/other", "PUT /v1/rules/other?dry_run=true",
                                         "DELETE /v1/rules/more?dry_run=true",
                                         "DELETE /v1/rules/api" };
    come_in();
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201);
    assert_int_equal(rename(in_folder("sluice.db"), in_folder("elsewhere")), 0);
    for (size_t i = 0; i < COUNT(lines); i++) {
        SAME(lines[i], status_of(lines[i], lines[i][0] == 'P' ? GOOD : NULL), 503);
        assert_string_equal(in_force(), "api more");
    }
}

WITHOUT_TENANTS(what_is_refused_leaves_registry_and_rules_as_they_were, yaml)
{
    static const struct {
        const char *line, *fields, *body;
        uint32_t status;
    } rows[] = {
        { "PUT /v1/rules/more", "", BAD, 422 },
        { "PUT /v1/rules/more", "", UNFIT, 422 },
        { "PUT /v1/rules/more", "", "7", 422 },
        { "PUT /v1/rules/more", "", "{", 400 },
        { "PUT /v1/rules/more", "If-Match: *\r\n", GOOD, 412 },
        { "PUT /v1/rules/api", "If-None-Match: *\r\n", GOOD, 412 },
        { "PUT /v1/rules/a%20b", "", GOOD, 422 },
        { "DELETE /v1/rules/none", "", NULL, 404 },
        { "DELETE /v1/rules/api?undo=true", "", NULL, 404 },
        { "PUT /v1/tenants/t/rules/more", "", GOOD, 404 },
        { "PUT /v1/tenants/t", "", "{\"tier\": \"gold\"}", 422 },
        { "PUT /v1/users/u", "", "{\"tier\": \"gold\"}", 422 },
        { "PUT /v1/users/u", "", "{\"limits\": {\"none\": {\"capacity\": 1}}}", 422 },
        { "POST /v1/exemptions", "", "{\"kind\": \"ip\", \"value\": \"x\"}", 422 },
        { "POST /v1/exemptions", "", "{\"kind\": \"ip\", \"value\": \"192.0.2.1\", \"until\": 1}",
          422 },
        { "DELETE /v1/exemptions?kind=ip&value=192.0.2.1", "", NULL, 404 },
    };
    come_in();
    struct sl_edition *edition = stage.server.edition;
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i].line, answer_to_call(rows[i].line, rows[i].fields, rows[i].body)->status,
             rows[i].status);
        SAME_TEXT("type", field_of(&answers[0], "Content-Type"), "application/problem+json");
        assert_ptr_equal(stage.server.edition, edition);
        assert_int_equal(sl_registry_revision(desk.control.registry), 0);
    }
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201); /* no transaction is left */
}

WITHOUT_TENANTS(users_and_outcomes_need_no_new_edition, yaml)
{
    come_in();
    struct sl_edition *edition = stage.server.edition;
    assert_int_equal(status_of("PUT /v1/users/u", "{\"email_verified\": true}"), 201);
    assert_int_equal(status_of("POST /v1/outcomes", "{\"user\": \"u\", \"success\": true}"), 200);
    assert_int_equal(status_of("POST /v1/exemptions", "{\"kind\": \"user\", \"value\": \"root\"}"),
                     201);
    assert_ptr_equal(stage.server.edition, edition);
    struct answer *answer = answer_to_message("POST /v1/check", "", "{\"user\": \"root\"}");
    assert_true(body_has(answer, "\"reason\": \"exempt\"")); /* in force all the same */
}

/* ---- how problems are told ---- */

WITHOUT_TENANTS(one_problem_is_the_detail_and_several_are_a_list, yaml)
{
    come_in();
    struct answer *answer = answer_to_call("PUT /v1/rules/more", "", UNFIT);
    assert_true(body_has(answer, "\"errors\": [{\"subject\": \"rule `more`\", \"line\": 1, "
                                 "\"column\": "));
    assert_false(body_has(answer, "there are several"));
    answer = answer_to_call("PUT /v1/rules/more", "", BAD);
    assert_true(body_has(answer, "\"detail\": \"There are several problems; see `errors`.\""));
    assert_true(body_has(answer, "}, {\"subject\": \"rule `more`\""));
}

WITHOUT_TENANTS(a_failed_reload_tells_its_problems_and_a_good_one_its_rules, yaml)
{
    come_in();
    desk.fails_reload = true;
    struct answer *answer = answer_to_call("POST /v1/reload", "", NULL);
    assert_int_equal(answer->status, 422);
    assert_true(body_has(answer, "\"detail\": \"This file is not right.\""));
    assert_true(body_has(answer, "[{\"subject\": \"rules.yaml\", \"line\": 3, \"column\": 5, "
                                 "\"detail\": \"this file is not right\"}]"));
    desk.fails_reload = false;
    answer = answer_to_call("POST /v1/reload", "", NULL);
    assert_int_equal(answer->status, 200);
    SAME_TEXT("body", answer->body, "{\"reloaded\": true, \"rules\": 1}");
    assert_int_equal(desk.reloads, 2);
    assert_int_equal(status_of("POST /v1/reload?dry_run=true", NULL), 422);
    assert_int_equal(desk.reloads, 2);
}

/* A tenant is told problems of its own rules, and of no other tenant's. */
TEST(problems_of_others_are_not_told_to_a_tenant)
{
    static const struct {
        const char *subjects[2];
        bool is_told;
    } rows[] = {
        { { "rule `acme/own`" }, true },
        { { "rule `acme/own`", "rule `acme/b`" }, true },
        { { "rule `acme/own`", "rule `secret`" }, false },
        { { "rule `acme2/own`" }, false },
        { { "rule `acme`" }, false },
        { { "tier `pro`" }, false },
        { { NULL }, false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_report report = { .file = "secret.yaml" };
        struct sl_job job = { .out = sl_buffer(1 << 16), .tenant = "acme" };
        for (size_t j = 0; j < 2 && (j == 0 || rows[i].subjects[j]); j++) {
            report.subject = rows[i].subjects[j];
            sl_report_error(&report, (struct sl_mark){ 1, 1 }, "the secret is wrong");
        }
        sl_job_refuse_report(&job, 422, &report);
        bool is_told = memmem(job.out.at, job.out.len, "\"errors\"", 8);
        SAME(rows[i].subjects[0] ? rows[i].subjects[0] : "(none)", is_told, rows[i].is_told);
        bool leaks = memmem(job.out.at, job.out.len, "secret", 6);
        SAME(rows[i].subjects[0] ? rows[i].subjects[0] : "(none)", leaks, rows[i].is_told);
        assert_int_equal(job.status, 422);
        sl_report_release(&report);
        sl_buffer_release(&job.out);
        sl_arena_release(&job.arena);
    }
}
