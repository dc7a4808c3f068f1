#include "store/redis/link/error.h"

#include "unit/base/unit.h"

#define SCRIPT_5 "ERR Error running script (call to f_0123456789abcdef0123456789abcdef01234567): "
#define SCRIPT_7 " script: 0123456789abcdef0123456789abcdef01234567, on @user_script:41."

static const struct {
    const char *sentence;
    enum sl_redis_error error;
} sentences[] = {
    { "NOSCRIPT No matching script. Please use EVAL.", SL_REDIS_NOSCRIPT },
    { "OOM command not allowed when used memory > 'maxmemory'.", SL_REDIS_OOM },
    { "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
      SL_REDIS_BUSY },
    { "LOADING Redis is loading the dataset in memory", SL_REDIS_LOADING },
    { "LOADING Valkey is loading the dataset in memory", SL_REDIS_LOADING },
    { "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
      SL_REDIS_MASTERDOWN },
    { "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
      "disk.",
      SL_REDIS_MISCONF },
    { "NOREPLICAS Not enough good replicas to write.", SL_REDIS_NOREPLICAS },
    { "NOPERM this user has no permissions to run the 'evalsha' command", SL_REDIS_NOPERM },
    { "NOPERM User app has no permissions to run the 'eval' command", SL_REDIS_NOPERM },
    { "READONLY You can't write against a read only replica.", SL_REDIS_READONLY },
    { "READONLY You can't write against a read only slave.", SL_REDIS_READONLY },
    { "NOAUTH Authentication required.", SL_REDIS_NOAUTH },
    { "WRONGPASS invalid username-password pair or user is disabled.", SL_REDIS_WRONGPASS },
    { "WRONGPASS invalid username-password pair", SL_REDIS_WRONGPASS },
    { "ERR invalid password", SL_REDIS_WRONGPASS },
    { "MOVED 3999 127.0.0.1:6381", SL_REDIS_MOVED },
    { "CLUSTERDOWN The cluster is down", SL_REDIS_CLUSTERDOWN },
    { "ASK 3999 127.0.0.1:6381", SL_REDIS_ASK },
    { "TRYAGAIN Multiple keys request during rehashing of slot", SL_REDIS_TRYAGAIN },
    { "ERR This instance has cluster support disabled", SL_REDIS_OTHER }, /* see sl_redis_words */
    { "CLUSTERDOWN Hash slot not served", SL_REDIS_CLUSTERDOWN },

    /* out of a script: Redis 7 keeps the word in front */
    { "OOM command not allowed when used memory > 'maxmemory'." SCRIPT_7, SL_REDIS_OOM },
    { "READONLY You can't write against a read only replica." SCRIPT_7, SL_REDIS_READONLY },
    { "MISCONF Errors writing to the AOF file: No space left on device" SCRIPT_7,
      SL_REDIS_MISCONF },
    { "NOPERM this user has no permissions to access one of the keys used as arguments" SCRIPT_7,
      SL_REDIS_NOPERM },

    { "ERR The user executing the script can't run this command or subcommand" SCRIPT_7,
      SL_REDIS_NOPERM },

    /* Redis 5 and 6 wrap it */
    { SCRIPT_5 "@user_script:41: @user_script: 41: -OOM command not allowed when used memory > "
               "'maxmemory'. ",
      SL_REDIS_OOM },
    { SCRIPT_5 "@user_script:41: -OOM command not allowed when used memory > 'maxmemory'.",
      SL_REDIS_OOM },
    { SCRIPT_5 "@user_script:41: -READONLY You can't write against a read only replica. ",
      SL_REDIS_READONLY },
    { SCRIPT_5 "@user_script:41: -MISCONF Redis is configured to save RDB snapshots", //
      SL_REDIS_MISCONF },
    { SCRIPT_5 "@user_script:41: -NOREPLICAS Not enough good replicas to write. ",
      SL_REDIS_NOREPLICAS },
    { SCRIPT_5 "@user_script:41: -NOPERM this user has no permissions", SL_REDIS_NOPERM },

    /* a word alone */
    { "OOM", SL_REDIS_OOM },
    { "BUSY", SL_REDIS_BUSY },

    /* what only looks like one of them */
    { "BUSYGROUP Consumer Group name already exists", SL_REDIS_OTHER },
    { "BUSYKEY Target key name already exists.", SL_REDIS_OTHER },
    { "OOMPH", SL_REDIS_OTHER },
    { "oom command not allowed", SL_REDIS_OTHER },
    { " OOM", SL_REDIS_OTHER },
    { "UNKNOWN -OOM is not wrapped in an ERR", SL_REDIS_OTHER },
    { "ERR value is not an integer or out of range", SL_REDIS_OTHER },
    { "ERR unknown command `EVALSHA`, with args beginning with: ", SL_REDIS_OTHER },
    { "ERR max number of clients reached", SL_REDIS_OTHER },
    { "ERR Client sent AUTH, but no password is set", SL_REDIS_OTHER },
    { "ERR DB index is out of range", SL_REDIS_OTHER },
    { SCRIPT_5 "@user_script:41: attempt to compare nil with number", SL_REDIS_OTHER },
    { "WRONGTYPE Operation against a key holding the wrong kind of value", SL_REDIS_OTHER },
    { "ERR", SL_REDIS_OTHER },
    { "E", SL_REDIS_OTHER },
    { "", SL_REDIS_OTHER },
};

