#include "server/flight.h"

#include <stdlib.h>

#include "server/conn.h"
#include "server/reply.h"
#include "server/worker.h"

enum { TEXTS_BYTES = 512 };

/* A reservation to be settled. */
struct settling {
    struct sl_settlement settlement; /* first */
    struct sl_flight *flight;
    struct sl_call *call;
};

struct sl_flight {
    struct sl_round round; /* as the calls' replies see it */
    struct sl_errand errand;
    struct sl_edition *edition;
    struct settling *settlings;
    int64_t *hold_us;
    size_t waiting;
};

/* ---- landing ---- */

/* What an older edition's limiter has counted goes to the one in force. */
static void hand_in_counts(struct sl_worker *worker, struct sl_edition *edition)
{
    if (edition == worker->edition)
        return;
    pthread_mutex_lock(&worker->server->counts_lock);
    sl_limiter_inherit(worker->edition->limiters[worker->number],
                       edition->limiters[worker->number]);
    pthread_mutex_unlock(&worker->server->counts_lock);
}

static void free_flight(struct sl_flight *flight)
{
    sl_scratch_release(&flight->round.memory);
    sl_errand_release(&flight->errand);
    sl_edition_drop(flight->edition);
    free(flight->round.calls);
    free(flight->round.requests);
    free(flight->round.decisions);
    free(flight->round.held);
    free(flight->settlings);
    free(flight->hold_us);
    free(flight);
}

static void land(struct sl_flight *flight)
{
    struct sl_worker *worker = flight->round.worker;
    struct sl_round *round = &flight->round;
    round->scratch = worker->round.scratch; /* one for all */
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
    free_flight(flight);
}

static void one_less(struct sl_flight *flight)
{
    if (--flight->waiting == 0)
        land(flight);
}

static void on_errand(struct sl_errand *errand)
{
    one_less((struct sl_flight *)(void *)((char *)errand - offsetof(struct sl_flight, errand)));
}

static void on_settled(struct sl_settlement *settlement)
{
    struct settling *settling = (struct settling *)settlement;
    settling->call->settled = settlement->status;
    one_less(settling->flight);
}

void sl_flight_forget(struct sl_flight *flight, const struct sl_conn *conn)
{
    for (size_t i = 0; i < flight->round.call_count; i++)
        if (flight->round.calls[i].conn == conn)
            flight->round.calls[i].conn = NULL;
}

/* ---- departing ---- */

static void *copied(const void *from, size_t count, size_t size)
{
    void *copy = malloc(count * size + 1);
    if (copy)
        memcpy(copy, from, count * size);
    return copy;
}

static struct sl_flight *new_flight(const struct sl_round *round)
{
    struct sl_flight *flight = calloc(1, sizeof *flight);
    if (!flight)
        return NULL;
    flight->edition = sl_edition_keep(round->worker->edition);
    struct sl_round *own = &flight->round;
    *own = (struct sl_round){ .worker = round->worker,
                              .limiter = round->limiter,
                              .rules = round->rules,
                              .settings = round->settings,
                              .request_count = round->request_count,
                              .memory = sl_scratch(TEXTS_BYTES),
                              .errand = &flight->errand };
    own->calls = calloc(round->call_count, sizeof *own->calls);
    own->requests = copied(round->requests, round->request_count, sizeof *own->requests);
    own->decisions = malloc(round->request_count * sizeof *own->decisions + 1);
    own->held = calloc(round->request_count + 1, sizeof *own->held);
    flight->hold_us = calloc(round->request_count + 1, sizeof *flight->hold_us);
    flight->settlings = calloc(round->call_count, sizeof *flight->settlings);
    if (own->calls && own->requests && own->decisions && own->held && flight->hold_us &&
        flight->settlings)
        return flight;
    free_flight(flight);
    return NULL;
}

static bool needs_store(const struct sl_call *call)
{
    return call->count > 0 || call->settles;
}

/* Connections of calls that need the store wait, with all their calls. */
static bool board(struct sl_round *round, struct sl_flight *flight)
{
    bool any = false;
    for (size_t i = 0; i < round->call_count; i++) {
        struct sl_call *call = &round->calls[i];
        call->conn->has_asked = false;
        if (needs_store(call) && !call->conn->is_gone)
            call->conn->flight = flight;
        any |= needs_store(call);
    }
    return any;
}

/* A text of the round's memory, which is about to be used again. */
static const char *keep(struct sl_flight *flight, const char *text)
{
    return text ? sl_round_copy(&flight->round, sl_text(text)) : NULL;
}

/* The others are answered now. */
static void split(struct sl_round *round, struct sl_flight *flight)
{
    for (size_t i = 0; i < round->call_count; i++) {
        struct sl_call *call = &round->calls[i];
        if (!call->conn->flight) {
            /* Gone while it was read: what it asked is asked all the same. */
            if (!call->conn->is_gone)
                call->reply(round, call);
            continue;
        }
        struct sl_call *own = &flight->round.calls[flight->round.call_count++];
        *own = *call;
        own->detail = keep(flight, call->detail);
        own->authenticate = keep(flight, call->authenticate);
        if (call->expires_us)
            flight->hold_us[call->first] = call->expires_us;
    }
}

static void send_settlements(struct sl_flight *flight, struct sl_channel *channel)
{
    for (size_t i = 0; i < flight->round.call_count; i++) {
        struct sl_call *call = &flight->round.calls[i];
        if (!call->settles)
            continue;
        flight->settlings[i] = (struct settling){ .flight = flight, .call = call };
        flight->settlings[i].settlement = (struct sl_settlement){ .id = call->reservation,
                                                                  .cost = call->cost,
                                                                  .done = on_settled };
        flight->waiting++;
        sl_channel_settle(channel, &flight->settlings[i].settlement);
    }
}

/* No memory to wait in: everybody hears that, and nothing was charged. */
static void refuse_all(struct sl_round *round)
{
    for (size_t i = 0; i < round->call_count; i++) {
        struct sl_call *call = &round->calls[i];
        call->conn->has_asked = false;
        if (call->conn->is_gone)
            continue;
        if (needs_store(call)) {
            call->status = 503;
            call->detail = "There is no memory left to decide it; try again.";
            sl_reply_problem(round, call);
        } else {
            call->reply(round, call);
        }
    }
}

void sl_flight_depart(struct sl_round *round)
{
    struct sl_channel *channel = round->worker->line.channel;
    struct sl_flight *flight = new_flight(round);
    if (!flight) {
        refuse_all(round);
        return;
    }
    if (!board(round, flight)) {
        split(round, flight);
        free_flight(flight);
        return;
    }
    split(round, flight);
    flight->waiting = 2; /* the errand, and us */
    flight->errand = (struct sl_errand){ .requests = round->requests,
                                         .count = round->request_count,
                                         .hold_us = flight->hold_us,
                                         .out = flight->round.decisions,
                                         .held = flight->round.held,
                                         .done = on_errand };
    sl_errand_send(&flight->errand, round->limiter, channel);
    send_settlements(flight, channel);
    sl_channel_flush(channel);
    one_less(flight);
}
