/* Following, and talking to Redis while somebody waits. A change's own part is
 * change_replicated.c. */
#include "server/control/control_replication.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "server/control/control.h"

enum {
    CALL_MAX_BYTES = 4 << 20,
    PAUSE_US = 50000,          /* between two tries */
    FIRST_FETCH_US = 10000000, /* at the start, */
    FIRST_WAIT_US = 2000000    /* and for somebody who fills it */
};

/* ---- figures ---- */

static void tell_place(struct sl_control *control, const struct sl_replica_position *place)
{
    struct sl_replication_figures *figures = &control->server->spread;
    for (size_t i = 0; i < SL_LOG_COUNT; i++)
        atomic_store(&figures->versions[i], place->logs[i].version);
}

/* What a conversation has come to. */
static void tell(struct sl_control *control, struct sl_replication *talk,
                 enum sl_replication_step step)
{
    struct sl_replication_figures *figures = &control->server->spread;
    struct sl_control_replication *spread = control->spread;
    if (talk->has_given_way)
        fprintf(stderr, "sluice: what `%s` held gives way to the registry in Redis%s%s\n",
                control->database ? control->database : "the database in memory",
                *talk->saved_as ? "; it is kept as " : "", talk->saved_as);
    talk->has_given_way = false;
    atomic_fetch_add(&figures->applied, talk->applied);
    talk->applied = 0;
    if (step == SL_REPLICATION_FAILED) {
        atomic_fetch_add(&figures->failures, 1);
        if (!spread->has_said_failure)
            fprintf(stderr, "sluice: changes of other instances do not come in: %s\n",
                    talk->error.text);
        spread->has_said_failure = true;
        return;
    }
    if (step == SL_REPLICATION_MORE)
        return; /* not yet known whether it comes in */
    atomic_store(&figures->looked_us, sl_link_now_us());
    tell_place(control, &talk->place);
    if (step == SL_REPLICATION_MUST_WAIT)
        return; /* nor is it here */
    if (spread->has_said_failure)
        fprintf(stderr, "sluice: changes of other instances come in again\n");
    spread->has_said_failure = false;
}

static void put_in_force(struct sl_control *control, struct sl_replication *talk)
{
    bool is_new = talk->has_new_rules || talk->has_new_users;
    talk->has_new_rules = talk->has_new_users = false;
    if (!is_new || !control->server->edition)
        return;
    control->actor = "other instance";
    sl_control_take_over(control);
    control->actor = NULL;
}

/* Why Redis did not answer, if it did not. */
static void explain(struct sl_control *control, const struct sl_channel_call *call,
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
    struct sl_control_replication *spread =
        (struct sl_control_replication *)(void *)((char *)call -
                                                  offsetof(struct sl_control_replication, waited));
    spread->step = sl_replication_take(&spread->visitor, call);
}

void sl_replication_call(struct sl_control *control, void (*done)(struct sl_channel_call *call))
{
    struct sl_store *store = control->server->store;
    control->spread->waited.done = done;
    store->ops->call(store, &control->spread->waited);
}

enum sl_replication_step sl_replication_visit(struct sl_control *control, int64_t fetch_us,
                                              int64_t wait_us)
{
    struct sl_control_replication *spread = control->spread;
    struct sl_replication *talk = &spread->visitor;
    int64_t start_us = sl_link_now_us();
    sl_replication_begin(talk);
    spread->step = SL_REPLICATION_MORE;
    do {
        if (spread->step == SL_REPLICATION_MUST_WAIT)
            usleep(PAUSE_US);
        spread->step = SL_REPLICATION_FAILED;
        if (sl_replication_ask(talk, &spread->waited))
            sl_replication_call(control, on_answered);
    } while (sl_link_now_us() - start_us < (spread->step == SL_REPLICATION_MUST_WAIT ? wait_us
                                            : spread->step == SL_REPLICATION_MORE    ? fetch_us
                                                                                     : 0));
    if (spread->step == SL_REPLICATION_FAILED)
        explain(control, &spread->waited, &talk->error);
    enum sl_replication_step step = spread->step;
    tell(control, talk, step);
    put_in_force(control, talk);
    return step;
}

/* ---- opening ---- */

bool sl_control_replication_open(struct sl_control *control, const struct sl_settings *settings)
{
    struct sl_store *store = control->server->store;
    if (!settings->spread || !store || !store->ops->call)
        return true;
    struct sl_control_replication *spread = calloc(1, sizeof *spread);
    if (!spread) {
        fprintf(stderr, "sluice: out of memory\n");
        return false;
    }
    control->spread = spread;
    control->server->spread.is_on = true;
    sl_replication_open(&spread->follower, control->registry, control->database);
    sl_replication_open(&spread->visitor, control->registry, control->database);
    spread->follower.founds = SL_FOUNDS_REPLICA;
    spread->visitor.leaves_users = true; /* they come in when it serves already */
    spread->call.bytes = spread->waited.bytes = sl_buffer(CALL_MAX_BYTES);
    if (sl_replica_place(control->registry, &spread->visitor.place, &spread->visitor.error))
        tell_place(control, &spread->visitor.place);
    sl_replication_visit(control, FIRST_FETCH_US, FIRST_WAIT_US);
    return true;
}

void sl_control_replication_close(struct sl_control *control)
{
    struct sl_control_replication *spread = control->spread;
    if (!spread)
        return;
    sl_replication_close(&spread->follower);
    sl_replication_close(&spread->visitor);
    sl_buffer_release(&spread->call.bytes);
    sl_buffer_release(&spread->waited.bytes);
    free(spread);
    control->spread = NULL;
}

/* ---- following ---- */

static void ask(struct sl_control *control);

/* What was asked before a change of ours may be older than that. */
static bool is_outdated(const struct sl_control_replication *spread)
{
    return spread->asked_at != spread->writes && spread->follower.phase == SL_REPLICATION_FETCHES;
}

static void on_followed(struct sl_channel_call *call)
{
    struct sl_control *control = call->about;
    struct sl_control_replication *spread = control->spread;
    spread->is_asking = false;
    if (!spread->line.channel || is_outdated(spread)) {
        sl_replication_begin(&spread->follower);
        return;
    }
    enum sl_replication_step step = sl_replication_take(&spread->follower, call);
    if (step == SL_REPLICATION_FAILED)
        explain(control, call, &spread->follower.error);
    tell(control, &spread->follower, step);
    put_in_force(control, &spread->follower);
    if (step == SL_REPLICATION_MORE)
        ask(control);
}

static void ask(struct sl_control *control)
{
    struct sl_control_replication *spread = control->spread;
    if (!sl_replication_ask(&spread->follower, &spread->call)) {
        tell(control, &spread->follower, SL_REPLICATION_FAILED);
        sl_replication_begin(&spread->follower);
        return;
    }
    spread->call.done = on_followed;
    spread->call.about = control;
    spread->is_asking = true;
    spread->asked_at = spread->writes;
    sl_channel_call(spread->line.channel, &spread->call);
    sl_channel_flush(spread->line.channel);
}

bool sl_control_replication_follow(struct sl_control *control, uv_loop_t *loop)
{
    return !control->spread ||
           sl_line_open(&control->spread->line, loop, control->server->store, SL_LINE_PATIENT);
}

void sl_control_replication_leave(struct sl_control *control)
{
    if (control->spread)
        sl_line_close(&control->spread->line);
}

void sl_control_replication_look(struct sl_control *control)
{
    struct sl_control_replication *spread = control->spread;
    if (!spread || !spread->line.channel || spread->is_asking)
        return;
    sl_replication_begin(&spread->follower);
    ask(control);
}
