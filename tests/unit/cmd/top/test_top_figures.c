/* Commands are no part of the library, so the files themselves are taken in. */
#include "cmd/terminal/columns.h"
#include "cmd/terminal/printable.h"
#include "cmd/terminal/screen.h"
#include "cmd/top/top_figures.h"

#include "unit/base/unit.h"

static void read_text(struct sl_board_figures *figures, const char *text, const char *window)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_true(sl_board_read(figures, json, window));
    json_decref(json);
}

/* As docs/observability.md has it. */
static const char documented[] =
    "{\"uptime_s\": 8000, \"decisions\": {\"minute\": {\"checks\": 120, \"allowed\": 90,"
    " \"denied\": 30, \"hit_rate\": 0.25, \"latency_us\": {\"p50\": 1.2, \"p99\": 4.1}}},"
    " \"rules_total\": 9, \"rules\": ["
    "{\"rule\": \"api\", \"algorithm\": \"token_bucket\", \"shadow\": false,"
    " \"minute\": {\"checks\": 60, \"allowed\": 50, \"denied\": 10, \"shadow_denied\": 0,"
    " \"hit_rate\": 0.2, \"callers\": 3, \"callers_limited\": 1,"
    " \"latency_us\": {\"p50\": 1.5, \"p99\": 4.5}}, \"in_use\": {\"mean\": 0.41, \"max\": 1},"
    " \"top_denied\": [{\"tenant\": \"acme\", \"identifier\": \"u1\", \"count\": 7, \"error\": 2},"
    " {\"tenant\": null, \"identifier\": \"u2\", \"count\": 3, \"error\": 0}],"
    " \"top_unseen\": {\"denied\": 5, \"traffic\": 8}},"
    "{\"rule\": \"trial\", \"algorithm\": \"fixed_window\", \"shadow\": true,"
    " \"minute\": {\"checks\": 6, \"allowed\": 1, \"denied\": 0, \"shadow_denied\": 5,"
    " \"hit_rate\": 0.83, \"callers\": null, \"latency_us\": null}, \"in_use\": null,"
    " \"top_denied\": [{\"tenant\": null, \"identifier\": \"u2\", \"count\": 5, \"error\": 0}],"
    " \"top_unseen\": {\"denied\": 5, \"traffic\": 8}}],"
    " \"store\": {\"name\": \"memory:\", \"healthy\": true, \"why\": null,"
    " \"table\": {\"slots\": 100, \"live\": 12}}}";

TEST(an_answer_is_read_as_it_is_documented)
{
    struct sl_board_figures figures;
    read_text(&figures, documented, "minute");
    assert_true(figures.uptime_s == 8000 && figures.checks_per_s == 2);
    assert_true(figures.denied_share == 0.25 && figures.p50_us == 1.2 && figures.p99_us == 4.1);
    assert_string_equal(figures.store, "memory:");
    assert_null(figures.store_why);
    assert_true(figures.slots == 100 && figures.live == 12);
    assert_true(figures.rules_total == 9 && figures.rule_count == 2 && figures.unseen == 5);
    const struct sl_board_rule *api = &figures.rules[0];
    assert_string_equal(api->shown, "api");
    assert_string_equal(api->algorithm, "token_bucket");
    assert_true(api->checks_per_s == 1 && api->allowed == 50 && api->denied == 10);
    assert_true(api->hit_rate == 0.2 && api->p50_us == 1.5 && api->p99_us == 4.5);
    assert_true(api->in_use == 0.41 && api->callers == 3 && api->callers_limited == 1);
    assert_string_equal(api->most_limited, "acme/u1");
    sl_board_release(&figures);
}

TEST(a_shadow_rule_has_denied_what_it_would_have)
{
    struct sl_board_figures figures;
    read_text(&figures, documented, "minute");
    const struct sl_board_rule *trial = &figures.rules[1];
    assert_string_equal(trial->name, "trial");
    assert_string_equal(trial->shown, "~trial");
    assert_true(trial->denied == 5 && trial->hit_rate == 0.83);
    assert_true(trial->p99_us < 0 && trial->callers < 0 && trial->in_use < 0);
    sl_board_release(&figures);
}

TEST(limited_callers_of_all_rules_are_in_one_order)
{
    static const struct {
        const char *who, *rule;
        double count, error;
    } wanted[] = { { "acme/u1", "api", 7, 2 }, { "u2", "~trial", 5, 0 }, { "u2", "api", 3, 0 } };
    struct sl_board_figures figures;
    read_text(&figures, documented, "minute");
    assert_int_equal(figures.limited_count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_string_equal(figures.limited[i].who, wanted[i].who);
        assert_string_equal(figures.limited[i].rule, wanted[i].rule);
        assert_true(figures.limited[i].count == wanted[i].count);
        assert_true(figures.limited[i].error == wanted[i].error);
    }
    sl_board_release(&figures);
}

