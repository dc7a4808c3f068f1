/* When the store stops answering, and when it is back: said once each. */
#include "server/figures/store_watch.h"

#include "base/error.h"
#include "store/redis/channel.h"
#include "unit/store/folder.h"

static struct sl_store_health health_now;
static struct sl_store_watch watch;
static struct sl_audit audit;

static void tell_health(struct sl_store *store, struct sl_store_health *out)
{
    (void)store;
    *out = health_now;
}

static void tell_why(struct sl_store *store, struct sluice_error *out)
{
    (void)store;
    sl_error_say(out, "cache:6379: %s", "it is out for \"lunch\"");
}

static const struct sl_store_ops ops = { .health = tell_health, .why = tell_why };
static struct sl_store store = { .ops = &ops };

static int open_audit(void)
{
    char where[80];
    struct sluice_error error;
    snprintf(where, sizeof where, "file:%s", path);
    return sl_audit_open(&audit, where, &error) ? 0 : -1;
}

static int set_up(void **unused)
{
    if (open_folder(unused) != 0)
        return -1;
    health_now = (struct sl_store_health){ 0 };
    watch = (struct sl_store_watch){ .name = "cache:6379" };
    return open_audit();
}

static int tear_down(void **unused)
{
    sl_audit_close(&audit);
    return close_folder(unused);
}

/* Looks, without a word on the terminal; what was audited so far. */
static const char *look(void)
{
    static char text[1 << 16];
    int kept = dup(STDERR_FILENO);
    assert_non_null(freopen("/dev/null", "w", stderr));
    sl_store_look(&watch, &store, &audit);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    sl_audit_close(&audit); /* all is written then */
    assert_int_equal(open_audit(), 0);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

/* How many lines the audit has, and the event of the last. */
static void expect(const char *row, int lines, const char *event)
{
    const char *text = look(), *last = text;
    int count = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++, count++)
        if (at[1])
            last = at + 1;
    SAME(row, count, lines);
    if (event)
        SAME(row, strstr(last, event) != NULL, true);
}

#define WATCHING(name) TEST_WITH(name, set_up, tear_down)

WATCHING(a_store_that_does_well_is_not_mentioned)
{
    for (int i = 0; i < 5; i++) {
        expect("well", 0, NULL);
        health_now.calls[SL_CALL_OK] += 10;
        health_now.breakers[SL_BREAKER_CLOSED] = 4;
    }
}

WATCHING(an_open_breaker_is_said_once_and_so_is_the_recovery)
{
    expect("well", 0, NULL);
    health_now.breakers[SL_BREAKER_OPEN] = 1;
    for (int i = 0; i < 3; i++) {
        expect("open", 1,
               "\"event\": \"store_unavailable\", \"severity\": \"error\", "
               "\"store\": \"cache:6379\", "
               "\"reason\": \"cache:6379: it is out for \\\"lunch\\\"\"}");
        health_now.calls[SL_CALL_OK]++; /* on another connection */
        health_now.calls[SL_CALL_REFUSED]++;
    }
    health_now.breakers[SL_BREAKER_OPEN] = 0;
    health_now.breakers[SL_BREAKER_HALF_OPEN] = 1;
    expect("half open", 1, "store_unavailable");
    health_now.breakers[SL_BREAKER_HALF_OPEN] = 0;
    expect("closed", 2,
           "\"event\": \"store_recovered\", \"severity\": \"info\", \"store\": \"cache:6379\"}");
    expect("still", 2, NULL);
}

WATCHING(calls_of_which_none_succeeds_are_a_store_that_is_down)
{
    for (int how = 0; how < SL_CALL_END_COUNT; how++) {
        if (how == SL_CALL_OK)
            continue;
        tear_down(NULL);
        set_up(NULL);
        health_now.calls[how] = 1;
        expect("failed", 1, "store_unavailable");
        health_now.calls[how] = 2;
        expect("failed again", 1, NULL);
        expect("no calls say nothing", 1, NULL);
        health_now.calls[how] = 3;
        health_now.calls[SL_CALL_OK] = 1;
        expect("some succeed", 1, NULL);
        health_now.calls[SL_CALL_OK] = 2;
        expect("all succeed", 2, "store_recovered");
    }
}

/* Calls that need no memory succeed meanwhile. */
WATCHING(a_redis_without_memory_is_a_store_that_is_down)
{
    for (int i = 1; i <= 3; i++) {
        health_now.calls[SL_CALL_OK] += 100;
        health_now.calls[SL_CALL_ERROR]++;
        health_now.errors[SL_REDIS_OOM]++;
        expect("full", 1, "store_unavailable");
    }
    health_now.calls[SL_CALL_OK] += 100;
    expect("room again", 2, "store_recovered");
}

WATCHING(fewer_failures_than_one_in_ten_are_not_mentioned)
{
    for (int i = 0; i < 5; i++) {
        health_now.calls[SL_CALL_OK] += 91;
        health_now.calls[SL_CALL_LATE] += 9;
        expect("few", 0, NULL);
    }
    health_now.calls[SL_CALL_OK] += 90;
    health_now.calls[SL_CALL_LATE] += 10;
    expect("one in ten", 1, "store_unavailable");
}

WATCHING(a_breaker_that_opened_and_closed_between_two_looks_is_seen)
{
    health_now.calls[SL_CALL_OK] = 1000;
    expect("well", 0, NULL);
    health_now.calls[SL_CALL_OK] = 2000;
    health_now.calls[SL_CALL_LATE] = 5;
    health_now.trips = 1;
    expect("tripped", 1, "store_unavailable");
    health_now.calls[SL_CALL_OK] = 3000;
    expect("well again", 2, "store_recovered");
}

WATCHING(a_store_without_health_is_left_alone)
{
    static const struct sl_store_ops none;
    struct sl_store other = { .ops = &none };
    sl_store_look(&watch, &other, &audit);
    expect("nothing", 0, NULL);
}
