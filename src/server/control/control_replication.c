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

static void tell_place(struct sl_office *office, const struct sl_place *place)
{
    struct sl_spread_figures *figures = &office->server->spread;
    for (size_t i = 0; i < SL_LOG_COUNT; i++)
        atomic_store(&figures->versions[i], place->logs[i].version);
}

/* What a conversation has come to. */
static void tell(struct sl_office *office, struct sl_spread *talk, enum sl_spread_step step)
{
    struct sl_spread_figures *figures = &office->server->spread;
    struct sl_office_spread *spread = office->spread;
    if (talk->has_given_way)
        fprintf(stderr, "sluice: what `%s` held gives way to the registry in Redis%s%s\n",
                office->database ? office->database : "the database in memory",
                *talk->saved_as ? "; it is kept as " : "", talk->saved_as);
    talk->has_given_way = false;
    atomic_fetch_add(&figures->applied, talk->applied);
    talk->applied = 0;
    if (step == SL_SPREAD_FAILED) {
        atomic_fetch_add(&figures->failures, 1);
        if (!spread->has_said_failure)
            fprintf(stderr, "sluice: changes of other instances do not come in: %s\n",
                    talk->error.text);
        spread->has_said_failure = true;
        return;
    }
    if (step == SL_SPREAD_MORE)
        return; /* not yet known whether it comes in */
    atomic_store(&figures->looked_us, sl_link_now_us());
    tell_place(office, &talk->place);
    if (step == SL_SPREAD_WAIT)
        return; /* nor is it here */
    if (spread->has_said_failure)
        fprintf(stderr, "sluice: changes of other instances come in again\n");
    spread->has_said_failure = false;
}

static void put_in_force(struct sl_office *office, struct sl_spread *talk)
{
    bool is_new = talk->has_new_rules || talk->has_new_users;
    talk->has_new_rules = talk->has_new_users = false;
    if (!is_new || !office->server->edition)
        return;
    office->actor = "other instance";
    sl_office_take_over(office);
    office->actor = NULL;
}

/* Why Redis did not answer, if it did not. */
static void explain(struct sl_office *office, const struct sl_channel_call *call,
                    struct sluice_error *error)
{
    struct sluice_error why = { 0 };
    struct sl_store *store = office->server->store;
    if (call->status == SLUICE_OK)
        return;
    store->ops->why(store, &why);
    if (*why.text)
        sl_error_say(error, "Redis does not answer (%s)", why.text);
}

/* ---- waiting for answers ---- */

static void on_answered(struct sl_channel_call *call)
{
    struct sl_office_spread *spread =
        (struct sl_office_spread *)(void *)((char *)call -
                                            offsetof(struct sl_office_spread, waited));
    spread->step = sl_spread_take(&spread->visitor, call);
}

void sl_spread_call(struct sl_office *office, void (*done)(struct sl_channel_call *call))
{
    struct sl_store *store = office->server->store;
    office->spread->waited.done = done;
    store->ops->call(store, &office->spread->waited);
}

enum sl_spread_step sl_spread_visit(struct sl_office *office, int64_t fetch_us, int64_t wait_us)
{
    struct sl_office_spread *spread = office->spread;
    struct sl_spread *talk = &spread->visitor;
    int64_t start_us = sl_link_now_us();
    sl_spread_begin(talk);
    spread->step = SL_SPREAD_MORE;
    do {
        if (spread->step == SL_SPREAD_WAIT)
            usleep(PAUSE_US);
        spread->step = SL_SPREAD_FAILED;
        if (sl_spread_ask(talk, &spread->waited))
            sl_spread_call(office, on_answered);
    } while (sl_link_now_us() - start_us < (spread->step == SL_SPREAD_WAIT   ? wait_us
                                            : spread->step == SL_SPREAD_MORE ? fetch_us
                                                                             : 0));
    if (spread->step == SL_SPREAD_FAILED)
        explain(office, &spread->waited, &talk->error);
    enum sl_spread_step step = spread->step;
    tell(office, talk, step);
    put_in_force(office, talk);
    return step;
}

/* ---- opening ---- */

bool sl_office_spread_open(struct sl_office *office, const struct sl_settings *settings)
{
    struct sl_store *store = office->server->store;
    if (!settings->spread || !store || !store->ops->call)
        return true;
    struct sl_office_spread *spread = calloc(1, sizeof *spread);
    if (!spread) {
        fprintf(stderr, "sluice: out of memory\n");
        return false;
    }
    office->spread = spread;
    office->server->spread.is_on = true;
    sl_spread_open(&spread->follower, office->registry, office->database);
    sl_spread_open(&spread->visitor, office->registry, office->database);
    spread->follower.founds = SL_FOUNDS_COPY;
    spread->visitor.leaves_users = true; /* they come in when it serves already */
    spread->call.bytes = spread->waited.bytes = sl_buffer(CALL_MAX_BYTES);
    if (sl_copy_place(office->registry, &spread->visitor.place, &spread->visitor.error))
        tell_place(office, &spread->visitor.place);
    sl_spread_visit(office, FIRST_FETCH_US, FIRST_WAIT_US);
    return true;
}

void sl_office_spread_close(struct sl_office *office)
{
    struct sl_office_spread *spread = office->spread;
    if (!spread)
        return;
    sl_spread_close(&spread->follower);
    sl_spread_close(&spread->visitor);
    sl_buffer_release(&spread->call.bytes);
    sl_buffer_release(&spread->waited.bytes);
    free(spread);
    office->spread = NULL;
}

/* ---- following ---- */

static void ask(struct sl_office *office);

/* What was asked before a change of ours may be older than that. */
static bool is_outdated(const struct sl_office_spread *spread)
{
    return spread->asked_at != spread->writes && spread->follower.phase == SL_SPREAD_FETCHES;
}

static void on_followed(struct sl_channel_call *call)
{
    struct sl_office *office = call->about;
    struct sl_office_spread *spread = office->spread;
    spread->is_asking = false;
    if (!spread->line.channel || is_outdated(spread)) {
        sl_spread_begin(&spread->follower);
        return;
    }
    enum sl_spread_step step = sl_spread_take(&spread->follower, call);
    if (step == SL_SPREAD_FAILED)
        explain(office, call, &spread->follower.error);
    tell(office, &spread->follower, step);
    put_in_force(office, &spread->follower);
    if (step == SL_SPREAD_MORE)
        ask(office);
}

static void ask(struct sl_office *office)
{
    struct sl_office_spread *spread = office->spread;
    if (!sl_spread_ask(&spread->follower, &spread->call)) {
        tell(office, &spread->follower, SL_SPREAD_FAILED);
        sl_spread_begin(&spread->follower);
        return;
    }
    spread->call.done = on_followed;
    spread->call.about = office;
    spread->is_asking = true;
    spread->asked_at = spread->writes;
    sl_channel_call(spread->line.channel, &spread->call);
    sl_channel_flush(spread->line.channel);
}

bool sl_office_spread_follow(struct sl_office *office, uv_loop_t *loop)
{
    return !office->spread ||
           sl_line_open(&office->spread->line, loop, office->server->store, SL_LINE_PATIENT);
}

void sl_office_spread_leave(struct sl_office *office)
{
    if (office->spread)
        sl_line_close(&office->spread->line);
}

void sl_office_spread_look(struct sl_office *office)
{
    struct sl_office_spread *spread = office->spread;
    if (!spread || !spread->line.channel || spread->is_asking)
        return;
    sl_spread_begin(&spread->follower);
    ask(office);
}
