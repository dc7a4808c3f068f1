/* What a rule's numbers come to. */
#include "unit/rules/lint_cases.h"

#define TIERS                                                                                      \
    "tiers: { free: { scale: 1 }, pro: { scale: 10 }, tiny: { scale: 0.001 },"                     \
    " root: { unlimited: true } }\n"

TEST(a_scale_can_leave_nothing)
{
    warns(TIERS "rules:\n  - { name: a, per: ip, limit: 999/m }\n",
          "`a` has a limit of 0 for tier `tiny`");
    silent(TIERS "rules:\n  - { name: a, per: ip, limit: 1000/m }\n");
    silent(TIERS
           "rules:\n  - { name: a, per: ip, limit: 5/m, tiers: { tiny: { capacity: 1 } } }\n");
    silent(TIERS RULES "  - { name: a, per: ip, limit: 5/m, when: { tier: pro } }\n");
}

TEST(a_share_can_leave_nothing)
{
#define SHARED(store, share, limit)                                                                \
    "store: " store "\non_store_failure: local\nlocal_share: " share                               \
    "\nrules:\n  - { name: a, per: ip, limit: " limit " }\n"
    warns(SHARED("redis://cache", "0.1", "9/m"), "`a` lets nothing pass while the store fails");
    silent(SHARED("redis://cache", "0.1", "10/m"));
    silent(SHARED("memory", "0.1", "9/m"));
#undef SHARED
}

TEST(a_fast_bucket_is_slowed_by_rounding)
{
#define RATE(rate)                                                                                 \
    RULES "  - { name: a, per: user, algorithm: token_bucket, capacity: 100, refill_rate: " rate   \
          " }\n"
    warns(RATE("3000000"), "`a` refills up to 0.2 % slower than asked: a token takes whole "
                           "nanoseconds, here 334, which makes 2994011 a second");
    warns("tiers: { pro: { scale: 100 } }\n" RATE("30000"), "slower than asked for tier `pro`");
    warns(RULES "  - { name: a, per: user, algorithm: token_bucket, capacity: 100,"
                " refill_rate: 2000000, adaptive: true }\n", /* 333.3 ns */
          "slower than asked at full trust");
    silent(RATE("2000000")); /* 500 ns */
    silent(RATE("1000001")); /* 999.999 ns: 0.0001 % */
    silent(RATE("0.083"));
}

TEST(exactly_a_thousandth_slower_is_no_matter)
{
#define WINDOW(window)                                                                             \
    "rules:\n  - { name: a, per: ip, algorithm: leaky_bucket, capacity: 10000, window: " window    \
    " }\n"
    silent(WINDOW("7.992ms")); /* 799.2 ns a token, rounded to 800 */
    warns(WINDOW("7.991ms"), "slower than asked");
}

#define GUARDED(limit, guard)                                                                      \
    "rules:\n  - { name: a, per: ip, " limit ", burst_guard: { " guard " } }\n"
#define THRESHOLD(window, threshold) "window: " window ", threshold: " threshold

TEST(a_guard_must_not_block_within_the_limit)
{
    static const struct {
        const char *limit;
        const char *window;
        int most; /* requests that pass in one window of the guard */
    } cases[] = {
        { "algorithm: fixed_window, limit: 60/m", "10s", 60 },
        { "algorithm: fixed_window, limit: 60/m", "1m", 60 },
        { "algorithm: fixed_window, limit: 60/m", "3m", 180 },
        { "algorithm: fixed_window, limit: 60/m", "7s", 120 },  /* crosses an edge */
        { "algorithm: fixed_window, limit: 60/m", "90s", 120 }, /* 30 s apart: never three */
        { "algorithm: fixed_window, limit: 60/m, align: first_request", "10s", 120 },
        { "algorithm: sliding_window_log, limit: 60/m", "7s", 60 },
        { "algorithm: sliding_window_log, limit: 60/m", "90s", 120 },
        { "algorithm: sliding_window_counter, limit: 60/m", "10s", 60 },
        { "algorithm: sliding_window_counter, limit: 60/m", "7s", 66 },
        { "algorithm: sliding_window_counter, limit: 60/m", "45s", 90 },
        { "algorithm: sliding_window_counter, limit: 60/m", "100s", 140 },
        { "algorithm: sliding_window_counter, limit: 60/m", "2m", 120 },
        { "algorithm: token_bucket, capacity: 60, refill_rate: 10", "10s", 160 },
        { "algorithm: token_bucket, limit: 60/m, burst_allowance: 1.5", "10s", 100 },
        { "algorithm: leaky_bucket, limit: 60/m", "10s", 70 },
    };
    char yaml[300], words[60];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int less = 0; less < 2; less++) {
            snprintf(yaml, sizeof yaml, GUARDED("%s", "window: %s, threshold: %d"), cases[i].limit,
                     cases[i].window, cases[i].most - less);
            snprintf(words, sizeof words, "raise `threshold` to %d", cases[i].most);
            if (less)
                warns(yaml, words);
            else
                silent(yaml);
        }
    }
}

