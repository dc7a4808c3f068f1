/* A conversation, with what Redis would say. */
#include "registry/replication/replication.h"

#include "unit/registry/on_registry.h"

#define EPOCH "00000000000000e1"
#define OTHER "00000000000000e2"
#define A     "0000000040000001" /* changes, by the version that they made */
#define B     "0000000080000002"
#define C     "00000000c0000003"

static struct sl_registry *registry;
static struct sl_replication replication;
static struct sl_channel_call call;

static int begin_talk(void **unused)
{
    (void)unused;
    registry = sl_registry_open(NULL, false, &error);
    if (!registry)
        return -1;
    sl_replication_open(&replication, registry, NULL);
    replication.founds = SL_FOUNDS_REPLICA;
    call = (struct sl_channel_call){ .bytes = sl_buffer(1 << 20) };
    sl_replication_begin(&replication);
    return 0;
}

static int end_talk(void **unused)
{
    (void)unused;
    sl_replication_close(&replication);
    sl_registry_close(registry);
    sl_buffer_release(&call.bytes);
    return 0;
}

/* Does the next question say this? */
static bool asks(const char *words)
{
    DONE(sl_replication_ask(&replication, &call));
    return memmem(call.bytes.at, call.bytes.len, words, strlen(words)) != NULL;
}

/* Redis says four numbers, the first its time, then texts up to NULL. */
#define HEARS(...) hears((const char *const[]){ __VA_ARGS__, NULL })
static enum sl_replication_step hears(const char *const *words)
{
    struct sl_redis_reply reply = { .bytes = sl_buffer(1 << 20) };
    int64_t values[4] = { 1 };
    struct sl_span texts[64];
    for (size_t i = 1; i < 4; i++)
        values[i] = strtoll(*words++, NULL, 10);
    for (; *words; words++) {
        texts[reply.text_count++] = (struct sl_span){ reply.bytes.len, strlen(*words) };
        sl_buffer_add(&reply.bytes, sl_text(*words));
    }
    reply.values = values;
    reply.value_count = 4;
    reply.texts = texts;
    call.reply = &reply;
    enum sl_replication_step step = sl_replication_take(&replication, &call);
    sl_buffer_release(&reply.bytes);
    call.reply = NULL;
    return step;
}

/* Asks for a look, and is told how far the logs are. */
static enum sl_replication_step looks(const char *epoch, const char *rules, const char *rules_last,
                                      const char *users, const char *users_last)
{
    DONE(sl_replication_ask(&replication, &call));
    return HEARS(rules, users, "0", epoch, rules_last, users_last, "");
}

static bool has_rule(const char *name)
{
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    bool found = false;
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    for (size_t i = 0; i < overlay.rule_count; i++)
        found |= strcmp(overlay.rules[i].name, name) == 0;
    sl_arena_release(&arena);
    return found;
}

static struct sl_replica_position place_now(void)
{
    struct sl_replica_position place;
    DONE(sl_replica_place(registry, &place, &error));
    return place;
}

static void put_place(uint64_t epoch, uint64_t version, uint64_t last)
{
    struct sl_replica_position place = { epoch, { { version, last }, { 0, 0 } }, false };
    begin(registry);
    DONE(sl_replica_put_place(registry, &place, &error));
    commit(registry);
}

/* ---- */

#define TALK(name) TEST_WITH(name, begin_talk, end_talk)

TALK(if_no_node_has_rows_there_is_nothing_to_do)
{
    assert_int_equal(looks("", "0", "", "0", ""), SL_REPLICATION_NONE);
    assert_int_equal(sl_registry_revision(registry), 0);
}

TALK(what_is_the_same_takes_one_question)
{
    put_place(0xe1, 1, 0x40000001);
    assert_int_equal(looks(EPOCH, "1", A, "0", ""), SL_REPLICATION_DONE);
    assert_false(replication.has_new_rules || replication.has_new_users);
}

