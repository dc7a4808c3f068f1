/* A registry in a folder of the test's own, opened any number of times, and short ways to
 * change it and to write down what it holds. */
#ifndef TEST_REGISTRY_ON_REGISTRY_H
#define TEST_REGISTRY_ON_REGISTRY_H

#include "base/arena.h"
#include "registry/database.h"
#include "unit/store/folder.h"

static struct sluice_error error;

static inline struct sl_registry *open_registry(void)
{
    struct sl_registry *registry = sl_registry_open(path, false, &error);
    if (!registry)
        fail_msg("%s", error.text);
    return registry;
}

/* What must work, and says why not. */
#define DONE(call)                                                                                 \
    do {                                                                                           \
        if (!(call))                                                                               \
            fail_msg("%s: %s", #call, error.text);                                                 \
    } while (0)

/* What must fail, with these words in its reason. */
#define REFUSED(call, words)                                                                       \
    do {                                                                                           \
        memset(error.text, 0, sizeof error.text);                                                  \
        if (call)                                                                                  \
            fail_msg("%s did not fail", #call);                                                    \
        if (!strstr(error.text, words))                                                            \
            fail_msg("%s: \"%s\", without \"%s\"", #call, error.text, words);                      \
    } while (0)

static inline void begin(struct sl_registry *registry)
{
    DONE(sl_registry_begin(registry, SL_CARE_POWER_CUT, &error));
}

static inline void begin_lightly(struct sl_registry *registry)
{
    DONE(sl_registry_begin(registry, SL_CARE_KILL, &error));
}

static inline void commit(struct sl_registry *registry)
{
    DONE(sl_registry_commit(registry, &error));
}

/* One rule, one transaction. */
static inline void put_rule(struct sl_registry *registry, const char *name, const char *json)
{
    begin(registry);
    DONE(sl_registry_put_rule(registry, NULL, name, json, &error));
    commit(registry);
}

/* ---- what it holds, as text ---- */

static char written[1 << 16];

__attribute__((format(printf, 1, 2))) static inline void write_down(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t len = strlen(written);
    vsnprintf(written + len, sizeof written - len, format, arguments);
    va_end(arguments);
}

static inline const char *or_dash(const char *text)
{
    return text ? text : "-";
}

/* "api={} acme/own={}": in their order; "-": hidden. */
static inline const char *rules_of(struct sl_registry *registry)
{
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    DONE(sl_registry_overlay(registry, 0, &arena, &overlay, &error));
    written[0] = 0;
    for (size_t i = 0; i < overlay.rule_count; i++) {
        const struct sl_overlay_rule *rule = &overlay.rules[i];
        assert_true(rule->revision > 0);
        write_down("%s%s%s%s=%s", i ? " " : "", rule->tenant ? rule->tenant : "",
                   rule->tenant ? "/" : "", rule->name, or_dash(rule->json));
    }
    sl_arena_release(&arena);
    return written;
}

static inline void write_afresh(void *about)
{
    (void)about;
    write_down("[afresh]");
}

static inline void write_gone(void *about, const char *tenant, const char *id)
{
    (void)about;
    write_down("[gone %s/%s]", tenant, id);
}

static inline void write_record(void *about, const struct sl_user_record *record)
{
    (void)about;
    write_down("[%s/%s", record->tenant, record->id);
    if (record->has_created_at)
        write_down(" created %lld", (long long)record->created_at_us);
    if (record->has_email_verified)
        write_down(record->email_verified ? " verified" : " unverified");
    if (record->tier)
        write_down(" tier %s", record->tier);
    if (record->limits)
        write_down(" limits %s", record->limits);
    write_down("]");
}

static inline void write_day(void *about, const struct sl_user_day *day)
{
    (void)about;
    write_down("[%s/%s day %lld: %llu/%llu, %llu at %lld]", day->tenant, day->id,
               (long long)day->day, (unsigned long long)day->successes,
               (unsigned long long)day->calls, (unsigned long long)day->violations,
               (long long)day->last_minute);
}

static const struct sl_user_visitor writer = { write_afresh, write_gone, write_record, write_day,
                                               NULL };

static inline const char *users_since(struct sl_registry *registry, uint64_t since)
{
    written[0] = 0;
    DONE(sl_registry_visit_users(registry, since, INT64_MIN, &writer, &error));
    return written;
}

static inline const char *users_of(struct sl_registry *registry)
{
    return users_since(registry, 0);
}

/* ---- users ---- */

static inline void put_user(struct sl_registry *registry, const char *tenant, const char *id,
                            const char *tier)
{
    struct sl_user_record record = { .tenant = tenant, .id = id, .tier = tier };
    DONE(sl_registry_put_user(registry, &record, &error));
}

static inline void add_outcomes(struct sl_registry *registry, const char *id, int64_t day,
                                uint64_t calls, uint64_t successes)
{
    struct sl_user_day more = {
        .tenant = "t", .id = id, .day = day, .calls = calls, .successes = successes
    };
    DONE(sl_registry_add_outcomes(registry, &more, &error));
}

static inline void add_violation(struct sl_registry *registry, const char *id, int64_t minute)
{
    DONE(sl_registry_add_violation(registry, "t", id, minute, &error));
}

static inline bool drop_user(struct sl_registry *registry, const char *tenant, const char *id)
{
    bool found;
    DONE(sl_registry_drop_user(registry, tenant, id, &found, &error));
    return found;
}

#endif
