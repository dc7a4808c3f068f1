/* The control plane: rules composed of the file and the registry, editions made of
 * them, users, and problems as they are reported. */
#include "base/clock.h"
#include "unit/server/captured.h"
#include "unit/server/known_callers.h"

static const char yaml[] = "tiers: { pro: { scale: 10 } }\n"
                           "rules: [{ name: api, per: user, limit: 2/1h }]\n";
static const char in_a_file[] = "database: $/sluice.db\n"
                                "tiers: { pro: { scale: 10 } }\n"
                                "rules: [{ name: api, per: user, limit: 2/1h }]\n";
static const char adaptive[] = "database: $/sluice.db\n"
                               "rules: [{ name: api, per: user, limit: 2/1h, adaptive: true }]\n";

static struct sluice_error error;

#define DONE(call)                                                                                 \
    do {                                                                                           \
        if (!(call))                                                                               \
            fail_msg("%s: %s", #call, error.text);                                                 \
    } while (0)

static struct sl_registry *registry(void)
{
    return desk.control.registry;
}

static void put_rule(const char *tenant, const char *name, const char *json)
{
    DONE(sl_registry_begin(registry(), SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_rule(registry(), tenant, name, json, &error));
    DONE(sl_registry_commit(registry(), &error));
}

/* The names of the rules, of what is composed now; or of the first problem. */
static const char *composed(const char *text)
{
    static char out[512];
    struct sl_report report = { .file = "rules.yaml" };
    struct sl_ruleset *rules = sl_control_compose(&desk.control, sl_text(text), &report);
    size_t len = 0;
    out[0] = 0;
    assert_int_equal(rules == NULL, report.errors > 0);
    if (!rules)
        snprintf(out, sizeof out, "%s: %s",
                 report.problems[0].subject ? report.problems[0].subject : "",
                 report.problems[0].text);
    for (size_t i = 0; rules && i < rules->rule_count; i++)
        len +=
            (size_t)snprintf(out + len, sizeof out - len, i ? " %s" : "%s", rules->rules[i].name);
    if (rules)
        sl_ruleset_free(rules);
    sl_report_release(&report);
    return out;
}

/* ---- composing ---- */

WITHOUT_TENANTS(rules_are_those_of_the_text_with_the_registrys_on_top, yaml)
{
    assert_string_equal(composed(yaml), "api");
    put_rule(NULL, "more", "{\"per\": \"ip\", \"limit\": \"1/1s\"}");
    assert_string_equal(composed(yaml), "api more");
    assert_string_equal(composed("rules: []\n"), "more");
    put_rule(NULL, "api", NULL); /* hidden */
    assert_string_equal(composed(yaml), "more");
}

WITHOUT_TENANTS(what_does_not_go_together_is_a_problem_that_names_its_subject, yaml)
{
    assert_non_null(strstr(composed("rules: 7\n"), "rules"));
    put_rule(NULL, "more",
             "{\"per\": \"ip\", \"limit\": \"1/1s\", \"tiers\": {\"pro\": {\"capacity\": 5}}}");
    assert_string_equal(composed(yaml), "api more");
    assert_non_null(strstr(composed("rules: []\n"), "rule `more`: "));
}

WITHOUT_TENANTS(the_command_lines_address_goes_before_the_files, yaml)
{
    struct sl_report report = { .file = "rules.yaml" };
    struct sluice_text text = SL_TEXT("listen: { http: '127.0.0.1:1' }\nrules: []\n");
    desk.config.http = "127.0.0.1:2";
    struct sl_ruleset *rules = sl_control_compose(&desk.control, text, &report);
    assert_string_equal(rules->settings.http.address, "127.0.0.1:2");
    sl_ruleset_free(rules);
    desk.config.http = NULL;
    rules = sl_control_compose(&desk.control, text, &report);
    assert_string_equal(rules->settings.http.address, "127.0.0.1:1");
    sl_ruleset_free(rules);
    sl_report_release(&report);
}

/* Starting from the file alone would take away an operator's limits silently. */
WITHOUT_TENANTS(a_registry_that_cannot_be_read_is_a_problem_and_not_an_empty_one, in_a_file)
{
    put_rule(NULL, "more", "{\"per\": \"ip\", \"limit\": \"1/1s\"}");
    assert_string_equal(composed(yaml), "api more");
    assert_int_equal(unlink(in_folder("sluice.db")), 0);
    assert_non_null(strstr(composed(yaml), "sluice.db"));
}

/* ---- editions ---- */

WITHOUT_TENANTS(an_edition_has_the_tenants_keys_as_the_registry_has_them, yaml)
{
    bool is_new;
    struct sl_tenant_key key = { .tenant = "acme", .digest = digest_of("sk_acme") };
    assert_false(sl_keyring_has_tenants(stage.workers[0].edition->keyring));
    DONE(sl_registry_begin(registry(), SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_tenant(registry(), "acme", "pro", &is_new, &error));
    DONE(sl_registry_put_key(registry(), &key, &is_new, &error));
    DONE(sl_registry_commit(registry(), &error));
    desk_compose(&desk, &stage);
    const struct sl_key_owner *owner =
        sl_keyring_find(stage.workers[0].edition->keyring, &key.digest);
    assert_non_null(owner);
    SAME_TEXT("tenant", owner->tenant, "acme");
    SAME_TEXT("tier", owner->tier, "pro");
}

WITHOUT_TENANTS(publishing_gives_it_to_every_worker_and_drops_the_old_one, yaml)
{
    struct sl_edition *old = sl_edition_keep(stage.server.edition);
    struct sl_files *files = old->files;
    desk_compose(&desk, &stage);
    assert_ptr_not_equal(stage.server.edition, old);
    assert_ptr_equal(stage.workers[0].edition, stage.server.edition);
    assert_ptr_equal(stage.server.edition->files, files); /* which are shared */
    assert_int_equal(atomic_load(&old->holders), 1);
    assert_int_equal(desk.control.rules_revision, sl_registry_rules_revision(registry()));
    sl_edition_drop(old);
}

/* ---- opening and closing ---- */

static bool has_opened;

static void open_another(void *about)
{
    struct sl_control *control = about;
    struct sl_settings settings = { .database = folder }; /* which is no file */
    struct sl_serve_config config = { .rules_path = "rules.yaml" };
    control->config = &config;
    has_opened = sl_control_open(control, &settings);
    sl_control_close(control);
}

WITHOUT_TENANTS(a_database_that_cannot_be_opened_is_said, yaml)
{
    struct sl_control control = { .server = &stage.server };
    const char *said = said_by(open_another, &control);
    assert_false(has_opened);
    assert_non_null(strstr(said, "sluice: "));
    assert_non_null(strstr(said, folder));
}

WITHOUT_TENANTS(nothing_is_created_before_the_first_change, in_a_file)
{
    assert_int_equal(access(in_folder("sluice.db"), F_OK), -1);
    sl_control_look(&desk.control);
    composed(yaml);
    assert_int_equal(access(in_folder("sluice.db"), F_OK), -1);
    put_rule(NULL, "more", "{\"per\": \"ip\", \"limit\": \"1/1s\"}");
    assert_int_equal(access(in_folder("sluice.db"), F_OK), 0);
}

/* ---- violations ---- */

static void deny(const char *user)
{
    char body[64];
    snprintf(body, sizeof body, "{\"user\": \"%s\"}", user);
    for (int i = 0; i < 3; i++)
        answer_to_message("POST /v1/check", "", body);
    assert_int_equal(answers[0].status, 429);
}

static void add_violations(void *about, const struct sl_user_day *day)
{
    *(uint64_t *)about += day->violations;
}

/* In the registry. */
static uint64_t violations_kept(struct sl_registry *of)
{
    uint64_t count = 0;
    struct sl_user_visitor visits = { .day = add_violations, .about = &count };
    DONE(sl_registry_visit_users(of, 0, 0, &visits, &error));
    return count;
}

WITHOUT_TENANTS(violations_go_into_the_registry_when_they_are_flushed, adaptive)
{
    model.now_us = sl_walltime_us(); /* what is of another month is forgotten */
    deny("u1");
    deny("u2");
    assert_int_equal(violations_kept(registry()), 0);
    sl_control_flush(&desk.control);
    assert_int_equal(violations_kept(registry()), 2);
    sl_control_flush(&desk.control); /* once each */
    assert_int_equal(violations_kept(registry()), 2);
    deny("u1"); /* mostly within the same minute: then nothing new */
    sl_control_look(&desk.control);
    assert_in_range(violations_kept(registry()), 2, 3);
}

WITHOUT_TENANTS(where_no_rule_is_adaptive_a_denial_makes_no_database, in_a_file)
{
    struct sl_user user;
    model.now_us = sl_walltime_us();
    deny("u1");
    sl_control_look(&desk.control);
    assert_int_equal(access(in_folder("sluice.db"), F_OK), -1);
    assert_true(sl_users_find_kept(desk.control.users, "", "u1", model.now_us, &user));
    assert_int_equal(user.violations, 1); /* in memory it is known */
    put_rule(NULL, "more", "{\"per\": \"ip\", \"limit\": \"1/1s\"}");
    deny("u2");
    sl_control_flush(&desk.control);
    assert_int_equal(violations_kept(registry()), 0);
}

WITHOUT_TENANTS(where_a_rule_is_adaptive_a_denial_makes_the_database, adaptive)
{
    model.now_us = sl_walltime_us();
    sl_control_look(&desk.control);
    assert_int_equal(access(in_folder("sluice.db"), F_OK), -1);
    deny("u1");
    sl_control_look(&desk.control);
    assert_int_equal(access(in_folder("sluice.db"), F_OK), 0);
    assert_int_equal(violations_kept(registry()), 1);
}

WITHOUT_TENANTS(a_rule_that_becomes_adaptive_keeps_violations_from_then_on, in_a_file)
{
    model.now_us = sl_walltime_us();
    deny("u1");
    sl_control_flush(&desk.control);
    put_rule(NULL, "more", "{\"per\": \"ip\", \"limit\": \"1/1s\", \"adaptive\": true}");
    desk_compose(&desk, &stage);
    deny("u2");
    sl_control_flush(&desk.control);
    assert_int_equal(violations_kept(registry()), 1); /* u2's */
}

WITHOUT_TENANTS(closing_writes_what_is_left, adaptive)
{
    deny("u1");
    sl_control_flush(&desk.control); /* so that there is a file */
    deny("u2");
    struct sl_registry *other = sl_registry_open(in_folder("sluice.db"), true, &error);
    assert_non_null(other);
    assert_int_equal(violations_kept(other), 1);
    sl_control_close(&desk.control);
    desk.control = (struct sl_control){ 0 }; /* the tear-down closes it again */
    assert_int_equal(violations_kept(other), 2);
    sl_registry_close(other);
}

static void flush(void *about)
{
    sl_control_flush(about);
}

WITHOUT_TENANTS(violations_that_cannot_be_written_are_said_once_until_they_can, adaptive)
{
    deny("u1");
    sl_control_flush(&desk.control);
    assert_int_equal(rename(in_folder("sluice.db"), in_folder("elsewhere")), 0);
    deny("u2");
    assert_non_null(
        strstr(said_by(flush, &desk.control), "violations are counted in memory alone"));
    deny("u3");
    assert_string_equal(said_by(flush, &desk.control), "");
    assert_true(desk.control.has_said_unwritten);
    assert_int_equal(rename(in_folder("elsewhere"), in_folder("sluice.db")), 0);
    deny("u4");
    assert_string_equal(said_by(flush, &desk.control), "");
    assert_false(desk.control.has_said_unwritten);
    assert_int_equal(violations_kept(registry()), 2); /* u1's and u4's */
}

/* ---- what is over ---- */

static size_t exemptions_kept(void)
{
    struct sl_arena arena = { 0 };
    struct sl_exemption *all;
    size_t count;
    DONE(sl_registry_exemptions(registry(), 0, &arena, &all, &count, &error));
    sl_arena_release(&arena);
    return count;
}

WITHOUT_TENANTS(exemptions_that_are_over_are_swept_now_and_then, yaml)
{
    bool is_new;
    struct sl_exemption over = { SL_EXEMPT_IP, "192.0.2.1", 1, NULL };
    struct sl_exemption stays = { SL_EXEMPT_IP, "192.0.2.2", 0, NULL };
    DONE(sl_registry_begin(registry(), SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_exemption(registry(), &over, &is_new, &error));
    DONE(sl_registry_put_exemption(registry(), &stays, &is_new, &error));
    DONE(sl_registry_commit(registry(), &error));
    assert_int_equal(exemptions_kept(), 2);
    sl_control_look(&desk.control); /* the first look only sees how far ahead the wall clock is */
    assert_int_equal(exemptions_kept(), 2);
    desk.control.sweep_at_us = 0;
    sl_control_look(&desk.control);
    assert_int_equal(exemptions_kept(), 1);
    assert_true(desk.control.sweep_at_us > sl_boottime_us()); /* and not again at once */
}

WITHOUT_TENANTS(where_more_are_over_than_one_sweep_takes_the_next_is_soon, yaml)
{
    bool is_new;
    char value[32];
    DONE(sl_registry_begin(registry(), SL_CARE_POWER_CUT, &error));
    for (int i = 0; i < SL_SWEEP_MAX + 1; i++) {
        snprintf(value, sizeof value, "u%d", i);
        struct sl_exemption over = { SL_EXEMPT_USER, value, 1, NULL };
        DONE(sl_registry_put_exemption(registry(), &over, &is_new, &error));
    }
    DONE(sl_registry_commit(registry(), &error));
    sl_control_look(&desk.control);
    desk.control.sweep_at_us = 0;
    sl_control_look(&desk.control);
    assert_int_equal(exemptions_kept(), 1);
    assert_true(desk.control.sweep_at_us < sl_boottime_us() + INT64_C(60) * 1000000);
    desk.control.sweep_at_us = 0;
    sl_control_look(&desk.control);
    assert_int_equal(exemptions_kept(), 0);
    assert_true(desk.control.sweep_at_us > sl_boottime_us() + INT64_C(60) * 1000000);
}

/* A clock that leaps comes back, and what was deleted by it would not. */
WITHOUT_TENANTS(nothing_is_swept_just_after_the_wall_clock_has_leapt, yaml)
{
    bool is_new;
    struct sl_exemption over = { SL_EXEMPT_IP, "192.0.2.1", 1, NULL };
    DONE(sl_registry_begin(registry(), SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_exemption(registry(), &over, &is_new, &error));
    DONE(sl_registry_commit(registry(), &error));
    sl_control_look(&desk.control);
    desk.control.wall_ahead_us -= INT64_C(3600) * 1000000; /* as if it had gone ahead since */
    desk.control.sweep_at_us = 0;
    sl_control_look(&desk.control);
    assert_int_equal(exemptions_kept(), 1);
    assert_true(desk.control.sweep_at_us > sl_boottime_us());
}

WITHOUT_TENANTS(an_exemption_is_kept_for_a_week_after_its_end, yaml)
{
    bool is_new;
    int64_t day_us = INT64_C(86400) * 1000000;
    struct sl_exemption fresh = { SL_EXEMPT_IP, "192.0.2.1", sl_walltime_us() - 6 * day_us, NULL };
    struct sl_exemption old = { SL_EXEMPT_IP, "192.0.2.2", sl_walltime_us() - 8 * day_us, NULL };
    DONE(sl_registry_begin(registry(), SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_exemption(registry(), &fresh, &is_new, &error));
    DONE(sl_registry_put_exemption(registry(), &old, &is_new, &error));
    DONE(sl_registry_commit(registry(), &error));
    sl_control_look(&desk.control);
    desk.control.sweep_at_us = 0;
    sl_control_look(&desk.control);
    assert_int_equal(exemptions_kept(), 1);
}

/* ---- tenants ---- */

WITHOUT_TENANTS(a_tenant_is_found_by_its_whole_name, yaml)
{
    struct sl_job job = { 0 };
    bool is_new;
    assert_null(sl_control_tenant(&desk.control, &job, "acme"));
    DONE(sl_registry_begin(registry(), SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_tenant(registry(), "acme", "pro", &is_new, &error));
    DONE(sl_registry_commit(registry(), &error));
    const struct sl_tenant *tenant = sl_control_tenant(&desk.control, &job, "acme");
    assert_non_null(tenant);
    assert_string_equal(tenant->tier, "pro");
    assert_null(sl_control_tenant(&desk.control, &job, "acm"));
    assert_null(sl_control_tenant(&desk.control, &job, "Acme"));
    sl_arena_release(&job.arena);
}
