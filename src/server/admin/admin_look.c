/* /v1/look: the counts of one identifier in every rule. */
#include "limiter/look.h"
#include "server/admin/admin_identifier.h"

static int64_t whole_seconds(int64_t us)
{
    return us < 0 ? us : (us + 999999) / 1000000;
}

static void print_number(struct sl_buffer *out, const char *name, int64_t number)
{
    if (number == SLUICE_NONE)
        sl_print_text(out, name, NULL);
    else
        sl_print_i64(out, name, number);
}

static void print_numbers(struct sl_buffer *out, const struct sluice_explained *told)
{
    sl_print_i64(out, "limit", told->limit);
    sl_print_i64(out, "remaining", told->remaining);
    sl_print_i64(out, "in_use", told->limit - told->remaining);
    print_number(out, "reset_at_us", told->reset_at_us);
    print_number(out, "retry_after_us", told->retry_after_us);
    print_number(out, "reset_at", whole_seconds(told->reset_at_us));
    print_number(out, "retry_after", whole_seconds(told->retry_after_us));
}

static void print_rule_state(void *about, const struct sl_looked *looked)
{
    struct sl_buffer *out = about;
    const struct sl_rule *rule = looked->rule;
    bool is_first = out->at[out->len - 1] == '[';
    sl_buffer_add(out, is_first ? SL_TEXT("{") : SL_TEXT(", {"));
    sl_print_text(out, "rule", rule->name);
    sl_print_text(out, "algorithm", rule->algo->name);
    sl_print_per(out, rule);
    sl_print_bool(out, "shadow", rule->shadow);
    sl_print_bool(out, "matches", looked->matches);
    sl_print_bool(out, "unlimited", looked->unlimited);
    sl_print_bool(out, "allowed", looked->unlimited || looked->told.allowed);
    if (!looked->unlimited) {
        sl_print_text(out, "reason", sl_reason_name(looked->reason));
        print_numbers(out, &looked->told);
    }
    sl_buffer_add(out, SL_TEXT("}"));
}

/* Prints the rules first: only then is it known whether the identifier is exempt. */
void sl_run_look(struct sl_control *control, struct sl_job *job)
{
    struct sl_identifier who;
    if (!sl_job_read_identifier(control, job, &who))
        return;
    if (job->dry_run) {
        sl_job_refuse(job, 422, "a look changes nothing; leave `dry_run` out");
        return;
    }
    struct sl_look look = {
        .request = &who.request, .name = who.rule, .see = print_rule_state, .about = &job->out
    };
    sl_buffer_add(&job->out, SL_TEXT("{\"rules\": ["));
    int status = sl_limiter_look(sl_control_limiter(control), &look);
    if (status != SLUICE_OK) {
        sl_job_refuse(job, 503, "%s", sluice_status_text(status));
        return;
    }
    sl_buffer_add(&job->out, SL_TEXT("]"));
    sl_print_bool(&job->out, "exempt", look.is_exempt);
    sl_buffer_add(&job->out, SL_TEXT("}"));
}
