#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rules/keys.h"
#include "rules/numbers.h"
#include "rules/ruleset.h"

/* The ruleset and report of the last parse. */
static struct sl_ruleset *rules;
static struct sl_report report;

static int release(void **state)
{
    (void)state;
    sl_ruleset_free(rules);
    rules = NULL;
    sl_report_release(&report);
    return 0;
}

static void parse_text(struct sluice_text yaml)
{
    release(NULL);
    rules = sl_ruleset_parse("etc/rules.yaml", yaml, &report);
}

static void parse(const char *yaml)
{
    parse_text(sl_text(yaml));
    if (!rules)
        fail_msg("%s: %s", yaml, report.problems[0].text);
    assert_int_equal(report.count, 0);
}

/* The only rule of a file whose other keys are these. */
static const struct sl_rule *parse_rule(const char *keys)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "tiers: { pro: { scale: 10 }, half: { scale: 0.5 }, free: { "
             "unlimited: true } }\nrules: [{ name: r, %s }]\n",
             keys);
    parse(yaml);
    assert_int_equal(rules->rule_count, 1);
    return &rules->rules[0];
}

static void refuse(const char *yaml, size_t problems)
{
    parse_text(sl_text(yaml));
    assert_null(rules);
    assert_int_equal(report.count, problems);
    assert_int_equal(report.errors, problems);
}

static void what_is_not_written_is_at_its_default(void **state)
{
    (void)state;
    parse("rules: []");
    const struct sl_settings *settings = &rules->settings;
    assert_string_equal(settings->http.address, "127.0.0.1:8080");
    assert_false(settings->http.proxy_protocol);
    assert_null(settings->https.address);
    assert_null(settings->grpc.address);
    assert_null(settings->resp.address);
    assert_null(settings->tls.certificate);
    assert_int_equal(settings->workers, 0);
    assert_int_equal(settings->max_connections, 10000);
    assert_int_equal(settings->store.kind, SL_STORE_MEMORY);
    assert_string_equal(settings->store.text, "memory:");
    assert_null(settings->store.path);
    assert_int_equal(settings->store_deadline_us, 20000);
    assert_int_equal(settings->on_store_failure, SL_FAIL_ALLOW);
    assert_int_equal(settings->local_share.digits, 1);
    assert_false(settings->hash_tag_identifier);
    assert_false(settings->hash_identifiers);
    assert_int_equal(settings->headers, 7);
    assert_int_equal(settings->deny_status, 429);
    assert_int_equal(settings->max_wait_us, 30000000);
    assert_int_equal(settings->identity.trusted_proxy_count, 0);
    assert_int_equal(settings->identity.ipv4_prefix, 32);
    assert_int_equal(settings->identity.ipv6_prefix, 64);
    assert_false(settings->identity.user_id_sha256_email_ip);
    assert_false(settings->identity.jwt.on);
    assert_null(settings->admin.token_file);
    assert_null(settings->database);
    assert_string_equal(settings->audit, "off");
    const struct sl_trust_weights weights = SL_TRUST_DEFAULTS;
    assert_memory_equal(&settings->trust, &weights, sizeof weights);
    assert_int_equal(rules->tier_count, 0);
    assert_int_equal(rules->rule_count, 0);
    assert_non_null(rules->index);
}

static void rules_may_be_left_out(void **state)
{
    (void)state;
    parse("workers: 2");
    assert_int_equal(rules->rule_count, 0);
    assert_int_equal(rules->settings.workers, 2);
}

static void a_part_of_a_map_leaves_the_rest_at_its_default(void **state)
{
    (void)state;
    parse("trust: { email: 0.25 }\nlisten: { resp: 'localhost:0' }");
    assert_int_equal(rules->settings.trust.email, 250000000);
    assert_int_equal(rules->settings.trust.success, 500000000);
    assert_string_equal(rules->settings.http.address, "127.0.0.1:8080");
    assert_string_equal(rules->settings.resp.address, "localhost:0");
}

