/* Rounds that wait for a store that answers later: see flight.h. */
#include "server/flight.h"

#include <stdlib.h>

#include "server/conn.h"
#include "server/front.h"
#include "server/worker.h"

enum { TEXTS_BYTES = 512 };

/* A call that settles a reservation. */
struct settling_call {
    struct sl_settlement settlement; /* first */
    struct sl_flight *flight;
    struct sl_call *call;
};

struct sl_flight {
    struct sl_round round; /* as the calls' replies see it */
    struct sl_errand errand;
    struct sl_edition *edition;
    struct settling_call *settlings;
    size_t waiting;
    size_t call_room, request_room; /* what its arrays hold */
};

/* ---- landing ---- */

/* Adds what an older edition's limiter has counted to the one in force. */
static void hand_in_counts(struct sl_worker *worker, struct sl_edition *edition)
{
    if (!edition || edition == worker->edition)
        return;
    pthread_mutex_lock(&worker->server->counts_lock);
    sl_limiter_inherit(worker->edition->limiters[worker->number],
                       edition->limiters[worker->number]);
    pthread_mutex_unlock(&worker->server->counts_lock);
}

static void free_arrays(struct sl_flight *flight)
{
    free(flight->round.calls);
    free(flight->round.requests);
    free(flight->round.decisions);
    free(flight->round.held);
    free(flight->settlings);
}

void sl_flight_free(struct sl_flight *flight)
{
    if (!flight)
        return;
    sl_scratch_release(&flight->round.memory);
    free_arrays(flight);
    free(flight);
}

/* Keeps one flight for the next round; frees the others. */
static void reuse_or_free(struct sl_flight *flight)
{
    struct sl_worker *worker = flight->round.worker;
    sl_errand_release(&flight->errand);
    sl_edition_drop(flight->edition);
    flight->edition = NULL;
    sl_scratch_reset(&flight->round.memory);
    if (worker->spare_flight) {
        sl_flight_free(flight);
        return;
    }
    worker->spare_flight = flight;
}

static void answer_calls(struct sl_flight *flight)
{
    struct sl_worker *worker = flight->round.worker;
    struct sl_round *round = &flight->round;
    round->scratch = worker->round.scratch; /* the worker's */
    for (size_t i = 0; i < round->call_count; i++) {
        struct sl_call *call = &round->calls[i];
        if (!call->conn || call->conn->is_gone)
            continue;
        call->conn->flight = NULL;
        call->reply(round, call);
        sl_worker_ready_later(worker, call->conn);
    }
    worker->round.scratch = round->scratch;
    hand_in_counts(worker, flight->edition);
    if (flight->errand.count > 0)
        sl_round_note(&worker->round, flight->errand.status);
    reuse_or_free(flight);
}

static void count_answer(struct sl_flight *flight)
{
    if (--flight->waiting == 0)
        answer_calls(flight);
}

static void on_errand(struct sl_errand *errand)
{
    count_answer((struct sl_flight *)(void *)((char *)errand - offsetof(struct sl_flight, errand)));
}

static void on_settled(struct sl_settlement *settlement)
{
    struct settling_call *settling = (struct settling_call *)settlement;
    settling->call->settled = settlement->status;
    count_answer(settling->flight);
}

void sl_flight_forget(struct sl_flight *flight, const struct sl_conn *conn)
{
    for (size_t i = 0; i < flight->round.call_count; i++)
        if (flight->round.calls[i].conn == conn)
            flight->round.calls[i].conn = NULL;
}

/* ---- departing ---- */

/* Before the store is asked: requests that were sent cannot be taken back. */
static bool make_room(struct sl_flight *flight, size_t calls, size_t requests)
{
    struct sl_round *own = &flight->round;
    if (calls <= flight->call_room && requests <= flight->request_room)
        return true;
    free_arrays(flight);
    flight->call_room = calls;
    flight->request_room = requests;
    own->calls = malloc(calls * sizeof *own->calls);
    own->requests = malloc(requests * sizeof *own->requests + 1);
    own->decisions = malloc(requests * sizeof *own->decisions + 1);
    own->held = malloc(requests * sizeof *own->held + 1);
    flight->settlings = malloc(calls * sizeof *flight->settlings);
    return own->calls && own->requests && own->decisions && own->held && flight->settlings;
}

static struct sl_flight *spare_or_new_flight(struct sl_worker *worker)
{
    struct sl_flight *flight = worker->spare_flight;
    worker->spare_flight = NULL;
    if (flight)
        return flight;
    flight = calloc(1, sizeof *flight);
    if (flight)
        flight->round.memory = sl_scratch(TEXTS_BYTES);
    return flight;
}

/* The round's requests, to be decided into the round's decisions. */
static struct sl_errand errand_of(struct sl_round *round)
{
    size_t count = round->request_count;
    memset(round->is_asked, 0, count * sizeof *round->is_asked);
    memset(round->hold_us, 0, count * sizeof *round->hold_us);
    for (size_t i = 0; i < round->call_count; i++)
        if (round->calls[i].expires_us)
            round->hold_us[round->calls[i].first] = round->calls[i].expires_us;
    return (struct sl_errand){ .requests = round->requests,
                               .count = count,
                               .options = round->has_options ? round->options : NULL,
                               .hold_us = round->hold_us,
                               .out = round->decisions,
                               .is_asked = round->is_asked };
}

