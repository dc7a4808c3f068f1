/* Changes through the API, and what of them is in force and on disk. */
#ifndef TEST_SERVER_CONTROL_CHANGES_H
#define TEST_SERVER_CONTROL_CHANGES_H

#include "unit/server/known_callers.h"

#define RULES                                                                                      \
    "tiers: { pro: { scale: 10 } }\n"                                                              \
    "rules: [{ name: api, per: user, limit: 2/1h }]\n"

static const char yaml[] = RULES;
static const char in_a_file[] = "database: $/sluice.db\n" RULES;

#define GOOD   "{\"per\": \"ip\", \"limit\": \"1/1s\"}"
#define BETTER "{\"per\": \"ip\", \"limit\": \"2/1s\"}"
#define BAD    "{\"per\": \"ip\", \"limit\": \"1/1s\", \"burst_allowance\": -1, \"resource\": 7}"
#define UNFIT  "{\"per\": \"ip\", \"limit\": \"1/1s\", \"tiers\": {\"gold\": {\"capacity\": 5}}}"

static struct sluice_error error;

#define DONE(call)                                                                                 \
    do {                                                                                           \
        if (!(call))                                                                               \
            fail_msg("%s: %s", #call, error.text);                                                 \
    } while (0)

static inline void come_in(void)
{
    desk.is_away = false;
    visitor_comes_from(&visitor, "127.0.0.1");
}

/* The rules in force, "api more". */
static inline const char *in_force(void)
{
    static char out[512];
    const struct sl_ruleset *rules = stage.workers[0].edition->rules;
    size_t len = 0;
    out[0] = 0;
    for (size_t i = 0; i < rules->rule_count; i++)
        len +=
            (size_t)snprintf(out + len, sizeof out - len, i ? " %s" : "%s", rules->rules[i].name);
    assert_ptr_equal(stage.workers[0].edition, stage.server.edition);
    return out;
}

/* Those of the registry, through another handle where it is a file. */
static inline const char *on_disk(struct sl_registry *of)
{
    static char out[512];
    struct sl_arena arena = { 0 };
    struct sl_overlay overlay;
    size_t len = 0;
    out[0] = 0;
    DONE(sl_registry_overlay(of, 0, &arena, &overlay, &error));
    for (size_t i = 0; i < overlay.rule_count; i++)
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s=%s", i ? " " : "",
                                overlay.rules[i].name,
                                overlay.rules[i].json ? overlay.rules[i].json : "-");
    sl_arena_release(&arena);
    return out;
}

static inline struct sl_registry *open_another(void)
{
    struct sl_registry *other = sl_registry_open(in_folder("sluice.db"), false, &error);
    if (!other)
        fail_msg("%s", error.text);
    return other;
}

#endif