TEST(a_guard_serves_every_tier)
{
    warns("tiers: { pro: { scale: 10 } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "100")),
          "it lets up to 600 requests pass in 10s for tier `pro`, and");
    warns("tiers: { pro: { scale: 10 } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "50")),
          "600 requests pass in 10s for tier `pro` (and 60 without a tier)");
    silent("tiers: { pro: { scale: 10 } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "600")));
    silent("tiers: { pro: { unlimited: true } }\n" GUARDED("limit: 60/m", THRESHOLD("10s", "60")));
    silent("tiers: { free: { scale: 1 }, pro: { scale: 10 } }\n" RULES
           "  - { name: a, per: ip, limit: 60/m, when: { tier: free },"
           " burst_guard: { threshold: 60 } }\n");
}

TEST(a_guard_allows_for_full_trust)
{
#define TRUSTED(threshold)                                                                         \
    RULES "  - { name: a, per: user, limit: 60/m, adaptive: true, burst_guard: { "                 \
          "threshold: " threshold " } }\n"
    warns(TRUSTED("119"), "up to 120 requests pass in 10s at full trust");
    silent(TRUSTED("120"));
}

TEST(a_guard_is_never_advised_a_threshold_that_it_cannot_have)
{
#define FIXED(limit, guard) GUARDED("algorithm: fixed_window, limit: " limit, guard)
#define SHORT               "window: 1s, threshold: 50, penalty: 1s"
    /* three windows, so threshold + 2 is at most 2^28 */
    warns(FIXED("268435454/s", SHORT), "; raise `threshold` to 268435454");
    silent(FIXED("268435454/s", "window: 1s, threshold: 268435454, penalty: 1s"));
    warns(FIXED("268435455/s", SHORT), "; no `threshold` can be so high: leave the guard out");
    warns(FIXED("4294967295/s", SHORT), "; no `threshold` can be so high: leave the guard out");
    warns(FIXED("33554429/s", "window: 10s, penalty: 5m"),
          "lets up to 335544290 requests pass in 10s, and its `burst_guard` warns, then blocks, "
          "above 50; no `threshold` can be so high beside this `window` and `penalty`: shorten "
          "them, or leave the guard out");
    warns("tiers: { pro: { scale: 10 } }\n" FIXED("400000000/s", SHORT),
          "no `threshold` can be so high: leave the guard out, or give larger tiers a rule");
}

TEST(a_log_of_a_huge_limit_is_large)
{
    warns(LOG("user", "10001/m"),
          "8 bytes each: up to 80 kB for one identifier, whose limit is "
          "10001; use `sliding_window_counter`, which keeps 84 bits of state");
    silent(LOG("user", "10000/m"));
    warns("tiers: { big: { scale: 1000 } }\n" LOG("user", "1000/h"),
          "up to 8.0 MB for one identifier for tier `big`, whose limit is 1000000");
    silent("tiers: { big: { unlimited: true } }\n" LOG("user", "1000/h"));
}

TEST(a_log_needs_room_in_the_store)
{
    warns("store: memory:t?log=0\n" LOG("user", "5/m"),
          "`a` has no room in the store: one identifier takes up to 40 bytes, and the store has 0 "
          "bytes for all logs, so that `on_store_failure` decides");
    warns("store: memory:t?size=1M&log=1K\n" LOG("user", "128/m"), "write a larger `size=`");
    silent("store: memory:t?size=1M&log=1K\n" LOG("user", "127/m"));
    silent("store: memory:t?size=1M\n" LOG("user", "10000/m"));
    silent("store: memory:t?log=0\n" RULES);
    silent("store: redis://cache\n" LOG("user", "10000/m"));
}

TEST(a_bucket_that_tiers_share_is_cut_by_the_smallest)
{
#define SHARED(per)                                                                                \
    "tiers: { pro: { scale: 10 } }\n" RULES "  - { name: a, per: " per                             \
    ", algorithm: token_bucket, limit: 60/m, on_missing: deny }\n"
    warns(SHARED("ip"), "`a` counts callers of several tiers in one bucket");
    warns(SHARED("[resource, ip]"), "count per `tier` too, or use a window");
    silent(SHARED("[ip, tier]"));
    silent(SHARED("user"));
    silent(SHARED("tenant"));
    silent("tiers: { pro: { scale: 10 } }\n" RULES
           "  - { name: a, per: ip, limit: 60/m, algorithm: fixed_window }\n");
    silent("tiers: { pro: { scale: 1 } }\n" RULES
           "  - { name: a, per: ip, limit: 60/m, algorithm: leaky_bucket }\n");
    silent("tiers: { pro: { scale: 10 } }\n" RULES
           "  - { name: a, per: ip, limit: 60/m, algorithm: leaky_bucket,"
           " when: { tier: pro } }\n");
}
