#include "telemetry/rule_ids.h"

#include "unit/limiter/rules.h"

#define SECOND INT64_C(1000000)

static struct sl_rule_ids ids;
static size_t forgotten;

/* What an owner keeps beside a rule; here only its name. */
struct sl_detail {
    const char *of;
};

static void forget(struct sl_detail *detail)
{
    forgotten++;
    free(detail);
}

static int set_up(void **unused)
{
    (void)unused;
    ids = (struct sl_rule_ids){ .forget = forget };
    forgotten = 0;
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    sl_rule_ids_release(&ids);
    return 0;
}

#define WITH_RULE_IDS(name) TEST_WITH(name, set_up, tear_down)

/* Rules of one letter each. */
static struct sl_ruleset *rules_named(const char *letters)
{
    char yaml[4096] = "rules: []\n", *at = yaml;
    if (*letters)
        at += sprintf(at, "rules:\n");
    for (; *letters; letters++)
        at += sprintf(at, "- { name: %c, per: user, limit: 1/m }\n", *letters);
    return rules_of(yaml);
}

static bool is_settling = true; /* else they are only made */

/* Enrols them, a letter each, and puts them into force; the numbers are printed like "0 2 1". */
static const char *enrolled(const char *letters, int64_t now_us)
{
    static char text[256];
    struct sl_ruleset *rules = rules_named(letters);
    uint32_t *numbers = sl_rule_ids_enrol(&ids, rules, now_us);
    assert_non_null(numbers);
    if (is_settling)
        sl_rule_ids_settle(&ids, rules, numbers, now_us);
    *text = 0;
    for (size_t i = 0; i < rules->rule_count; i++)
        sprintf(text + strlen(text), "%s%u", i ? " " : "", numbers[i]);
    free(numbers);
    sl_ruleset_free(rules);
    return text;
}

static const char *only_made(const char *letters, int64_t now_us)
{
    is_settling = false;
    const char *text = enrolled(letters, now_us);
    is_settling = true;
    return text;
}

WITH_RULE_IDS(a_rule_keeps_its_number_from_reload_to_reload)
{
    assert_string_equal(enrolled("abc", 0), "0 1 2");
    assert_string_equal(enrolled("abc", SECOND), "0 1 2");
    assert_string_equal(enrolled("cxab", 2 * SECOND), "2 3 0 1"); /* wherever it stands */
    for (int64_t i = 0; i < 1000; i++)
        assert_string_equal(enrolled(i % 2 ? "cab" : "bca", i * 60 * SECOND),
                            i % 2 ? "2 0 1" : "1 2 0");
    assert_string_equal(ids.rules[0].name, "a");
}

WITH_RULE_IDS(a_number_is_free_a_minute_after_its_rule_has_gone)
{
    enrolled("ab", 0);
    assert_string_equal(enrolled("a", 100 * SECOND), "0"); /* b was there until now */
    assert_string_equal(enrolled("ax", 160 * SECOND - 1), "0 2");
    assert_string_equal(enrolled("axy", 160 * SECOND), "0 2 1");
    assert_string_equal(ids.rules[1].name, "y");
}

WITH_RULE_IDS(a_rule_that_comes_back_within_the_minute_has_its_old_number)
{
    enrolled("ab", 0);
    ids.rules[1].detail = calloc(1, sizeof(struct sl_detail));
    enrolled("a", 10 * SECOND);
    assert_false(ids.rules[1].is_there);
    assert_string_equal(enrolled("ab", 69 * SECOND), "0 1");
    assert_true(ids.rules[1].is_there);
    assert_non_null(ids.rules[1].detail); /* and all that is known of it */
    assert_int_equal(forgotten, 0);
}

