/* Replies of Redis, in the order of the calls: what each means for its caller, and for the
 * connection. */
#include <stdio.h>

#include "base/check.h"
#include "base/text/number.h"
#include "store/redis/link/link_internal.h"

/* What a call that is sent again needs besides its own words: bytes for ASKING, EVALSHA and SCRIPT
 * LOAD, and places in the row for the script, ASKING and the call. */
enum { AGAIN_BYTES = 256, AGAIN_PLACES = 3 };

static void learn_time(struct sl_link *link, int64_t redis_us, int64_t sent_us, int64_t now_us)
{
    redis_us = sl_min_i64(sl_max_i64(redis_us, 0), SL_TIME_MAX_US);
    int64_t low_us = redis_us - now_us, high_us = redis_us - sent_us;
    if (link->knows_time && low_us <= link->ahead_high_us && high_us >= link->ahead_low_us) {
        low_us = sl_max_i64(low_us, link->ahead_low_us);
        high_us = sl_min_i64(high_us, link->ahead_high_us);
    }
    link->knows_time = true;
    link->ahead_low_us = low_us;
    link->ahead_high_us = high_us;
}

/* An error reply, and the text to report: ours, or Redis' own. */
struct trouble {
    const struct sl_redis_meaning *meaning;
    char words[256];
};

static struct trouble read_trouble(struct sl_link *link, const struct sl_redis_reply *reply)
{
    struct sluice_text sentence = sl_reply_text(reply, 0);
    struct trouble trouble = { .meaning = sl_redis_meaning(sentence) };
    const char *words = sl_redis_words(sentence);
    int len = (int)sl_min_i64((int64_t)sentence.len, (int64_t)sizeof trouble.words - 1);
    atomic_fetch_add(&link->shared->errors[trouble.meaning->error], 1);
    if (words)
        snprintf(trouble.words, sizeof trouble.words, "%s", words);
    else
        snprintf(trouble.words, sizeof trouble.words, "%.*s", len, sentence.at);
    return trouble;
}

/* Acts on an error. Returns false if the connection was lost. */
static bool apply_cure(struct sl_link *link, const struct trouble *trouble)
{
    switch (trouble->meaning->cure) {
    case SL_CURE_LEAVE:
        sl_link_lose(link, trouble->words);
        return false;
    case SL_CURE_WAIT:
        sl_link_trip(link, trouble->words);
        return true;
    case SL_CURE_NONE:
        sl_link_remember(link, trouble->words);
        return true;
    default:
        return true;
    }
}

/* Does a node of a cluster say that the call belongs elsewhere, or must wait? */
static bool is_redirection(const struct sl_link *link, const struct trouble *trouble)
{
    enum sl_redis_error error = trouble->meaning->error;
    return link->host.redirected &&
           (error == SL_REDIS_MOVED || error == SL_REDIS_ASK || error == SL_REDIS_TRYAGAIN);
}

static void mark_connected(struct sl_link *link, int64_t now_us)
{
    SL_CHECK(link->phase >= SL_LINK_GREETED && !link->is_probing);
    if (link->phase == SL_LINK_GREETED) {
        atomic_fetch_add(&link->shared->connects, 1);
        sl_target_prefer(link->target, link->address);
        link->made_us = now_us;
    }
    link->phase = SL_LINK_UP;
    link->attempts = 0;
    link->late_row = 0;
    sl_link_set_breaker(link, SL_BREAKER_CLOSED);
    sl_link_send_waiting(link);
    SL_CHECK(link->waiting_count == 0);
}

/* A probe is in time if it is answered within the deadline of a decision; the first of a connection
 * may take longer. A late one is followed by another at once: Redis is awake again, or slow. */
