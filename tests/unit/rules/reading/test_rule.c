#include <stdlib.h>

#include "unit/base/unit.h"
#include "unit/rules/parsing.h"

TEST(a_rule_is_at_its_defaults)
{
    parse("on_store_failure: deny\nrules: [{ name: r, per: user, limit: 5/m }]");
    const struct sl_rule *rule = &rules->rules[0];
    assert_string_equal(rule->name, "r");
    assert_ptr_equal(rule->algo, sl_algos[0]);
    assert_true(rule->any_resource);
    assert_int_equal(rule->except_count, 0);
    assert_int_equal(rule->when_count, 0);
    assert_false(rule->adaptive);
    assert_false(rule->shadow);
    assert_false(rule->deny_missing);
    assert_int_equal(rule->guard.window_us, 0);
    assert_int_equal(rule->on_store_failure, SL_FAIL_DENY);
    assert_int_equal(rule->lease, SL_LEASE_DEFAULT);
    assert_int_equal(rule->numbers[0].limit.capacity, 5);
    assert_int_equal(rule->numbers[0].limit.window_us, 60000000);
    assert_int_equal(rule->window_us, 60000000);
    assert_int_equal(rule->mark.line, 2);
    assert_int_equal(rule->mark.column, 9);
}

TEST(endpoint_is_another_name_of_resource)
{
    const struct sl_rule *rule = parse_rule("per: [endpoint, ip, device], limit: 5/m");
    assert_int_equal(rule->per_count, 3);
    assert_int_equal(rule->per[0].attribute, SL_ATTR_RESOURCE);
    assert_true(sl_text_is(rule->per[0].name, "resource"));
    assert_int_equal(rule->per[1].attribute, SL_ATTR_IP);
    assert_int_equal(rule->per[2].attribute, SL_ATTR_OTHER);
    assert_true(sl_text_is(rule->per[2].name, "device"));
}

TEST(only_ip_and_global_span_tenants)
{
    assert_true(parse_rule("per: ip, limit: 5/m")->spans_tenants);
    assert_true(parse_rule("per: global, limit: 5/m")->spans_tenants);
    assert_true(parse_rule("per: [global, ip], limit: 5/m")->spans_tenants);
    assert_false(parse_rule("per: [tenant, ip], limit: 5/m")->spans_tenants);
    assert_false(parse_rule("per: resource, limit: 5/m")->spans_tenants);
    assert_false(parse_rule("per: user, limit: 5/m")->spans_tenants);
}

TEST(conditions_compare_as_requests_have_it)
{
    const struct sl_rule *rule = parse_rule("per: ip, limit: 5/m, when: { method: [GET, POST], "
                                            "n: 010, ip: '2001:DB8:0::1', endpoint: /a//b/ }");
    assert_int_equal(rule->when_count, 4);
    assert_int_equal(rule->when[0].attribute.attribute, SL_ATTR_METHOD);
    assert_int_equal(rule->when[0].value_count, 2);
    assert_true(sl_text_is(rule->when[0].values[1], "POST"));
    assert_true(sl_text_is(rule->when[1].values[0], "010"));
    assert_true(sl_text_is(rule->when[2].values[0], "2001:db8::1"));
    assert_int_equal(rule->when[3].attribute.attribute, SL_ATTR_RESOURCE);
    assert_true(sl_text_is(rule->when[3].values[0], "/a/b"));
}

TEST(patterns_are_read)
{
    const struct sl_rule *rule =
        parse_rule("per: ip, limit: 5/m, resource: /api/*, except: [/api/a, /api/b]");
    assert_false(rule->any_resource);
    assert_true(rule->resource.prefix);
    assert_int_equal(rule->except_count, 2);
    assert_int_equal(parse_rule("per: ip, limit: 5/m, except: /api/a")->except_count, 1);
}

TEST(a_guard_takes_defaults_for_parts_left_out)
{
    struct sl_guard guard = parse_rule("per: ip, limit: 5/m, burst_guard: {}")->guard;
    assert_int_equal(guard.window_us, 10000000);
    assert_int_equal(guard.threshold, 50);
    assert_int_equal(guard.penalty_us, 300000000);
    guard = parse_rule("per: ip, limit: 5/m, burst_guard: { threshold: 7 }")->guard;
    assert_int_equal(guard.window_us, 10000000);
    assert_int_equal(guard.threshold, 7);
}

