/* The page that Prometheus reads. */
#include "server/metrics.h"

#include "unit/limiter/model_store.h"
#include "unit/limiter/rules.h"

static struct model model;

static struct sl_metrics metrics_of(const struct sl_ruleset *rules)
{
    struct sl_metrics metrics;
    assert_true(sl_metrics_init(&metrics, rules));
    metrics.version = "1.2.3";
    return metrics;
}

/* The page, terminated; the caller's to free. */
static char *print(const struct sl_metrics *metrics)
{
    struct sl_buffer out = sl_buffer(1 << 20);
    sl_metrics_print(&out, metrics);
    assert_false(out.failed);
    sl_buffer_add(&out, SL_TEXT("\0"));
    return out.at;
}

/* Does the page have this line, whole? */
static bool has_line(const char *page, const char *line)
{
    size_t len = strlen(line);
    for (const char *at = page; (at = strstr(at, line)); at++)
        if ((at == page || at[-1] == '\n') && at[len] == '\n')
            return true;
    return false;
}

static void assert_line(const char *page, const char *line)
{
    if (!has_line(page, line))
        fail_msg("no line `%s` in\n%s", line, page);
}

static void ask(struct sl_limiter *limiter, const char *user, const char *resource, int times)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = sl_text(user);
    request.resource = sl_text(resource);
    for (int i = 0; i < times; i++)
        sl_limiter_decide(limiter, &request, &decision);
}

static const char two_rules[] =
    "exempt: { users: [root] }\n"
    "rules: [{ name: api, resource: /api, per: user, limit: 3/m },\n"
    "        { name: try.it, resource: /try, per: user, limit: 1/m, shadow: true,\n"
    "          algorithm: fixed_window }]\n";

