/* The scripts as texts; what they do is tested on a Redis (tests/e2e). */
#include "store/redis/lua/scripts.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <pthread.h>

#include "unit/base/unit.h"

static struct sl_scripts scripts;

static int release(void **unused)
{
    (void)unused;
    sl_scripts_release(&scripts);
    return 0;
}

/* Is it ever asked for? One claim has one algorithm and no guard, a change knows no guards, and
 * the last ones nothing at all. */
static bool is_asked_for(enum sl_script_kind kind, uint32_t set)
{
    uint32_t algos = set & (SL_SCRIPT_GUARD - 1);
    switch (kind) {
    case SL_SCRIPT_ONE:
        return set == algos && __builtin_popcount(algos) == 1;
    case SL_SCRIPT_ALL:
    case SL_SCRIPT_RESERVE:
        return algos != 0;
    case SL_SCRIPT_CHANGE:
        return set == algos && algos != 0;
    case SL_SCRIPT_LEASE:
        return set == algos && __builtin_popcount(algos) == 1 &&
               sl_algos[__builtin_ctz(algos)]->leases;
    default:
        return set == 0;
    }
}

static const struct sl_script *get(enum sl_script_kind kind, uint32_t set)
{
    const struct sl_script *script = sl_script_get(&scripts, kind, set);
    assert_non_null(script);
    return script;
}

/* Calls `check` on every script that is asked for. */
static void each(void (*check)(const char *row, enum sl_script_kind kind, uint32_t set))
{
    for (int kind = 0; kind < SL_SCRIPT_KINDS; kind++)
        for (uint32_t set = 0; set < SL_SCRIPT_SETS; set++) {
            char row[48];
            snprintf(row, sizeof row, "kind %d, set %" PRIx32, kind, set);
            if (is_asked_for((enum sl_script_kind)kind, set))
                check(row, (enum sl_script_kind)kind, set);
        }
}

/* The script without comments, and with its texts emptied; the caller's to free. */
static char *bare(const struct sl_script *script)
{
    char *out = calloc(1, script->text.len + 1);
    const char *at = script->text.at, *end = at + script->text.len;
    size_t len = 0;
    assert_non_null(out);
    while (at < end) {
        if (end - at > 1 && at[0] == '-' && at[1] == '-') {
            while (at < end && *at != '\n')
                at++;
        } else if (*at == '\'' || *at == '"') {
            const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
            assert_non_null(close);
            out[len++] = *at;
            out[len++] = *at;
            at = close + 1;
        } else {
            out[len++] = *at++;
        }
    }
    return out;
}

/* How often a word stands in it, as a word. */
static int count_of(const char *text, const char *word)
{
    int count = 0;
    size_t len = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += len) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        count += begins && !(isalnum((unsigned char)at[len]) || at[len] == '_');
    }
    return count;
}

static bool says(const struct sl_script *script, const char *text)
{
    return memmem(script->text.at, script->text.len, text, strlen(text)) != NULL;
}

/* Not that it is Lua, but that nothing was left out or left over. */
static void check_whole(const char *row, enum sl_script_kind kind, uint32_t set)
{
    const struct sl_script *script = get(kind, set);
    char *text = bare(script);
    int opened = count_of(text, "if") + count_of(text, "do") + count_of(text, "function");
    SAME(row, count_of(text, "end"), opened);
    SAME(row, count_of(text, "then"), count_of(text, "if") + count_of(text, "elseif"));
    SAME(row, count_of(text, "while") + count_of(text, "for") <= count_of(text, "do"), true);
    SAME(row, says(script, "--@"), false);
    SAME(row, says(script, "\n---- "), false);
    SAME(row, script->text.len < 32 << 10, true);
    SAME(row, memchr(script->text.at, 0, script->text.len) == NULL, true);
    free(text);
}

#define ON_SCRIPTS(name) TEST_WITH(name, NULL, release)

ON_SCRIPTS(every_script_is_whole)
{
    each(check_whole);
}

ON_SCRIPTS(any_set_of_any_kind_is_a_script)
{
    for (int kind = 0; kind < SL_SCRIPT_KINDS; kind++)
        for (uint32_t set = 0; set < SL_SCRIPT_SETS; set++)
            assert_true(get((enum sl_script_kind)kind, set)->text.len > 0);
}

static void check_again(const char *row, enum sl_script_kind kind, uint32_t set)
{
    const struct sl_script *script = get(kind, set);
    struct sl_scripts others = { 0 };
    const struct sl_script *other = sl_script_get(&others, kind, set);
    SAME(row, get(kind, set) == script, true);
    SAME_TEXT(row, sl_text(other->sha1_hex), script->sha1_hex); /* the same text each time */
    sl_scripts_release(&others);
}

ON_SCRIPTS(the_same_script_is_made_once)
{
    each(check_again);
}

static void check_digest(const char *row, enum sl_script_kind kind, uint32_t set)
{
    const struct sl_script *script = get(kind, set);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    char printed[41] = "";
    assert_int_equal(EVP_Digest(script->text.at, script->text.len, digest, &len, EVP_sha1(), NULL),
                     1);
    for (unsigned i = 0; i < len; i++)
        snprintf(printed + 2 * i, 3, "%02x", digest[i]);
    SAME_TEXT(row, sl_text(script->sha1_hex), printed);
}