TALK(what_is_new_is_fetched_from_where_one_is)
{
    put_place(0xe1, 1, 0x40000001);
    put_rule(registry, "old", "{}");
    assert_int_equal(looks(EPOCH, "3", C, "0", ""), SL_REPLICATION_MORE);
    assert_true(asks("rules\r\n$16\r\n" A "\r\n$1\r\n1\r\n"));
    assert_int_equal(
        HEARS("3", "3", "0", "rows", C, "rule::new", B " {\"json\": \"{}\"}", "rule::old", C),
        SL_REPLICATION_DONE);
    assert_true(has_rule("new") && !has_rule("old"));
    assert_true(replication.has_new_rules && replication.applied == 2);
    struct sl_replica_position place = place_now();
    assert_int_equal(place.logs[SL_LOG_RULES].version, 3);
    assert_int_equal(place.logs[SL_LOG_RULES].last, 0xc0000003);
}

TALK(rules_are_applied_when_all_of_them_are_there)
{
    put_place(0xe1, 1, 0x40000001);
    looks(EPOCH, "3", C, "0", "");
    asks("");
    assert_int_equal(HEARS("3", "2", "1", "rows", C, "rule::a", B " {\"json\": \"{}\"}"),
                     SL_REPLICATION_MORE);
    assert_false(has_rule("a"));
    assert_int_equal(place_now().logs[SL_LOG_RULES].version, 1);
    assert_true(asks("$16\r\n" A "\r\n$1\r\n2\r\n")); /* and the history is still that */
    assert_int_equal(HEARS("3", "3", "0", "rows", C, "rule::b", C " {\"json\": \"{}\"}"),
                     SL_REPLICATION_DONE);
    assert_true(has_rule("a") && has_rule("b"));
}

/* `x` was fetched; then it was dropped, `y` made in its place, and `x` made anew behind it. */
TALK(a_row_that_changes_between_two_pages_is_as_it_came_last)
{
    static const char after[] = "0000000100000004";
    put_place(0xe1, 1, 0x40000001);
    looks(EPOCH, "3", C, "0", "");
    asks("");
    HEARS("3", "2", "1", "rows", C, "rule::x", B " {\"made\": 1, \"json\": \"{}\"}", "rule::z",
          B " {\"made\": 9, \"json\": \"{}\"}");
    asks("");
    assert_int_equal(HEARS("6", "6", "0", "rows", after, "rule::y",
                           C " {\"made\": 1, \"json\": \"{}\"}", "rule::x",
                           "0000000100000004 {\"made\": 2, \"json\": \"{}\"}", "rule::z", after),
                     SL_REPLICATION_DONE);
    assert_true(has_rule("x") && has_rule("y") && !has_rule("z"));
}

TALK(another_history_is_fetched_afresh)
{
    put_place(0xe1, 1, 0x40000001);
    put_rule(registry, "other", "{}");
    looks(EPOCH, "3", C, "0", "");
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "afresh"), SL_REPLICATION_MORE);
    assert_true(asks("rules\r\n$0\r\n\r\n$1\r\n0\r\n"));
    assert_true(has_rule("other")); /* until the rest is there */
    assert_int_equal(HEARS("3", "3", "0", "rows", C, "rule::b", C " {\"json\": \"{}\"}"),
                     SL_REPLICATION_DONE);
    assert_true(has_rule("b") && !has_rule("other"));
    assert_true(replication.has_given_way);
}

TALK(another_epoch_brings_users_afresh_too)
{
    bool found;
    struct sl_arena arena = { 0 };
    struct sl_user_record record = { .tenant = "", .id = "before" };
    put_place(0xe1, 1, 0x40000001);
    begin(registry);
    DONE(sl_registry_put_user(registry, &record, &error));
    commit(registry);
    assert_int_equal(looks(OTHER, "1", B, "2", C), SL_REPLICATION_MORE);
    asks("");
    assert_int_equal(HEARS("1", "1", "0", "rows", B, "rule::b", B " {\"json\": \"{}\"}"),
                     SL_REPLICATION_MORE);
    assert_true(place_now().is_partial && place_now().epoch == 0xe2);
    assert_true(asks("users\r\n$0\r\n\r\n$1\r\n0\r\n"));
    assert_int_equal(HEARS("2", "1", "1", "rows", C, "user::u1", A " {}"), SL_REPLICATION_MORE);
    assert_int_equal(place_now().logs[SL_LOG_USERS].version, 1);
    assert_true(asks("users\r\n$16\r\n" C "\r\n$1\r\n1\r\n"));
    assert_int_equal(HEARS("2", "2", "0", "rows", C, "user::u2", C " {}"), SL_REPLICATION_DONE);
    assert_false(place_now().is_partial);
    DONE(sl_registry_user(registry, "", "before", &arena, &record, &found, &error));
    assert_false(found);
    DONE(sl_registry_user(registry, "", "u2", &arena, &record, &found, &error));
    assert_true(found);
    sl_arena_release(&arena);
}