static void the_whole_page_is_as_written_here(void **unused)
{
    (void)unused;
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    metrics.workers = 2;
    metrics.connections = 7;
    metrics.accepted = 70;
    metrics.refused = 1;
    metrics.reloads = 4;
    metrics.failed_reloads = 3;
    metrics.start_time_s = 1700000000;
    metrics.attempts[SL_ATTEMPT_TOKENS] = 51;
    for (uint64_t i = 0; i < 2; i++) /* of two workers */
        sl_metrics_add_traffic(
            &metrics,
            &(struct sl_traffic){
                .received_bytes = 1000 * i,
                .sent_bytes = 1000,
                .malformed = 11 * i,
                .bad_proxy_headers = 12 * i,
                .failed_handshakes = 13 * i,
                .answers = { [2] = 11, [4] = 12, [5] = 25 * i },
                .late = { [SL_TIMER_IDLE] = 31 * i, [SL_TIMER_HEAD] = 16, [SL_TIMER_LINGER] = 99 },
                .refused = { [SL_REFUSED_401] = 41 * i },
            });
    model_open(&model);
    struct sl_limiter *limiter = sl_limiter_new(rules, &model.store);
    ask(limiter, "u", "/api", 5);
    ask(limiter, "u", "/try", 2);
    ask(limiter, "root", "/api", 1);
    sl_metrics_add(&metrics, limiter);
    char *page = print(&metrics);
    assert_string_equal(
        page,
        "# HELP sluice_build_info Always 1; the label tells the version.\n"
        "# TYPE sluice_build_info gauge\n"
        "sluice_build_info{version=\"1.2.3\"} 1\n"
        "# HELP sluice_decisions_total Decisions by reason and outcome; peeks are not counted.\n"
        "# TYPE sluice_decisions_total counter\n"
        "sluice_decisions_total{reason=\"ok\",outcome=\"allowed\"} 3\n"
        "sluice_decisions_total{reason=\"exempt\",outcome=\"allowed\"} 1\n"
        "sluice_decisions_total{reason=\"no_rule\",outcome=\"allowed\"} 1\n"
        "sluice_decisions_total{reason=\"rate_limit_exceeded\",outcome=\"denied\"} 2\n"
        "sluice_decisions_total{reason=\"burst_blocked\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"cost_exceeds_limit\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"missing_identity\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"store_unavailable\",outcome=\"denied\"} 0\n"
        "sluice_decisions_total{reason=\"store_unavailable\",outcome=\"allowed\"} 0\n"
        "sluice_decisions_total{reason=\"shadow\",outcome=\"allowed\"} 1\n"
        "# HELP sluice_rule_decisions_total What each rule said when it was asked, whatever the "
        "others said.\n"
        "# TYPE sluice_rule_decisions_total counter\n"
        "sluice_rule_decisions_total{rule=\"api\",algorithm=\"sliding_window_counter\","
        "outcome=\"allowed\"} 3\n"
        "sluice_rule_decisions_total{rule=\"api\",algorithm=\"sliding_window_counter\","
        "outcome=\"denied\"} 2\n"
        "sluice_rule_decisions_total{rule=\"api\",algorithm=\"sliding_window_counter\","
        "outcome=\"store_failed\"} 0\n"
        "sluice_rule_decisions_total{rule=\"try.it\",algorithm=\"fixed_window\","
        "outcome=\"allowed\"} 1\n"
        "sluice_rule_decisions_total{rule=\"try.it\",algorithm=\"fixed_window\","
        "outcome=\"shadow_denied\"} 1\n"
        "sluice_rule_decisions_total{rule=\"try.it\",algorithm=\"fixed_window\","
        "outcome=\"store_failed\"} 0\n"
        "# HELP sluice_rules Rules in force.\n"
        "# TYPE sluice_rules gauge\n"
        "sluice_rules 2\n"
        "# HELP sluice_workers Threads that decide.\n"
        "# TYPE sluice_workers gauge\n"
        "sluice_workers 2\n"
        "# HELP sluice_start_time_seconds When the server started, in seconds since 1970.\n"
        "# TYPE sluice_start_time_seconds gauge\n"
        "sluice_start_time_seconds 1700000000\n"
        "# HELP sluice_reloads_total Reloads of the rules, by how they ended.\n"
        "# TYPE sluice_reloads_total counter\n"
        "sluice_reloads_total{result=\"ok\"} 4\n"
        "sluice_reloads_total{result=\"failed\"} 3\n"
        "# HELP sluice_connections Connections open now.\n"
        "# TYPE sluice_connections gauge\n"
        "sluice_connections 7\n"
        "# HELP sluice_connections_accepted_total Connections accepted.\n"
        "# TYPE sluice_connections_accepted_total counter\n"
        "sluice_connections_accepted_total 70\n"
        "# HELP sluice_connections_refused_total Connections refused because there were too "
        "many.\n"
        "# TYPE sluice_connections_refused_total counter\n"
        "sluice_connections_refused_total 1\n"
        "# HELP sluice_received_bytes_total Bytes received from clients; of a connection with TLS "
        "what was in it.\n"
        "# TYPE sluice_received_bytes_total counter\n"
        "sluice_received_bytes_total 1000\n"
        "# HELP sluice_sent_bytes_total Bytes sent to clients; of a connection with TLS what was "
        "put into it.\n"
        "# TYPE sluice_sent_bytes_total counter\n"
        "sluice_sent_bytes_total 2000\n"
        "# HELP sluice_http_malformed_total Messages that were not read to their end: no HTTP/1.1, "
        "too long, or no memory for them.\n"
        "# TYPE sluice_http_malformed_total counter\n"
        "sluice_http_malformed_total 11\n"
        "# HELP sluice_proxy_headers_refused_total PROXY headers that were none, or came from "
        "somebody who is no trusted proxy.\n"
        "# TYPE sluice_proxy_headers_refused_total counter\n"
        "sluice_proxy_headers_refused_total 12\n"
        "# HELP sluice_tls_handshakes_failed_total TLS handshakes that began and did not end.\n"
        "# TYPE sluice_tls_handshakes_failed_total counter\n"
        "sluice_tls_handshakes_failed_total 13\n"
        "# HELP sluice_http_responses_total Answers over HTTP, by the class of their status.\n"
        "# TYPE sluice_http_responses_total counter\n"
        "sluice_http_responses_total{code=\"2xx\"} 22\n"
        "sluice_http_responses_total{code=\"3xx\"} 0\n"
        "sluice_http_responses_total{code=\"4xx\"} 24\n"
        "sluice_http_responses_total{code=\"5xx\"} 25\n"
        "# HELP sluice_connections_timed_out_total Connections that the server ended, by what it "
        "had waited for too long.\n"
        "# TYPE sluice_connections_timed_out_total counter\n"
        "sluice_connections_timed_out_total{waiting_for=\"opening\"} 0\n"
        "sluice_connections_timed_out_total{waiting_for=\"idle\"} 31\n"
        "sluice_connections_timed_out_total{waiting_for=\"head\"} 32\n"
        "sluice_connections_timed_out_total{waiting_for=\"body\"} 0\n"
        "sluice_connections_timed_out_total{waiting_for=\"write\"} 0\n"
        "# HELP sluice_callers_refused_total Messages refused for who sent them: 401 nothing to "
        "believe, 403 not for them, 429 too many wrong credentials from there.\n"
        "# TYPE sluice_callers_refused_total counter\n"
        "sluice_callers_refused_total{code=\"401\"} 41\n"
        "sluice_callers_refused_total{code=\"403\"} 0\n"
        "sluice_callers_refused_total{code=\"429\"} 0\n"
        "# HELP sluice_wrong_credentials_total Tokens and keys that were looked at and wrong: for "
        "the admin API, or JSON Web Tokens and API keys of decisions.\n"
        "# TYPE sluice_wrong_credentials_total counter\n"
        "sluice_wrong_credentials_total{kind=\"admin\"} 0\n"
        "sluice_wrong_credentials_total{kind=\"jwt\"} 51\n"
        "sluice_wrong_credentials_total{kind=\"api_key\"} 0\n");
    free(page);
    sl_metrics_release(&metrics);
    sl_limiter_free(limiter);
    sl_ruleset_free(rules);
    model_close(&model.store);
}