TEST(leases_are_off_automatic_or_a_number)
{
    assert_int_equal(parse_rule("per: ip, limit: 5/m, lease: off")->lease, SL_LEASE_OFF);
    assert_int_equal(parse_rule("per: ip, limit: 5/m, lease: auto")->lease, SL_LEASE_AUTO);
    assert_int_equal(parse_rule("per: ip, limit: 5/m, lease: 12")->lease, 12);
}

TEST(tiers_scale_what_the_rule_does_not_say)
{
    const struct sl_rule *rule = parse_rule("per: ip, algorithm: token_bucket, capacity: 100, "
                                            "refill_rate: 10, burst_allowance: 1.5");
    assert_int_equal(rule->numbers[0].limit.capacity, 150);
    assert_int_equal(rule->numbers[0].limit.token_ns, 100000000);
    assert_int_equal(rule->numbers[1].limit.capacity, 1500);
    assert_int_equal(rule->numbers[1].limit.token_ns, 10000000);
    assert_int_equal(rule->numbers[2].limit.capacity, 75);
    assert_int_equal(rule->numbers[2].limit.token_ns, 200000000);
    assert_true(rule->numbers[3].unlimited);
}

TEST(a_rules_own_number_replaces_the_scaled_one)
{
    const struct sl_rule *rule =
        parse_rule("per: ip, algorithm: token_bucket, capacity: 100, refill_rate: 10, tiers: { "
                   "pro: { capacity: 7 }, half: { refill_rate: 20 }, free: { capacity: 3 } }");
    assert_int_equal(rule->numbers[1].limit.capacity, 7);
    assert_int_equal(rule->numbers[1].limit.token_ns, 10000000);
    assert_int_equal(rule->numbers[2].limit.capacity, 50);
    assert_int_equal(rule->numbers[2].limit.token_ns, 50000000);
    assert_false(rule->numbers[3].unlimited);
    assert_int_equal(rule->numbers[3].limit.capacity, 3);
}

TEST(a_rule_may_lift_or_keep_a_tiers_limit)
{
    const struct sl_rule *rule = parse_rule(
        "per: ip, limit: 5/m, tiers: { pro: { unlimited: true }, free: { unlimited: false } }");
    assert_true(rule->numbers[1].unlimited);
    assert_false(rule->numbers[3].unlimited);
    assert_int_equal(rule->numbers[3].limit.capacity, 5);
}

TEST(without_a_rate_a_bucket_fills_once_in_its_window)
{
    const struct sl_rule *rule = parse_rule("per: ip, algorithm: leaky_bucket, limit: 60/m, "
                                            "tiers: { half: { capacity: 120 } }");
    assert_int_equal(rule->numbers[0].limit.token_ns, 1000000000);
    assert_int_equal(rule->numbers[1].limit.token_ns, 100000000);
    assert_int_equal(rule->numbers[2].limit.token_ns, 500000000);
    assert_int_equal(rule->window_us, 60000000);
    rule = parse_rule("per: ip, algorithm: leaky_bucket, limit: 60/m, refill_rate: 2");
    assert_int_equal(rule->numbers[0].limit.token_ns, 500000000);
    assert_int_equal(rule->window_us, 60000000);
}

TEST(a_logs_ring_holds_the_largest_limit)
{
    const struct sl_rule *rule = parse_rule("per: ip, algorithm: sliding_window_log, limit: 5/m");
    assert_int_equal(rule->ring_len, 50);
    rule = parse_rule("per: ip, algorithm: sliding_window_log, limit: 5/m, adaptive: true");
    assert_int_equal(rule->ring_len, 100);
    assert_int_equal(parse_rule("per: ip, limit: 5/m")->ring_len, 0);
}

TEST(windows_may_start_at_the_first_request)
{
    const struct sl_rule *rule =
        parse_rule("per: ip, algorithm: fixed_window, limit: 5/m, align: first_request");
    assert_true(rule->numbers[0].limit.first_request);
    assert_true(rule->numbers[1].limit.first_request);
}

TESTS_WITH(NULL, release)
