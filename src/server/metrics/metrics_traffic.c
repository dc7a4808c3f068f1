/* Metrics of traffic: connections, bytes, answers, and refused clients. */
#include "server/auth/auth_throttle.h"
#include "server/metrics/metrics_internal.h"

/* ---- summing up ---- */

static void add_counter(_Atomic uint64_t *to, const _Atomic uint64_t *from)
{
    sl_count_add(to, sl_count_read(from));
}

void sl_metrics_add_traffic(struct sl_metrics *metrics, const struct sl_traffic *traffic)
{
    struct sl_traffic *sum = &metrics->traffic;
    add_counter(&sum->received_bytes, &traffic->received_bytes);
    add_counter(&sum->sent_bytes, &traffic->sent_bytes);
    add_counter(&sum->malformed, &traffic->malformed);
    add_counter(&sum->bad_proxy_headers, &traffic->bad_proxy_headers);
    add_counter(&sum->failed_handshakes, &traffic->failed_handshakes);
    add_counter(&sum->commands, &traffic->commands);
    add_counter(&sum->malformed_commands, &traffic->malformed_commands);
    add_counter(&sum->malformed_sessions, &traffic->malformed_sessions);
    for (size_t i = 0; i < SL_STATUS_CLASSES; i++)
        add_counter(&sum->answers[i], &traffic->answers[i]);
    for (size_t i = 0; i < SL_GRPC_STATUS_COUNT; i++)
        add_counter(&sum->statuses[i], &traffic->statuses[i]);
    for (size_t i = 0; i < SL_REFUSED_COUNT; i++)
        add_counter(&sum->refused[i], &traffic->refused[i]);
    for (size_t i = 0; i < SL_TIMER_COUNT; i++)
        add_counter(&sum->late[i], &traffic->late[i]);
}

void sl_metrics_add_auth_throttle(struct sl_metrics *metrics,
                                  const struct sl_limiter *auth_throttle)
{
    for (size_t i = 0; i < SL_ATTEMPT_COUNT; i++)
        metrics->auth_throttle[i] += sl_auth_throttle_counted(auth_throttle, (enum sl_attempt)i);
}

/* ---- printing ---- */

static const struct sl_single singles[] = {
#define AT(field) offsetof(struct sl_metrics, field)
    { "sluice_connections", "gauge", "Connections open now.", AT(connections) },
    { "sluice_connections_accepted_total", "counter", "Connections accepted.", AT(accepted) },
    { "sluice_connections_refused_total", "counter",
      "Connections refused because there were too many.", AT(refused) },
    { "sluice_received_bytes_total", "counter",
      "Bytes received from clients; of a connection with TLS what was in it.",
      AT(traffic.received_bytes) },
    { "sluice_sent_bytes_total", "counter",
      "Bytes sent to clients; of a connection with TLS what was put into it.",
      AT(traffic.sent_bytes) },
    { "sluice_http_malformed_total", "counter",
      "Messages that were not read to their end: no HTTP/1.1, too long, or no memory for them.",
      AT(traffic.malformed) },
    { "sluice_resp_commands_total", "counter", "Commands of the Redis protocol.",
      AT(traffic.commands) },
    { "sluice_resp_malformed_total", "counter",
      "Connections of the Redis protocol that were ended for what was no command.",
      AT(traffic.malformed_commands) },
    { "sluice_grpc_malformed_total", "counter",
      "Connections for gRPC that were ended for what was no HTTP/2, or a flood of frames.",
      AT(traffic.malformed_sessions) },
    { "sluice_proxy_headers_refused_total", "counter",
      "PROXY headers that were malformed, or came from a peer that is not a trusted proxy.",
      AT(traffic.bad_proxy_headers) },
    { "sluice_tls_handshakes_failed_total", "counter", "TLS handshakes that began and did not end.",
      AT(traffic.failed_handshakes) },
#undef AT
};

