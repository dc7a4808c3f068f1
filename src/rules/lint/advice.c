/* Warnings where another algorithm would suit a rule better: docs/choosing.md, applied.
 * Advice is only given where the rule's own numbers show the harm. */
#include "rules/lint/lint.h"

#include <strings.h>

/* A limit of so many units in a day is a quota; below, the log is exact and
 * small, and right for what may happen three times a day. */
enum { QUOTA_LOG = 100, CROWD_LOG = 1000 };

static const int64_t day_us = INT64_C(86400) * 1000000;

/* ---- login paths ----------------------------------------------------------- */

/* Compares whole segments: `token` is a login, `token-count` need not be. */
static bool is_login_word(struct sluice_text segment)
{
    static const char *const words[] = {
        "login",        "log-in",   "logon",          "signin",         "sign-in",
        "sign_in",      "signup",   "sign-up",        "sign_up",        "auth",
        "authenticate", "oauth",    "oauth2",         "token",          "otp",
        "mfa",          "2fa",      "verify",         "reset",          "password",
        "session",      "sessions", "password-reset", "reset-password", "forgot-password",
        "register",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (segment.len == strlen(words[i]) && strncasecmp(segment.at, words[i], segment.len) == 0)
            return true;
    return false;
}

/* A rule that counts all callers together does not guard against one caller's guesses. */
static bool guards_login(const struct sl_rule *rule)
{
    bool login = false;
    for (size_t i = 0; i < rule->resource.segment_count; i++)
        login |= rule->resource.segments[i].at && is_login_word(rule->resource.segments[i]);
    return login && !(rule->per_count == 1 && rule->per[0].attribute == SL_ATTR_GLOBAL);
}

void sl_lint_login_window(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_numbers *numbers = sl_lint_numbers(lint, rule);
    if (rule->algo != &sl_fixed_window || !numbers || !guards_login(rule))
        return;
    /* A window that starts with a first request has spent one unit on it. */
    int64_t capacity = numbers->limit.capacity;
    int64_t around_edge = 2 * capacity - numbers->limit.first_request;
    if (around_edge > capacity)
        sl_lint_warn(lint, rule,
                     "`%s` is a fixed window on a login path: up to %" PRId64
                     " attempts pass within moments around a window's edge, where the limit "
                     "says %" PRId64 "; use `sliding_window_log`",
                     rule->name, around_edge, capacity);
}

void sl_lint_login_burst(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_numbers *numbers = sl_lint_numbers(lint, rule);
    if (!rule->algo->takes_burst || !numbers || !guards_login(rule))
        return;
    if (rule->burst.digits > sl_power_of_ten(rule->burst.places))
        sl_lint_warn(lint, rule,
                     "`%s` has a burst allowance on a login path: %" PRId64
                     " attempts pass at once; leave `burst_allowance` out, or use "
                     "`sliding_window_log`",
                     rule->name, numbers->limit.capacity);
}

/* ---- daily quotas ---------------------------------------------------------- */

void sl_lint_quota_bucket(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_numbers *numbers = sl_lint_numbers(lint, rule);
    if (rule->algo != &sl_token_bucket || rule->window_us < day_us || !numbers)
        return;
    const struct sl_limit *limit = &numbers->limit;
    /* Beside a refill_rate, a window is only reported to clients. */
    if (limit->capacity * limit->token_ns / 1000 < rule->window_us)
        return;
    int64_t most = limit->capacity + rule->window_us * 1000 / limit->token_ns;
    const char *window = sl_lint_duration(lint, rule->window_us);
    sl_lint_warn(lint, rule,
                 "`%s` is a quota in a token bucket: a full bucket and what it refills let "
                 "%" PRId64 " pass in %s, where the limit says %" PRId64
                 "; use `fixed_window` or `sliding_window_counter`",
                 rule->name, most, window, limit->capacity);
}

/* Returns true for a log of a moderate limit, about which sl_lint_huge_log is silent. */
static bool is_moderate_log(const struct sl_rule *rule)
{
    return rule->algo->keeps_ring && rule->ring_len <= SL_LINT_HUGE_LOG;
}

void sl_lint_quota_log(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_numbers *numbers = sl_lint_numbers(lint, rule);
    if (!is_moderate_log(rule) || rule->window_us < day_us || !numbers ||
        numbers->limit.capacity <= QUOTA_LOG)
        return;
    sl_lint_warn(lint, rule,
                 "`%s` is a quota in a log: each identifier takes up to %s for %s; use "
                 "`fixed_window` or `sliding_window_counter`, which keep 84 bits of state",
                 rule->name, sl_lint_memory(lint, numbers->limit.capacity),
                 sl_lint_duration(lint, rule->window_us));
}

void sl_lint_crowd_log(struct sl_lint *lint, const struct sl_rule *rule)
{
    const struct sl_numbers *numbers = sl_lint_numbers(lint, rule);
    if (!is_moderate_log(rule) || rule->window_us >= day_us || rule->per_count != 1 || !numbers ||
        numbers->limit.capacity <= CROWD_LOG)
        return;
    const char *memory = sl_lint_memory(lint, numbers->limit.capacity);
    if (rule->per[0].attribute == SL_ATTR_IP)
        sl_lint_warn(lint, rule,
                     "`%s` keeps a log of up to %s for every address, and a flood comes from "
                     "many; use `fixed_window` or `sliding_window_counter`, which keep 84 "
                     "bits of state",
                     rule->name, memory);
    else if (rule->per[0].attribute == SL_ATTR_GLOBAL)
        sl_lint_warn(lint, rule,
                     "`%s` keeps all the world's requests in one log: every request writes "
                     "it; use `fixed_window` or `sliding_window_counter`",
                     rule->name);
}