/* Else rows that were deleted meanwhile might be gone there without a trace, and stay here. */
TALK(between_two_pages_what_was_known_before_stays_known)
{
    struct sl_replica_position place = { 0xe1, { { 1, 0x40000001 }, { 1, 0x40000001 } }, false };
    begin(registry);
    DONE(sl_replica_put_place(registry, &place, &error));
    commit(registry);
    assert_int_equal(looks(EPOCH, "1", A, "3", C), SL_REPLICATION_MORE);
    assert_true(asks("users\r\n$16\r\n" A "\r\n$1\r\n1\r\n"));
    assert_int_equal(HEARS("3", "2", "1", "rows", C, "user::u1", B " {}"), SL_REPLICATION_MORE);
    assert_int_equal(place_now().logs[SL_LOG_USERS].version, 2);
    assert_int_equal(place_now().logs[SL_LOG_USERS].last, 0x40000001);
    assert_true(asks("users\r\n$16\r\n" A "\r\n$1\r\n2\r\n"));
    assert_int_equal(HEARS("3", "3", "0", "rows", C, "user::u2", C " {}"), SL_REPLICATION_DONE);
    assert_int_equal(place_now().logs[SL_LOG_USERS].last, 0xc0000003);
}

TALK(a_node_that_wants_rules_only_leaves_users)
{
    put_place(0xe1, 1, 0x40000001);
    replication.leaves_users = true;
    assert_int_equal(looks(EPOCH, "1", A, "2", C), SL_REPLICATION_DONE);
    replication.leaves_users = false;
    assert_int_equal(looks(EPOCH, "1", A, "2", C), SL_REPLICATION_MORE);
}

/* A change of ours, or another process on the same database, was there first. */
TALK(what_was_fetched_for_another_place_is_thrown_away)
{
    put_place(0xe1, 1, 0x40000001);
    looks(EPOCH, "2", B, "0", "");
    asks("");
    put_place(0xe1, 3, 0xc0000003);
    assert_int_equal(HEARS("2", "2", "0", "rows", B, "rule::b", B " {\"json\": \"{}\"}"),
                     SL_REPLICATION_MUST_WAIT);
    assert_false(has_rule("b"));
    assert_int_equal(place_now().logs[SL_LOG_RULES].version, 3);
}

TALK(an_unreadable_reply_changes_nothing)
{
    static const char *const answers[][6] = {
        { "damaged" },
        { "what" },
        { "rows", B, "rule::b", "rubbish" },
        { "rows", B, "planet:b", B " {}" },
        { "rows", B, "user::b", B " {}" }, /* in the wrong log */
        { "rows", "rubbish" },
    };
    put_place(0xe1, 1, 0x40000001);
    put_rule(registry, "stays", "{}");
    for (size_t i = 0; i < COUNT(answers); i++) {
        const char *const *say = answers[i];
        assert_int_equal(looks(EPOCH, "2", B, "0", ""), SL_REPLICATION_MORE);
        asks("");
        assert_int_equal(HEARS("2", "2", "0", say[0], say[1], say[2], say[3]),
                         SL_REPLICATION_FAILED);
        assert_true(*replication.error.text);
        assert_true(has_rule("stays"));
        assert_int_equal(place_now().logs[SL_LOG_RULES].version, 1);
    }
}

TALK(silence_is_a_failure)
{
    asks("");
    call.reply = NULL;
    assert_int_equal(sl_replication_take(&replication, &call), SL_REPLICATION_FAILED);
    assert_int_equal(replication.phase, SL_REPLICATION_LOOKS);
}

/* ---- founding ---- */

