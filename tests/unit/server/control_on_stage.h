/* A control plane beside a stage, without the main thread's loop: queued jobs are run when
 * a visitor waits for their answers, one after the other, on a registry in memory.
 *
 * No test library is needed: a fuzz target stands on it too. */
#ifndef TEST_SERVER_CONTROL_ON_STAGE_H
#define TEST_SERVER_CONTROL_ON_STAGE_H

#include "server/control/control.h"
#include "unit/server/stage.h"

struct desk {
    struct sl_control control;
    struct sl_serve_config config;
    struct sl_audit audit; /* off: events are kept and go nowhere */
    bool is_away;          /* no job is run: they wait */
    size_t done;           /* jobs that were run, */
    size_t changing;       /* of these other than GET */
    size_t reloads;        /* that were asked for */
    bool fails_reload;     /* with a problem of its own */
};

static inline bool desk_work(struct stage *stage)
{
    struct desk *desk = stage->about;
    struct sl_job *job = desk->is_away ? NULL : sl_jobs_take(&stage->server.jobs), *next;
    bool is_something = job;
    for (; job; job = next, desk->done++) {
        next = job->next;
        desk->changing += !sl_job_is(job, "GET");
        sl_control_run(&desk->control, job);
    }
    return is_something;
}

static inline bool desk_reload(void *about, struct sl_report *report)
{
    struct desk *desk = about;
    desk->reloads++;
    if (desk->fails_reload)
        sl_report_error(report, (struct sl_mark){ 3, 5 }, "this file is not right");
    return !desk->fails_reload;
}

/* Everything as it is composed of the stage's rules and the registry. */
static inline void desk_compose(struct desk *desk, struct stage *stage)
{
    struct sl_control *control = &desk->control;
    struct sl_report report = { .file = desk->config.rules_path };
    struct sluice_text text = { control->text.at, control->text.len };
    struct sl_ruleset *rules = sl_control_compose(control, text, &report);
    sl_report_release(&report);
    SL_CHECK(rules != NULL);
    struct sl_edition *edition =
        sl_control_edition(control, rules, sl_files_keep(stage->server.edition->files));
    SL_CHECK(edition != NULL);
    sl_control_publish(control, edition);
    for (size_t i = 0; i < stage->server.worker_count; i++)
        stage_wakes(&stage->workers[i]);
}

/* Room for so many users, which takes less time to make. */
static inline void desk_keep_few(struct desk *desk, size_t users_max)
{
    struct sl_control *control = &desk->control;
    const struct sl_settings *settings = &control->server->edition->rules->settings;
    struct sluice_error error = { 0 };
    sl_users_close(control->users);
    control->users = sl_users_open(&(struct sl_users_config){
        .most = users_max, .hash_identifiers = settings->hash_identifiers });
    SL_CHECK(control->users != NULL);
    control->users_revision = 0;
    SL_CHECK(sl_control_refresh_users(control, &error));
}

/* Of a stage that was opened with these rules. `database` in them says where the registry
 * is; otherwise in memory. users_max 0: as many as there may be. */
static inline void desk_open(struct desk *desk, struct stage *stage, const char *yaml,
                             size_t users_max)
{
    struct sl_control *control = &desk->control;
    struct sluice_error error = { 0 };
    *desk = (struct desk){ .config = { .rules_path = "rules.yaml" } };
    SL_CHECK(sl_audit_open(&desk->audit, "off", &error));
    stage->server.audit = &desk->audit;
    control->server = &stage->server;
    control->config = &desk->config;
    control->hasher = sl_sha256_new();
    control->reload = desk_reload;
    control->about = desk;
    control->text = sl_buffer(1 << 20);
    sl_buffer_add(&control->text, sl_text(yaml));
    SL_CHECK(control->hasher && !control->text.failed);
    SL_CHECK(sl_control_open(control, &stage->server.edition->rules->settings));
    if (users_max)
        desk_keep_few(desk, users_max);
    desk_compose(desk, stage);
    stage->about = desk;
    stage->work = desk_work;
}

/* After stage_close: editions refer to the control plane's users. */
static inline void desk_close(struct desk *desk)
{
    sl_control_close(&desk->control);
    sl_audit_close(&desk->audit);
}

#endif
