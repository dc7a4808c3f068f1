/* What the limiter answers when its store does not. */
#include "limiter/limiter.h"

#include "unit/limiter/rules.h"

static void fail_to_decide(struct sl_store *self, struct sl_bundle *bundles, size_t count)
{
    (void)self;
    for (size_t i = 0; i < count; i++)
        bundles[i].status = SLUICE_STORE_DOWN;
}

TEST(a_failing_store_is_answered_by_the_rules_policy)
{
    static const struct {
        const char *yaml;
        const char *denied_by; /* NULL: allowed */
    } rows[] = {
        { "rules: [{ name: a, per: user, limit: 1/s }]\n", NULL },
        { "rules: [{ name: a, per: user, limit: 1/s, on_store_failure: deny }]\n", "a" },
        { "on_store_failure: deny\nrules: [{ name: a, per: user, limit: 1/s }]\n", "a" },
        { "on_store_failure: deny\n"
          "rules: [{ name: a, per: user, limit: 1/s, on_store_failure: allow }]\n",
          NULL },
        { "rules: [{ name: a, per: user, limit: 1/s },\n"
          "        { name: b, per: ip, limit: 1/s, on_store_failure: deny },\n"
          "        { name: c, per: ip, limit: 1/s, on_store_failure: deny }]\n",
          "b" },
        { "rules: [{ name: a, per: user, limit: 1/s, on_store_failure: deny, shadow: true }]\n",
          NULL },
        { "rules: [{ name: a, resource: /x, per: user, limit: 1/s, on_store_failure: deny }]\n",
          NULL },
    };
    static const struct sl_store_ops ops = { .decide = fail_to_decide };
    struct sl_store broken = { .ops = &ops };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_ruleset *own = rules_of(rows[i].yaml);
        struct sl_limiter *lone = sl_limiter_new(own, &broken);
        struct sluice_request request = sluice_request();
        struct sluice_decision decision;
        request.user = SL_TEXT("u");
        request.ip = SL_TEXT("192.0.2.1");
        SAME(rows[i].yaml, sl_limiter_decide(lone, &request, &decision), SLUICE_STORE_DOWN);
        SAME(rows[i].yaml, decision.allowed, rows[i].denied_by == NULL);
        SAME(rows[i].yaml, decision.reason, SLUICE_REASON_STORE);
        SAME(rows[i].yaml, decision.remaining, SLUICE_NONE);
        SAME(rows[i].yaml, decision.window_us, SLUICE_NONE);
        SAME_TEXT(rows[i].yaml, sl_text(decision.rule), rows[i].denied_by);
        sl_limiter_free(lone);
        sl_ruleset_free(own);
    }
}

TEST(the_exempt_need_no_store)
{
    static const struct sl_store_ops ops = { .decide = fail_to_decide };
    struct sl_store broken = { .ops = &ops };
    struct sl_ruleset *rules = rules_of("exempt: { users: [root] }\n"
                                        "on_store_failure: deny\n"
                                        "rules: [{ name: a, per: user, limit: 1/s }]\n");
    struct sl_limiter *limiter = sl_limiter_new(rules, &broken);
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = SL_TEXT("root");
    assert_int_equal(sl_limiter_decide(limiter, &request, &decision), SLUICE_OK);
    assert_true(decision.allowed);
    assert_int_equal(decision.reason, SLUICE_REASON_EXEMPT);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
}
