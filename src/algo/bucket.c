/* A bucket kept as one moment: when it will be full again.
 *
 *        now          full_at        now + span
 *   ------|--------------|---------------|------>  time
 *         |<--- debt --->|<--- room ---->|
 *
 * Spending moves full_at to the right, waiting lets now catch up. Tokens are
 * never stored: room divided by the time of one token is how many there are.
 *
 * Why not a count and a timestamp? Two fields need a wider compare-and-swap,
 * and every refill must decide what to do with the fraction of a token left
 * over. A moment has no fraction to lose.
 *
 * The debt counts tokens, so when a rule's rate changes it must keep its worth
 * in tokens, not in time: the state remembers the token time it was written
 * under, in 22 bits. Round times are kept exactly, and a denial that finds
 * another rate saves the converted debt, because the wait it names runs at the
 * new one. Other times are kept rounded down, which makes a converted debt a
 * little larger, never smaller. A denial does not save such a debt: with rates
 * that change to and fro, the roundings of many denials would add up to a debt
 * that no request has caused.
 *
 *   83                       22 21       0
 *   [ full_at, ns: 62 bits     | token: 22 ]
 *
 * Zero lies in every clock's past: an untouched state is a full bucket. */
#include "algo/bucket.h"

#include "algo/state.h"
#include "base/text/number.h"

enum { TOKEN_BITS = 22, DECIMAL_BITS = 17, BINARY_BITS = 16 };

/* Two encodings of a number in 22 bits; the top bit says which:
 *
 *   0 kkkk m…   m·10^k    17 bits of m     exact: 10 a second is 10^8 ns
 *   1 eeeeee m… m·2^e     15 bits of m below its leading one, the rest cut off
 */
static bool is_exact_form(uint32_t form)
{
    return !(form >> (TOKEN_BITS - 1));
}

uint32_t sl_token_short(int64_t token_ns)
{
    uint32_t k = 0, e = 0;
    int64_t m = token_ns;
    SL_CHECK(token_ns >= 0);
    for (; m >> DECIMAL_BITS && m % 10 == 0; m /= 10)
        k++;
    SL_CHECK(k < 1u << (TOKEN_BITS - 1 - DECIMAL_BITS));
    if (!(m >> DECIMAL_BITS))
        return k << DECIMAL_BITS | (uint32_t)m;
    for (m = token_ns; m >> BINARY_BITS; m >>= 1)
        e++;
    SL_CHECK(e < 1u << (TOKEN_BITS - BINARY_BITS));
    uint32_t below_leading_one = (uint32_t)m & ((1u << (BINARY_BITS - 1)) - 1);
    return 1u << (TOKEN_BITS - 1) | e << (BINARY_BITS - 1) | below_leading_one;
}

int64_t sl_token_value(uint32_t form)
{
    SL_CHECK(form >> TOKEN_BITS == 0);
    if (!is_exact_form(form)) {
        uint32_t e = form >> (BINARY_BITS - 1) & 63;
        int64_t m = (form & ((1u << (BINARY_BITS - 1)) - 1)) | 1u << (BINARY_BITS - 1);
        return e < 47 ? m << e : 0;
    }
    int64_t value = form & ((1u << DECIMAL_BITS) - 1);
    for (uint32_t k = form >> DECIMAL_BITS; k && value < INT64_MAX / 10; k--)
        value *= 10;
    SL_CHECK(value >= 0);
    return value;
}

static int64_t span_ns(const struct sl_limit *limit)
{
    return limit->capacity * limit->token_ns;
}

/* The same debt in tokens of this limit's size: if they take longer, so does the debt. */
static int64_t converted_ns(const struct sl_limit *limit, int64_t debt_ns, int64_t written_ns)
{
    if (written_ns == 0)
        return INT64_MAX; /* not in any legal state */
    sl_u128 converted = sl_mul_div_ceil(debt_ns, limit->token_ns, written_ns);
    return converted < INT64_MAX ? (int64_t)converted : INT64_MAX;
}

static int64_t full_at_ns_of(const struct sl_state *state)
{
    return (int64_t)(sl_state_bits(state) >> TOKEN_BITS);
}

/* The token time it was written under. */
static uint32_t form_of(const struct sl_state *state)
{
    return (uint32_t)state->lo & ((1u << TOKEN_BITS) - 1);
}

int64_t sl_bucket_debt_ns(const struct sl_limit *limit, const struct sl_state *state,
                          int64_t now_us, bool *repair)
{
    sl_u128 bits = sl_state_bits(state);
    int64_t debt_ns = (int64_t)(bits >> TOKEN_BITS) - now_us * 1000;
    *repair = false;
    if (debt_ns <= 0)
        return 0;
    uint32_t form = form_of(state);
    if (form != limit->token_form) {
        debt_ns = converted_ns(limit, debt_ns, sl_token_value(form));
        *repair = is_exact_form(form);
    }
    /* No legal state of this limit reaches past its span. A clamp that is not saved
     * would deny for as long as the clock had leapt, hence a repair. */
    *repair |= debt_ns > span_ns(limit);
    return sl_min_i64(debt_ns, span_ns(limit));
}

static void write_full_at(const struct sl_limit *limit, struct sl_state *state, int64_t full_at_ns)
{
    sl_state_put(state, (sl_u128)(uint64_t)full_at_ns << TOKEN_BITS | limit->token_form);
}

