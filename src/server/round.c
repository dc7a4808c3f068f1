/* The round of a worker, or of a flight: see round.h. */
#include "server/round.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "server/conn.h"
#include "server/flight.h"
#include "server/worker.h"

enum {
    SAID_EVERY_MS = 10000,
    MEMORY_BYTES = 256 << 10,
    SCRATCH_KEPT_BYTES = 1 << 20,
    SCRATCH_MAX_BYTES = SL_CONN_OUT_MAX_BYTES - 4096,
};

bool sl_round_init(struct sl_round *round, struct sl_worker *worker)
{
    *round = (struct sl_round){ .worker = worker,
                                .blank = sluice_request(),
                                .memory = sl_scratch(MEMORY_BYTES),
                                .scratch = sl_buffer(SCRATCH_MAX_BYTES) };
    round->calls = calloc(SL_ROUND_CALLS, sizeof *round->calls);
    round->requests = calloc(SL_ROUND_REQUESTS, sizeof *round->requests);
    round->decisions = calloc(SL_ROUND_REQUESTS, sizeof *round->decisions);
    round->options = calloc(SL_ROUND_REQUESTS, sizeof *round->options);
    round->is_asked = calloc(SL_ROUND_REQUESTS, sizeof *round->is_asked);
    round->hold_us = calloc(SL_ROUND_REQUESTS, sizeof *round->hold_us);
    return round->calls && round->requests && round->decisions && round->options &&
           round->is_asked && round->hold_us;
}

void sl_round_release(struct sl_round *round)
{
    sl_scratch_release(&round->memory);
    sl_buffer_release(&round->scratch);
    free(round->calls);
    free(round->requests);
    free(round->decisions);
    free(round->options);
    free(round->is_asked);
    free(round->hold_us);
}

void *sl_round_take(struct sl_round *round, size_t bytes)
{
    return sl_scratch_take(&round->memory, bytes);
}

const char *sl_round_copy(struct sl_round *round, struct sluice_text text)
{
    char *copy = sl_round_take(round, text.len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    return copy;
}

struct sl_call *sl_round_call(struct sl_round *round, struct sl_conn *conn)
{
    SL_CHECK(round->call_count < SL_ROUND_CALLS);
    struct sl_call *call = &round->calls[round->call_count];
    *call = (struct sl_call){ .conn = conn, .first = (uint32_t)round->request_count };
    return call;
}

struct sluice_request *sl_round_request(struct sl_round *round)
{
    SL_CHECK(round->request_count < SL_ROUND_REQUESTS);
    round->options[round->request_count] = (struct sl_request_options){ 0 };
    struct sluice_request *request = &round->requests[round->request_count++];
    *request = round->blank;
    return request;
}

struct sl_request_options *sl_round_options(struct sl_round *round)
{
    SL_CHECK(round->request_count > 0);
    round->has_options = true;
    return &round->options[round->request_count - 1];
}

void sl_round_add(struct sl_round *round, struct sl_call *call)
{
    SL_CHECK(call == &round->calls[round->call_count]);
    call->count = (uint32_t)round->request_count - call->first;
    call->conn->has_asked |= call->count > 0 || call->settles;
    round->call_count++;
}

void sl_round_drop(struct sl_round *round, struct sl_call *call)
{
    SL_CHECK(call == &round->calls[round->call_count]);
    round->request_count = call->first;
}

struct sl_call *sl_round_finish_before(struct sl_round *round, struct sl_call *call)
{
    struct sl_call kept = *call;
    sl_round_finish(round);
    SL_CHECK(!kept.conn->flight); /* its answer would come before the answers that wait */
    call = sl_round_call(round, kept.conn);
    kept.first = call->first;
    *call = kept;
    return call;
}

struct sl_call *sl_round_make_room(struct sl_round *round, struct sl_call *call, size_t requests)
{
    return sl_round_has_room(round, requests) ? call : sl_round_finish_before(round, call);
}

static void reset_round(struct sl_round *round)
{
    round->call_count = round->request_count = 0;
    round->has_options = false;
    sl_scratch_reset(&round->memory);
    if (round->scratch.room > SCRATCH_KEPT_BYTES)
        sl_buffer_release(&round->scratch);
}

/* Decides the first `requests` and answers the first `calls`. */
static void decide_and_answer(struct sl_round *round, size_t calls, size_t requests)
{
    if (requests) {
        struct sl_batch_in in = { round->requests, round->has_options ? round->options : NULL,
                                  requests, round->decisions };
        sl_round_note(round, sl_limiter_decide_with_options(round->limiter, &in));
    }
    for (size_t i = 0; i < calls; i++) {
        struct sl_call *call = &round->calls[i];
        if (!call->conn->is_gone)
            call->reply(round, call);
    }
}

void sl_round_finish(struct sl_round *round)
{
    if (round->call_count == 0) {
        reset_round(round); /* calls that were refused at once have used memory too */
        return;
    }
    if (round->worker->store_io.channel)
        sl_flight_depart(round);
    else
        decide_and_answer(round, round->call_count, round->request_count);
    reset_round(round);
}

void sl_round_add_now(struct sl_round *round, struct sl_call *call)
{
    sl_round_add(round, call);
    sl_round_finish(round);
}

void sl_round_add_alone(struct sl_round *round, struct sl_call *call)
{
    sl_round_add(round, call);
    if (round->worker->store_io.channel) {
        sl_round_finish(round);
        return;
    }
    decide_and_answer(round, round->call_count - 1, call->first);
    if (!call->conn->is_gone)
        call->reply(round, call);
    reset_round(round);
}

void sl_round_decide(struct sl_round *round, size_t number)
{
    if (round->errand)
        return;
    int status =
        sl_limiter_decide(round->limiter, &round->requests[number], &round->decisions[number]);
    sl_round_note(round, status);
}

size_t sl_round_explain(struct sl_round *round, size_t number, const struct sluice_explained **rows)
{
    return round->errand ? sl_errand_explain(round->errand, number, rows)
                         : sl_limiter_explain(round->limiter, rows);
}

void sl_round_note(struct sl_round *round, int status)
{
    if (round->worker->server->store->ops->health)
        return; /* the main thread watches the store, and logs it */
    uint64_t now_ms = uv_now(&round->worker->loop);
    if (__builtin_expect(status == round->last_status, 1) ||
        (round->said_ms && now_ms - round->said_ms < SAID_EVERY_MS))
        return;
    round->said_ms = now_ms;
    if (status != SLUICE_OK)
        fprintf(stderr, "sluice: %s; answering as `on_store_failure` says\n",
                sluice_status_text(status));
    else
        fprintf(stderr, "sluice: the store is back\n");
    round->last_status = status;
}
