/* The questions to the shared registry in Redis (src/store/redis/lua/log_X.lua), and its answers.
 *
 * Each sl_ask_X writes the words of a call, and returns false if there is no memory. */
#ifndef SL_REGISTRY_REPLICATION_SHARED_LOG_H
#define SL_REGISTRY_REPLICATION_SHARED_LOG_H

#include "registry/replication/replica.h"
#include "store/redis/call.h"

/* The deadline of these calls; decisions have their own. */
#define SL_REPLICATION_WAIT_US INT64_C(500000)

/* Bounds of a page, which has more bytes only if it is one row; of one row; and of the whole rules
 * log, which is fetched as one (S6). The last is less than FETCHED_MAX_BYTES of
 * replication_fetch.c, because a row that changes during the fetch comes twice. */
enum {
    SL_PAGE_ROWS = 256,
    SL_PAGE_BYTES = 256 << 10,
    SL_ROW_MAX_BYTES = 1 << 20,
    SL_RULES_MAX_BYTES = 48 << 20
};

/* In Redis an epoch that is being filled has a `~` in front. */
struct sl_epoch {
    uint64_t number;
    bool is_filling;
};

/* Asks for the position of both logs. `row` (or NULL) and `change` (or 0) of `log` are looked up
 * too. */
bool sl_ask_look(struct sl_scripts *scripts, struct sl_channel_call *call, enum sl_log log,
                 const struct sl_row_name *row, uint64_t change);

struct sl_logs_seen {
    struct sl_epoch epoch; /* number 0: there is no registry */
    struct sl_log_place logs[SL_LOG_COUNT];
    int64_t now_us;         /* by Redis' clock */
    bool was_made;          /* is `change` among the log's marks? */
    struct sluice_text row; /* the row's value, valid as long as the reply */
};
bool sl_answer_look(const struct sl_redis_reply *reply, struct sl_logs_seen *out);

/* Asks for rows after version `from`. `known`: a change that Redis must know; 0: none. */
struct sl_page_asked {
    uint64_t epoch;
    enum sl_log log;
    uint64_t from, known;
};
bool sl_ask_page(struct sl_scripts *scripts, struct sl_channel_call *call,
                 const struct sl_page_asked *asked);

enum sl_told {
    SL_TOLD_WRONG,
    SL_TOLD_EPOCH,
    SL_TOLD_AFRESH,
    SL_TOLD_DAMAGED,
    SL_TOLD_ROWS,
    SL_TOLD_CONFLICT,
    SL_TOLD_FULL,
    SL_TOLD_DONE,
    SL_TOLD_TAKEN,
    SL_TOLD_WAIT,
    SL_TOLD_GRANTED,
    SL_TOLD_OPENED
};

/* The answer to a page, a write or a bid. */
struct sl_told_more {
    uint64_t version; /* of the log */
    uint64_t upto;    /* of the page's last row */
    bool has_more;
    uint64_t last; /* the log's last change; for a write: the last one before it */
    size_t first;  /* the reply's text where names and values begin */
};
enum sl_told sl_answer(const struct sl_redis_reply *reply, struct sl_told_more *out);

/* Writes a change of `rows`, all of one log. `on` and `other_on` are the last changes of this log
 * and the other one that it was made on; SL_ANY: any. `row_on`: the same for each of its rows. */
#define SL_ANY UINT64_MAX
struct sl_write_asked {
    struct sl_epoch epoch;
    enum sl_log log;
    uint64_t on, other_on, row_on;
    uint64_t change;
    const struct sl_row *rows;
    size_t count;
};
bool sl_ask_write(struct sl_scripts *scripts, struct sl_channel_call *call,
                  const struct sl_write_asked *asked);

/* Bids for the right to fill the registry, or opens it. `rank`: how new the bidder's replica is. */
bool sl_ask_found(struct sl_scripts *scripts, struct sl_channel_call *call, uint64_t who,
                  uint64_t rank, bool opens);

#endif
