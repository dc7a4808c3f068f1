/* The page's figures of connections, bytes, answers and refusals. */
#include "unit/server/on_page.h"

TEST(its_families_are_as_written_here)
{
    struct sl_ruleset *rules = rules_of(two_rules);
    struct sl_metrics metrics = metrics_of(rules);
    metrics.connections = 7;
    metrics.accepted = 70;
    metrics.refused = 1;
    metrics.auth_throttle[SL_ATTEMPT_TOKENS] = 51;
    for (uint64_t i = 0; i < 2; i++) /* of two workers */
        sl_metrics_add_traffic(
            &metrics,
            &(struct sl_traffic){
                .received_bytes = 1000 * i,
                .sent_bytes = 1000,
                .malformed = 11 * i,
                .commands = 14 * i,
                .malformed_commands = 15,
                .malformed_sessions = 19 * i,
                .statuses = { [SL_GRPC_OK] = 17 * i, [SL_GRPC_UNAUTHENTICATED] = 9 },
                .bad_proxy_headers = 12 * i,
                .failed_handshakes = 13 * i,
                .answers = { [2] = 11, [4] = 12, [5] = 25 * i },
                .late = { [SL_TIMER_IDLE] = 31 * i, [SL_TIMER_HEAD] = 16, [SL_TIMER_LINGER] = 99 },
                .refused = { [SL_REFUSED_401] = 41 * i },
            });
    char *page = print(&metrics);
    assert_lines(
        page,
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
        "# HELP sluice_resp_commands_total Commands of the Redis protocol.\n"
        "# TYPE sluice_resp_commands_total counter\n"
        "sluice_resp_commands_total 14\n"
        "# HELP sluice_resp_malformed_total Connections of the Redis protocol that were ended for "
        "what was no command.\n"
        "# TYPE sluice_resp_malformed_total counter\n"
        "sluice_resp_malformed_total 30\n"
        "# HELP sluice_grpc_malformed_total Connections for gRPC that were ended for what was no "
        "HTTP/2, or a flood of frames.\n"
        "# TYPE sluice_grpc_malformed_total counter\n"
        "sluice_grpc_malformed_total 19\n"
        "# HELP sluice_proxy_headers_refused_total PROXY headers that were malformed, or came "
        "from a peer that is not a trusted proxy.\n"
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
        "# HELP sluice_grpc_responses_total Answers over gRPC, by their status; UNKNOWN to what "
        "was no gRPC.\n"
        "# TYPE sluice_grpc_responses_total counter\n"
        "sluice_grpc_responses_total{status=\"OK\"} 17\n"
        "sluice_grpc_responses_total{status=\"CANCELLED\"} 0\n"
        "sluice_grpc_responses_total{status=\"UNKNOWN\"} 0\n"
        "sluice_grpc_responses_total{status=\"INVALID_ARGUMENT\"} 0\n"
        "sluice_grpc_responses_total{status=\"DEADLINE_EXCEEDED\"} 0\n"
        "sluice_grpc_responses_total{status=\"NOT_FOUND\"} 0\n"
        "sluice_grpc_responses_total{status=\"ALREADY_EXISTS\"} 0\n"
        "sluice_grpc_responses_total{status=\"PERMISSION_DENIED\"} 0\n"
        "sluice_grpc_responses_total{status=\"RESOURCE_EXHAUSTED\"} 0\n"
        "sluice_grpc_responses_total{status=\"FAILED_PRECONDITION\"} 0\n"
        "sluice_grpc_responses_total{status=\"ABORTED\"} 0\n"
        "sluice_grpc_responses_total{status=\"OUT_OF_RANGE\"} 0\n"
        "sluice_grpc_responses_total{status=\"UNIMPLEMENTED\"} 0\n"
        "sluice_grpc_responses_total{status=\"INTERNAL\"} 0\n"
        "sluice_grpc_responses_total{status=\"UNAVAILABLE\"} 0\n"
        "sluice_grpc_responses_total{status=\"DATA_LOSS\"} 0\n"
        "sluice_grpc_responses_total{status=\"UNAUTHENTICATED\"} 18\n"
        "# HELP sluice_connections_timed_out_total Connections that the server ended, by what it "
        "had waited for too long.\n"
        "# TYPE sluice_connections_timed_out_total counter\n"
        "sluice_connections_timed_out_total{waiting_for=\"opening\"} 0\n"
        "sluice_connections_timed_out_total{waiting_for=\"idle\"} 31\n"
        "sluice_connections_timed_out_total{waiting_for=\"head\"} 32\n"
        "sluice_connections_timed_out_total{waiting_for=\"body\"} 0\n"
        "sluice_connections_timed_out_total{waiting_for=\"write\"} 0\n"
        "# HELP sluice_callers_refused_total Messages refused because of their sender: 401 "
        "no valid credentials, 403 not allowed, 429 too many wrong credentials from there.\n"
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
    check_page(page);
    free(page);
    sl_metrics_release(&metrics);
    sl_ruleset_free(rules);
}

TEST(connections_are_told_by_worker_where_they_are_known)
{
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