/* Also later, as long as no other rule needed the number. */
WITH_RULE_IDS(a_name_is_not_forgotten_before_its_number_is_given_away)
{
    enrolled("ab", 0);
    ids.rules[1].detail = calloc(1, sizeof(struct sl_detail));
    enrolled("a", SECOND);
    assert_string_equal(enrolled("ab", 3600 * SECOND), "0 1");
    enrolled("a", 3601 * SECOND);
    assert_string_equal(enrolled("az", 7200 * SECOND), "0 1");
    assert_int_equal(forgotten, 1); /* z begins anew */
    assert_null(ids.rules[1].detail);
}

/* Of two that come at once, one back and one new: the new one must not be given its number. */
WITH_RULE_IDS(a_new_rule_does_not_take_the_number_of_one_that_returns)
{
    enrolled("ab", 0);
    enrolled("a", SECOND);
    assert_string_equal(enrolled("azb", 3600 * SECOND), "0 2 1");
}

WITH_RULE_IDS(rules_made_and_never_in_force_are_given_a_minute_too)
{
    enrolled("a", 0);
    assert_string_equal(only_made("ab", 10 * SECOND), "0 1");
    assert_false(ids.rules[1].is_there);
    assert_string_equal(only_made("ac", 69 * SECOND), "0 2"); /* b may still be on its way */
    assert_string_equal(enrolled("ac", 70 * SECOND), "0 2");
    assert_string_equal(enrolled("acd", 71 * SECOND), "0 2 1");
    assert_true(ids.rules[0].is_there && ids.rules[1].is_there && ids.rules[2].is_there);
}

/* One edition is in force while the next is made of other rules. */
WITH_RULE_IDS(those_in_force_are_safe_however_long_the_next_takes)
{
    enrolled("ab", 0);
    for (int64_t i = 1; i < 100; i++) {
        only_made("z", i * 3600 * SECOND);
        assert_string_equal(ids.rules[0].name, "a");
        assert_string_equal(ids.rules[1].name, "b");
    }
    assert_int_equal(ids.count, 3);
}

/* A day of reloads with ever new names, three a minute: numbers are bounded by what a minute holds.
 */
WITH_RULE_IDS(numbers_do_not_grow_with_reloads)
{
    for (int64_t i = 0; i < 86400; i += 20) {
        char letters[3] = { (char)('a' + i / 20 % 26), (char)('A' + i / 20 % 25), 0 };
        enrolled(letters, i * SECOND);
    }
    assert_true(ids.count <= 10);
}

/* ---- what is told of a rule ---- */

WITH_RULE_IDS(a_rule_is_told_as_it_is_now)
{
    static const struct {
        const char *yaml, *type, *algorithm;
        bool shadow;
    } rows[] = {
        { "rules: [{ name: r, per: user, limit: 1/m }]\n", "per_user", "sliding_window_counter" },
        { "rules: [{ name: r, per: [ip, user], limit: 1/m, shadow: true }]\n", "per_ip_user",
          "sliding_window_counter", true },
        { "rules: [{ name: r, per: global, algorithm: fixed_window, limit: 1/m }]\n", "global",
          "fixed_window" },
        { "rules: [{ name: r, per: endpoint, limit: 1/m }]\n", "per_resource",
          "sliding_window_counter" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_ruleset *rules = rules_of(rows[i].yaml);
        uint32_t *numbers = sl_rule_ids_enrol(&ids, rules, 0);
        sl_rule_ids_settle(&ids, rules, numbers, 0);
        assert_int_equal(numbers[0], 0);
        assert_string_equal(ids.rules[0].limit_type, rows[i].type);
        assert_string_equal(ids.rules[0].algorithm, rows[i].algorithm);
        assert_int_equal(ids.rules[0].shadow, rows[i].shadow);
        free(numbers);
        sl_ruleset_free(rules); /* nothing of it is kept */
    }
    assert_string_equal(ids.rules[0].name, "r");
}

WITH_RULE_IDS(no_rules_have_no_numbers)
{
    enrolled("", 0);
    assert_int_equal(ids.count, 0);
    enrolled("ab", 0);
    enrolled("", SECOND);
    assert_false(ids.rules[0].is_there || ids.rules[1].is_there);
}