static void print_answers(struct sl_metrics_page *page, const struct sl_traffic *traffic)
{
    sl_page_family(page, "sluice_http_responses_total", "counter",
                   "Answers over HTTP, by the class of their status.");
    for (size_t i = 2; i < SL_STATUS_CLASSES; i++) {
        sl_page_label(page, "code",
                      (struct sluice_text){ (char[]){ (char)('0' + i), 'x', 'x' }, 3 });
        sl_page_number(page, sl_count_read(&traffic->answers[i]));
    }
}

static void print_statuses(struct sl_metrics_page *page, const struct sl_traffic *traffic)
{
    sl_page_family(page, "sluice_grpc_responses_total", "counter",
                   "Answers over gRPC, by their status; UNKNOWN to what was no gRPC.");
    for (int i = 0; i < SL_GRPC_STATUS_COUNT; i++) {
        sl_page_label(page, "status", sl_grpc_status_name((enum sl_grpc_status)i));
        sl_page_number(page, sl_count_read(&traffic->statuses[i]));
    }
}

/* Timeouts that end idle connections are left out. */
static const char *const waits[SL_TIMER_COUNT] = {
    [SL_TIMER_OPENING] = "opening", [SL_TIMER_IDLE] = "idle",   [SL_TIMER_HEAD] = "head",
    [SL_TIMER_BODY] = "body",       [SL_TIMER_WRITE] = "write",
};

static void print_late(struct sl_metrics_page *page, const struct sl_traffic *traffic)
{
    sl_page_family(page, "sluice_connections_timed_out_total", "counter",
                   "Connections that the server ended, by what it had waited for too long.");
    for (size_t i = 0; i < SL_TIMER_COUNT; i++) {
        if (!waits[i])
            continue;
        sl_page_label(page, "waiting_for", sl_text(waits[i]));
        sl_page_number(page, sl_count_read(&traffic->late[i]));
    }
}

static const uint32_t refused_statuses[] = {
#define STATUS(constant, status) [constant] = status,
    SL_REFUSED_CALLERS(STATUS)
#undef STATUS
};

static const char *const attempt_kinds[] = {
    [SL_ATTEMPT_CREDENTIALS] = "admin", [SL_ATTEMPT_TOKENS] = "jwt", [SL_ATTEMPT_KEYS] = "api_key"
};

static void print_callers(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    sl_page_family(
        page, "sluice_callers_refused_total", "counter",
        "Messages refused because of their sender: 401 no valid credentials, 403 not allowed, "
        "429 too many wrong credentials from there.");
    for (size_t i = 0; i < SL_REFUSED_COUNT; i++) {
        sl_page_label_i64(page, "code", refused_statuses[i]);
        sl_page_number(page, sl_count_read(&metrics->traffic.refused[i]));
    }
    sl_page_family(page, "sluice_wrong_credentials_total", "counter",
                   "Tokens and keys that were looked at and wrong: for the admin API, or JSON Web "
                   "Tokens and API keys of decisions.");
    for (size_t i = 0; i < SL_ATTEMPT_COUNT; i++) {
        sl_page_label(page, "kind", sl_text(attempt_kinds[i]));
        sl_page_number(page, metrics->auth_throttle[i]);
    }
}

static void print_by_worker(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    if (!metrics->by_worker)
        return;
    sl_page_family(page, "sluice_worker_connections", "gauge",
                   "Connections open now, by the thread that serves them.");
    for (size_t i = 0; i < metrics->workers; i++) {
        sl_page_label_i64(page, "worker", (int64_t)i);
        sl_page_number(page, metrics->by_worker[i]);
    }
}

void sl_metrics_print_traffic(struct sl_metrics_page *page, const struct sl_metrics *metrics)
{
    sl_page_singles(page, singles, SL_COUNT_OF(singles), metrics);
    print_by_worker(page, metrics);
    print_answers(page, &metrics->traffic);
    print_statuses(page, &metrics->traffic);
    print_late(page, &metrics->traffic);
    print_callers(page, metrics);
}
