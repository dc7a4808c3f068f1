/* Replication in the control plane: following changes of other instances, and conversations with
 * Redis that a caller waits for. Changes of this instance are in change_replicated.c. */
#include "server/control/control_replication.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "server/control/control.h"

enum {
    CALL_MAX_BYTES = 4 << 20,
    PAUSE_US = 50000,          /* between two tries */
    FIRST_FETCH_US = 10000000, /* at the start, for the rows */
    FIRST_WAIT_US = 2000000    /* and for another instance that fills the registry */
};

/* ---- figures ---- */

static void publish_position(struct sl_control *control, const struct sl_replica_position *place)
{
    struct sl_replication_figures *figures = &control->server->spread;
    for (size_t i = 0; i < SL_LOG_COUNT; i++)
        atomic_store(&figures->versions[i], place->logs[i].version);
}

/* Logs and counts the result of one step of a conversation. */
static void report_step(struct sl_control *control, struct sl_replication *talk,
                        enum sl_replication_step step)
{
    struct sl_replication_figures *figures = &control->server->spread;
    struct sl_control_replication *replication = control->replication;
    if (talk->has_given_way)
        fprintf(stderr, "sluice: what `%s` held gives way to the registry in Redis%s%s\n",
                control->database ? control->database : "the database in memory",
                *talk->saved_as ? "; it is kept as " : "", talk->saved_as);
    talk->has_given_way = false;
    atomic_fetch_add(&figures->applied, talk->applied);
    talk->applied = 0;
    if (step == SL_REPLICATION_FAILED) {
        atomic_fetch_add(&figures->failures, 1);
        if (!replication->has_said_failure)
            fprintf(stderr, "sluice: changes of other instances do not come in: %s\n",
                    talk->error.text);
        replication->has_said_failure = true;
        return;
    }
    if (step == SL_REPLICATION_MORE)
        return; /* the step is not finished */
    atomic_store(&figures->looked_us, sl_link_now_us());
    publish_position(control, &talk->place);
    if (step == SL_REPLICATION_MUST_WAIT)
        return; /* nor is it now */
    if (replication->has_said_failure)
        fprintf(stderr, "sluice: changes of other instances come in again\n");
    replication->has_said_failure = false;
}

static void take_over_changes(struct sl_control *control, struct sl_replication *talk)
{
    bool is_new = talk->has_new_rules || talk->has_new_users;
    talk->has_new_rules = talk->has_new_users = false;
    if (!is_new || !control->server->edition)
        return;
    control->actor = "other instance";
    sl_control_take_over(control);
    control->actor = NULL;
}

/* Sets the error if Redis did not answer. */
static void explain_failure(struct sl_control *control, const struct sl_channel_call *call,
                            struct sluice_error *error)
{
    struct sluice_error why = { 0 };
    struct sl_store *store = control->server->store;
    if (call->status == SLUICE_OK)
        return;
    store->ops->why(store, &why);
    if (*why.text)
        sl_error_say(error, "Redis does not answer (%s)", why.text);
}

/* ---- waiting for answers ---- */

static void on_answered(struct sl_channel_call *call)
{
    struct sl_control_replication *replication =
        (struct sl_control_replication *)(void *)((char *)call -
                                                  offsetof(struct sl_control_replication, waited));
    replication->step = sl_replication_take(&replication->visitor, call);
}

void sl_replication_call(struct sl_control *control, void (*done)(struct sl_channel_call *call))
{
    struct sl_store *store = control->server->store;
    control->replication->waited.done = done;
    store->ops->call(store, &control->replication->waited);
}

enum sl_replication_step sl_replication_visit(struct sl_control *control, int64_t fetch_us,
                                              int64_t wait_us)
{
    struct sl_control_replication *replication = control->replication;
    struct sl_replication *talk = &replication->visitor;
    int64_t start_us = sl_link_now_us();
    sl_replication_begin(talk);
    replication->step = SL_REPLICATION_MORE;
    do {
        if (replication->step == SL_REPLICATION_MUST_WAIT)
            usleep(PAUSE_US);
        replication->step = SL_REPLICATION_FAILED;
        if (sl_replication_ask(talk, &replication->waited))
            sl_replication_call(control, on_answered);
    } while (sl_link_now_us() - start_us < (replication->step == SL_REPLICATION_MUST_WAIT ? wait_us
                                            : replication->step == SL_REPLICATION_MORE    ? fetch_us
                                                                                          : 0));
    if (replication->step == SL_REPLICATION_FAILED)
        explain_failure(control, &replication->waited, &talk->error);
    enum sl_replication_step step = replication->step;
    report_step(control, talk, step);
    take_over_changes(control, talk);
    return step;
}