/* ---- the format, whatever is in it ---- */

static bool is_name(const char *at, const char *end, bool colon)
{
    bool good = at < end && !(*at >= '0' && *at <= '9');
    for (; at < end; at++)
        good &= (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' ||
                (*at >= '0' && *at <= '9') || (colon && *at == ':');
    return good;
}

/* `{name="value",…}`; where it ends, or NULL: it is none. */
static const char *skip_labels(const char *at)
{
    do {
        const char *name = ++at;
        at = strchr(at, '=');
        if (!at || !is_name(name, at, false) || at[1] != '"')
            return NULL;
        for (at += 2; *at != '"'; at++) {
            if (*at == '\\' && !strchr("\\\"n", *++at))
                return NULL;
            if (*at == '\n' || *at == 0)
                return NULL;
        }
        at++;
    } while (*at == ',');
    return *at == '}' ? at + 1 : NULL;
}

struct page {
    char family[128];
    char seen[64][128]; /* families, each once */
    size_t family_count;
    bool typed;
};

static void check_help(struct page *page, const char *line)
{
    const char *end = strchr(line + 7, ' ');
    assert_non_null(end);
    snprintf(page->family, sizeof page->family, "%.*s", (int)(end - line - 7), line + 7);
    assert_true(is_name(page->family, page->family + strlen(page->family), true));
    for (size_t i = 0; i < page->family_count; i++)
        assert_string_not_equal(page->family, page->seen[i]);
    assert_true(page->family_count < COUNT(page->seen));
    strcpy(page->seen[page->family_count++], page->family);
    page->typed = false;
}

static void check_type(struct page *page, const char *line)
{
    char counter[256], gauge[256];
    snprintf(counter, sizeof counter, "# TYPE %s counter", page->family);
    snprintf(gauge, sizeof gauge, "# TYPE %s gauge", page->family);
    size_t len = strlen(page->family);
    bool total = len > 6 && strcmp(page->family + len - 6, "_total") == 0;
    assert_string_equal(line, total ? counter : gauge);
    assert_false(page->typed);
    page->typed = true;
}

static void check_sample(const struct page *page, const char *line)
{
    size_t len = strlen(page->family);
    assert_true(page->typed);
    assert_int_equal(strncmp(line, page->family, len), 0);
    const char *at = line[len] == '{' ? skip_labels(line + len) : line + len;
    if (!at || *at != ' ' || at[1] == 0 || at[strspn(at + 1, "0123456789") + 1] != 0)
        fail_msg("not a sample: %s", line);
}

/* Line by line, as a strict reader would. */
static size_t check_page(char *text)
{
    struct page page = { 0 };
    size_t samples = 0;
    assert_int_equal(text[strlen(text) - 1], '\n');
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# HELP ", 7) == 0)
            check_help(&page, line);
        else if (line[0] == '#')
            check_type(&page, line);
        else
            check_sample(&page, line);
        samples += line[0] != '#';
    }
    return samples;
}