static void paths_start_from_the_files_folder(void **state)
{
    (void)state;
    parse("tls: { certificate: c.pem, key: /k.pem }\n"
          "store: memory:limits.slu\naudit: file:a.jsonl\ndatabase: d.db\n"
          "admin: { token_file: t, readonly_token_file: r }\n"
          "listen: { http: unix:s.sock }\n"
          "identity: { jwt: { algorithms: HS256, keys: [{ secret_file: s }] } }\n");
    const struct sl_settings *settings = &rules->settings;
    assert_string_equal(settings->tls.certificate, "etc/c.pem");
    assert_string_equal(settings->tls.key, "/k.pem");
    assert_string_equal(settings->store.path, "etc/limits.slu");
    assert_string_equal(settings->store.text, "memory:limits.slu");
    assert_string_equal(settings->audit, "file:etc/a.jsonl");
    assert_string_equal(settings->database, "etc/d.db");
    assert_string_equal(settings->admin.token_file, "etc/t");
    assert_string_equal(settings->admin.readonly_token_file, "etc/r");
    assert_string_equal(settings->http.address, "unix:etc/s.sock");
    assert_string_equal(settings->identity.jwt.keys[0].secret_file, "etc/s");
}

static void a_file_without_a_folder_has_none(void **state)
{
    (void)state;
    release(NULL);
    rules = sl_ruleset_parse("rules.yaml", SL_TEXT("database: d.db"), &report);
    assert_string_equal(rules->settings.database, "d.db");
}

static void identity_is_read_whole(void **state)
{
    (void)state;
    parse("identity:\n"
          "  trusted_proxies: [10.0.0.0/8, '::1']\n"
          "  user_id: sha256(email_ip)\n"
          "  headers: { user: X-User, plan: X-Plan }\n"
          "  jwt:\n"
          "    algorithms: [RS256, HS256]\n"
          "    keys: [{ kid: a, pem_file: /p }, { secret_file: /s }]\n"
          "    issuer: me\n    audience: you\n    leeway: 5s\n    required: true\n"
          "    claims: { user: sub }\n");
    const struct sl_identity *identity = &rules->settings.identity;
    assert_int_equal(identity->trusted_proxy_count, 2);
    assert_int_equal(identity->trusted_proxies[0].prefix, 104);
    assert_true(identity->user_id_sha256_email_ip);
    assert_int_equal(identity->header_count, 2);
    assert_int_equal(identity->headers[0].attribute.attribute, SL_ATTR_USER);
    assert_string_equal(identity->headers[1].source, "X-Plan");
    assert_int_equal(identity->headers[1].attribute.attribute, SL_ATTR_OTHER);
    assert_true(identity->jwt.on);
    assert_true(identity->jwt.required);
    assert_int_equal(identity->jwt.algorithms, 3);
    assert_int_equal(identity->jwt.key_count, 2);
    assert_string_equal(identity->jwt.keys[0].kid, "a");
    assert_null(identity->jwt.keys[1].kid);
    assert_string_equal(identity->jwt.issuer, "me");
    assert_int_equal(identity->jwt.leeway_us, 5000000);
    assert_string_equal(identity->jwt.claims[0].source, "sub");
}

static void exemptions_have_tenants(void **state)
{
    (void)state;
    parse("exempt:\n  ips: 10.0.0.0/8\n  users: [root, acme/a/b]\n  clients: [c]\n"
          "  api_keys: [9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08]\n");
    const struct sl_exempt *exempt = &rules->exempt;
    assert_int_equal(exempt->ip_count, 1);
    assert_int_equal(exempt->user_count, 2);
    assert_null(exempt->users[0].tenant.at);
    assert_true(sl_text_is(exempt->users[0].name, "root"));
    assert_true(sl_text_is(exempt->users[1].tenant, "acme"));
    assert_true(sl_text_is(exempt->users[1].name, "a/b"));
    assert_int_equal(exempt->client_count, 1);
    assert_true(sl_text_is(exempt->api_keys[0], "9f86d081884c7d659a2feaa0c55ad015"
                                                "a3bf4f1b2b0b822cd15d6c15b0f00a08"));
}

