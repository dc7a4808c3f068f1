#include "telemetry/audit/audit.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>

#include "telemetry/audit/recent.h"
#include "unit/telemetry/audit_log.h"

IN_A_FOLDER(an_event_is_a_line_of_json)
{
    open_audit(to_file());
    write_event("it does not answer");
    write_event(NULL);
    sl_audit_close(&audit);
    assert_string_equal(content_of(path), REASON("it does not answer") LINE(""));
}

IN_A_FOLDER(a_denial_has_every_member_of_the_contract)
{
    struct sl_audit_figure figures[] = {
        { .name = "retry_after", .type = SL_FIGURE_NUMBER, .number = -1 },
        { .name = "shadow", .type = SL_FIGURE_BOOL, .number = true },
        { .name = "open", .type = SL_FIGURE_BOOL },
        { .name = "more", .type = SL_FIGURE_JSON, .text = SL_TEXT("{\"a\": [1]}") },
        { .name = "none", .type = SL_FIGURE_TEXT },
        { .name = "neither", .type = SL_FIGURE_JSON },
    };
    struct sl_audit_event event = {
        .kind = SL_AUDIT_BURST_BLOCKED,
        .tenant = SL_TEXT("acme"),
        .identifier = SL_TEXT(""),
        .limit_type = SL_TEXT("per_user"),
        .figures = figures,
        .figure_count = COUNT(figures),
    };
    open_audit(to_file());
    sl_audit_write(&audit, &event, AT_US);
    sl_audit_close(&audit);
    assert_string_equal(
        content_of(path),
        MEMBERS(
            "burst_detected_blocked",
            "error") ", \"tenant\": \"acme\", \"identifier\": \"\", \"limit_type\": \"per_user\", "
                     "\"resource\": null, \"rule\": null, \"retry_after\": -1, \"shadow\": true, "
                     "\"open\": false, \"more\": {\"a\": [1]}, \"none\": null, \"neither\": "
                     "null}\n");
}

IN_A_FOLDER(events_and_their_severities_are_those_of_the_contract)
{
    static const char *const contract[][2] = {
        { "rate_limit_exceeded", "warning" },       { "sliding_window_limit_exceeded", "warning" },
        { "burst_detected_warning", "warning" },    { "burst_detected_blocked", "error" },
        { "rate_limit_config_updated", "info" },    { "rate_limit_whitelist_added", "info" },
        { "rate_limit_whitelist_removed", "info" }, { "rate_limit_reset", "info" },
        { "store_unavailable", "error" },           { "store_recovered", "info" },
    };
    assert_int_equal(COUNT(contract), SL_AUDIT_KIND_COUNT);
    for (size_t i = 0; i < COUNT(contract); i++) {
        SAME_TEXT("name", sl_text(sl_audit_rows[i].name), contract[i][0]);
        SAME_TEXT("severity", sl_text(sl_audit_severity_name(sl_audit_rows[i].severity)),
                  contract[i][1]);
    }
}

IN_A_FOLDER(whatever_the_reason_it_stays_one_line)
{
    open_audit(to_file());
    write_event("a \"b\"\n\\c\t\x01\xff<b>\xc2\x85");
    write_reason((struct sluice_text){ "a\0b", 3 });
    sl_audit_close(&audit);
    assert_string_equal(content_of(path),
                        REASON("a \\\"b\\\"\\u000a\\\\c\\u0009\\u0001\\ufffd<b>\\u0085")
                            REASON("a\\u0000b"));
}

IN_A_FOLDER(times_are_printed_to_the_microsecond)
{
    static const struct {
        int64_t at_us;
        const char *printed;
    } rows[] = {
        { 0, "1970-01-01T00:00:00.000000Z" },
        { 1, "1970-01-01T00:00:00.000001Z" },
        { INT64_C(951782399999999), "2000-02-28T23:59:59.999999Z" },
        { INT64_C(4400000000000000), "2109-06-06T22:13:20.000000Z" },
    };
    open_audit(to_file());
    for (size_t i = 0; i < COUNT(rows); i++)
        sl_audit_write(&audit, &(struct sl_audit_event){ .kind = SL_AUDIT_STORE_RECOVERED },
                       rows[i].at_us);
    sl_audit_close(&audit);
    const char *at = content_of(path);
    for (size_t i = 0; i < COUNT(rows); i++, at = strchr(at, '\n') + 1)
        SAME_TEXT("time", ((struct sluice_text){ at + 8, strlen(rows[i].printed) }),
                  rows[i].printed);
}

IN_A_FOLDER(an_existing_file_is_appended_to_and_not_readable_by_all)
{
    struct stat facts;
    for (int i = 0; i < 2; i++) {
        open_audit(to_file());
        write_event(NULL);
        sl_audit_close(&audit);
    }
    assert_string_equal(content_of(path), LINE("") LINE(""));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0007, 0);
}

IN_A_FOLDER(a_file_that_was_moved_away_is_opened_anew)
{
    char moved[80];
    snprintf(moved, sizeof moved, "%s.1", path);
    open_audit(to_file());
    write_event("before");
    assert_int_equal(rename(path, moved), 0);
    write_event("meanwhile");
    sl_audit_reopen(&audit);
    write_event("after");
    sl_audit_close(&audit);
    assert_string_equal(content_of(moved), REASON("before") REASON("meanwhile"));
    assert_string_equal(content_of(path), REASON("after"));
}

IN_A_FOLDER(a_file_that_cannot_be_opened_anew_is_written_on)
{
    char moved[80];
    snprintf(moved, sizeof moved, "%s.1", path);
    open_audit(to_file());
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    sl_audit_reopen(&audit);
    write_event("still");
    sl_audit_close(&audit);
    assert_int_equal(rmdir(path), 0);
    assert_string_equal(content_of(moved), REASON("still"));
}

