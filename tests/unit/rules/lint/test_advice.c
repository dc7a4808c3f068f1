/* Where another algorithm would suit a rule better. */
#include "unit/rules/lint_cases.h"

#define AT_PATH(path, rest)                                                                        \
    RULES "  - { name: a, resource: " path ", limit: 5/m, algorithm: " rest " }\n"

TEST(a_fixed_window_doubles_the_guesses_at_a_login)
{
    static const char *const logins[] = { "/login", "/v1/Sign-In/*", "/oauth/token", "auth.otp",
                                          "/users/*/password" };
    char yaml[300];
    for (size_t i = 0; i < sizeof logins / sizeof *logins; i++) {
        snprintf(yaml, sizeof yaml, AT_PATH("%s", "fixed_window, per: ip"), logins[i]);
        warns(yaml, "up to 10 attempts pass within moments around a window's edge");
    }
    warns(AT_PATH("/login", "fixed_window, per: ip, align: first_request"), "up to 9 attempts");
    silent(AT_PATH("/login", "sliding_window_log, per: ip"));
    silent(AT_PATH("/login", "fixed_window, per: global"));
    silent(AT_PATH("/logins", "fixed_window, per: ip"));
    silent(AT_PATH("/token-count", "fixed_window, per: ip"));
}

TEST(a_burst_allowance_is_more_guesses_at_a_login)
{
    warns(AT_PATH("/login", "token_bucket, per: ip, burst_allowance: 2"),
          "10 attempts pass at once; leave `burst_allowance` out");
    silent(AT_PATH("/login", "token_bucket, per: ip, burst_allowance: 1"));
    silent(AT_PATH("/api", "token_bucket, per: ip, burst_allowance: 2"));
}

TEST(a_quota_is_not_a_bucket)
{
#define BUCKET(numbers) "rules:\n  - { name: a, per: ip, algorithm: token_bucket, " numbers " }\n"
    warns(BUCKET("limit: 1000/d"),
          "a full bucket and what it refills let 2000 pass in 1d, where the limit says 1000");
    silent(BUCKET("limit: 1000/23h"));
    silent(BUCKET("capacity: 100, refill_rate: 10, window: 1d"));
    silent("rules:\n  - { name: a, per: ip, algorithm: fixed_window, limit: 1000/d }\n");
}

TEST(a_quota_is_not_a_log)
{
    warns(LOG("user", "1000/d"), "each identifier takes up to 8 kB for 1d; use `fixed_window` or "
                                 "`sliding_window_counter`, which keep 84 bits of state");
    silent(LOG("user", "100/d")); /* three resets a day: exact, and small */
    silent(LOG("user", "1000/23h"));
}

TEST(a_log_is_not_for_a_crowd)
{
    warns(LOG("ip", "1001/m"), "a log of up to 8 kB for every address");
    warns(LOG("global", "1001/m"), "all the world's requests in one log");
    silent(LOG("ip", "1000/m"));
    silent(LOG("user", "1001/m"));
    silent(LOG("[ip, user]", "1001/m"));
}
