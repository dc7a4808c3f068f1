#include "store/redis/link/sentinel_protocol.h"

#include "unit/base/unit.h"

#define ADDRESS        "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n"
#define NOT_SUBSCRIBED "*3\r\n$11\r\nunsubscribe\r\n$14\r\n+switch-master\r\n:0\r\n"
#define SUBSCRIBED     "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"

static struct sl_talk talk;
static struct sl_master master;
static struct sluice_error error;

static int set_up(void **unused)
{
    (void)unused;
    talk = (struct sl_talk){ .master = "mymaster" };
    master = (struct sl_master){ 0 };
    error = (struct sluice_error){ 0 };
    return 0;
}

static void expect_words(const char *wanted)
{
    struct sl_buffer out = sl_buffer(4096);
    sl_talk_ask(&talk, &out);
    SAME_TEXT("words", ((struct sluice_text){ out.at, out.len }), wanted);
    sl_buffer_release(&out);
}

static void ask(void)
{
    struct sl_buffer out = sl_buffer(4096);
    sl_talk_ask(&talk, &out);
    assert_false(out.failed);
    sl_buffer_release(&out);
}

/* What the last of these replies means; the others mean nothing. */
static enum sl_heard hear(const char *bytes)
{
    struct sl_reply_reader *reader = sl_reply_reader_new();
    struct sl_redis_reply *reply = NULL;
    enum sl_heard heard = SL_HEARD_NOTHING;
    assert_non_null(reader);
    assert_true(sl_reply_reader_feed(reader, bytes, strlen(bytes)));
    while (sl_reply_reader_next(reader, &reply) == SL_READ_REPLY) {
        assert_int_equal(heard, SL_HEARD_NOTHING);
        heard = sl_talk_hear(&talk, reply, &master, &error);
    }
    sl_reply_reader_free(reader);
    return heard;
}

#define FROM_THE_START(name) TEST_WITH(name, set_up, NULL)

FROM_THE_START(it_is_asked_and_listened_to_in_one_go)
{
    const char *words = "*2\r\n$11\r\nUNSUBSCRIBE\r\n$14\r\n+switch-master\r\n"
                        "*3\r\n$8\r\nSENTINEL\r\n$23\r\nGET-MASTER-ADDR-BY-NAME\r\n"
                        "$8\r\nmymaster\r\n*2\r\n$9\r\nSUBSCRIBE\r\n$14\r\n+switch-master\r\n";
    expect_words(words);
    assert_int_equal(hear(NOT_SUBSCRIBED ADDRESS), SL_HEARD_MASTER);
    assert_string_equal(master.host, "127.0.0.1");
    assert_string_equal(master.port, "6379");
    assert_int_equal(hear(SUBSCRIBED), SL_HEARD_NOTHING);
    expect_words(words); /* and again */
    assert_int_equal(hear(NOT_SUBSCRIBED ADDRESS), SL_HEARD_MASTER);
    ask(); /* before all of the last answer was read */
    assert_int_equal(hear(SUBSCRIBED NOT_SUBSCRIBED ADDRESS), SL_HEARD_MASTER);
}

FROM_THE_START(a_password_is_said_once)
{
    talk.password = "secret";
    expect_words("*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"
                 "*2\r\n$11\r\nUNSUBSCRIBE\r\n$14\r\n+switch-master\r\n"
                 "*3\r\n$8\r\nSENTINEL\r\n$23\r\nGET-MASTER-ADDR-BY-NAME\r\n"
                 "$8\r\nmymaster\r\n*2\r\n$9\r\nSUBSCRIBE\r\n$14\r\n+switch-master\r\n");
    assert_int_equal(hear("+OK\r\n" NOT_SUBSCRIBED ADDRESS), SL_HEARD_MASTER);
    assert_int_equal(hear(SUBSCRIBED), SL_HEARD_NOTHING);
    ask();
    assert_int_equal(talk.stage, SL_TALK_UNSUBSCRIBED);
}