IN_A_FOLDER(a_file_that_cannot_be_opened_is_said)
{
    struct sluice_error error = { 0 };
    assert_false(sl_audit_open(&audit, "file:/nowhere/at/all", &error));
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    write_event(NULL); /* goes nowhere */
    sl_audit_close(&audit);
}

/* The file stands in for the terminal. */
IN_A_FOLDER(stdout_is_written_to_and_left_open)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), file = open(path, O_CREAT | O_WRONLY, 0600);
    dup2(file, STDOUT_FILENO);
    open_audit("stdout");
    write_event("one");
    sl_audit_reopen(&audit);
    write_event("two");
    sl_audit_close(&audit);
    ssize_t more = write(STDOUT_FILENO, "more\n", 5);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    assert_int_equal(more, 5);
    assert_string_equal(content_of(path), REASON("one") REASON("two") "more\n");
}

IN_A_FOLDER(off_writes_nothing_and_still_knows_what_happened)
{
    struct sl_audit_counts counts;
    open_audit("off");
    assert_int_equal(audit.to, SL_AUDIT_OFF);
    assert_null(audit.queue);
    write_event("e");
    sl_audit_reopen(&audit);
    sl_audit_counts(&audit, &counts);
    assert_int_equal(counts.written + counts.dropped + counts.failed, 0);
    assert_int_equal(sl_audit_recent_count(audit.recent), 1);
    sl_audit_close(&audit);
    sl_audit_close(&audit);
}

/* It is cut, not left out: a long name hides no event. */
IN_A_FOLDER(a_line_that_is_far_too_long_is_shortened)
{
    static char reason[200000];
    memset(reason, 'x', sizeof reason - 1);
    reason[63] = (char)0xc3; /* a character across the cut */
    reason[64] = (char)0xa9;
    open_audit(to_file());
    write_event(reason);
    write_event("e");
    sl_audit_close(&audit);
    char cut[64] = { 0 };
    memset(cut, 'x', 63);
    char wanted[1000];
    snprintf(wanted, sizeof wanted, LINE(", \"reason\": \"%s…\"") "%s", cut, REASON("e"));
    assert_string_equal(content_of(path), wanted);
}

/* Also where the line before it had more room. */
IN_A_FOLDER(a_denial_is_shorter_than_a_change_may_be)
{
    static char text[40000];
    memset(text, 'x', sizeof text);
    open_audit("off");
    for (int i = 0; i < 2; i++) {
        struct sl_audit_event event = { .kind = i ? SL_AUDIT_EXCEEDED : SL_AUDIT_RESET,
                                        .identifier = { text, sizeof text } };
        sl_audit_write(&audit, &event, AT_US);
    }
    const struct sl_audit_kept *denial = sl_audit_recent_before(audit.recent, UINT64_MAX);
    const struct sl_audit_kept *change = sl_audit_recent_before(audit.recent, denial->number);
    assert_true(change->line.len > sizeof text);
    assert_true(denial->line.len < 1000);
    sl_audit_close(&audit);
}

/* With the longest of everything. */
IN_A_FOLDER(even_the_longest_event_is_a_line)
{
    static char text[100000];
    memset(text, 1, sizeof text);
    struct sluice_text longest = { text, sizeof text };
    struct sl_audit_figure figures[SL_AUDIT_FIGURES_MAX];
    for (size_t i = 0; i < COUNT(figures); i++)
        figures[i] = (struct sl_audit_figure){ .name = "a_name_of_some_length",
                                               .type = SL_FIGURE_TEXT,
                                               .text = longest };
    struct sl_audit_event event = { SL_AUDIT_EXCEEDED, longest, longest, longest,
                                    longest,           longest, figures, COUNT(figures) };
    open_audit(to_file());
    sl_audit_write(&audit, &event, AT_US);
    sl_audit_close(&audit);
    const char *line = content_of(path);
    assert_true(strlen(line) > 5000);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    json_t *json = json_loads(line, 0, NULL);
    assert_true(json_is_object(json));
    json_decref(json);
}

IN_A_FOLDER(json_that_is_far_too_long_is_its_digest)
{
    static char text[100000];
    memset(text, '1', sizeof text);
    struct sl_audit_figure figure = { .name = "after",
                                      .type = SL_FIGURE_JSON,
                                      .text = { text, sizeof text } };
    open_audit(to_file());
    sl_audit_write(&audit,
                   &(struct sl_audit_event){
                       .kind = SL_AUDIT_EXCEEDED, .figures = &figure, .figure_count = 1 },
                   AT_US);
    sl_audit_close(&audit);
    assert_non_null(
        strstr(content_of(path),
               "\"after\": {\"bytes\": 100000, \"sha256\": "
               "\"99776d836e8bcb457e2b4e117a3a064faeee84fe2286c02a49d06ece72ec6759\"}}\n"));
}

/* Of every length around the bound: the end of a chained line lies beyond it. */
IN_A_FOLDER(a_long_change_is_followed_by_a_longer_one)
{
    static char text[200000];
    memset(text, 'x', sizeof text);
    open_audit("off");
    for (size_t len = 60800; len < 61700; len++) {
        size_t lens[] = { len, sizeof text };
        for (size_t i = 0; i < COUNT(lens); i++) {
            struct sl_audit_figure figure = { .name = "reason",
                                              .type = SL_FIGURE_TEXT,
                                              .text = { text, lens[i] } };
            struct sl_audit_event event = { .kind = SL_AUDIT_CONFIG_UPDATED,
                                            .figures = &figure,
                                            .figure_count = 1 };
            sl_audit_write(&audit, &event, AT_US);
            assert_true(audit.line.len <= audit.line.room);
        }
    }
    sl_audit_close(&audit);
}
