/* Waiting. The store says how long; here it says so by a script, and once for
 * real. */
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "unit/lib/on_model.h"

#define MS INT64_C(1000)

/* What the store answers, in turn; the last one for ever. */
struct line {
    bool allowed;
    int64_t wait_us; /* retry_after or delay */
};

static struct scripted {
    struct sl_store store;
    const struct line *lines;
    size_t line_count;
    size_t asked;
    int64_t max_delay_us[16];
} scripted;

static void decide_by_script(struct sl_store *store, struct sl_bundle *bundles, size_t count)
{
    struct scripted *script = (struct scripted *)store;
    size_t turn = script->asked < script->line_count ? script->asked : script->line_count - 1;
    struct line line = script->lines[turn];
    assert_int_equal(count, 1);
    assert_true(script->asked < COUNT(script->max_delay_us));
    script->max_delay_us[script->asked++] = bundles->max_delay_us;
    bundles->status = SLUICE_OK;
    bundles->now_us = 5 * S;
    bundles->wall_shift_us = 0;
    bundles->allowed = line.allowed;
    bundles->claims->allowed = line.allowed;
    bundles->claims->answer = (struct sl_answer){
        .allowed = line.allowed,
        .retry_after_us = line.allowed ? 0 : line.wait_us,
        .delay_us = line.allowed ? line.wait_us : 0,
    };
    bundles->claims->figures = (struct sl_figures){ 3, 6 * S };
}

static const struct sl_store_ops script_ops = { .decide = decide_by_script };
static struct sluice_store store = { &scripted.store };

static void play(const struct line *lines, size_t count)
{
    scripted = (struct scripted){ { &script_ops, 42 }, lines, count, 0, { 0 } };
}

/* Both ways of asking; how long it took. */
static int64_t acquire(bool by_rules, int64_t timeout_us, struct sluice_decision *out)
{
    struct sluice_limit_config config = ten_a_minute(&sl_leaky_bucket);
    struct sluice_limiter *limiter =
        limiter_of(&store, "rules: [{ name: ten, per: user, limit: 10/m }]\n");
    struct sluice_limit *limit = limit_of(&store, &config);
    struct sluice_request request = sluice_request();
    request.user = sluice_text("u");
    int64_t start_us = sl_boottime_us();
    int status = by_rules ? sluice_acquire(limiter, &request, timeout_us, out)
                          : sluice_limit_acquire(limit, request.user, 1, timeout_us, out);
    int64_t took_us = sl_boottime_us() - start_us;
    assert_int_equal(status, SLUICE_OK);
    sluice_limiter_close(limiter);
    sluice_limit_free(limit);
    return took_us;
}

#define LONG (60 * S) /* a test that sleeps for this has a bug */

TEST(it_asks_and_sleeps_until_it_may_pass_or_cannot)
{
    static const struct {
        const char *name;
        struct line lines[3];
        size_t line_count;
        int64_t timeout_us;
        bool allowed;
        size_t asked;
        int64_t slept_us;
    } rows[] = {
        { "allowed at once", { { true, 0 } }, 1, 0, true, 1, 0 },
        { "allowed with a delay", { { true, 3 * MS } }, 1, 5 * MS, true, 1, 3 * MS },
        { "denied, then allowed", { { false, 2 * MS }, { true, 0 } }, 2, LONG, true, 2, 2 * MS },
        { "denied, then a delay", { { false, MS }, { true, 2 * MS } }, 2, LONG, true, 2, 3 * MS },
        { "somebody was faster",
          { { false, MS }, { false, MS }, { true, 0 } },
          3,
          LONG,
          true,
          3,
          2 * MS },
        { "a wait longer than the time", { { false, 6 * MS } }, 1, 5 * MS, false, 1, 0 },
        { "no time at all", { { false, 1 } }, 1, 0, false, 1, 0 },
        { "no time, and no wait", { { false, 0 } }, 1, 0, false, 1, 0 },
        { "never", { { false, SLUICE_NEVER } }, 1, LONG, false, 1, 0 },
        { "the second wait is too long",
          { { false, MS }, { false, LONG } },
          2,
          LONG,
          false,
          2,
          MS },
        { "all the time there is", { { false, MS }, { true, 0 } }, 2, INT64_MAX, true, 2, MS },
    };
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        struct sluice_decision decision;
        size_t r = i / 2;
        play(rows[r].lines, rows[r].line_count);
        int64_t took_us = acquire(i % 2, rows[r].timeout_us, &decision);
        SAME(rows[r].name, decision.allowed, rows[r].allowed);
        SAME(rows[r].name, scripted.asked, rows[r].asked);
        SAME(rows[r].name, took_us >= rows[r].slept_us, true);
        SAME(rows[r].name, took_us < LONG / 2, true);
        SAME(rows[r].name, scripted.max_delay_us[0], rows[r].timeout_us);
        for (size_t n = 1; n < scripted.asked; n++) /* there is less time each time */
            SAME(rows[r].name,
                 scripted.max_delay_us[n] <
                     scripted.max_delay_us[n - 1] - rows[r].lines[n - 1].wait_us + 1,
                 true);
    }
}