static void a_rule_is_at_its_defaults(void **state)
{
    (void)state;
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

static void rules_know_their_place_in_the_file(void **state)
{
    (void)state;
    parse("rules:\n  - { name: a, per: ip, limit: 1/s }\n  - { name: b, per: ip, limit: 1/s }\n");
    assert_int_equal(rules->rules[1].index, 1);
    assert_int_equal(rules->rules[1].mark.line, 3);
}

static void rules_may_stand_before_what_they_refer_to(void **state)
{
    (void)state;
    parse("rules: [{ name: r, per: user, limit: 5/m, tiers: { pro: { capacity: 9 } } }]\n"
          "tiers: { pro: { scale: 10 } }\non_store_failure: local\n");
    assert_int_equal(rules->rules[0].numbers[1].limit.capacity, 9);
    assert_int_equal(rules->rules[0].on_store_failure, SL_FAIL_LOCAL);
}

static void endpoint_is_another_name_of_resource(void **state)
{
    (void)state;
    const struct sl_rule *rule = parse_rule("per: [endpoint, ip, device], limit: 5/m");
    assert_int_equal(rule->per_count, 3);
    assert_int_equal(rule->per[0].attribute, SL_ATTR_RESOURCE);
    assert_true(sl_text_is(rule->per[0].name, "resource"));
    assert_int_equal(rule->per[1].attribute, SL_ATTR_IP);
    assert_int_equal(rule->per[2].attribute, SL_ATTR_OTHER);
    assert_true(sl_text_is(rule->per[2].name, "device"));
}

static void only_ip_and_global_span_tenants(void **state)
{
    (void)state;
    assert_true(parse_rule("per: ip, limit: 5/m")->spans_tenants);
    assert_true(parse_rule("per: global, limit: 5/m")->spans_tenants);
    assert_true(parse_rule("per: [global, ip], limit: 5/m")->spans_tenants);
    assert_false(parse_rule("per: [tenant, ip], limit: 5/m")->spans_tenants);
    assert_false(parse_rule("per: resource, limit: 5/m")->spans_tenants);
    assert_false(parse_rule("per: user, limit: 5/m")->spans_tenants);
}

static void conditions_compare_as_requests_have_it(void **state)
{
    (void)state;
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

static void patterns_are_read(void **state)
{
    (void)state;
    const struct sl_rule *rule =
        parse_rule("per: ip, limit: 5/m, resource: /api/*, except: [/api/a, /api/b]");
    assert_false(rule->any_resource);
    assert_true(rule->resource.prefix);
    assert_int_equal(rule->except_count, 2);
    assert_int_equal(parse_rule("per: ip, limit: 5/m, except: /api/a")->except_count, 1);
}

static void a_guard_takes_defaults_for_parts_left_out(void **state)
{
    (void)state;
    struct sl_guard guard = parse_rule("per: ip, limit: 5/m, burst_guard: {}")->guard;
    assert_int_equal(guard.window_us, 10000000);
    assert_int_equal(guard.threshold, 50);
    assert_int_equal(guard.penalty_us, 300000000);
    guard = parse_rule("per: ip, limit: 5/m, burst_guard: { threshold: 7 }")->guard;
    assert_int_equal(guard.window_us, 10000000);
    assert_int_equal(guard.threshold, 7);
}

static void leases_are_off_automatic_or_a_number(void **state)
{
    (void)state;
    assert_int_equal(parse_rule("per: ip, limit: 5/m, lease: off")->lease, SL_LEASE_OFF);
    assert_int_equal(parse_rule("per: ip, limit: 5/m, lease: auto")->lease, SL_LEASE_AUTO);
    assert_int_equal(parse_rule("per: ip, limit: 5/m, lease: 12")->lease, 12);
}

static void tiers_scale_what_the_rule_does_not_say(void **state)
{
    (void)state;
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

static void a_rules_own_number_replaces_the_scaled_one(void **state)
{
    (void)state;
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

static void a_rule_may_lift_or_keep_a_tiers_limit(void **state)
{
    (void)state;
    const struct sl_rule *rule = parse_rule(
        "per: ip, limit: 5/m, tiers: { pro: { unlimited: true }, free: { unlimited: false } }");
    assert_true(rule->numbers[1].unlimited);
    assert_false(rule->numbers[3].unlimited);
    assert_int_equal(rule->numbers[3].limit.capacity, 5);
}

static void without_a_rate_a_bucket_fills_once_in_its_window(void **state)
{
    (void)state;
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

static void a_logs_ring_holds_the_largest_limit(void **state)
{
    (void)state;
    const struct sl_rule *rule = parse_rule("per: ip, algorithm: sliding_window_log, limit: 5/m");
    assert_int_equal(rule->ring_len, 50);
    rule = parse_rule("per: ip, algorithm: sliding_window_log, limit: 5/m, adaptive: true");
    assert_int_equal(rule->ring_len, 100);
    assert_int_equal(parse_rule("per: ip, limit: 5/m")->ring_len, 0);
}

static void windows_may_start_at_the_first_request(void **state)
{
    (void)state;
    const struct sl_rule *rule =
        parse_rule("per: ip, algorithm: fixed_window, limit: 5/m, align: first_request");
    assert_true(rule->numbers[0].limit.first_request);
    assert_true(rule->numbers[1].limit.first_request);
}

static void tiers_are_found_by_name(void **state)
{
    (void)state;
    parse("tiers: { free: {}, pro: { scale: 2.5 } }");
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("free")), 0);
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("pro")), 1);
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("Pro")), -1);
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("")), -1);
    assert_int_equal(rules->tiers[1].scale.digits, 25);
    assert_int_equal(rules->tiers[1].scale.places, 1);
}

