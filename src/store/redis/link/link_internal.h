/* A link from the inside: link.c has calls, bytes and time, link_connect.c how a connection is made
 * and lost, link_answer.c what each reply means. */
#ifndef SL_STORE_REDIS_LINK_LINK_INTERNAL_H
#define SL_STORE_REDIS_LINK_LINK_INTERNAL_H

#include "store/redis/link/link.h"
#include "store/redis/link/socket.h"

enum {
    SL_ROW_MAX = 8192, /* replies that are expected, late calls included */
    SL_LINK_OUT_MAX_BYTES = 4 << 20,
    SL_LOADING_MAX = 64, /* scripts at a time */
};

/* What the next reply belongs to. */
enum sl_expected {
    SL_EXPECT_GREETING,
    SL_EXPECT_ROLE,
    SL_EXPECT_PROBE,
    SL_EXPECT_LOAD,
    SL_EXPECT_ASKING, /* the command before a redirected call; the call's reply decides */
    SL_EXPECT_CALL
};

struct sl_pending_answer {
    struct sl_redis_query *query; /* NULL: no caller waits any more, or it is not a call */
    enum sl_expected what;
};

enum sl_phase { SL_LINK_DOWN, SL_LINK_CONNECTING, SL_LINK_GREETED, SL_LINK_UP };

struct sl_link {
    struct sl_link_shared *shared;
    struct sl_target *target;
    struct sl_link_host host;
    char probe_key[48];
    enum sl_phase phase;
    enum sl_breaker breaker;
    struct sl_socket socket;
    uint32_t reign; /* the number of the master that it leads to */
    struct sl_reply_reader *reader;
    struct sl_buffer out;
    size_t sent;

    struct sl_pending_answer *row; /* expected replies: a ring of SL_ROW_MAX */
    size_t row_at, row_len;
    struct sl_redis_query *waiting, **waiting_end; /* for a connection */
    size_t waiting_count;
    const struct sl_script *loading[SL_LOADING_MAX]; /* sent, without a reply yet, in order */
    size_t loads;

    bool knows_time;
    int64_t ahead_low_us, ahead_high_us; /* Redis' clock minus ours, between these */

    uint32_t late_row; /* how many late calls in a row */
    uint32_t attempts; /* at connecting, since it was last good */
    bool is_probing;
    int64_t probed_us, made_us, heard_us;
    int64_t try_us;          /* when to connect, or probe, again */
    int64_t connect_due_us;  /* of all addresses together, greeting included */
    int64_t address_due_us;  /* of the one that is tried */
    uint32_t address;        /* its number, */
    uint32_t addresses_left; /* so many behind it, */
    char why_not[256];       /* and why the first did not do */
    int64_t wake_us;         /* as the host was told */
    bool reads, writes, write_for_read;
};

/* ---- link_connect.c ---- */

void sl_link_connect(struct sl_link *link);

/* The address that is being tried refuses, or does not answer: tries the next one. After the last
 * the connection is lost. */
void sl_link_try_next_address(struct sl_link *link, const char *why);

/* Do Sentinels name another master than the one that it leads to? */
bool sl_link_is_of_old(const struct sl_link *link);

/* The socket is connected: writes the login, and a probe. */
void sl_link_greet(struct sl_link *link);
void sl_link_send_probe(struct sl_link *link);

/* sl_link_shut closes the connection; callers are not told. sl_link_fail_all tells them. They may
 * make a call from within it, which is refused, or waits for the next connection. */
void sl_link_shut(struct sl_link *link);
void sl_link_fail_all(struct sl_link *link);

/* Gives the connection up and fails all pending calls. It is made again: at once if it was good for
 * a second, else after a pause. */
void sl_link_lose(struct sl_link *link, const char *why);

/* Asks the host to wake it when it may connect again, or to look for another master. */
void sl_link_wait_to_try(struct sl_link *link, int64_t now_us);

/* Opens the breaker: Redis answers late, or says that it cannot. A probe follows after a pause. */
void sl_link_trip(struct sl_link *link, const char *why);

/* ---- link.c ---- */

/* Adds to the row of expected replies. */
void sl_link_push(struct sl_link *link, enum sl_expected what, struct sl_redis_query *query);
void sl_link_add_count(struct sl_buffer *out, size_t words);
void sl_link_add_bulk(struct sl_buffer *out, struct sluice_text text);
void sl_link_unwatch(struct sl_link *link);
void sl_link_forget_waiting(struct sl_link *link);

void sl_link_remember(struct sl_link *link, const char *why);
void sl_link_set_breaker(struct sl_link *link, enum sl_breaker breaker);

/* Asks to be woken then at the latest. Earlier does no harm: sl_link_on_time checks everything. */
void sl_link_wake_by(struct sl_link *link, int64_t at_us);

/* The call has ended. */
void sl_link_end(struct sl_link *link, struct sl_redis_query *query, enum sl_call_end how,
                 int status, const struct sl_redis_reply *reply);
void sl_link_send_call(struct sl_link *link, struct sl_redis_query *query, int64_t now_us);
void sl_link_send_waiting(struct sl_link *link);

/* ---- link_answer.c ---- */

/* Takes every complete reply. Returns false if the connection was lost. */
bool sl_link_take_replies(struct sl_link *link);

#endif