FROM_THE_START(errors_are_said_in_words)
{
    static const struct {
        const char *bytes, *words;
    } rows[] = {
        { "-NOAUTH Authentication required.\r\n", "sentinel_password" },
        { "-WRONGPASS invalid username-password pair\r\n", "WRONGPASS" },
        { "-ERR unknown command 'SENTINEL'\r\n", "unknown command" },
        { "+OK\r\n", "does not answer as a Sentinel" },
        { NOT_SUBSCRIBED "*1\r\n$9\r\n127.0.0.1\r\n", "does not answer as a Sentinel" },
        { NOT_SUBSCRIBED ADDRESS, "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        set_up(NULL);
        ask();
        SAME(rows[i].bytes, hear(rows[i].bytes), *rows[i].words ? SL_HEARD_WRONG : SL_HEARD_MASTER);
        SAME(rows[i].bytes, strstr(error.text, rows[i].words) != NULL, true);
    }
}

FROM_THE_START(a_name_that_it_does_not_know_is_no_error)
{
    ask();
    assert_int_equal(hear(NOT_SUBSCRIBED "*-1\r\n"), SL_HEARD_UNKNOWN);
    set_up(NULL);
    ask();
    assert_int_equal(hear(NOT_SUBSCRIBED "$-1\r\n"), SL_HEARD_UNKNOWN);
}

FROM_THE_START(what_is_no_address_is_refused)
{
    static const char *const rows[] = {
        "*2\r\n$0\r\n\r\n$4\r\n6379\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$5\r\n65536\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$8\r\n00006379\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$2\r\n6x\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n:6379\r\n",
        "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n",
        "+OK\r\n",
        ":1\r\n",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char bytes[256];
        set_up(NULL);
        ask();
        snprintf(bytes, sizeof bytes, "%s%s", NOT_SUBSCRIBED, rows[i]);
        SAME(rows[i], hear(bytes), SL_HEARD_WRONG);
        assert_string_equal(master.host, "");
    }
}

/* One byte more than there is room for. */
FROM_THE_START(a_host_has_room_for_255_bytes)
{
    for (int len = 255; len <= 256; len++) {
        char bytes[512], host[257];
        memset(host, 'h', sizeof host);
        host[len] = 0;
        set_up(NULL);
        ask();
        snprintf(bytes, sizeof bytes, NOT_SUBSCRIBED "*2\r\n$%d\r\n%s\r\n$5\r\n65535\r\n", len,
                 host);
        assert_int_equal(hear(bytes), len == 255 ? SL_HEARD_MASTER : SL_HEARD_WRONG);
    }
}

FROM_THE_START(news_of_our_master_are_a_reason_to_ask)
{
    static const struct {
        const char *news;
        enum sl_heard heard;
    } rows[] = {
        { "mymaster 10.0.0.1 6379 10.0.0.2 6379", SL_HEARD_CHANGED },
        { "mymaster2 10.0.0.1 6379 10.0.0.2 6379", SL_HEARD_NOTHING },
        { "other 10.0.0.1 6379 10.0.0.2 6379", SL_HEARD_NOTHING },
        { "mymaster", SL_HEARD_NOTHING },
        { "", SL_HEARD_NOTHING },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char bytes[256];
        set_up(NULL);
        ask();
        assert_int_equal(hear(NOT_SUBSCRIBED ADDRESS), SL_HEARD_MASTER);
        assert_int_equal(hear(SUBSCRIBED), SL_HEARD_NOTHING);
        snprintf(bytes, sizeof bytes,
                 "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s\r\n",
                 strlen(rows[i].news), rows[i].news);
        SAME(rows[i].news, hear(bytes), rows[i].heard);
        ask(); /* news that were on their way when it was asked again are old */
        SAME(rows[i].news, hear(bytes), SL_HEARD_NOTHING);
        SAME(rows[i].news, hear(NOT_SUBSCRIBED ADDRESS), SL_HEARD_MASTER);
    }
}