static bool take_probe_reply(struct sl_link *link, const struct sl_redis_reply *reply,
                             int64_t now_us)
{
    bool is_first = link->phase == SL_LINK_GREETED;
    link->is_probing = false;
    if (reply->is_error) {
        struct trouble trouble = read_trouble(link, reply);
        if (is_redirection(link, &trouble)) {
            /* The node is well, but our map is old: the probe's key lives elsewhere. */
            sl_link_probe_with(link, "");
            link->host.failed(link->host.about);
            sl_link_send_probe(link);
            return true;
        }
        if (!apply_cure(link, &trouble))
            return false;
        if (trouble.meaning->cure != SL_CURE_WAIT)
            sl_link_trip(link, trouble.words);
        link->phase = SL_LINK_UP;
        return true;
    }
    if (reply->value_count < 1) {
        sl_link_lose(link, "it does not answer as Redis does");
        return false;
    }
    learn_time(link, reply->values[0], link->probed_us, now_us);
    if (is_first || now_us - link->probed_us <= link->shared->deadline_us) {
        mark_connected(link, now_us);
    } else {
        sl_link_set_breaker(link, SL_BREAKER_OPEN);
        link->try_us = now_us;
        sl_link_wake_by(link, now_us);
    }
    return true;
}

static bool take_login_reply(struct sl_link *link, const struct sl_redis_reply *reply)
{
    if (!reply->is_error)
        return true;
    struct trouble trouble = read_trouble(link, reply);
    sl_link_lose(link, trouble.words);
    return false;
}

static bool take_role_reply(struct sl_link *link, const struct sl_redis_reply *reply)
{
    if (!take_login_reply(link, reply))
        return false;
    if (sl_text_is(sl_reply_text(reply, 0), "master"))
        return true;
    sl_link_lose(link, "Sentinel names a Redis that is not a master (any more, or yet)");
    return false;
}

/* May the script have run in part before this error? An error that concerns one call can come in
 * the middle of a script; so can NOPERM, behind commands that the user may run. */
static bool may_come_midway(const struct sl_redis_meaning *meaning)
{
    return meaning->cure == SL_CURE_NONE || meaning->error == SL_REDIS_NOPERM;
}

/* ---- sending a call again ---- */

static bool is_loading(const struct sl_link *link, const struct sl_script *script)
{
    for (size_t i = 0; i < link->loads; i++)
        if (link->loading[i] == script)
            return true;
    return false;
}

/* A call is sent again once, within its deadline, and if there is room: a whole burst of calls may
 * come back at once. */
static bool may_send_again(const struct sl_link *link, const struct sl_redis_query *query,
                           size_t more_bytes, int64_t now_us)
{
    return !query->is_again && now_us < query->due_us &&
           link->row_len + AGAIN_PLACES <= SL_ROW_MAX &&
           link->out.len + query->len + more_bytes + AGAIN_BYTES < SL_LINK_OUT_MAX_BYTES;
}

static void send_again(struct sl_link *link, struct sl_redis_query *query, int64_t now_us)
{
    SL_CHECK(!query->is_again);
    query->is_again = true;
    sl_link_send_call(link, query, now_us);
}

static void send_script(struct sl_link *link, const struct sl_script *script)
{
    SL_CHECK(link->loads < SL_LOADING_MAX);
    sl_link_add_count(&link->out, 3);
    sl_buffer_add(&link->out, SL_TEXT("$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n"));
    sl_link_add_bulk(&link->out, script->text);
    sl_link_push(link, SL_EXPECT_LOAD, NULL);
    link->loading[link->loads++] = script;
}

/* Redis does not know the call's script: loads it, unless that is on its way, and sends the call
 * again. Returns false if there is no script, or no room. */
static bool load_and_send_again(struct sl_link *link, struct sl_redis_query *query, int64_t now_us)
{
    const struct sl_script *script = query->script;
    bool is_on_its_way = is_loading(link, script);
    if (!script || !may_send_again(link, query, is_on_its_way ? 0 : script->text.len, now_us) ||
        (!is_on_its_way && link->loads == SL_LOADING_MAX))
        return false;
    if (!is_on_its_way)
        send_script(link, script);
    send_again(link, query, now_us);
    return true;
}

