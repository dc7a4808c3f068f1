/* One round: all requests that a turn of the loop has read, from all connections, decided as one
 * batch and answered in order.
 *
 *   calls      [a]  [b: none]  [c: an array]  …     one per message
 *   requests   | r | r r r r r |                    of the calls
 *   decisions  | d | d d d d d |                    one for each request
 *
 * Texts of requests lie in the connections' buffers, or in the round's memory,
 * which is good until the round is finished. */
#ifndef SL_SERVER_ROUND_H
#define SL_SERVER_ROUND_H

#include "base/buffer.h"
#include "base/scratch.h"
#include "limiter/limiter.h"

enum {
    SL_ROUND_REQUESTS = 1024,
    SL_ROUND_CALLS = 1024,
    SL_ROUND_MEMORY_BYTES = 4 << 20, /* with so much used, no call is added; a call may use more */
};

struct sl_call;
struct sl_conn;
struct sl_errand;
struct sl_job;
struct sl_dashboard_file;
struct sl_round;
struct sl_worker;

/* Appends the answer to call->conn->out. */
typedef void sl_reply(struct sl_round *round, struct sl_call *call);

struct sl_call {
    struct sl_conn *conn;
    sl_reply *reply;
    uint32_t first; /* of the round's requests */
    uint32_t count; /* and how many */

    /* What an answer over HTTP needs to know of its request. */
    bool keep_alive;
    bool is_1_0;
    bool is_head;             /* no body in the answer */
    uint16_t status;          /* of a problem */
    const char *detail;       /* in the round's memory or static */
    const char *allow;        /* 405: the methods there are */
    const char *authenticate; /* 401: WWW-Authenticate */
    struct sl_job *job;       /* whose answer it is */
    const struct sl_dashboard_file *page;
    uint32_t retry_after_s;
    int64_t expires_us;        /* a reservation's time to live */
    struct sluice_text tenant; /* the reservation's tenant; null `at`: none */
    uint64_t reservation;      /* to be settled */
    uint32_t cost;             /* at this cost */
    bool settles;
    int settled; /* the status, where the store answers later */

    /* What other fronts need to know of theirs. */
    uint32_t stream;           /* of HTTP/2 */
    uint16_t form;             /* of the answer */
    struct sluice_text answer; /* ready, in the round's memory */
    int64_t capacity;          /* of a limit that the request brings along */
};

struct sl_round {
    struct sl_worker *worker;
    struct sl_limiter *limiter;
    const struct sl_ruleset *rules;     /* in force, */
    const struct sl_settings *settings; /* and theirs */

    struct sl_call *calls;
    size_t call_count;
    struct sluice_request *requests;
    struct sluice_request blank; /* each of them begins as a copy of this */
    struct sluice_decision *decisions;
    size_t request_count;
    struct sl_request_options *options; /* by request */
    bool has_options;                   /* some are not zero */
    bool *is_asked;   /* by request, where the store answers later: is it asked? */
    int64_t *hold_us; /* by request, there too: how long its reservation lives; 0: it has none */

    struct sl_scratch memory;
    struct sl_buffer scratch; /* for one body at a time */

    /* Of a round whose decisions came later, see flight.h: */
    const struct sl_errand *errand; /* NULL: not such a round */
    uint64_t *held;                 /* reservations, by request; NULL: none was made */

    int last_status;  /* of the store: a change is logged, */
    uint64_t said_ms; /* now and then */
};

/* Returns false without memory. */
bool sl_round_init(struct sl_round *round, struct sl_worker *worker);
void sl_round_release(struct sl_round *round);

/* Is there room for a message with up to `requests` requests? Else finish the round first. */
static inline bool sl_round_has_room(const struct sl_round *round, size_t requests)
{
    return round->call_count < SL_ROUND_CALLS &&
           round->request_count + requests <= SL_ROUND_REQUESTS &&
           round->memory.taken_bytes < SL_ROUND_MEMORY_BYTES;
}

/* The next call, zeroed, of this connection; to be filled in and then added. */
struct sl_call *sl_round_call(struct sl_round *round, struct sl_conn *conn);

/* One more request, as sluice_request() makes it, for the newest call. There must be room. */
struct sluice_request *sl_round_request(struct sl_round *round);

/* The options of the newest request, to be filled in. They point into the round's memory. */
struct sl_request_options *sl_round_options(struct sl_round *round);

/* Adds a complete call: decided and answered with the others when the round is finished. */
void sl_round_add(struct sl_round *round, struct sl_call *call);

/* The same, and finishes the round: for answers so long that the next message must wait until it is
 * known whether the client reads them. */
void sl_round_add_now(struct sl_round *round, struct sl_call *call);

/* Adds a complete call whose reply decides by itself: the calls before it are finished first, then
 * it is answered at once. */
void sl_round_add_alone(struct sl_round *round, struct sl_call *call);

/* Drops the requests of the unfinished call. */
void sl_round_drop(struct sl_round *round, struct sl_call *call);

/* Finishes all calls before the unfinished one, which has no requests yet. Returns its new place.
 */
struct sl_call *sl_round_finish_before(struct sl_round *round, struct sl_call *call);

/* Makes room for that many requests: does the same if there is none. Returns the call's place. */
struct sl_call *sl_round_make_room(struct sl_round *round, struct sl_call *call, size_t requests);

/* Memory until the round is finished. NULL: there is none. */
void *sl_round_take(struct sl_round *round, size_t bytes);
const char *sl_round_copy(struct sl_round *round, struct sluice_text text);

/* Decides and answers all calls; where the store answers later, sends them to the store. */
void sl_round_finish(struct sl_round *round);

/* Decides one request of a call that was added alone, unless it was decided already. */
void sl_round_decide(struct sl_round *round, size_t number);

/* The rules that matched it; to be called right after sl_round_decide. */
size_t sl_round_explain(struct sl_round *round, size_t number,
                        const struct sluice_explained **rows);

/* Notes the store's status after every decision: logs a change. */
void sl_round_note(struct sl_round *round, int status);

#endif
