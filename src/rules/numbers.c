/* Composing a rule's numbers, as fractions until the very end:
 *
 *   base      = capacity · scale           (or the tier's own, at scale 1)
 *   capacity  = ⌊base · burst · (1 + s)⌋
 *   rate      = refill_rate · scale, or base / window
 *   token     = ⌈10^9 / (rate · (1 + s/2))⌉ ns
 *
 * s is the trust in thousandths, so (1 + s) is (1000 + s)/1000 and (1 + s/2)
 * is (2000 + s)/2000. Numerators and denominators are reduced and kept in 128
 * bits; a file whose numbers do not fit is refused, not rounded.
 */
#include "rules/numbers.h"

#include <string.h>

#include "algo/bucket.h"

struct fraction {
    sl_u128 n;
    sl_u128 d;
    bool too_large;
};

/* Headroom for the factor of trust and the rounding that follow. */
static const sl_u128 part_max = (sl_u128)1 << 110;

static void multiply(struct fraction *f, sl_u128 n, sl_u128 d)
{
    sl_u128 a = sl_gcd_u128(f->n, d);
    sl_u128 b = sl_gcd_u128(n, f->d);
    if (__builtin_mul_overflow(f->n / a, n / b, &f->n) ||
        __builtin_mul_overflow(f->d / b, d / a, &f->d) || f->n > part_max || f->d > part_max)
        f->too_large = true;
}

static void multiply_decimal(struct fraction *f, struct sl_decimal decimal)
{
    multiply(f, decimal.digits, sl_power_of_ten(decimal.places));
}

static void divide_decimal(struct fraction *f, struct sl_decimal decimal)
{
    multiply(f, sl_power_of_ten(decimal.places), decimal.digits);
}

static struct fraction compose_token(const struct sl_numbers_in *in)
{
    struct fraction token = { 1000000000, 1, false };
    if (in->has_rate) {
        divide_decimal(&token, in->rate);
        divide_decimal(&token, in->rate_scale);
        return token;
    }
    token.n = (sl_u128)(uint64_t)in->window_us * 1000;
    multiply(&token, 1, in->capacity);
    divide_decimal(&token, in->capacity_scale);
    return token;
}

static sl_u128 capacity_at(const struct sl_numbers *numbers, int32_t trust)
{
    return numbers->capacity_n * (uint32_t)(1000 + trust) / (numbers->capacity_d * 1000);
}

static sl_u128 token_at(const struct sl_numbers *numbers, int32_t trust)
{
    sl_u128 d = numbers->token_d * (uint32_t)(2000 + trust);
    return (numbers->token_n * 2000 + d - 1) / d;
}

/* A window in the file is reported as written, whatever burst and trust make of
 * the capacity. */
static int64_t reported_window_us(const struct sl_numbers *numbers, const struct sl_limit *limit)
{
    if (numbers->window_us)
        return numbers->window_us;
    return sl_div_ceil(limit->capacity * limit->token_ns, 1000);
}

void sl_numbers_limit(const struct sl_numbers *numbers, int32_t trust_thousandths,
                      struct sl_limit *out)
{
    *out = numbers->limit;
    if (trust_thousandths <= 0)
        return;
    out->capacity = (int64_t)capacity_at(numbers, trust_thousandths);
    if (out->token_ns) {
        out->token_ns = (int64_t)token_at(numbers, trust_thousandths);
        out->token_form = sl_token_short(out->token_ns);
        out->token_part = sl_token_part(out->token_ns);
        out->told_us = reported_window_us(numbers, out);
    }
}

/* Divides 10^9 by the token's nanoseconds, by hand: nine digits, the point, and the rest. A token
 * takes at least a nanosecond. */
