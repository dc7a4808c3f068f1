/* Changes that another process makes, and a disk that fails while we make ours. */
#include "unit/registry/faulty_disk.h"
#include "unit/server/captured.h"
#include "unit/server/control_changes.h"

/* ---- another process ---- */

static void put_by(struct sl_registry *other, const char *name, const char *json)
{
    DONE(sl_registry_begin(other, SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_rule(other, NULL, name, json, &error));
    DONE(sl_registry_commit(other, &error));
}

static void look(void *unused)
{
    (void)unused;
    sl_control_look(&desk.control);
    stage_wakes(&stage.workers[0]);
}

WITHOUT_TENANTS(what_another_process_changes_is_taken_over, in_a_file)
{
    come_in();
    struct sl_registry *other = open_another();
    struct sl_edition *edition = stage.server.edition;
    bool is_new;
    put_by(other, "theirs", GOOD);
    assert_string_equal(in_force(), "api");
    look(NULL);
    assert_string_equal(in_force(), "api theirs");
    edition = stage.server.edition;
    look(NULL); /* nothing new */
    assert_ptr_equal(stage.server.edition, edition);
    DONE(sl_registry_begin(other, SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_tenant(other, "acme", NULL, &is_new, &error));
    DONE(sl_registry_commit(other, &error));
    look(NULL);
    assert_true(sl_keyring_has_tenants(stage.workers[0].edition->keyring));
    assert_int_equal(status_of("GET /v1/rules/theirs", NULL), 200);
    sl_registry_close(other);
}

WITHOUT_TENANTS(of_users_alone_the_rules_are_not_read_again, in_a_file)
{
    come_in();
    struct sl_registry *other = open_another();
    struct sl_edition *edition = stage.server.edition;
    struct sl_user_record record = { .tenant = "", .id = "u", .tier = "pro" };
    struct sl_user user;
    bool found;
    DONE(sl_registry_begin(other, SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_put_user(other, &record, &error));
    DONE(sl_registry_commit(other, &error));
    look(NULL);
    assert_ptr_equal(stage.server.edition, edition);
    assert_true(sl_users_find_kept(desk.control.users, "", "u", 0, &user));
    assert_string_equal(user.tier, "pro");
    DONE(sl_registry_begin(other, SL_CARE_POWER_CUT, &error));
    DONE(sl_registry_drop_user(other, "", "u", &found, &error));
    DONE(sl_registry_commit(other, &error));
    look(NULL);
    assert_false(sl_users_find_kept(desk.control.users, "", "u", 0, &user));
    sl_registry_close(other);
}

/* More users than the registry remembers as gone. */
WITHOUT_TENANTS(when_too_many_users_are_gone_all_are_loaded_again, in_a_file)
{
    struct sl_registry *other = open_another();
    struct sl_user user;
    char id[16];
    bool found;
    DONE(sl_registry_begin(other, SL_CARE_KILL, &error));
    for (int i = 0; i < SL_REGISTRY_GONE_MAX + 10; i++) {
        snprintf(id, sizeof id, "u%d", i);
        DONE(sl_registry_put_user(other, &(struct sl_user_record){ .tenant = "", .id = id },
                                  &error));
    }
    DONE(sl_registry_commit(other, &error));
    look(NULL);
    assert_true(sl_users_find_kept(desk.control.users, "", "u0", 0, &user));
    DONE(sl_registry_begin(other, SL_CARE_KILL, &error));
    for (int i = 0; i < SL_REGISTRY_GONE_MAX + 9; i++) {
        snprintf(id, sizeof id, "u%d", i);
        DONE(sl_registry_drop_user(other, "", id, &found, &error));
    }
    DONE(sl_registry_commit(other, &error));
    look(NULL);
    assert_false(sl_users_find_kept(desk.control.users, "", "u0", 0, &user));
    assert_false(sl_users_find_kept(desk.control.users, "", id, 0, &user));
    snprintf(id, sizeof id, "u%d", SL_REGISTRY_GONE_MAX + 9);
    assert_true(sl_users_find_kept(desk.control.users, "", id, 0, &user));
    sl_registry_close(other);
}

/* A tag is compared with what is there, not with what was there when we last looked. */
WITHOUT_TENANTS(our_change_sees_theirs_first, in_a_file)
{
    come_in();
    char field[64];
    struct sl_registry *other = open_another();
    struct answer *answer = answer_to_call("PUT /v1/rules/more", "", GOOD);
    struct sluice_text tag = field_of(answer, "ETag");
    snprintf(field, sizeof field, "If-Match: %.*s\r\n", (int)tag.len, tag.at);
    put_by(other, "more", BETTER);
    assert_int_equal(answer_to_call("PUT /v1/rules/more", field, GOOD)->status, 412);
    assert_string_equal(in_force(), "api more");
    assert_string_equal(on_disk(other), "more=" BETTER);
    put_by(other, "theirs", GOOD);
    assert_int_equal(status_of("PUT /v1/rules/ours", GOOD), 201);
    assert_string_equal(in_force(), "api more theirs ours");
    sl_registry_close(other);
}

/* Their file may be another. */
WITHOUT_TENANTS(what_of_theirs_does_not_fit_is_said_and_ours_stays, in_a_file)
{
    come_in();
    struct sl_registry *other = open_another();
    put_by(other, "theirs", UNFIT);
    const char *said = said_by(look, NULL);
    assert_non_null(strstr(said, "rule `theirs`"));
    assert_non_null(strstr(said, "the rules in force stay"));
    assert_string_equal(in_force(), "api");
    assert_string_equal(said_by(look, NULL), ""); /* once */
    sl_registry_close(other);
}

/* ---- a disk that fails ---- */

/* At every step: it is 503 and nothing has changed, or it is told and there. */
WITHOUT_TENANTS(a_change_on_a_failing_disk_is_whole_or_not_at_all, in_a_file)
{
    come_in();
    size_t failures = 0;
    bool is_met = true; /* the fault, before the change was done */
    assert_int_equal(status_of("PUT /v1/rules/more", GOOD), 201);
    for (int at = 1; is_met; at++) {
        char before[512], wanted[64];
        strcpy(before, on_disk(desk.control.registry));
        struct sl_edition *edition = stage.server.edition;
        snprintf(wanted, sizeof wanted, "{\"per\": \"ip\", \"limit\": \"%d/1s\"}", at + 1);
        disk.count = 0;
        disk.at = at;
        disk.until = at + 3;
        disk.code = SQLITE_IOERR;
        uint32_t status = status_of("PUT /v1/rules/more", wanted);
        is_met = disk.count >= at;
        disk.at = 0;
        assert_true(at < 500);
        failures += status == 503;
        SAME(wanted, status == 200 || status == 503, true);
        SAME(wanted, stage.server.edition == edition, status == 503);
        SAME(wanted, strcmp(on_disk(desk.control.registry), before) == 0, status == 503);
        SAME(wanted, strstr(on_disk(desk.control.registry), wanted) != NULL, status == 200);
    }
    assert_true(failures >= 2);
    assert_string_equal(in_force(), "api more");
}

static int use_bad_disk(void **unused)
{
    (void)unused;
    use_faulty_disk();
    return 0;
}

TESTS_WITH(use_bad_disk, NULL)
