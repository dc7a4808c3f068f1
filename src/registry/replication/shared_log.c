/* The words of calls to the shared registry, and the reading of its replies: keys and arguments as
 * src/store/redis/lua/log_X.lua expect them. */
#include "registry/replication/shared_log.h"

#include "base/check.h"

static const char *const log_names[SL_LOG_COUNT] = { "rules", "users" };

/* An instance that has missed no more changes than these still hears which rows were deleted. */
static const int64_t marks_kept[SL_LOG_COUNT] = { 4096, 65536 };

/* 0: no bound, because records are applied page by page. */
static const int64_t most_bytes[SL_LOG_COUNT] = { SL_RULES_MAX_BYTES, 0 };

enum part { ROWS, ORDER, MARKS, GONE, PARTS };

/* All in one slot of a cluster. */
#define KEY(name) "rl:{~registry}:" name
static const struct sluice_text state_key = { KEY("state"), sizeof KEY("state") - 1 };
static const char *const part_keys[SL_LOG_COUNT][PARTS] = {
    { KEY("rules.rows"), KEY("rules.order"), KEY("rules.marks"), KEY("rules.gone") },
    { KEY("users.rows"), KEY("users.order"), KEY("users.marks"), KEY("users.gone") },
};

/* ---- words ---- */

static struct sluice_text key_of(enum sl_log log, enum part part)
{
    return sl_text(part_keys[log][part]);
}

static void add_change(struct sl_channel_call *call, uint64_t change)
{
    char room[SL_CHANGE_DIGITS];
    struct sl_buffer text = { .at = room, .room = sizeof room, .most = sizeof room };
    if (change == SL_ANY)
        sl_buffer_add(&text, SL_TEXT("*"));
    else if (change)
        sl_change_print(&text, change);
    sl_call_text(call, (struct sluice_text){ room, text.len });
}

static void add_epoch(struct sl_channel_call *call, struct sl_epoch epoch)
{
    char room[1 + SL_CHANGE_DIGITS];
    struct sl_buffer text = { .at = room, .room = sizeof room, .most = sizeof room };
    sl_buffer_add(&text, epoch.is_filling ? SL_TEXT("~") : SL_TEXT(""));
    sl_change_print(&text, epoch.number);
    sl_call_text(call, (struct sluice_text){ room, text.len });
}

static bool end_call(struct sl_channel_call *call)
{
    call->query.patience_us = SL_REPLICATION_WAIT_US;
    call->query.is_quiet = true;
    return sl_call_end(call);
}

bool sl_ask_look(struct sl_scripts *scripts, struct sl_channel_call *call, enum sl_log log,
                 const struct sl_row_name *row, uint64_t change)
{
    struct sluice_text keys[] = { state_key, key_of(log, ROWS), key_of(log, MARKS) };
    struct sl_buffer name = sl_buffer(1 << 16);
    sl_call_begin(call, sl_script_get(scripts, SL_SCRIPT_LOG_LOOK, 0), keys, 3);
    if (row)
        sl_row_name_print(&name, row);
    sl_call_text(call, (struct sluice_text){ name.at, name.len });
    add_change(call, change);
    bool good = !name.failed;
    sl_buffer_release(&name);
    return good && end_call(call);
}

bool sl_ask_page(struct sl_scripts *scripts, struct sl_channel_call *call,
                 const struct sl_page_asked *asked)
{
    struct sluice_text keys[] = { state_key, key_of(asked->log, ROWS), key_of(asked->log, ORDER),
                                  key_of(asked->log, MARKS) };
    SL_CHECK(asked->epoch != 0);
    sl_call_begin(call, sl_script_get(scripts, SL_SCRIPT_LOG_PAGE, 0), keys, 4);
    add_epoch(call, (struct sl_epoch){ asked->epoch, false });
    sl_call_text(call, sl_text(log_names[asked->log]));
    add_change(call, asked->known);
    sl_call_number(call, (int64_t)asked->from);
    sl_call_number(call, SL_PAGE_ROWS);
    sl_call_number(call, SL_PAGE_BYTES);
    return end_call(call);
}

static bool add_rows(struct sl_channel_call *call, const struct sl_write_asked *asked)
{
    struct sl_buffer text = sl_buffer(4 << 20);
    bool good = true;
    for (size_t i = 0; i < asked->count && good; i++) {
        sl_buffer_clear(&text);
        sl_row_name_print(&text, &asked->rows[i].name);
        sl_call_text(call, (struct sluice_text){ text.at, text.len });
        add_change(call, asked->row_on);
        good = !text.failed;
        sl_buffer_clear(&text);
        sl_row_print(&text, &asked->rows[i]);
        sl_call_text(call, (struct sluice_text){ text.at, text.len });
        good = good && !text.failed;
    }
    sl_buffer_release(&text);
    return good;
}