enum {
    SINGLES = 3 + 8,
    LABELLED = 2 + 4 + 5 + 3 + 3
}; /* samples that are there without any rule */

static void families_are_told_once_and_are_contiguous(void **unused)
{
    (void)unused;
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_int_equal(check_page(page), 1 + 10 + 6 + SINGLES + LABELLED);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

static void a_page_without_rules_is_a_page(void **unused)
{
    (void)unused;
    static const struct sl_ruleset none;
    struct sl_metrics metrics = metrics_of(&none);
    char *page = print(&metrics);
    assert_line(page, "sluice_rules 0");
    assert_int_equal(check_page(page), 1 + 10 + SINGLES + LABELLED);
    free(page);
    sl_metrics_release(&metrics);
}

static void the_values_of_labels_are_escaped(void **unused)
{
    (void)unused;
    struct sl_ruleset *rules = rules_of("rules: [{ name: a, per: user, limit: 1/s }]\n");
    struct sl_metrics metrics = metrics_of(rules);
    metrics.version = "\"1\\\n\"";
    metrics.rules[0].name = "\\"; /* no rules file can say that */
    metrics.rules[0].algorithm = "a\"b\nc";
    char *page = print(&metrics);
    assert_line(page, "sluice_build_info{version=\"\\\"1\\\\\\n\\\"\"} 1");
    assert_line(page, "sluice_rule_decisions_total{rule=\"\\\\\",algorithm=\"a\\\"b\\nc\","
                      "outcome=\"allowed\"} 0");
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

static void what_several_limiters_counted_is_summed(void **unused)
{
    (void)unused;
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    model_open(&model);
    struct sl_limiter *limiters[3];
    for (int i = 0; i < 3; i++) {
        limiters[i] = sl_limiter_new(rules, &model.store);
        ask(limiters[i], "u", "/api", 2); /* three of these six pass */
        sl_metrics_add(&metrics, limiters[i]);
    }
    char *page = print(&metrics);
    assert_line(page, "sluice_decisions_total{reason=\"ok\",outcome=\"allowed\"} 3");
    assert_line(page,
                "sluice_decisions_total{reason=\"rate_limit_exceeded\",outcome=\"denied\"} 3");
    assert_line(page, "sluice_rule_decisions_total{rule=\"api\","
                      "algorithm=\"sliding_window_counter\",outcome=\"denied\"} 3");
    free(page);
    for (int i = 0; i < 3; i++)
        sl_limiter_free(limiters[i]);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
    model_close(&model.store);
}

static void a_store_that_is_asked_over_connections_has_families_of_its_own(void **unused)
{
    (void)unused;
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_null(strstr(page, "sluice_store"));
    free(page);
    metrics.has_store = true;
    metrics.store = (struct sl_store_health){ .calls[SL_CALL_LATE] = 3,
                                              .errors[SL_REDIS_OTHER] = INT64_MAX,
                                              .breakers[SL_BREAKER_HALF_OPEN] = 1,
                                              .connects = 5,
                                              .failed_connects = 6,
                                              .trips = 2 };
    page = print(&metrics);
    assert_line(page, "sluice_store_calls_total{result=\"ok\"} 0");
    assert_line(page, "sluice_store_calls_total{result=\"late\"} 3");
    assert_line(page, "sluice_store_errors_total{code=\"ERR\"} 9223372036854775807");
    assert_line(page, "sluice_store_breaker{state=\"closed\"} 0");
    assert_line(page, "sluice_store_breaker{state=\"half_open\"} 1");
    assert_line(page, "sluice_store_breaker_trips_total 2");
    assert_line(page, "sluice_store_connects_total 5");
    assert_line(page, "sluice_store_connects_failed_total 6");
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

static void a_table_has_families_of_its_own(void **unused)
{
    (void)unused;
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_null(strstr(page, "sluice_table"));
    free(page);
    metrics.has_table = true;
    metrics.table = (struct sluice_stats){ .size_bytes = 1,
                                           .slots = 2,
                                           .live = 3,
                                           .limiting = 4,
                                           .insertions = 5,
                                           .evictions = 6,
                                           .full = 7,
                                           .log_bytes = 8,
                                           .log_used_bytes = 9,
                                           .log_live = 10,
                                           .reservations = 11 };
    page = print(&metrics);
    assert_line(page, "sluice_table_size_bytes 1");
    assert_line(page, "sluice_table_slots 2");
    assert_line(page, "sluice_table_live 3");
    assert_line(page, "sluice_table_limiting 4");
    assert_line(page, "sluice_table_insertions_total 5");
    assert_line(page, "sluice_table_evictions_total 6");
    assert_line(page, "sluice_table_full_total 7");
    assert_line(page, "sluice_table_log_bytes 8");
    assert_line(page, "sluice_table_log_used_bytes 9");
    assert_line(page, "sluice_table_log_live 10");
    assert_line(page, "sluice_table_reservations 11");
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

/* A worker that has not gone over to the new rules yet. */
static void a_limiter_of_older_rules_counts_by_name(void **unused)
{
    (void)unused;
    struct sl_ruleset *older = rules_of(two_rules);
    struct sl_ruleset *newer =
        rules_of("rules: [{ name: new, per: user, limit: 1/s },\n"
                 "        { name: try.it, resource: /try, per: user, limit: 1/m },\n"
                 "        { name: zz, per: user, limit: 1/s }]\n");
    struct sl_metrics metrics = metrics_of(newer);
    model_open(&model);
    struct sl_limiter *limiter = sl_limiter_new(older, &model.store);
    ask(limiter, "u", "/api", 2);
    ask(limiter, "u", "/try", 4);
    sl_metrics_add(&metrics, limiter);
    sl_metrics_add(&metrics, limiter);
    char *page = print(&metrics);
    assert_line(page, "sluice_rules 3");
    assert_line(page, "sluice_decisions_total{reason=\"ok\",outcome=\"allowed\"} 4");
#define LINE(rule, outcome)                                                                        \
    "sluice_rule_decisions_total{rule=\"" rule "\",algorithm=\"sliding_window_counter\",outcome="  \
    "\"" outcome "\"} "
    assert_line(page, LINE("new", "allowed") "0");
    assert_line(page, LINE("try.it", "allowed") "2");
    assert_line(page, LINE("try.it", "denied") "0");
    assert_line(page, LINE("try.it", "shadow_denied") "6"); /* it was one; that is not forgotten */
    assert_line(page, LINE("zz", "allowed") "0");
    assert_null(strstr(page, "rule=\"api\""));
    assert_null(strstr(page, "rule=\"zz\",algorithm=\"sliding_window_counter\",outcome=\"shadow"));
    check_page(page);
    free(page);
    sl_limiter_free(limiter);
    sl_metrics_release(&metrics);
    sl_ruleset_free(older);
    sl_ruleset_free(newer);
    model_close(&model.store);
}

static void connections_are_told_by_worker_where_they_are_known(void **unused)
{
    (void)unused;
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    char *page = print(&metrics);
    assert_null(strstr(page, "sluice_worker_connections"));
    free(page);
    sl_metrics_set_workers(&metrics, 2);
    metrics.by_worker[1] = 7;
    page = print(&metrics);
    assert_line(page, "# TYPE sluice_worker_connections gauge");
    assert_line(page, "sluice_worker_connections{worker=\"0\"} 0");
    assert_line(page, "sluice_worker_connections{worker=\"1\"} 7");
    assert_line(page, "sluice_workers 2");
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CLAIM(connections_are_told_by_worker_where_they_are_known),
        CLAIM(the_whole_page_is_as_written_here),
        CLAIM(families_are_told_once_and_are_contiguous),
        CLAIM(a_page_without_rules_is_a_page),
        CLAIM(the_values_of_labels_are_escaped),
        CLAIM(what_several_limiters_counted_is_summed),
        CLAIM(a_store_that_is_asked_over_connections_has_families_of_its_own),
        CLAIM(a_table_has_families_of_its_own),
        CLAIM(a_limiter_of_older_rules_counts_by_name),
    };
    return RUN(tests);
}
