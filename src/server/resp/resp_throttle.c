/* CL.THROTTLE key max_burst count period [quantity], as the module redis-cell has it: a bucket
 * that the command itself describes, no rule.
 *
 *   a token's time   period / count, in whole nanoseconds, the rest cut off
 *   capacity         max_burst + 1
 *
 *   1) 0 it passes, 1 it does not         4) seconds until it would; -1: it does, or never will
 *   2) capacity                           5) seconds until the bucket is full
 *   3) how many would still pass
 *
 * Seconds are rounded up where a millisecond or more is left, as there. The module's numbers may
 * be negative and pass through a double; ours are exact, and what no bucket can be is refused. */
#include "server/auth/caller.h"
#include "server/resp/resp.h"
#include "wire/json/decision.h"

#define CELL  "Cell"
#define WORDS "error: "

static const char usage[] =
    "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";
static const int64_t second_ns = 1000000000;

/* ---- reading ---- */

/* The fast path, nearly always: few digits, which cannot overflow. */
static bool parse_short(const char *digits, size_t count, int64_t *out)
{
    int64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned digit = (unsigned char)digits[i] - '0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* A sign may stand before the digits. */
static bool parse_i64(struct sluice_text text, int64_t *out)
{
    bool is_negative = text.len && *text.at == '-';
    size_t i = is_negative || (text.len && *text.at == '+');
    int64_t value = 0;
    if (i == text.len)
        return false;
    if (i == 0 && text.len <= 18)
        return parse_short(text.at, text.len, out);
    for (; i < text.len; i++) {
        int digit = text.at[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) /* there is one more negative number */
            return false;
    }
    if (!is_negative && value == INT64_MIN)
        return false;
    *out = is_negative ? value : -value;
    return true;
}

struct numbers {
    int64_t max_burst, count, period_s, quantity;
};

static bool read_numbers(struct sl_resp_ask *ask, struct numbers *out)
{
    int64_t *const each[] = { &out->max_burst, &out->count, &out->period_s, &out->quantity };
    out->quantity = 1;
    if (ask->count != 5 && ask->count != 6) {
        sl_resp_fail(ask, CELL, WORDS "%s", usage);
        return false;
    }
    if (ask->args[1].len == 0) { /* an empty value would count as missing */
        sl_resp_fail(ask, CELL, WORDS "The key is empty");
        return false;
    }
    for (size_t i = 2; i < ask->count; i++) {
        struct sluice_text word = ask->args[i];
        if (parse_i64(word, each[i - 2]))
            continue;
        sl_resp_fail(ask, CELL, WORDS "Couldn't parse as integer: %.*s",
                     (int)(word.len < 64 ? word.len : 64), word.at);
        return false;
    }
    return true;
}

static const char too_long[] =
    "Refilling takes too long: (max_burst + 1) x period / count is at most 90 days";

/* Makes the limit *out. Returns what is wrong with the numbers, or NULL. */
static const char *make_limit(const struct numbers *numbers, struct sl_direct *out)
{
    int64_t period_ns;
    if (numbers->count == 0 || numbers->period_s == 0)
        return "Zero rates are not supported";
    if (numbers->max_burst < 0 || numbers->count < 0 || numbers->period_s < 0 ||
        numbers->quantity < 0)
        return "Negative numbers are not supported";
    if (__builtin_mul_overflow(numbers->period_s, second_ns, &period_ns))
        return too_long;
    int64_t token_ns = period_ns / numbers->count;
    if (token_ns == 0)
        return "Rates above 1,000,000,000 a second are not supported";
    if (numbers->max_burst == INT64_MAX || !sl_direct_bucket(numbers->max_burst + 1, token_ns, out))
        return too_long;
    /* A larger cost is passed on as UINT32_MAX, which must not fit. */
    if (numbers->quantity > UINT32_MAX && numbers->max_burst + 1 >= UINT32_MAX)
        return "A quantity is at most 4294967295";
    return NULL;
}

/* ---- answering ---- */

static int64_t seconds_rounded_up(int64_t us)
{
    return us / 1000000 + (us % 1000000 >= 1000);
}

static void print_throttle(struct sl_resp_out out, const struct sl_call *call,
                           const struct sluice_decision *decision)
{
    bool is_limited = !decision->allowed;
    bool has_reset = decision->reset_at_us != SLUICE_NONE;
    bool is_exempt = decision->reason == SLUICE_REASON_EXEMPT;
    bool can_wait = is_limited && decision->retry_after_us != SLUICE_NEVER;
    int64_t reset_us = decision->reset_at_us - decision->decided_at_us;
    sl_buffer_add(out.bytes, is_limited ? SL_TEXT("*5\r\n:1\r\n") : SL_TEXT("*5\r\n:0\r\n"));
    sl_resp_print_integer(out, call->capacity);
    sl_resp_print_integer(out, is_exempt ? call->capacity : decision->remaining);
    sl_resp_print_integer(out, can_wait ? seconds_rounded_up(decision->retry_after_us) : -1);
    sl_resp_print_integer(out, has_reset ? seconds_rounded_up(reset_us) : 0);
}

/* A store that does not answer is an error, and not a limit that was reached. */
static void reply_throttle(struct sl_round *round, struct sl_call *call)
{
    const struct sluice_decision *decision = &round->decisions[call->first];
    bool is_failure = decision->reason == SLUICE_REASON_STORE && decision->limit == SLUICE_NONE;
    struct sl_resp_out out = sl_resp_to(call);
    if (is_failure && !decision->allowed)
        sl_resp_print_error(out, CELL,
                            SL_TEXT(WORDS "the store of the counts does not answer, and the "
                                          "rules deny then"));
    else
        print_throttle(out, call, decision);
}

/* The parts of a request. */
struct kept {
    struct sl_direct direct;
    struct sluice_attribute key;
};

/* The key belongs to the caller's tenant, if the caller has one. */
static bool fill_request(struct sl_resp_ask *ask, struct kept *kept, const struct numbers *numbers)
{
    struct sl_message *message = &ask->message;
    struct sluice_request *request = sl_round_request(message->round);
    struct sl_caller caller;
    kept->key = (struct sluice_attribute){ SL_TEXT(SL_DIRECT_KEY), ask->args[1] };
    request->others = &kept->key;
    request->other_count = 1;
    request->cost = numbers->quantity < UINT32_MAX ? (uint32_t)numbers->quantity : UINT32_MAX;
    sl_round_options(message->round)->direct = &kept->direct;
    message->call->capacity = kept->direct.limit.capacity;
    return sl_caller_identify(message, &caller) && sl_caller_name(&caller, message, request, true);
}

void sl_resp_throttle(struct sl_resp_ask *ask)
{
    struct numbers numbers;
    if (!read_numbers(ask, &numbers))
        return;
    struct kept *kept = sl_round_take(ask->message.round, sizeof *kept);
    if (!kept) {
        sl_message_refuse(&ask->message, 500, NULL);
        return;
    }
    const char *wrong = make_limit(&numbers, &kept->direct);
    if (wrong)
        sl_resp_fail(ask, CELL, WORDS "%s", wrong);
    else if (fill_request(ask, kept, &numbers))
        sl_resp_add(ask, reply_throttle);
}
