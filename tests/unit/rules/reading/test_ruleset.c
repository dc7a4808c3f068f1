#include <stdlib.h>

#include "rules/tree/keys.h"
#include "unit/base/unit.h"
#include "unit/rules/parsing.h"

TEST(what_is_not_written_is_at_its_default)
{
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
    assert_string_equal(settings->store.text, "memory");
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
    assert_false(settings->identity.api_keys_required);
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

TEST(rules_may_be_left_out)
{
    parse("workers: 2");
    assert_int_equal(rules->rule_count, 0);
    assert_int_equal(rules->settings.workers, 2);
}

TEST(a_part_of_a_map_leaves_the_rest_at_its_default)
{
    parse("trust: { email: 0.25 }\nlisten: { resp: 'localhost:0' }");
    assert_int_equal(rules->settings.trust.email, 250000000);
    assert_int_equal(rules->settings.trust.success, 500000000);
    assert_string_equal(rules->settings.http.address, "127.0.0.1:8080");
    assert_string_equal(rules->settings.resp.address, "localhost:0");
}

TEST(paths_start_from_the_files_folder)
{
    parse("tls: { certificate: c.pem, key: /k.pem }\n"
          "store: memory:limits.slu\naudit: file:a.jsonl\ndatabase: d.db\n"
          "admin: { token_file: t, token_env: T, readonly_token_file: r }\n"
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
    assert_string_equal(settings->admin.token_env, "T");
    assert_string_equal(settings->admin.readonly_token_file, "etc/r");
    assert_string_equal(settings->http.address, "unix:etc/s.sock");
    assert_string_equal(settings->identity.jwt.keys[0].secret_file, "etc/s");
}

TEST(a_file_without_a_folder_has_none)
{
    release(NULL);
    rules = sl_ruleset_parse("rules.yaml", SL_TEXT("database: d.db"), &report);
    assert_string_equal(rules->settings.database, "d.db");
}

TEST(identity_is_read_whole)
{
    parse("identity:\n"
          "  trusted_proxies: [10.0.0.0/8, '::1']\n"
          "  user_id: sha256(email_ip)\n"
          "  api_keys: required\n"
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
    assert_true(identity->api_keys_required);
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

TEST(a_token_without_claims_in_the_file_gives_its_sub_as_user)
{
    const struct sl_identity *identity;
    parse("identity: { jwt: { algorithms: RS256, jwks_file: k } }");
    identity = &rules->settings.identity;
    assert_int_equal(identity->jwt.claim_count, 1);
    assert_int_equal(identity->jwt.claims[0].attribute.attribute, SL_ATTR_USER);
    assert_true(sl_text_is(identity->jwt.claims[0].attribute.name, "user"));
    assert_string_equal(identity->jwt.claims[0].source, "sub");
    parse("identity: { jwt: { algorithms: RS256, jwks_file: k, claims: { tenant: org } } }");
    identity = &rules->settings.identity;
    assert_int_equal(identity->jwt.claim_count, 1);
    assert_string_equal(identity->jwt.claims[0].source, "org");
    parse("identity: { api_keys: optional, jwt: { algorithms: RS256, jwks_file: k, claims: {} } }");
    assert_int_equal(rules->settings.identity.jwt.claim_count, 0);
    assert_false(rules->settings.identity.api_keys_required);
    parse("rules: []");
    assert_int_equal(rules->settings.identity.jwt.claim_count, 0);
}

TEST(exemptions_have_tenants)
{
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

TEST(rules_know_their_place_in_the_file)
{
    parse("rules:\n  - { name: a, per: ip, limit: 1/s }\n  - { name: b, per: ip, limit: 1/s }\n");
    assert_int_equal(rules->rules[1].index, 1);
    assert_int_equal(rules->rules[1].mark.line, 3);
}

TEST(rules_may_stand_before_what_they_refer_to)
{
    parse("rules: [{ name: r, per: user, limit: 5/m, tiers: { pro: { capacity: 9 } } }]\n"
          "tiers: { pro: { scale: 10 } }\non_store_failure: local\n");
    assert_int_equal(rules->rules[0].numbers[1].limit.capacity, 9);
    assert_int_equal(rules->rules[0].on_store_failure, SL_FAIL_LOCAL);
}

TEST(tiers_are_found_by_name)
{
    parse("tiers: { free: {}, pro: { scale: 2.5 } }");
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("free")), 0);
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("pro")), 1);
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("Pro")), -1);
    assert_int_equal(sl_ruleset_tier(rules, SL_TEXT("")), -1);
    assert_int_equal(rules->tiers[1].scale.digits, 25);
    assert_int_equal(rules->tiers[1].scale.places, 1);
}