static void forget_loaded_script(struct sl_link *link)
{
    SL_CHECK(link->loads > 0);
    memmove(link->loading, link->loading + 1, --link->loads * sizeof *link->loading);
}

/* ---- calls ---- */

/* Returns false if the connection was lost. */
static bool take_error_reply(struct sl_link *link, struct sl_redis_query *query,
                             const struct sl_redis_reply *reply, int64_t now_us)
{
    struct trouble trouble = read_trouble(link, reply);
    const struct sl_reply_reader *reader = link->reader;
    bool is_elsewhere = is_redirection(link, &trouble);
    link->late_row = 0;
    if (query)
        query->may_have_run = may_come_midway(trouble.meaning) && !is_elsewhere;
    if (trouble.meaning->cure == SL_CURE_LOAD && query && load_and_send_again(link, query, now_us))
        return true;
    if (query && is_elsewhere &&
        link->host.redirected(link->host.about, query, trouble.meaning->error,
                              sl_reply_text(reply, 0)))
        return true;
    if (query)
        sl_link_end(link, query, SL_CALL_ERROR, trouble.meaning->status, NULL);
    return link->reader == reader && (is_elsewhere || apply_cure(link, &trouble));
}

static bool take_call_reply(struct sl_link *link, struct sl_redis_query *query,
                            struct sl_redis_reply *reply, int64_t now_us)
{
    if (reply->is_error)
        return take_error_reply(link, query, reply, now_us);
    if (!query)
        return true;
    if (!query->script) {
        sl_link_end(link, query, SL_CALL_OK, SLUICE_OK, reply);
        return true;
    }
    if (query->is_packed)
        sl_reply_unpack(reply);
    if (reply->value_count > 0)
        learn_time(link, reply->values[0], query->sent_us, now_us);
    bool was_late = reply->value_count == 2 && reply->values[1] == -1;
    if (was_late && may_send_again(link, query, 0, now_us)) {
        send_again(link, query, now_us);
        return true;
    }
    link->late_row = 0;
    query->may_have_run = !was_late;
    if (was_late)
        sl_link_end(link, query, SL_CALL_LATE, SLUICE_STORE_DOWN, NULL);
    else
        sl_link_end(link, query, SL_CALL_OK, SLUICE_OK, reply);
    return true;
}

/* Matches a reply with the next place in the row. Returns false if the connection was lost. */
static bool take_reply(struct sl_link *link, struct sl_redis_reply *reply, int64_t now_us)
{
    if (link->row_len == 0) {
        sl_link_lose(link, "it sends a reply that was not asked for");
        return false;
    }
    struct sl_pending_answer place = link->row[link->row_at];
    link->row_at = (link->row_at + 1) % SL_ROW_MAX;
    link->row_len--;
    SL_CHECK(place.what == SL_EXPECT_CALL || !place.query);
    switch (place.what) {
    case SL_EXPECT_GREETING:
        return take_login_reply(link, reply);
    case SL_EXPECT_ROLE:
        return take_role_reply(link, reply);
    case SL_EXPECT_PROBE:
        return take_probe_reply(link, reply, now_us);
    case SL_EXPECT_LOAD:
        forget_loaded_script(link);
        return true;
    case SL_EXPECT_ASKING:
        return true;
    default:
        return take_call_reply(link, place.query, reply, now_us);
    }
}

bool sl_link_take_replies(struct sl_link *link)
{
    int64_t now_us = sl_link_now_us();
    const struct sl_reply_reader *reader = link->reader;
    struct sl_redis_reply *reply;
    SL_CHECK(reader);
    link->heard_us = now_us;
    for (;;) {
        if (link->reader != reader)
            return false; /* a callback has flushed, and that has lost the connection */
        switch (sl_reply_reader_next(link->reader, &reply)) {
        case SL_READ_MORE:
            return true;
        case SL_READ_WRONG:
            sl_link_lose(link, "it does not speak Redis' protocol");
            return false;
        default:
            if (!take_reply(link, reply, now_us))
                return false;
        }
    }
}
