/* To syslog: this program's own stands in for the library's. */
#include <syslog.h>

#include <stdatomic.h>

#include "telemetry/audit/audit.h"
#include "unit/base/unit.h"

TESTS_ALONE;

static char said[4][10000];
static int priorities[4];
static atomic_int count;

void syslog(int priority, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    priorities[count] = priority;
    vsnprintf(said[count], sizeof said[0], format, arguments);
    va_end(arguments);
    count++;
}

static void write_event(struct sl_audit *audit, enum sl_audit_kind kind, const char *reason)
{
    struct sl_audit_figure figure = { .name = "reason",
                                      .type = SL_FIGURE_TEXT,
                                      .text = sl_text(reason) };
    sl_audit_write(
        audit, &(struct sl_audit_event){ .kind = kind, .figures = &figure, .figure_count = 1 }, 1);
}

TEST(lines_go_there_with_their_severities_and_a_chain_of_this_process)
{
    static char reason[20000];
    struct sl_audit audit;
    struct sluice_error error = { 0 };
    memset(reason, '%', sizeof reason - 1);
    assert_true(sl_audit_open(&audit, "syslog", &error));
    write_event(&audit, SL_AUDIT_STORE_UNAVAILABLE, "100%s of it");
    write_event(&audit, SL_AUDIT_EXCEEDED, reason);
    write_event(&audit, SL_AUDIT_RESET, NULL);
    write_event(&audit, SL_AUDIT_RESET, reason);
    sl_audit_close(&audit);
    assert_int_equal(count, 4);
    assert_int_equal(priorities[0], LOG_ERR);
    assert_int_equal(priorities[1], LOG_WARNING);
    assert_int_equal(priorities[2], LOG_INFO);
    assert_string_equal(said[0], "{\"at\": \"1970-01-01T00:00:00.000001Z\", \"event\": "
                                 "\"store_unavailable\", \"severity\": \"error\", "
                                 "\"reason\": \"100%s of it\"}");
    assert_true(strlen(said[1]) < 8192); /* what syslog servers take */
    assert_true(strlen(said[3]) < 8192);
    assert_non_null(strstr(said[2], "\"chain\": {\"n\": 1, \"prev\": \"0000"));
    assert_non_null(strstr(said[3], "\"chain\": {\"n\": 2, "));
}