bool sl_ask_write(struct sl_scripts *scripts, struct sl_channel_call *call,
                  const struct sl_write_asked *asked)
{
    enum sl_log log = asked->log, other = log == SL_LOG_RULES ? SL_LOG_USERS : SL_LOG_RULES;
    SL_CHECK(log < SL_LOG_COUNT && asked->count > 0 && asked->change <= INT64_MAX);
    struct sluice_text keys[] = { state_key, key_of(log, ROWS), key_of(log, ORDER),
                                  key_of(log, MARKS), key_of(log, GONE) };
    sl_call_begin(call, sl_script_get(scripts, SL_SCRIPT_LOG_WRITE, 0), keys, 5);
    add_epoch(call, asked->epoch);
    sl_call_text(call, sl_text(log_names[log]));
    add_change(call, asked->on);
    sl_call_text(call, sl_text(log_names[other]));
    add_change(call, asked->other_on);
    add_change(call, asked->change);
    sl_call_number(call, marks_kept[log]);
    sl_call_number(call, most_bytes[log]);
    return add_rows(call, asked) && end_call(call);
}

bool sl_ask_found(struct sl_scripts *scripts, struct sl_channel_call *call, uint64_t who,
                  uint64_t rank, bool opens)
{
    struct sluice_text keys[1 + SL_LOG_COUNT * PARTS] = { state_key };
    SL_CHECK(who != 0 && rank < UINT64_C(1) << 53); /* Lua's numbers are doubles */
    for (size_t i = 0; i < SL_LOG_COUNT * PARTS; i++)
        keys[1 + i] = key_of((enum sl_log)(i / PARTS), (enum part)(i % PARTS));
    sl_call_begin(call, sl_script_get(scripts, SL_SCRIPT_LOG_FOUND, 0), keys,
                  sizeof keys / sizeof *keys);
    add_change(call, who);
    sl_call_number(call, (int64_t)rank);
    sl_call_text(call, opens ? SL_TEXT("open") : SL_TEXT("bid"));
    return end_call(call);
}

/* ---- answers ---- */

/* "" is 0. Returns false if the text is no change. */
static bool read_change(struct sluice_text text, uint64_t *out)
{
    *out = 0;
    return text.len == 0 || sl_change_parse(text, out);
}

static bool read_epoch(struct sluice_text text, struct sl_epoch *out)
{
    out->is_filling = text.len && *text.at == '~';
    if (out->is_filling)
        text = (struct sluice_text){ text.at + 1, text.len - 1 };
    return read_change(text, &out->number);
}

bool sl_answer_look(const struct sl_redis_reply *reply, struct sl_logs_seen *out)
{
    if (reply->value_count != 4 || reply->text_count != 4)
        return false;
    for (size_t i = 0; i < SL_LOG_COUNT; i++)
        out->logs[i].version = (uint64_t)reply->values[1 + i];
    out->now_us = reply->values[0];
    out->was_made = reply->values[3];
    out->row = sl_reply_text(reply, 3);
    return read_epoch(sl_reply_text(reply, 0), &out->epoch) &&
           read_change(sl_reply_text(reply, 1), &out->logs[SL_LOG_RULES].last) &&
           read_change(sl_reply_text(reply, 2), &out->logs[SL_LOG_USERS].last);
}

enum sl_told sl_answer(const struct sl_redis_reply *reply, struct sl_told_more *out)
{
    static const char *const words[] = {
        [SL_TOLD_EPOCH] = "epoch",       [SL_TOLD_AFRESH] = "afresh",
        [SL_TOLD_DAMAGED] = "damaged",   [SL_TOLD_ROWS] = "rows",
        [SL_TOLD_CONFLICT] = "conflict", [SL_TOLD_FULL] = "full",
        [SL_TOLD_DONE] = "done",         [SL_TOLD_TAKEN] = "taken",
        [SL_TOLD_WAIT] = "wait",         [SL_TOLD_GRANTED] = "granted",
        [SL_TOLD_OPENED] = "opened",
    };
    if (reply->value_count != 4 || reply->text_count < 1 ||
        !read_change(sl_reply_text(reply, 1), &out->last))
        return SL_TOLD_WRONG;
    out->version = (uint64_t)reply->values[1];
    out->upto = (uint64_t)reply->values[2];
    out->has_more = reply->values[3];
    out->first = 2;
    for (size_t i = SL_TOLD_EPOCH; i < sizeof words / sizeof *words; i++)
        if (sl_text_is(sl_reply_text(reply, 0), words[i]))
            return (enum sl_told)i;
    return SL_TOLD_WRONG;
}