ON_SCRIPTS(a_scripts_name_is_the_sha1_of_its_text)
{
    each(check_digest);
}

ON_SCRIPTS(no_two_scripts_are_the_same)
{
    const struct sl_script *all[SL_SCRIPT_KINDS * SL_SCRIPT_SETS];
    size_t count = 0;
    for (int kind = 0; kind < SL_SCRIPT_KINDS; kind++)
        for (uint32_t set = 0; set < SL_SCRIPT_SETS; set++)
            if (is_asked_for((enum sl_script_kind)kind, set))
                all[count++] = get((enum sl_script_kind)kind, set);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(all[i]->sha1_hex, all[j]->sha1_hex);
}

static void check_parts(const char *row, enum sl_script_kind kind, uint32_t set)
{
    /* A word that only its twin says, of those that have one. */
    static const struct {
        const struct sl_algo *algo;
        const char *word;
    } twins[] = {
        { &sl_sliding_window_counter, "'previous'" },
        { &sl_sliding_window_log, "'WITHSCORES'" },
        { &sl_token_bucket, "'tokens'" },
        { &sl_leaky_bucket, "'level'" },
    };
    const struct sl_script *script = get(kind, set);
    bool has_bucket = false;
    if (kind == SL_SCRIPT_FORGET)
        return; /* it is for all of them */
    for (size_t i = 0; sl_algos[i]; i++)
        has_bucket |= sl_algos[i]->is_bucket && set & sl_script_bit(sl_algos[i]);
    bool is_log = kind >= SL_SCRIPT_LOG_LOOK && kind <= SL_SCRIPT_LOG_FOUND; /* of rows: no twin */
    for (size_t i = 0; i < COUNT(twins) && !is_log; i++)
        SAME(row, says(script, twins[i].word), (set & sl_script_bit(twins[i].algo)) != 0);
    SAME(row, says(script, "'debt_ns'"), has_bucket);
    SAME(row, says(script, "'warned_until'"), (set & SL_SCRIPT_GUARD) != 0);
    SAME(row, says(script, "'rl:"), false); /* the caller names the keys */
}

ON_SCRIPTS(a_script_has_the_algorithms_of_its_set_and_no_others)
{
    each(check_parts);
}

static void check_changes(const char *row, enum sl_script_kind kind, uint32_t set)
{
    const struct sl_script *script = get(kind, set);
    SAME(row, says(script, "refund"), kind == SL_SCRIPT_CHANGE);
    SAME(row, says(script, "overcharge"), kind == SL_SCRIPT_CHANGE);
}

ON_SCRIPTS(only_a_change_can_give_back)
{
    each(check_changes);
}

/* Lua writes 1700000000000000 as 1.7e+15: what is put together is never a number of µs. */
static void check_joins(const char *row, enum sl_script_kind kind, uint32_t set)
{
    static const char *const joined[] = { "kind", "nonce", "i", "number", "string", "''", "ARGV" };
    char *text = bare(get(kind, set));
    for (const char *at = text; (at = strstr(at, "..")); at += 2) {
        char word[32] = "";
        const char *right = at + 2 + strspn(at + 2, " ");
        size_t len = 0, known = 0;
        while (len < sizeof word - 1 &&
               (isalnum((unsigned char)right[len]) || right[len] == '_' || right[len] == '\''))
            len++;
        memcpy(word, right, len);
        while (known < COUNT(joined) && strcmp(word, joined[known]) != 0)
            known++;
        if (known == COUNT(joined))
            print_error("`..` before `%s`\n", word);
        SAME(row, known < COUNT(joined), true);
    }
    free(text);
}

ON_SCRIPTS(no_time_is_put_together_with_a_text)
{
    each(check_joins);
}

/* ---- threads ---- */

enum { THREADS = 8 };

static pthread_barrier_t start;

static void *get_all(void *out)
{
    const struct sl_script **got = out;
    pthread_barrier_wait(&start);
    for (int kind = 0; kind < SL_SCRIPT_KINDS; kind++)
        for (uint32_t set = 0; set < SL_SCRIPT_SETS; set++)
            *got++ = sl_script_get(&scripts, (enum sl_script_kind)kind, set);
    return NULL;
}

ON_SCRIPTS(threads_that_want_it_at_once_get_one_script)
{
    static const struct sl_script *got[THREADS][SL_SCRIPT_KINDS * SL_SCRIPT_SETS];
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_all, got[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < COUNT(got[0]); i++) {
        assert_non_null(got[0][i]);
        for (int thread = 1; thread < THREADS; thread++)
            assert_ptr_equal(got[thread][i], got[0][i]);
    }
}

TEST(every_algorithm_has_a_bit_of_its_own)
{
    uint32_t seen = 0;
    for (size_t i = 0; sl_algos[i]; i++) {
        SAME(sl_algos[i]->name, sl_script_bit(sl_algos[i]), 1u << i);
        seen |= sl_script_bit(sl_algos[i]);
    }
    assert_int_equal(seen, SL_SCRIPT_GUARD - 1);
}