TEST(a_tier_may_restrict_its_tenants_algorithms)
{
    parse("tiers: { all: {}, one: { algorithms: leaky_bucket },\n"
          "         two: { scale: 2, algorithms: [sliding_window_counter, token_bucket] } }");
    assert_int_equal(rules->tiers[0].algorithms, 0);
    for (uint32_t i = 0; sl_algos[i]; i++) {
        bool one = sl_algos[i] == &sl_leaky_bucket;
        bool two = sl_algos[i] == &sl_sliding_window_counter || sl_algos[i] == &sl_token_bucket;
        assert_int_equal(rules->tiers[1].algorithms >> i & 1, one);
        assert_int_equal(rules->tiers[2].algorithms >> i & 1, two);
    }
    assert_string_equal(rules->tiers[2].json,
                        "{\"scale\": 2, \"algorithms\": [\"sliding_window_counter\", "
                        "\"token_bucket\"]}");
    refuse("tiers: { x: { algorithms: [] } }", 1);
    refuse("tiers: { x: { algorithms: } }", 1);
    refuse("tiers: { x: { algorithms: [token_bucket, bucket, 5] } }", 2);
}

TEST(every_problem_of_a_file_is_reported)
{
    refuse("workers: 0\nwrokers: 1\nrules:\n  - { name: a b, per: [], capacity: 0, window: 1y, "
           "shadow: yes }\n",
           7);
}

TEST(one_mistake_is_one_problem)
{
    refuse("rules: [{ nam: r, per: user, limit: 5/m }]", 1);
    refuse("rules: [{ name: r, per: user, limit: 0/m }]", 1);
    refuse("rules: [{ name: r, per: user, algorithm: bucket, capacity: 5 }]", 1);
    refuse("rules: [{ name: r, per: user, capacity: x, window: 1s }]", 1);
    refuse("tiers: { pro: { scale: 0 } }\n"
           "rules: [{ name: r, per: user, limit: 5/m, tiers: { pro: { capacity: 1 } } }]",
           1);
    refuse("rules: [{ name: r, per: user, limit: *x }]", 1);
}

TEST(a_report_may_hold_problems_of_other_files_already)
{
    release(NULL);
    sl_report_error(&report, (struct sl_mark){ 1, 1 }, "something else");
    rules = sl_ruleset_parse("r.yaml", SL_TEXT("rules: []"), &report);
    assert_non_null(rules);
}

TEST(rules_times_tiers_are_bounded)
{
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

TEST(every_key_has_a_line_in_the_list)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    sl_ruleset_print_keys(out);
    fclose(out);
    assert_non_null(strstr(text, "\nlisten.http "));
    assert_non_null(strstr(text, "\ntiers.TIER.algorithms               all "));
    assert_non_null(strstr(text, "\nidentity.api_keys                   optional "));
    assert_non_null(strstr(text, "\nidentity.jwt.claims                 user: sub "));
    assert_non_null(strstr(text, "\nidentity.jwt.keys[].kid "));
    assert_non_null(strstr(text, "\nrules[].tiers.TIER.capacity "));
    assert_non_null(strstr(text, "\nrules[].burst_guard.threshold "));
    free(text);
}

TESTS_WITH(NULL, release)