TALK(a_node_that_has_rows_bids_and_fills)
{
    struct sl_user_record record = { .tenant = "acme", .id = "u1", .tier = "pro" };
    put_rule(registry, "ours", "{}");
    begin(registry);
    DONE(sl_registry_put_user(registry, &record, &error));
    commit(registry);
    uint64_t who = replication.who;
    assert_int_equal(looks("", "0", "", "0", ""), SL_REPLICATION_MORE);
    assert_true(asks("$3\r\nbid\r\n"));
    assert_int_equal(HEARS("0", "0", "0", "wait"), SL_REPLICATION_MUST_WAIT);
    looks("~" OTHER, "0", "", "0", ""); /* another node fills it, or did */
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "taken"), SL_REPLICATION_MUST_WAIT);
    looks("", "0", "", "0", "");
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "granted"), SL_REPLICATION_MORE);
    assert_true(asks("rule::ours"));
    assert_int_equal(HEARS("1", "0", "0", "done", ""), SL_REPLICATION_MORE);
    assert_true(asks("user:acme:u1"));
    assert_int_equal(HEARS("1", "0", "0", "done", ""), SL_REPLICATION_MORE);
    assert_true(asks("$4\r\nopen\r\n"));
    assert_int_equal(HEARS("0", "0", "0", "opened"), SL_REPLICATION_DONE);
    struct sl_replica_position place = place_now();
    assert_int_equal(place.epoch, who);
    assert_int_equal(place.logs[SL_LOG_RULES].version, 1);
    assert_int_equal(place.logs[SL_LOG_USERS].version, 1);
    assert_true(place.logs[SL_LOG_RULES].last && replication.who != who);
}

static bool bids(uint64_t rank)
{
    char words[64];
    snprintf(words, sizeof words, "\r\n%llu\r\n$3\r\nbid\r\n", (unsigned long long)rank);
    looks("", "0", "", "0", "");
    bool does = asks(words);
    HEARS("0", "0", "0", "wait");
    return does;
}

/* Versions begin anew with each. */
TALK(a_later_life_outbids_an_earlier_one)
{
    uint64_t one = UINT64_C(1) << 40, life = UINT64_C(1) << 51;
    put_rule(registry, "ours", "{}");
    assert_true(bids(sl_registry_revision(registry)));
    assert_int_equal(replication.who / life, 0);
    put_place(0xe1, 10000, 0x40000001);
    assert_true(bids(one + 10000));
    assert_int_equal(replication.who / life, 1);
    put_place(life + 0xe1, 3, 0x40000001);
    assert_true(bids(2 * one + 3));
    assert_int_equal(replication.who / life, 2);
    put_place(4095 * life + 0xe1, 3, 0x40000001);
    assert_true(bids(4096 * one + 3));
    assert_int_equal(replication.who / life, 4095);
    assert_true(replication.who % life);
}

TALK(a_node_that_is_overtaken_while_filling_begins_anew)
{
    put_rule(registry, "ours", "{}");
    looks("", "0", "", "0", "");
    asks("");
    HEARS("0", "0", "0", "granted");
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "epoch"), SL_REPLICATION_MUST_WAIT);
    assert_int_equal(place_now().epoch, 0);
    assert_true(has_rule("ours"));
}

TALK(one_that_is_empty_is_founded_for_a_change_alone)
{
    replication.founds = SL_FOUNDS_EMPTY;
    assert_int_equal(looks("", "0", "", "0", ""), SL_REPLICATION_MORE);
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "granted"), SL_REPLICATION_MORE);
    assert_true(asks("$4\r\nopen\r\n"));
    assert_int_equal(HEARS("0", "0", "0", "opened"), SL_REPLICATION_DONE);
    assert_true(place_now().epoch);
}

/* What was deleted last must not come back with an older copy. */
TALK(a_replica_that_is_empty_by_now_is_a_replica)
{
    put_place(0xe1, 7, 0x40000001);
    assert_true(bids((UINT64_C(1) << 40) + 7));
    assert_int_equal(looks("", "0", "", "0", ""), SL_REPLICATION_MORE);
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "granted"), SL_REPLICATION_MORE);
    assert_true(asks("$4\r\nopen\r\n"));
    assert_int_equal(HEARS("0", "0", "0", "opened"), SL_REPLICATION_DONE);
    assert_true(place_now().epoch != 0xe1);
}