struct sl_answer sl_bucket_decide(const struct sl_limit *limit, const struct sl_state *state,
                                  struct sl_ask ask)
{
    bool repair;
    int64_t debt_ns = sl_bucket_debt_ns(limit, state, ask.now_us, &repair);
    struct sl_answer answer = sl_bucket_answer(limit, debt_ns, ask);
    answer.repair = repair;
    return answer;
}

void sl_bucket_charge(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    bool repair;
    int64_t debt_ns = sl_bucket_debt_ns(limit, state, ask.now_us, &repair);
    write_full_at(limit, state, ask.now_us * 1000 + debt_ns + ask.cost * limit->token_ns);
}

uint64_t sl_token_part(int64_t token_ns)
{
    uint64_t token = (uint64_t)token_ns;
    SL_CHECK(token_ns > 0);
    return UINT64_MAX / token + (token > 1 && UINT64_MAX % token == token - 1);
}

/* Returns how many whole tokens fit into this time. A span is below 2^53, so the
 * product with token_part is less than two below the quotient. */
static int64_t tokens_in(const struct sl_limit *limit, int64_t ns)
{
    if (limit->token_part == 0)
        return ns / limit->token_ns;
    int64_t tokens = (int64_t)((sl_u128)(uint64_t)ns * limit->token_part >> 64);
    return tokens + (ns - tokens * limit->token_ns >= limit->token_ns);
}

static struct sl_figures bucket_figures(const struct sl_limit *limit, int64_t debt_ns,
                                        int64_t now_us)
{
    return (struct sl_figures){
        .remaining = tokens_in(limit, span_ns(limit) - debt_ns),
        .reset_at_us = now_us + sl_div_ceil(debt_ns, 1000),
    };
}

struct sl_figures sl_bucket_figures(const struct sl_limit *limit, const struct sl_state *state,
                                    int64_t now_us)
{
    bool repair;
    int64_t debt_ns = sl_bucket_debt_ns(limit, state, now_us, &repair);
    return bucket_figures(limit, debt_ns, now_us);
}

bool sl_bucket_take(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                    struct sl_taken *out)
{
    int64_t debt_ns = sl_max_i64(full_at_ns_of(state) - ask.now_us * 1000, 0);
    if (debt_ns > 0 && (form_of(state) != limit->token_form || debt_ns > span_ns(limit)))
        return false;
    out->answer = sl_bucket_answer(limit, debt_ns, ask);
    if (out->answer.allowed) {
        debt_ns += ask.cost * limit->token_ns;
        write_full_at(limit, state, ask.now_us * 1000 + debt_ns);
    }
    out->figures = bucket_figures(limit, debt_ns, ask.now_us);
    return true;
}

/* Leaves the debt that is there in tokens of the size it was written under: this limit may be that
 * of an old reservation, and only the limit in force may clamp a debt to its own span. */
void sl_bucket_overcharge(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask)
{
    int64_t owed_ns = sl_max_i64(full_at_ns_of(state) - ask.now_us * 1000, 0);
    uint32_t form = form_of(state);
    int64_t token_ns = sl_token_value(form);
    SL_CHECK(limit->token_ns > 0 && limit->capacity >= 0);
    if (owed_ns == 0 || token_ns == 0 || form == limit->token_form) {
        form = limit->token_form;
        token_ns = limit->token_ns;
    }
    int64_t most = sl_min_i64(limit->capacity, SL_SPAN_MAX_NS / token_ns);
    int64_t debt_ns = owed_ns + sl_min_i64(ask.cost, most) * token_ns;
    debt_ns = sl_max_i64(owed_ns, sl_min_i64(debt_ns, most * token_ns));
    SL_CHECK(debt_ns >= owed_ns);
    sl_state_put(state, (sl_u128)(uint64_t)(ask.now_us * 1000 + debt_ns) << TOKEN_BITS | form);
    SL_CHECK(sl_state_fits(state));
}

/* told: the debt in ns, its time in µs, the token time */
void sl_bucket_load(const struct sl_limit *limit, int64_t told[SL_TOLD], struct sl_state *out)
{
    (void)limit;
    int64_t debt_ns = sl_cut(told[0], SL_SPAN_MAX_NS);
    int64_t full_at_ns = sl_cut(told[1], SL_TIME_MAX_US) * 1000 + debt_ns;
    uint32_t form = sl_token_short(sl_cut(told[2], SL_SPAN_MAX_NS));
    sl_state_put(out, (sl_u128)(uint64_t)full_at_ns << TOKEN_BITS | form);
    SL_CHECK(sl_state_fits(out));
}

/* The state does not record which part of the debt time has paid. Assuming that it
 * paid this charge first gives back least. If the rate has changed since, even the
 * amount paid is unknown, and nothing is given back. */
bool sl_bucket_refund(const struct sl_limit *limit, struct sl_state *state, struct sl_ask ask,
                      int64_t charged_at_us)
{
    bool repair;
    SL_CHECK(limit->token_ns > 0 && sl_state_fits(state));
    int64_t debt_ns = sl_bucket_debt_ns(limit, state, ask.now_us, &repair);
    if (form_of(state) != limit->token_form)
        return false;
    int64_t paid_ns = sl_max_i64(ask.now_us - charged_at_us, 0) * 1000;
    int64_t charged_ns = sl_min_i64(ask.cost, limit->capacity) * limit->token_ns;
    int64_t back_ns = sl_min_i64(charged_ns - paid_ns, debt_ns);
    if (back_ns <= 0)
        return false;
    SL_CHECK(back_ns <= debt_ns);
    write_full_at(limit, state, full_at_ns_of(state) - back_ns);
    SL_CHECK(sl_state_fits(state));
    return true;
}
