/* An audit log in a folder of a test's own, and events of the store to write. */
#ifndef TEST_TELEMETRY_AUDIT_LOG_H
#define TEST_TELEMETRY_AUDIT_LOG_H

#include "telemetry/audit/audit.h"
#include "unit/store/folder.h"

#define AT_US INT64_C(1700000000123456)

static struct sl_audit audit;

static inline void open_audit(const char *where)
{
    struct sluice_error error = { 0 };
    assert_true(sl_audit_open(&audit, where, &error));
    assert_string_equal(error.text, "");
}

/* Where the folder's file is, as the setting says it. */
static inline const char *to_file(void)
{
    static char where[80];
    snprintf(where, sizeof where, "file:%s", path);
    return where;
}

static inline const char *content_of(const char *of)
{
    static char text[1 << 16];
    FILE *file = fopen(of, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

/* Of the store's events, which have no other members than their own. */
static inline void write_reason(struct sluice_text reason)
{
    struct sl_audit_figure figures[] = {
        { .name = "store", .type = SL_FIGURE_TEXT, .text = SL_TEXT("cache:6379") },
        { .name = "reason", .type = SL_FIGURE_TEXT, .text = reason },
    };
    struct sl_audit_event event = { .kind = SL_AUDIT_STORE_UNAVAILABLE,
                                    .figures = figures,
                                    .figure_count = 1 + (reason.at != NULL) };
    sl_audit_write(&audit, &event, AT_US);
}

static inline void write_event(const char *reason)
{
    write_reason(sl_text(reason));
}

#define MEMBERS(event, severity)                                                                   \
    "{\"at\": \"2023-11-14T22:13:20.123456Z\", \"event\": \"" event                                \
    "\", \"severity\": \"" severity "\""
#define LINE(rest)                                                                                 \
    MEMBERS("store_unavailable", "error")                                                          \
    ", \"store\": \"cache:6379\"" rest "}\n"
#define REASON(text) LINE(", \"reason\": \"" text "\"")

#endif