/* ---- opening ---- */

bool sl_control_replication_open(struct sl_control *control, const struct sl_settings *settings)
{
    struct sl_store *store = control->server->store;
    if (!settings->spread || !store || !store->ops->call)
        return true;
    struct sl_control_replication *replication = calloc(1, sizeof *replication);
    if (!replication) {
        fprintf(stderr, "sluice: out of memory\n");
        return false;
    }
    control->replication = replication;
    control->server->spread.is_on = true;
    sl_replication_open(&replication->follower, control->registry, control->database);
    sl_replication_open(&replication->visitor, control->registry, control->database);
    replication->follower.founds = SL_FOUNDS_REPLICA;
    replication->visitor.leaves_users = true; /* users are fetched while the server runs */
    replication->call.bytes = replication->waited.bytes = sl_buffer(CALL_MAX_BYTES);
    if (sl_replica_place(control->registry, &replication->visitor.place,
                         &replication->visitor.error))
        publish_position(control, &replication->visitor.place);
    sl_replication_visit(control, FIRST_FETCH_US, FIRST_WAIT_US);
    return true;
}

void sl_control_replication_close(struct sl_control *control)
{
    struct sl_control_replication *replication = control->replication;
    if (!replication)
        return;
    sl_replication_close(&replication->follower);
    sl_replication_close(&replication->visitor);
    sl_buffer_release(&replication->call.bytes);
    sl_buffer_release(&replication->waited.bytes);
    free(replication);
    control->replication = NULL;
}

/* ---- following ---- */

static void request_changes(struct sl_control *control);

/* A reply to a call made before our own change may be older than the change. */
static bool is_outdated(const struct sl_control_replication *replication)
{
    return replication->asked_at != replication->writes &&
           replication->follower.phase == SL_REPLICATION_FETCHES;
}

static void on_followed(struct sl_channel_call *call)
{
    struct sl_control *control = call->about;
    struct sl_control_replication *replication = control->replication;
    replication->is_asking = false;
    if (!replication->io.channel || is_outdated(replication)) {
        sl_replication_begin(&replication->follower);
        return;
    }
    enum sl_replication_step step = sl_replication_take(&replication->follower, call);
    if (step == SL_REPLICATION_FAILED)
        explain_failure(control, call, &replication->follower.error);
    report_step(control, &replication->follower, step);
    take_over_changes(control, &replication->follower);
    if (step == SL_REPLICATION_MORE)
        request_changes(control);
}

static void request_changes(struct sl_control *control)
{
    struct sl_control_replication *replication = control->replication;
    if (!sl_replication_ask(&replication->follower, &replication->call)) {
        report_step(control, &replication->follower, SL_REPLICATION_FAILED);
        sl_replication_begin(&replication->follower);
        return;
    }
    replication->call.done = on_followed;
    replication->call.about = control;
    replication->is_asking = true;
    replication->asked_at = replication->writes;
    sl_channel_call(replication->io.channel, &replication->call);
    sl_channel_flush(replication->io.channel);
}

bool sl_control_replication_follow(struct sl_control *control, uv_loop_t *loop)
{
    return !control->replication ||
           sl_line_open(&control->replication->io, loop, control->server->store, SL_LINE_PATIENT);
}

void sl_control_replication_leave(struct sl_control *control)
{
    if (control->replication)
        sl_line_close(&control->replication->io);
}

void sl_control_replication_look(struct sl_control *control)
{
    struct sl_control_replication *replication = control->replication;
    if (!replication || !replication->io.channel || replication->is_asking)
        return;
    sl_replication_begin(&replication->follower);
    request_changes(control);
}