static void every_problem_of_a_file_is_reported(void **state)
{
    (void)state;
    refuse("workers: 0\nwrokers: 1\nrules:\n  - { name: a b, per: [], capacity: 0, window: 1y, "
           "shadow: yes }\n",
           7);
}

static void one_mistake_is_one_problem(void **state)
{
    (void)state;
    refuse("rules: [{ nam: r, per: user, limit: 5/m }]", 1);
    refuse("rules: [{ name: r, per: user, limit: 0/m }]", 1);
    refuse("rules: [{ name: r, per: user, algorithm: bucket, capacity: 5 }]", 1);
    refuse("rules: [{ name: r, per: user, capacity: x, window: 1s }]", 1);
    refuse("tiers: { pro: { scale: 0 } }\n"
           "rules: [{ name: r, per: user, limit: 5/m, tiers: { pro: { capacity: 1 } } }]",
           1);
    refuse("rules: [{ name: r, per: user, limit: *x }]", 1);
}

static void a_report_may_hold_problems_of_other_files_already(void **state)
{
    (void)state;
    release(NULL);
    sl_report_error(&report, (struct sl_mark){ 1, 1 }, "something else");
    rules = sl_ruleset_parse("r.yaml", SL_TEXT("rules: []"), &report);
    assert_non_null(rules);
}

static void rules_times_tiers_are_bounded(void **state)
{
    (void)state;
    char *yaml = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&yaml, &len);
    assert_non_null(out);
    fputs("tiers:\n", out);
    for (int i = 0; i < 256; i++)
        fprintf(out, "  t%d: {}\n", i);
    fputs("rules:\n", out);
    for (int i = 0; i < 4081; i++)
        fprintf(out, "  - { name: r%d, per: ip, limit: 1/s }\n", i);
    fclose(out);
    parse_text((struct sluice_text){ yaml, len });
    assert_null(rules);
    assert_int_equal(report.count, 1);
    assert_non_null(strstr(report.problems[0].text, "4081 rules with 256 tiers are too many"));
    free(yaml);
}

static void every_key_has_a_line_in_the_list(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    sl_keys_print(out);
    fclose(out);
    assert_non_null(strstr(text, "\nlisten.http "));
    assert_non_null(strstr(text, "\nidentity.jwt.keys[].kid "));
    assert_non_null(strstr(text, "\nrules[].tiers.TIER.capacity "));
    assert_non_null(strstr(text, "\nrules[].burst_guard.threshold "));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_written_is_at_its_default),
        cmocka_unit_test(rules_may_be_left_out),
        cmocka_unit_test(a_part_of_a_map_leaves_the_rest_at_its_default),
        cmocka_unit_test(paths_start_from_the_files_folder),
        cmocka_unit_test(a_file_without_a_folder_has_none),
        cmocka_unit_test(identity_is_read_whole),
        cmocka_unit_test(exemptions_have_tenants),
        cmocka_unit_test(a_rule_is_at_its_defaults),
        cmocka_unit_test(rules_know_their_place_in_the_file),
        cmocka_unit_test(rules_may_stand_before_what_they_refer_to),
        cmocka_unit_test(endpoint_is_another_name_of_resource),
        cmocka_unit_test(only_ip_and_global_span_tenants),
        cmocka_unit_test(conditions_compare_as_requests_have_it),
        cmocka_unit_test(patterns_are_read),
        cmocka_unit_test(a_guard_takes_defaults_for_parts_left_out),
        cmocka_unit_test(leases_are_off_automatic_or_a_number),
        cmocka_unit_test(tiers_scale_what_the_rule_does_not_say),
        cmocka_unit_test(a_rules_own_number_replaces_the_scaled_one),
        cmocka_unit_test(a_rule_may_lift_or_keep_a_tiers_limit),
        cmocka_unit_test(without_a_rate_a_bucket_fills_once_in_its_window),
        cmocka_unit_test(a_logs_ring_holds_the_largest_limit),
        cmocka_unit_test(windows_may_start_at_the_first_request),
        cmocka_unit_test(tiers_are_found_by_name),
        cmocka_unit_test(every_problem_of_a_file_is_reported),
        cmocka_unit_test(one_mistake_is_one_problem),
        cmocka_unit_test(a_report_may_hold_problems_of_other_files_already),
        cmocka_unit_test(rules_times_tiers_are_bounded),
        cmocka_unit_test(every_key_has_a_line_in_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