/* A flight that is ready for the round. NULL: no memory. */
static struct sl_flight *prepare_flight(struct sl_round *round)
{
    struct sl_flight *flight = spare_or_new_flight(round->worker);
    if (!flight)
        return NULL;
    if (!make_room(flight, round->call_count, round->request_count)) {
        sl_flight_free(flight);
        return NULL;
    }
    struct sl_round *own = &flight->round;
    own->worker = round->worker;
    own->limiter = round->limiter;
    own->rules = round->rules;
    own->settings = round->settings;
    own->request_count = round->request_count;
    own->call_count = 0;
    own->errand = &flight->errand;
    flight->waiting = 2; /* for the errand, and for sl_flight_depart to return */
    flight->errand = errand_of(round);
    flight->errand.held = own->held;
    flight->errand.done = on_errand;
    return flight;
}

static bool needs_store(const struct sl_round *round, const struct sl_call *call)
{
    bool needs = call->settles;
    for (size_t i = 0; !needs && i < call->count; i++)
        needs = round->is_asked[call->first + i];
    return needs;
}

/* Parks the connections of calls that need the store, with all their calls. Returns whether there
 * are any. */
static bool park_connections(struct sl_round *round, struct sl_flight *flight)
{
    bool any = false;
    for (size_t i = 0; i < round->call_count; i++) {
        struct sl_call *call = &round->calls[i];
        bool needs = needs_store(round, call);
        call->conn->has_asked = false;
        if (needs && !call->conn->is_gone)
            call->conn->flight = flight;
        any |= needs;
    }
    return any;
}

/* Copies what the round has and its calls will need. The store's answers go to the copy too. */
static void copy_round(const struct sl_round *round, struct sl_flight *flight)
{
    size_t count = round->request_count;
    flight->edition = sl_edition_keep(round->worker->edition);
    memcpy(flight->round.requests, round->requests, count * sizeof *round->requests);
    memcpy(flight->round.decisions, round->decisions, count * sizeof *round->decisions);
    flight->errand.out = flight->round.decisions;
}

/* Copies a text out of the round's memory, which is about to be used again. */
static const char *copy_text(struct sl_flight *flight, const char *text)
{
    return text ? sl_round_copy(&flight->round, sl_text(text)) : NULL;
}

/* Moves the calls of parked connections to the flight, and answers the others now. */
static void answer_or_keep_calls(struct sl_round *round, struct sl_flight *flight)
{
    for (size_t i = 0; i < round->call_count; i++) {
        struct sl_call *call = &round->calls[i];
        if (!call->conn->flight) {
            /* The connection closed while it was read: its requests are counted all the same. */
            if (!call->conn->is_gone)
                call->reply(round, call);
            continue;
        }
        struct sl_call *own = &flight->round.calls[flight->round.call_count++];
        *own = *call;
        own->detail = copy_text(flight, call->detail);
        own->authenticate = copy_text(flight, call->authenticate);
        if (call->answer.at)
            own->answer.at = sl_round_copy(&flight->round, call->answer);
    }
}

static void send_settlements(struct sl_flight *flight, struct sl_channel *channel)
{
    for (size_t i = 0; i < flight->round.call_count; i++) {
        struct sl_call *call = &flight->round.calls[i];
        if (!call->settles)
            continue;
        flight->settlings[i] = (struct settling_call){ .flight = flight, .call = call };
        flight->settlings[i].settlement = (struct sl_settlement){ .id = call->reservation,
                                                                  .cost = call->cost,
                                                                  .done = on_settled };
        flight->waiting++;
        sl_channel_settle(channel, &flight->settlings[i].settlement);
    }
}

/* There is no memory to wait in. Requests are decided as where the store fails, by the limiter;
 * reservations are not settled, and their callers are told so. */
static void answer_without_memory(struct sl_round *round)
{
    struct sl_errand errand = errand_of(round);
    sl_errand_fail(&errand, round->limiter);
    round->errand = &errand; /* no reply asks the store again */
    for (size_t i = 0; i < round->call_count; i++) {
        struct sl_call *call = &round->calls[i];
        call->conn->has_asked = false;
        call->settled = SLUICE_NO_MEMORY;
        if (!call->conn->is_gone)
            call->reply(round, call);
    }
    round->errand = NULL;
    if (errand.count > 0)
        sl_round_note(round, errand.status);
    sl_errand_release(&errand);
}

/* The store is asked first: only then is known which calls have to wait. */
void sl_flight_depart(struct sl_round *round)
{
    struct sl_channel *channel = round->worker->store_io.channel;
    struct sl_flight *flight = prepare_flight(round);
    if (!flight) {
        answer_without_memory(round);
        return;
    }
    sl_errand_send(&flight->errand, round->limiter, channel);
    bool departs = park_connections(round, flight);
    if (departs)
        copy_round(round, flight);
    round->errand = &flight->errand; /* replies that decide for themselves need not */
    round->held = flight->round.held;
    answer_or_keep_calls(round, flight);
    round->errand = NULL;
    round->held = NULL;
    if (departs) {
        send_settlements(flight, channel);
        sl_channel_flush(channel);
    }
    count_answer(flight);
}
