/* Prints the rate limit fields. It runs for every answer, so text that always stands
 * together is added together: a field's end and the next one's name are one literal.
 *
 * RateLimit and RateLimit-Policy are structured fields (RFC 9651): a rule's name is
 * a valid String without escapes, since it has no quote or backslash, and an Integer
 * has at most 15 digits. No standard defines X-RateLimit-…: plain numbers. */
#include "wire/http/limit_fields.h"

#include "base/check.h"
#include "base/text/number.h"
#include "rules/ruleset.h"

#define INTEGER_MAX  INT64_C(999999999999999)
#define US_PER_S     INT64_C(1000000)
#define NOT_FOR_SURE INT64_C(-1)

static void add_integer(struct sl_buffer *out, struct sluice_text name, int64_t number)
{
    sl_buffer_add(out, name);
    sl_buffer_add_i64(out, sl_min_i64(number, INTEGER_MAX));
}

static void print_x_ratelimit(struct sl_buffer *out, const struct sluice_decision *decision)
{
    if (decision->limit != SLUICE_NONE) {
        sl_buffer_add(out, SL_TEXT("X-RateLimit-Limit: "));
        sl_buffer_add_i64(out, decision->limit);
        sl_buffer_add(out, SL_TEXT("\r\nX-RateLimit-Remaining: "));
    } else {
        sl_buffer_add(out, SL_TEXT("X-RateLimit-Remaining: "));
    }
    sl_buffer_add_i64(out, decision->remaining);
    if (decision->reset_at_us != SLUICE_NONE) {
        sl_buffer_add(out, SL_TEXT("\r\nX-RateLimit-Reset: "));
        sl_buffer_add_i64(out, sl_div_ceil(decision->reset_at_us, US_PER_S));
    }
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

/* Returns `t`, the seconds until it pays to come back: for a denial Retry-After, else
 * the time until the whole limit is free again, which is 0 if a clock was set forward. */
static int64_t seconds_left(const struct sluice_decision *decision)
{
    if (!decision->allowed)
        return decision->retry_after_us == SLUICE_NEVER
                   ? NOT_FOR_SURE
                   : sl_div_ceil(decision->retry_after_us, US_PER_S);
    if (decision->reset_at_us == SLUICE_NONE || decision->decided_at_us == SLUICE_NONE)
        return NOT_FOR_SURE;
    return sl_max_i64(sl_div_ceil(decision->reset_at_us - decision->decided_at_us, US_PER_S), 0);
}

static void print_ratelimit(struct sl_buffer *out, const struct sluice_decision *decision)
{
    struct sluice_text rule = sl_text(decision->rule);
    int64_t left_s = seconds_left(decision);
    if (decision->limit != SLUICE_NONE) {
        sl_buffer_add(out, SL_TEXT("RateLimit-Policy: \""));
        sl_buffer_add(out, rule);
        add_integer(out, SL_TEXT("\";q="), decision->limit);
        if (decision->window_us >= US_PER_S)
            add_integer(out, SL_TEXT(";w="), sl_div_ceil(decision->window_us, US_PER_S));
        sl_buffer_add(out, SL_TEXT("\r\nRateLimit: \""));
    } else {
        sl_buffer_add(out, SL_TEXT("RateLimit: \""));
    }
    sl_buffer_add(out, rule);
    add_integer(out, SL_TEXT("\";r="), decision->remaining);
    if (left_s != NOT_FOR_SURE)
        add_integer(out, SL_TEXT(";t="), left_s);
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

static void print_retry_after(struct sl_buffer *out, const struct sluice_decision *decision)
{
    SL_CHECK(decision->retry_after_us >= 0);
    sl_buffer_add(out, SL_TEXT("Retry-After: "));
    sl_buffer_add_i64(out, sl_div_ceil(decision->retry_after_us, US_PER_S));
    sl_buffer_add(out, SL_TEXT("\r\n"));
}

void sl_limit_fields_print(struct sl_buffer *out, const struct sluice_decision *decision,
                           uint32_t headers)
{
    SL_CHECK(out && decision);
    if (!decision->rule || decision->remaining == SLUICE_NONE)
        return;
    if (headers & SL_HEADER_X_RATELIMIT)
        print_x_ratelimit(out, decision);
    if (headers & SL_HEADER_RATELIMIT)
        print_ratelimit(out, decision);
    if ((headers & SL_HEADER_RETRY_AFTER) && !decision->allowed &&
        decision->retry_after_us != SLUICE_NEVER)
        print_retry_after(out, decision);
}
