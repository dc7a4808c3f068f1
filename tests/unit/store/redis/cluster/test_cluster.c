/* A cluster's map, out of what its nodes say. */
#include "store/redis/cluster/cluster.h"

#include "unit/base/unit.h"

static struct sl_cluster *cluster;
static struct sl_target *target;
static struct sl_reply_reader *reader;

static int set_up(void **unused)
{
    (void)unused;
    struct sluice_error error = { 0 };
    struct sl_store_url url = { .hosts = "127.0.0.1:7000,[::1]:7001" };
    target = sl_target_open(&url, &(struct sl_tls_client){ 0 }, &error);
    cluster = sl_cluster_new(target, url.hosts);
    reader = sl_reply_reader_new();
    return target && cluster && reader ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_reply_reader_free(reader);
    sl_cluster_free(cluster);
    sl_target_close(target);
    return 0;
}

static bool learn(const char *wire)
{
    struct sl_redis_reply *reply = NULL;
    sl_reply_reader_free(reader);
    reader = sl_reply_reader_new();
    assert_true(sl_reply_reader_feed(reader, wire, strlen(wire)));
    SAME(wire, sl_reply_reader_next(reader, &reply), SL_READ_REPLY);
    return sl_cluster_learn(cluster, reply, target);
}

static const char *owner_name(uint32_t slot)
{
    static char name[300];
    uint32_t number = sl_cluster_owner(cluster, slot);
    struct sl_target *owner = number == SL_NO_MEMBER ? NULL : sl_cluster_target(cluster, number);
    snprintf(name, sizeof name, "%s", owner ? sl_target_name(owner) : "nobody");
    sl_target_close(owner);
    return name;
}

#define ONE_RANGE "*1\r\n*3\r\n:0\r\n:16383\r\n"

#define ON_A_CLUSTER(test) TEST_WITH(test, set_up, tear_down)

ON_A_CLUSTER(nodes_are_called_in_many_ways)
{
    static const struct {
        const char *wire, *name;
    } rows[] = {
        { ONE_RANGE "*3\r\n$9\r\n127.0.0.2\r\n:7002\r\n$1\r\ni\r\n", "127.0.0.2:7002" },
        { ONE_RANGE "*2\r\n$9\r\n127.0.0.2\r\n:7003\r\n", "127.0.0.2:7003" }, /* before Redis 4 */
        { ONE_RANGE "*4\r\n$2\r\n::\r\n:1\r\n$1\r\ni\r\n*2\r\n$2\r\nip\r\n$1\r\nx\r\n", "[::]:1" },
        { ONE_RANGE "*3\r\n$-1\r\n:7004\r\n$1\r\ni\r\n", "127.0.0.1:7004" }, /* where we asked */
        { ONE_RANGE "*3\r\n$0\r\n\r\n:7005\r\n$1\r\ni\r\n", "127.0.0.1:7005" },
        { ONE_RANGE "*3\r\n$3\r\n::1\r\n:7001\r\n$1\r\ni\r\n", "[::1]:7001" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i].wire, learn(rows[i].wire), true);
        SAME_TEXT(rows[i].wire, sl_text(owner_name(0)), rows[i].name);
        SAME_TEXT(rows[i].wire, sl_text(owner_name(16383)), rows[i].name);
        SAME(rows[i].wire, sl_cluster_masters(cluster), 1);
    }
    assert_int_equal(sl_cluster_owner(cluster, 5),
                     1); /* the node that the URL named keeps its number */
    assert_int_equal(sl_cluster_lessons(cluster), COUNT(rows));
}

ON_A_CLUSTER(what_is_no_map_changes_nothing)
{
    static const char *const rows[] = {
        "*0\r\n",
        ":1\r\n",
        "+OK\r\n",
        "*2\r\n:1\r\n:2\r\n",
        "*1\r\n*0\r\n",
        "*1\r\n*2\r\n:0\r\n:1\r\n",
        "*1\r\n*3\r\n:5\r\n:4\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n",
        "*1\r\n*3\r\n:-1\r\n:4\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n",
        "*1\r\n*3\r\n:0\r\n:9223372036854775807\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\na\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*5\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n*0\r\n$1\r\nx\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*3\r\n:1\r\n:1\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n:7\r\n",
        "*1\r\n*9\r\n:0\r\n:1\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:"
        "0\r\n",
        ONE_RANGE "*3\r\n$1\r\na\r\n:0\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$1\r\na\r\n:65536\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$1\r\n?\r\n:7000\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$3\r\na,b\r\n:7000\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$3\r\n,,,\r\n:7000\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$3\r\na b\r\n:7000\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$3\r\na\nb\r\n:7000\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$3\r\na:b\r\n:7000\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$5\r\n[::1]\r\n:7000\r\n$1\r\ni\r\n",
        ONE_RANGE "*3\r\n$1\r\n[\r\n:7000\r\n$1\r\ni\r\n",
    };
    assert_true(learn(ONE_RANGE "*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n"));
    uint64_t version = sl_cluster_version(cluster);
    for (size_t i = 0; i < COUNT(rows); i++) {
        SAME(rows[i], learn(rows[i]), false);
        SAME(rows[i], sl_cluster_version(cluster), version);
        SAME_TEXT(rows[i], sl_text(owner_name(3)), "a:1");
    }
}

