/* Writes questions to a Sentinel, and reads its answers. A message that the master has changed is
 * a reason to ask, never an answer: only GET-MASTER-ADDR-BY-NAME tells what a Sentinel goes by. */
#include "store/redis/link/sentinel_protocol.h"

#include "base/check.h"
#include "base/error.h"
#include "base/text/number.h"

#define CHANNEL "+switch-master"

static void add_words(struct sl_buffer *out, size_t count, const char *const *words)
{
    sl_buffer_add(out, SL_TEXT("*"));
    sl_buffer_add_i64(out, (int64_t)count);
    sl_buffer_add(out, SL_TEXT("\r\n"));
    for (size_t i = 0; i < count; i++) {
        struct sluice_text word = sl_text(words[i]);
        sl_buffer_add(out, SL_TEXT("$"));
        sl_buffer_add_i64(out, (int64_t)word.len);
        sl_buffer_add(out, SL_TEXT("\r\n"));
        sl_buffer_add(out, word);
        sl_buffer_add(out, SL_TEXT("\r\n"));
    }
}

void sl_talk_ask(struct sl_talk *talk, struct sl_buffer *out)
{
    SL_CHECK(talk->master && talk->stage <= SL_TALK_LISTENS);
    bool logs_in = talk->stage == SL_TALK_NEW && talk->password;
    if (logs_in)
        add_words(out, 2, (const char *[]){ "AUTH", talk->password });
    add_words(out, 2, (const char *[]){ "UNSUBSCRIBE", CHANNEL });
    add_words(out, 3, (const char *[]){ "SENTINEL", "GET-MASTER-ADDR-BY-NAME", talk->master });
    add_words(out, 2, (const char *[]){ "SUBSCRIBE", CHANNEL });
    talk->stage = logs_in ? SL_TALK_LOGIN : SL_TALK_UNSUBSCRIBED;
}

/* "mymaster 127.0.0.1 6379 127.0.0.1 6380" */
static bool is_about(const struct sl_talk *talk, struct sluice_text news)
{
    size_t len = strlen(talk->master);
    return news.len > len && memcmp(news.at, talk->master, len) == 0 && news.at[len] == ' ';
}

static bool read_address(const struct sl_redis_reply *reply, struct sl_master *out)
{
    struct sluice_text host = sl_reply_text(reply, 0), port = sl_reply_text(reply, 1);
    uint64_t number = 0;
    if (reply->text_count != 2 || host.len == 0 || host.len >= sizeof out->host ||
        memchr(host.at, 0, host.len) || !sl_parse_u64(port, &number) || number == 0 ||
        number > UINT16_MAX || port.len >= sizeof out->port)
        return false;
    *out = (struct sl_master){ 0 };
    memcpy(out->host, host.at, host.len);
    memcpy(out->port, port.at, port.len);
    SL_CHECK(*out->host && *out->port);
    return true;
}

static enum sl_heard reject_reply(struct sluice_error *error, const struct sl_redis_reply *reply)
{
    struct sluice_text text = sl_reply_text(reply, 0);
    if (!reply->is_error)
        sl_error_say(error, "it does not answer as a Sentinel does");
    else if (memmem(text.at, text.len, "NOAUTH", 6))
        sl_error_say(error, "it wants a password; write it in the store's URL, "
                            "redis-sentinel://…/NAME?sentinel_password=PASSWORD");
    else
        sl_error_say(error, "%.*s", (int)sl_min_i64((int64_t)text.len, 128), text.at);
    if (!*error->text)
        sl_error_say(error, "it refuses, and does not say why");
    return SL_HEARD_WRONG;
}

/* A nil, which is read as one empty text, means that the name is unknown. */
static enum sl_heard read_master_reply(const struct sl_redis_reply *reply, struct sl_master *master,
                                       struct sluice_error *error)
{
    if (reply->text_count == 1 && reply->value_count == 0 && sl_reply_text(reply, 0).len == 0)
        return SL_HEARD_UNKNOWN;
    return read_address(reply, master) ? SL_HEARD_MASTER : reject_reply(error, reply);
}

enum sl_heard sl_talk_hear(struct sl_talk *talk, const struct sl_redis_reply *reply,
                           struct sl_master *master, struct sluice_error *error)
{
    struct sluice_text word = sl_reply_text(reply, 0);
    SL_CHECK(talk->stage != SL_TALK_NEW);
    if (reply->is_error)
        return reject_reply(error, reply);
    switch (talk->stage) {
    case SL_TALK_LOGIN:
        talk->stage = SL_TALK_UNSUBSCRIBED;
        return SL_HEARD_NOTHING;
    case SL_TALK_UNSUBSCRIBED:
        if (sl_text_is(word, "message") || sl_text_is(word, "subscribe"))
            return SL_HEARD_NOTHING; /* older than the answer that follows */
        talk->stage = SL_TALK_ADDRESS;
        return sl_text_is(word, "unsubscribe") ? SL_HEARD_NOTHING : reject_reply(error, reply);
    case SL_TALK_ADDRESS:
        talk->stage = SL_TALK_SUBSCRIBED;
        return read_master_reply(reply, master, error);
    case SL_TALK_SUBSCRIBED:
        talk->stage = SL_TALK_LISTENS;
        return sl_text_is(word, "subscribe") ? SL_HEARD_NOTHING : reject_reply(error, reply);
    default:
        if (!sl_text_is(word, "message"))
            return reject_reply(error, reply);
        return is_about(talk, sl_reply_text(reply, 2)) ? SL_HEARD_CHANGED : SL_HEARD_NOTHING;
    }
}