TALK(a_node_that_may_not_found_does_not_fill)
{
    put_rule(registry, "ours", "{}");
    replication.founds = SL_FOUNDS_EMPTY;
    assert_int_equal(looks("", "0", "", "0", ""), SL_REPLICATION_NONE);
    assert_non_null(strstr(replication.error.text, "filled"));
    replication.founds = SL_FOUNDS_NONE;
    assert_int_equal(looks("", "0", "", "0", ""), SL_REPLICATION_NONE);
}

/* More rows than fit one call. */
TALK(filling_goes_on_call_by_call)
{
    begin(registry);
    for (int i = 0; i < SL_PAGE_ROWS + 1; i++) {
        char id[16];
        snprintf(id, sizeof id, "u%d", i);
        struct sl_user_record record = { .tenant = "", .id = id };
        DONE(sl_registry_put_user(registry, &record, &error));
    }
    commit(registry);
    looks("", "0", "", "0", "");
    asks("");
    HEARS("0", "0", "0", "granted");
    assert_true(asks("user::u255"));
    assert_int_equal(HEARS("256", "0", "0", "done", ""), SL_REPLICATION_MORE);
    assert_true(asks("user::u256"));
    assert_false(memmem(call.bytes.at, call.bytes.len, "user::u255", 10));
    assert_int_equal(HEARS("257", "0", "0", "done", ""), SL_REPLICATION_MORE);
    assert_true(asks("$4\r\nopen\r\n"));
    assert_int_equal(HEARS("0", "0", "0", "opened"), SL_REPLICATION_DONE);
    assert_int_equal(place_now().logs[SL_LOG_USERS].version, 257);
}

static void put_exemption(const char *value, size_t reason_bytes)
{
    bool is_new;
    char *reason = test_malloc(reason_bytes + 1);
    memset(reason, 'x', reason_bytes);
    reason[reason_bytes] = '\0';
    struct sl_exemption exemption = { SL_EXEMPT_USER, value, 0, reason };
    begin(registry);
    DONE(sl_registry_put_exemption(registry, &exemption, &is_new, &error));
    commit(registry);
    test_free(reason);
}

/* The names of the rows that the next call has, and that it was taken. */
static const char *fills(void)
{
    static char names[64];
    size_t len = 0;
    asks("");
    for (char name = 'a'; name <= 'e'; name++) {
        char words[] = "exempt:user:?\r";
        words[12] = name;
        if (memmem(call.bytes.at, call.bytes.len, words, strlen(words)))
            names[len++] = name;
    }
    names[len] = '\0';
    assert_int_equal(HEARS("1", "0", "0", "done", ""), SL_REPLICATION_MORE);
    return names;
}

static void begin_to_fill(void)
{
    looks("", "0", "", "0", "");
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "granted"), SL_REPLICATION_MORE);
}

/* All of a row counts, and one that is larger than a call goes alone. */
TALK(what_fills_goes_in_calls_of_bounded_size)
{
    put_exemption("a", SL_PAGE_BYTES / 2);
    put_exemption("b", SL_PAGE_BYTES / 2 - 1000);
    put_exemption("c", 1000);
    put_exemption("d", 2 * SL_PAGE_BYTES);
    put_exemption("e", 1000);
    begin_to_fill();
    assert_string_equal(fills(), "ab");
    assert_string_equal(fills(), "c");
    assert_string_equal(fills(), "d");
    assert_string_equal(fills(), "e");
    assert_true(asks("$4\r\nopen\r\n"));
}

TALK(what_redis_does_not_take_is_said)
{
    put_rule(registry, "ours", "{}");
    begin_to_fill();
    asks("");
    assert_int_equal(HEARS("0", "0", "0", "full"), SL_REPLICATION_FAILED);
    assert_non_null(strstr(replication.error.text, "larger"));
    put_exemption("a", 5 << 20); /* more than a call may have */
    begin_to_fill();
    assert_string_equal(fills(), ""); /* the rule */
    REFUSED(sl_replication_ask(&replication, &call) || (error = replication.error, false),
            "too large");
}