TEST(it_gives_up_however_often_others_are_faster)
{
    static const struct line always[] = { { false, 3 * MS } };
    struct sluice_decision decision;
    for (int i = 0; i < 2; i++) {
        play(always, 1);
        int64_t took_us = acquire(i, 10 * MS, &decision);
        assert_false(decision.allowed);
        assert_int_equal(decision.retry_after_us, 3 * MS);
        assert_true(scripted.asked >= 2 && scripted.asked <= 4);
        assert_true(took_us >= 3 * MS && took_us < LONG / 2);
    }
}

static pthread_t sleeper;
static int signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static void *disturb(void *unused)
{
    for (int i = 0; i < 10; i++) {
        sl_sleep_us(MS);
        pthread_kill(sleeper, SIGUSR1);
    }
    return unused;
}

TEST(signals_do_not_shorten_a_sleep)
{
    struct sigaction action = { .sa_handler = count_signal };
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    sleeper = pthread_self();
    int64_t start_us = sl_boottime_us();
    assert_int_equal(pthread_create(&thread, NULL, disturb, NULL), 0);
    sl_sleep_us(30 * MS);
    int64_t took_us = sl_boottime_us() - start_us;
    pthread_join(thread, NULL);
    assert_true(took_us >= 30 * MS);
    assert_true(signals > 0);
}

/* One every millisecond, and no two closer. */
TEST(a_leaky_bucket_paces_its_callers)
{
    struct sluice_store *table = NULL;
    struct sluice_decision decision;
    assert_int_equal(sluice_open("memory:?size=1M", &table, NULL), SLUICE_OK);
    struct sluice_limit_config config = {
        .name = "pace", .algorithm = "leaky_bucket", .capacity = 5, .refill_rate = "1000"
    };
    struct sluice_limit *limit = limit_of(table, &config);
    int64_t start_us = sl_boottime_us();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sluice_limit_acquire(limit, sluice_text("u"), 1, LONG, &decision),
                         SLUICE_OK);
        assert_true(decision.allowed);
    }
    assert_true(sl_boottime_us() - start_us >= 19 * MS);
    sluice_limit_free(limit);
    sluice_close(table);
}

TEST(a_denial_waits_for_its_window)
{
    struct sluice_store *table = NULL;
    struct sluice_decision decision;
    assert_int_equal(sluice_open("memory:?size=1M", &table, NULL), SLUICE_OK);
    for (size_t i = 0; sl_algos[i]; i++) {
        struct sluice_limit_config config = {
            .name = "window", .algorithm = sl_algos[i]->name, .capacity = 2, .window_us = 4 * MS
        };
        struct sluice_limit *limit = limit_of(table, &config);
        int64_t start_us = sl_boottime_us();
        for (int n = 0; n < 6; n++) {
            assert_int_equal(sluice_limit_acquire(limit, sluice_text("u"), 1, LONG, &decision),
                             SLUICE_OK);
            SAME(config.algorithm, decision.allowed, true);
        }
        /* 2 in a window, and 2·L around an edge: the last two wait for one at least. */
        SAME(config.algorithm, sl_boottime_us() - start_us >= 4 * MS, true);
        assert_int_equal(sluice_limit_acquire(limit, sluice_text("u"), 3, LONG, &decision),
                         SLUICE_OK);
        SAME(config.algorithm, decision.reason, SLUICE_REASON_COST);
        sluice_limit_free(limit);
    }
    sluice_close(table);
}