TEST(a_server_that_was_just_started_has_no_minute)
{
    static const struct {
        const char *window, *uptime;
        double per_s;
    } rows[] = {
        { "minute", "0", 600 },   { "minute", "1", 600 },
        { "minute", "30", 20 },   { "minute", "60", 10 },
        { "minute", "8000", 10 }, { "minute", "null", 10 },
        { "hour", "1200", 0.5 },  { "hour", "86400", 600 / 3600.0 },
        { "day", "600", 1 },      { "day", "864000", 600 / 86400.0 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_board_figures figures;
        char text[256];
        snprintf(text, sizeof text,
                 "{\"uptime_s\": %s, \"decisions\": {\"%s\": {\"checks\": 600}}, \"rules\": []}",
                 rows[i].uptime, rows[i].window);
        read_text(&figures, text, rows[i].window);
        assert_true(figures.checks_per_s == rows[i].per_s);
        assert_true(figures.rule_count == 0 && figures.limited_count == 0 && figures.slots < 0);
        sl_board_release(&figures);
    }
}

TEST(why_a_store_fails_is_told)
{
    struct sl_board_figures figures;
    read_text(&figures,
              "{\"decisions\": {\"day\": {}}, \"rules\": [],"
              " \"store\": {\"name\": \"redis://x\", \"healthy\": false, \"why\": \"\\u001b[2J\"}}",
              "day");
    assert_string_equal(figures.store_why, "\\u001b[2J");
    assert_true(figures.checks_per_s < 0 && figures.denied_share < 0);
    sl_board_release(&figures);
}

TEST(what_is_no_such_answer_is_refused)
{
    static const char *const rows[] = {
        "{}",
        "[]",
        "{\"decisions\": {\"minute\": {}}}",
        "{\"decisions\": {\"minute\": {}}, \"rules\": {}}",
        "{\"decisions\": {\"hour\": {}}, \"rules\": []}",
        "{\"decisions\": [], \"rules\": []}",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_board_figures figures;
        json_t *json = json_loads(rows[i], 0, NULL);
        assert_false(sl_board_read(&figures, json, "minute"));
        json_decref(json);
    }
    assert_false(sl_board_read(&(struct sl_board_figures){ 0 }, NULL, "minute"));
}

/* Rows that are no objects, numbers that are none: shown as nothing, and nothing more. */
TEST(nonsense_is_nothing)
{
    struct sl_board_figures figures;
    read_text(&figures,
              "{\"decisions\": {\"minute\": {\"checks\": \"many\", \"hit_rate\": -3}}, \"rules\":"
              " [7, null, {\"rule\": [1], \"top_denied\": [null, {\"tenant\": 3}]},"
              " {\"top_denied\": {\"x\": 1}, \"minute\": 9}], \"store\": 1, \"uptime_s\": \"x\"}",
              "minute");
    assert_int_equal(figures.rule_count, 4);
    assert_true(figures.checks_per_s < 0 && figures.denied_share < 0);
    for (size_t i = 0; i < 4; i++)
        assert_true(figures.rules[i].checks_per_s < 0);
    assert_int_equal(figures.limited_count, 2);
    assert_string_equal(figures.limited[1].who, "-");
    sl_board_sort(&figures, SL_BY_P99, true);
    sl_board_release(&figures);
}

static void names_in_order(const struct sl_board_figures *figures, const char *wanted)
{
    char names[32] = "";
    for (size_t i = 0; i < figures->rule_count; i++)
        strcat(names, figures->rules[i].name);
    assert_string_equal(names, wanted);
}

TEST(rules_are_sorted_by_each_column)
{
    static const struct {
        enum sl_board_order order;
        const char *down, *up;
    } rows[] = {
        { SL_BY_NAME, "abcd", "dcba" },     { SL_BY_CHECKS, "cbad", "abcd" },
        { SL_BY_ALLOWED, "acdb", "bcda" },  { SL_BY_DENIED, "bacd", "dacb" },
        { SL_BY_HIT_RATE, "dabc", "abcd" }, { SL_BY_P99, "abcd", "bacd" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_board_rule rules[] = {
            { .name = "d",
              .checks_per_s = -1,
              .allowed = 2,
              .denied = 1,
              .hit_rate = 1,
              .p99_us = -1 },
            { .name = "c", .checks_per_s = 3, .allowed = 2, .denied = 2, .p99_us = -1 },
            { .name = "b", .checks_per_s = 2, .allowed = 1, .denied = 3, .p99_us = 4 },
            { .name = "a", .checks_per_s = 1, .allowed = 3, .denied = 2, .p99_us = 5 },
        };
        struct sl_board_figures figures = { .rules = rules, .rule_count = COUNT(rules) };
        sl_board_sort(&figures, rows[i].order, false);
        names_in_order(&figures, rows[i].down);
        sl_board_sort(&figures, rows[i].order, true);
        names_in_order(&figures, rows[i].up);
    }
    sl_board_sort(&(struct sl_board_figures){ 0 }, SL_BY_NAME, false);
}