/* MOVED and ASK name nodes too. */
ON_A_CLUSTER(what_is_no_address_has_no_number)
{
    static const char *const rows[] = { "",        ":",      "a",           "a:",  "a:0",
                                        "a:65536", "a,b:1",  "x y:1",       "[:1", "]:1",
                                        "[::1]:1", "a\tb:1", "1.2.3.4.5:1", "?:1", "::1",
                                        "a:b:1",   ",:1" };
    uint32_t size = sl_cluster_size(cluster);
    for (size_t i = 0; i < COUNT(rows); i++)
        SAME(rows[i], sl_cluster_number(cluster, sl_text(rows[i]), target), SL_NO_MEMBER);
    assert_int_equal(sl_cluster_size(cluster), size);
    assert_int_equal(sl_cluster_number(cluster, SL_TEXT("::1:7001"), target), 1);
    assert_int_equal(sl_cluster_number(cluster, SL_TEXT(":7000"), target), 0);
    assert_null(sl_target_like(target, "a,b:1"));
    assert_null(sl_target_like(target, ""));
    assert_null(sl_target_like(target, "[:1"));
}

ON_A_CLUSTER(the_same_map_is_no_news)
{
    static const char wire[] = ONE_RANGE "*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n";
    assert_int_equal(sl_cluster_version(cluster), 0);
    assert_int_equal(sl_cluster_owner(cluster, 0), SL_NO_MEMBER);
    assert_true(learn(wire));
    assert_int_equal(sl_cluster_version(cluster), 1);
    assert_true(learn(wire));
    assert_int_equal(sl_cluster_version(cluster), 1);
    assert_int_equal(sl_cluster_lessons(cluster), 2);
}

ON_A_CLUSTER(a_slot_that_moves_takes_its_count_along)
{
    assert_true(learn(ONE_RANGE "*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n"));
    uint32_t other = sl_cluster_number(cluster, SL_TEXT("b:2"), target);
    assert_int_equal(sl_cluster_standing(cluster, other, NULL), SL_MEMBER_KNOWN);
    sl_cluster_move(cluster, 9, other);
    assert_int_equal(sl_cluster_standing(cluster, other, NULL), SL_MEMBER_OWNER);
    assert_string_equal(owner_name(9), "b:2");
    assert_string_equal(owner_name(8), "a:1");
    assert_int_equal(sl_cluster_masters(cluster), 2);
    assert_int_equal(sl_cluster_number(cluster, SL_TEXT("b:2"), target), other);
    assert_true(learn(ONE_RANGE "*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n"));
    assert_int_equal(sl_cluster_masters(cluster), 1);
}

/* As many addresses as there is room for, and no more; those without slots are forgotten later. */
ON_A_CLUSTER(addresses_are_bounded)
{
    char address[32];
    uint32_t numbers = 0;
    for (int i = 0; i < 2 * SL_MEMBERS_MAX; i++) {
        snprintf(address, sizeof address, "127.1.%d.%d:6379", i / 250, i % 250);
        uint32_t number = sl_cluster_number(cluster, sl_text(address), target);
        numbers += number != SL_NO_MEMBER;
        assert_true(number == SL_NO_MEMBER || number < SL_MEMBERS_MAX);
    }
    assert_int_equal(numbers, SL_MEMBERS_MAX - sl_cluster_seeds(cluster));
}

ON_A_CLUSTER(a_tag_is_in_a_slot_of_its_member)
{
    char digits[16];
    assert_int_equal(sl_cluster_tag(cluster, 0), -1);
    assert_true(learn("*2\r\n*3\r\n:0\r\n:8000\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\ni\r\n"
                      "*3\r\n:8001\r\n:16383\r\n*3\r\n$1\r\nb\r\n:1\r\n$1\r\ni\r\n"));
    for (uint32_t slot = 0; slot < SL_SLOT_COUNT; slot += SL_SLOT_COUNT - 1) {
        uint32_t number = sl_cluster_owner(cluster, slot);
        snprintf(digits, sizeof digits, "%d", sl_cluster_tag(cluster, number));
        assert_int_equal(sl_cluster_owner(cluster, sl_slot_of(sl_text(digits))), number);
    }
}

ON_A_CLUSTER(it_may_be_asked_for_a_few_times_a_second)
{
    uint32_t times = 0;
    for (int64_t now_us = 5000000; now_us < 6000000; now_us += 1000)
        times += sl_cluster_may_ask(cluster, now_us);
    assert_int_equal(times, 4);
}
