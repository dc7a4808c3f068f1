/* Any bytes as what a Sentinel says, asked once more whenever the first byte's bits say so.
 *
 *   it names a master whose host and port can be looked up, or it does not; what is wrong is said
 * in words; a talk that has named one or listens goes on from there, whatever comes. */
#include "base/check.h"
#include "store/redis/link/sentinel_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { INPUT_MAX = 1 << 16 };

static void ask(struct sl_talk *talk)
{
    struct sl_buffer out = sl_buffer(4096);
    sl_talk_ask(talk, &out);
    SL_CHECK(!out.failed && out.len > 0);
    SL_CHECK(talk->stage == SL_TALK_LOGIN || talk->stage == SL_TALK_UNSUBSCRIBED);
    sl_buffer_release(&out);
}

static void check_master(const struct sl_master *master)
{
    size_t host = strnlen(master->host, sizeof master->host);
    size_t port = strnlen(master->port, sizeof master->port);
    SL_CHECK(host > 0 && host < sizeof master->host && port > 0 && port < sizeof master->port);
    for (size_t i = 0; i < port; i++)
        SL_CHECK(master->port[i] >= '0' && master->port[i] <= '9');
}

/* False: it is not to be listened to any more. */
static bool check_reply(struct sl_talk *talk, const struct sl_redis_reply *reply)
{
    struct sl_master master = { 0 };
    struct sluice_error error = { 0 };
    enum sl_talk_stage before = talk->stage;
    enum sl_heard heard = sl_talk_hear(talk, reply, &master, &error);
    SL_CHECK((heard == SL_HEARD_WRONG) == (*error.text != 0));
    SL_CHECK((heard == SL_HEARD_MASTER) == (*master.host != 0));
    SL_CHECK(heard != SL_HEARD_CHANGED || before == SL_TALK_LISTENS);
    if (heard == SL_HEARD_MASTER || heard == SL_HEARD_UNKNOWN)
        SL_CHECK(before == SL_TALK_ADDRESS && talk->stage == SL_TALK_SUBSCRIBED);
    if (heard == SL_HEARD_MASTER)
        check_master(&master);
    return heard != SL_HEARD_WRONG;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0 || len > INPUT_MAX)
        return 0;
    struct sl_talk talk = { .master = "mymaster", .password = bytes[0] & 1 ? "secret" : NULL };
    struct sl_reply_reader *reader = sl_reply_reader_new();
    struct sl_redis_reply *reply;
    uint8_t asks = bytes[0];
    SL_CHECK(reader != NULL);
    ask(&talk);
    SL_CHECK(sl_reply_reader_feed(reader, (const char *)bytes + 1, len - 1));
    while (sl_reply_reader_next(reader, &reply) == SL_READ_REPLY && check_reply(&talk, reply)) {
        asks >>= 1;
        if (asks & 1)
            ask(&talk);
    }
    sl_reply_reader_free(reader);
    return 0;
}