/* Exactly as large as it is: reading one byte further is seen. */
static const struct sl_redis_meaning *meaning_of(const char *sentence, size_t len)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, sentence, len);
    const struct sl_redis_meaning *meaning = sl_redis_meaning((struct sluice_text){ copy, len });
    free(copy);
    return meaning;
}

TEST(every_sentence_means_what_redis_means)
{
    for (size_t i = 0; i < COUNT(sentences); i++) {
        const char *row = sentences[i].sentence;
        SAME(row, meaning_of(row, strlen(row))->error, sentences[i].error);
    }
}

TEST(a_sentence_cut_anywhere_means_something)
{
    for (size_t i = 0; i < COUNT(sentences); i++)
        for (size_t len = 0; len <= strlen(sentences[i].sentence); len++)
            assert_non_null(meaning_of(sentences[i].sentence, len));
}

TEST(no_sentence_at_all_is_the_last_row)
{
    assert_int_equal(sl_redis_meaning((struct sluice_text){ 0 })->error, SL_REDIS_OTHER);
}

TEST(each_error_has_its_cure)
{
    static const enum sl_redis_cure cures[SL_REDIS_ERROR_COUNT] = {
        [SL_REDIS_NOSCRIPT] = SL_CURE_LOAD,    [SL_REDIS_OOM] = SL_CURE_NONE,
        [SL_REDIS_BUSY] = SL_CURE_WAIT,        [SL_REDIS_LOADING] = SL_CURE_WAIT,
        [SL_REDIS_MASTERDOWN] = SL_CURE_WAIT,  [SL_REDIS_MISCONF] = SL_CURE_WAIT,
        [SL_REDIS_NOREPLICAS] = SL_CURE_WAIT,  [SL_REDIS_NOPERM] = SL_CURE_WAIT,
        [SL_REDIS_READONLY] = SL_CURE_LEAVE,   [SL_REDIS_NOAUTH] = SL_CURE_LEAVE,
        [SL_REDIS_WRONGPASS] = SL_CURE_LEAVE,  [SL_REDIS_MOVED] = SL_CURE_WAIT,
        [SL_REDIS_CLUSTERDOWN] = SL_CURE_WAIT, [SL_REDIS_OTHER] = SL_CURE_NONE,
        [SL_REDIS_ASK] = SL_CURE_WAIT,         [SL_REDIS_TRYAGAIN] = SL_CURE_WAIT,
    };
    for (int i = 0; i < SL_REDIS_ERROR_COUNT; i++)
        SAME(sl_redis_meanings[i].code, sl_redis_meanings[i].cure, cures[i]);
}

/* Full is not down: nothing else says that there is no room. */
TEST(only_want_of_memory_is_a_full_store)
{
    for (int i = 0; i < SL_REDIS_ERROR_COUNT; i++) {
        const struct sl_redis_meaning *meaning = &sl_redis_meanings[i];
        SAME(meaning->code, meaning->error, i);
        SAME(meaning->code, meaning->status,
             i == SL_REDIS_OOM ? SLUICE_STORE_FULL : SLUICE_STORE_DOWN);
        SAME(meaning->code, meaning->words == NULL, i == SL_REDIS_OTHER);
    }
}
