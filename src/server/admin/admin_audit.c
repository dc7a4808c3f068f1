/* /v1/audit: the newest events of the audit log, as they were written. */
#include "base/text/number.h"
#include "base/text/time.h"
#include "server/control/admin_json.h"
#include "telemetry/audit/recent.h"

enum { LIMIT = 100, LIMIT_MAX = 1000 };

/* What the call asks for; NULL and -1 mean any. */
struct filter {
    const char *tenant, *identifier, *rule;
    int kind, severity;
    int64_t since_us;
    uint64_t limit;
};

/* ---- reading the query ---- */

static bool read_event(struct sl_job *job, const char *name, int *out)
{
    *out = -1;
    if (!name)
        return true;
    for (int i = 0; i < SL_AUDIT_KIND_COUNT; i++)
        if (strcmp(sl_audit_rows[i].name, name) == 0)
            *out = i;
    return *out >= 0 || sl_job_refuse(job, 422,
                                      "there is no event `%s`; one is `rate_limit_exceeded`, and "
                                      "the documents list the others",
                                      name);
}

static bool read_severity(struct sl_job *job, const char *name, int *out)
{
    *out = -1;
    if (!name)
        return true;
    for (int i = 0; i < SL_AUDIT_SEVERITY_COUNT; i++)
        if (strcmp(sl_audit_severity_name((enum sl_audit_severity)i), name) == 0)
            *out = i;
    return *out >= 0 || sl_job_refuse(job, 422, "`severity` is `info`, `warning` or `error`");
}

static bool read_since(struct sl_job *job, const char *text, int64_t *out_us)
{
    uint64_t us = 0;
    *out_us = 0;
    if (!text || sl_time_parse(sl_text(text), out_us))
        return true;
    if (!sl_parse_u64(sl_text(text), &us) || us > INT64_MAX)
        return sl_job_refuse(job, 422,
                             "`since` is microseconds since 1970, or a time such as "
                             "2026-12-01T00:00:00Z");
    *out_us = (int64_t)us;
    return true;
}

static bool read_limit(struct sl_job *job, const char *text, uint64_t *out)
{
    *out = LIMIT;
    return !text || (sl_parse_u64(sl_text(text), out) && *out >= 1 && *out <= LIMIT_MAX) ||
           sl_job_refuse(job, 422, "`limit` is a whole number from 1 to %d", LIMIT_MAX);
}

static bool read_filter(struct sl_job *job, struct filter *out)
{
    static const char *const parameters[] = { "event",      "severity", "rule",  "tenant",
                                              "identifier", "since",    "limit", NULL };
    if (!sl_job_check_query(job, parameters))
        return false;
    out->tenant = sl_job_query(job, "tenant");
    out->identifier = sl_job_query(job, "identifier");
    out->rule = sl_job_query(job, "rule");
    return read_event(job, sl_job_query(job, "event"), &out->kind) &&
           read_severity(job, sl_job_query(job, "severity"), &out->severity) &&
           read_since(job, sl_job_query(job, "since"), &out->since_us) &&
           read_limit(job, sl_job_query(job, "limit"), &out->limit);
}

/* ---- answering ---- */

static bool matches(struct sluice_text text, const char *wanted)
{
    return !wanted || (text.at && sl_text_is(text, wanted));
}

static bool passes_filter(const struct filter *filter, const struct sl_audit_kept *kept)
{
    int severity = (int)sl_audit_rows[kept->kind].severity;
    return (filter->kind < 0 || filter->kind == (int)kept->kind) &&
           (filter->severity < 0 || filter->severity == severity) &&
           kept->at_us >= filter->since_us && matches(kept->tenant, filter->tenant) &&
           matches(kept->identifier, filter->identifier) && matches(kept->rule, filter->rule);
}

static void print_events(struct sl_buffer *out, const struct sl_audit_recent *recent,
                         const struct filter *filter)
{
    const struct sl_audit_kept *kept = sl_audit_recent_before(recent, UINT64_MAX);
    uint64_t count = 0;
    sl_print_name(out, "events");
    sl_buffer_add(out, SL_TEXT("["));
    for (; kept && count < filter->limit; kept = sl_audit_recent_before(recent, kept->number)) {
        if (!passes_filter(filter, kept))
            continue;
        sl_buffer_add(out, count++ ? SL_TEXT(", ") : SL_TEXT(""));
        sl_buffer_add(out, kept->line);
    }
    sl_buffer_add(out, SL_TEXT("]"));
}

static void print_chain(struct sl_buffer *out, const struct sl_audit *audit)
{
    if (audit->to == SL_AUDIT_OFF) {
        sl_print_raw(out, "chain", "null");
        return;
    }
    sl_print_name(out, "chain");
    sl_buffer_add(out, SL_TEXT("{"));
    sl_print_i64(out, "n", (int64_t)audit->chain.head.n);
    sl_print_text(out, "hash", audit->chain.head.hash);
    sl_buffer_add(out, SL_TEXT("}"));
}

void sl_run_audit(struct sl_control *control, struct sl_job *job)
{
    const struct sl_audit *audit = control->server->audit;
    struct sl_buffer *out = &job->out;
    struct sl_audit_counts counts;
    struct filter filter;
    if (!read_filter(job, &filter))
        return;
    sl_audit_counts(audit, &counts);
    sl_buffer_add(out, SL_TEXT("{"));
    print_events(out, audit->recent, &filter);
    sl_print_i64(out, "kept", (int64_t)sl_audit_recent_count(audit->recent));
    sl_print_i64(out, "written", (int64_t)counts.written);
    sl_print_i64(out, "dropped", (int64_t)counts.dropped);
    sl_print_i64(out, "failed", (int64_t)counts.failed);
    print_chain(out, audit);
    sl_buffer_add(out, SL_TEXT("}"));
}