void sl_numbers_print_rate(const struct sl_numbers *numbers, struct sl_buffer *out)
{
    sl_u128 rest = numbers->token_d;
    char text[64] = "1000000000";
    size_t len = 0, digits = 0;
    for (int place = -9; rest < numbers->token_n && (place < 0 || rest) && digits < 15; place++) {
        rest *= 10;
        char digit = (char)('0' + (int)(rest / numbers->token_n));
        rest %= numbers->token_n;
        digits += digits || digit != '0';
        if (place == 0)
            text[len++] = '.';
        if (digits || place >= -1)
            text[len++] = digit;
    }
    sl_buffer_add(out, (struct sluice_text){ text, len ? len : strlen(text) });
}

int64_t sl_numbers_capacity_max(const struct sl_numbers *numbers, bool adaptive)
{
    return numbers->unlimited ? 0 : (int64_t)capacity_at(numbers, adaptive ? SL_TRUST_MAX : 0);
}

/* The span grows with trust, but for the rounding of the token time, which may
 * be a nanosecond more at a lower trust than at the highest. */
static const char *wrong_bucket(const struct sl_numbers *numbers, bool adaptive)
{
    int32_t trust = adaptive ? SL_TRUST_MAX : 0;
    sl_u128 capacity = capacity_at(numbers, trust);
    sl_u128 token = token_at(numbers, trust) + adaptive;
    sl_u128 span;
    if (__builtin_mul_overflow(capacity, token, &span) || span > SL_SPAN_MAX_NS ||
        token > SL_SPAN_MAX_NS)
        return "the bucket would take more than 90 days to fill; use a higher rate, a lower "
               "capacity, or a window algorithm";
    return NULL;
}

static const char *wrong_window(const struct sl_numbers *numbers, const struct sl_numbers_in *in)
{
    sl_u128 capacity = capacity_at(numbers, in->adaptive ? SL_TRUST_MAX : 0);
    return capacity <= (sl_u128)in->algo->capacity_max(in->window_us) ? NULL : in->algo->too_large;
}

void sl_numbers_replace(struct sl_numbers_in *in, uint64_t capacity, struct sl_decimal rate)
{
    static const struct sl_decimal one = { 1, 0 };
    if (capacity) {
        in->capacity = capacity;
        in->capacity_scale = one;
    }
    if (rate.digits) {
        in->has_rate = true;
        in->rate = rate;
        in->rate_scale = one;
    }
}

const char *sl_numbers_compose(const struct sl_numbers_in *in, struct sl_numbers *out)
{
    struct fraction capacity = { in->capacity, 1, false };
    multiply_decimal(&capacity, in->capacity_scale);
    multiply_decimal(&capacity, in->burst);
    struct fraction token = { 0, 1, false };
    if (in->algo->is_bucket)
        token = compose_token(in);
    if (capacity.too_large || token.too_large)
        return "the numbers, multiplied, have too many digits to be exact; use rounder ones";

    struct sl_numbers numbers = {
        .window_us = in->window_us,
        .capacity_n = capacity.n,
        .capacity_d = capacity.d,
        .token_n = token.n,
        .token_d = token.d,
    };
    const char *wrong = NULL;
    if (in->algo->is_bucket)
        wrong = wrong_bucket(&numbers, in->adaptive);
    else
        wrong = wrong_window(&numbers, in);
    if (wrong)
        return wrong;

    numbers.limit.capacity = (int64_t)capacity_at(&numbers, 0);
    numbers.limit.first_request = in->first_request;
    if (in->algo->is_bucket) {
        numbers.limit.token_ns = (int64_t)token_at(&numbers, 0);
        numbers.limit.token_form = sl_token_short(numbers.limit.token_ns);
        numbers.limit.token_part = sl_token_part(numbers.limit.token_ns);
    } else {
        numbers.limit.window_us = in->window_us;
    }
    numbers.limit.told_us = reported_window_us(&numbers, &numbers.limit);
    *out = numbers;
    return NULL;
}

bool sl_rule_limit(const struct sl_rule *rule, ptrdiff_t tier, int32_t trust_thousandths,
                   struct sl_limit *out)
{
    const struct sl_numbers *numbers = &rule->numbers[1 + tier];
    if (numbers->unlimited)
        return false;
    sl_numbers_limit(numbers, rule->adaptive ? trust_thousandths : 0, out);
    return true;
}
