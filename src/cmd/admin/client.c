/* One HTTP call with libcurl. */
#include "cmd/admin/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/text/number.h"
#include "cmd/admin/credentials.h"
#include "cmd/admin/server_url.h"

/* All that one call holds, from its start to its end. */
struct call {
    const struct sl_client *client;
    const struct sl_question *question;
    const char *server; /* as given, for messages */
    struct sl_server_url url;
    struct sl_credentials credentials;
    struct sl_buffer target; /* the whole URL, terminated */
    struct curl_slist *fields;
    CURL *curl;
    char reason[CURL_ERROR_SIZE];
};

const char *sl_client_server(const struct sl_client *client)
{
    const char *named = getenv("SLUICE_SERVER");
    if (client->server)
        return client->server;
    return named && *named ? named : "http://127.0.0.1:8080";
}

static int64_t timeout_us_of(const struct sl_client *client)
{
    return client->timeout_us ? client->timeout_us : SL_CLIENT_TIMEOUT_US;
}

static size_t add_to_body(char *bytes, size_t one, size_t count, void *about)
{
    struct sl_buffer *body = about;
    sl_buffer_add(body, (struct sluice_text){ bytes, one * count });
    return body->failed ? 0 : one * count;
}

/* ---- the request ------------------------------------------------------------ */

static bool add_field(struct call *call, const char *field, struct sluice_error *error)
{
    struct curl_slist *longer = curl_slist_append(call->fields, field);
    if (!longer)
        return sl_error_say(error, "out of memory");
    call->fields = longer;
    return true;
}

/* Accepts r12 for "r12": a shell removes quotes. */
static bool add_if_match(struct call *call, const char *tag, struct sluice_error *error)
{
    char field[256];
    struct sluice_text text = sl_text(tag);
    bool quoted = text.len >= 2 && tag[0] == '"' && tag[text.len - 1] == '"';
    if (quoted)
        text = (struct sluice_text){ tag + 1, text.len - 2 };
    bool good = text.len > 0 && text.len <= 200;
    for (size_t i = 0; good && i < text.len; i++)
        good = text.at[i] > ' ' && text.at[i] <= '~' && text.at[i] != '"';
    if (!good)
        return sl_error_say(error, "`--if-match %.200s` is no entity tag such as r12", tag);
    const char *quote = !quoted && sl_text_is(text, "*") ? "" : "\"";
    snprintf(field, sizeof field, "If-Match: %s%.*s%s", quote, (int)text.len, text.at, quote);
    return add_field(call, field, error);
}

static bool add_fields(struct call *call, struct sluice_error *error)
{
    const struct sl_question *question = call->question;
    const char *type =
        question->body.at ? "Content-Type: application/json" : "Content-Type:" /* none */;
    return add_field(call, "Accept: application/json, application/problem+json", error) &&
           add_field(call, "Expect:", error) && add_field(call, type, error) &&
           (!call->credentials.field || add_field(call, call->credentials.field, error)) &&
           (!question->if_none || add_field(call, "If-None-Match: *", error)) &&
           (!question->if_match || add_if_match(call, question->if_match, error));
}

static bool make_target(struct call *call, struct sluice_error *error)
{
    call->target = sl_buffer(1024 * 1024);
    sl_buffer_add(&call->target, sl_text(call->url.base));
    sl_buffer_add(&call->target, call->question->path);
    sl_buffer_add(&call->target, (struct sluice_text){ "", 1 });
    return !call->target.failed || sl_error_say(error, "out of memory, or too long a name");
}

/* Refuses to send a token in plain text over a network, where others can read it. */
static bool check_privacy(const struct call *call, struct sluice_error *error)
{
    if (!call->credentials.field || call->url.is_private || call->client->plain)
        return true;
    return sl_error_say(error,
                        "%s would go unencrypted over the network to `%s`: use https://, or "
                        "say `--plain` if that network is yours",
                        call->credentials.source, call->server);
}

static bool prepare_call(struct call *call, struct sluice_error *error)
{
    return sl_server_url_parse(call->server, &call->url, error) &&
           sl_credentials_read(call->client->token_file, &call->credentials, error) &&
           check_privacy(call, error) && make_target(call, error) && add_fields(call, error);
}

/* ---- the call ---------------------------------------------------------------- */

static void set_connection(struct call *call)
{
    CURL *curl = call->curl;
    int64_t ms = sl_div_ceil(timeout_us_of(call->client), 1000);
    curl_easy_setopt(curl, CURLOPT_URL, call->target.at);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L); /* a rule may be called `..` */
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ms);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, call->reason);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "sluice/" SLUICE_VERSION);
    if (call->url.socket)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, call->url.socket);
    if (call->client->ca_file) { /* instead of the system's CAs */
        curl_easy_setopt(curl, CURLOPT_CAINFO, call->client->ca_file);
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
}

static void set_message(struct call *call, struct sl_buffer *body)
{
    const struct sl_question *question = call->question;
    CURL *curl = call->curl;
    bool is_get = strcmp(question->method, "GET") == 0;
    bool may_have_body = !is_get && (question->body.at || strcmp(question->method, "DELETE") != 0);
    if (may_have_body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, question->body.at ? question->body.at : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)question->body.len);
    }
    if (!is_get)
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, question->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, call->fields);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add_to_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
}

/* Returns a warning for a change whose answer was lost: it may have been made. */
static const char *warn_of_change(const struct call *call)
{
    long sent_bytes = 0;
    curl_easy_getinfo(call->curl, CURLINFO_REQUEST_SIZE, &sent_bytes);
    return sent_bytes && strcmp(call->question->method, "GET") != 0
               ? "; it may have been done all the same, so look before you ask again"
               : "";
}

/* Returns why no connection was made; libcurl's own text speaks of port 80 even for Unix sockets.
 */
static const char *why_unreached(const struct call *call, const char *reason)
{
    long number = 0;
    curl_easy_getinfo(call->curl, CURLINFO_OS_ERRNO, &number);
    return number ? strerror((int)number) : reason;
}

static bool say_unanswered(const struct call *call, CURLcode code, struct sluice_error *error)
{
    const char *reason = *call->reason ? call->reason : curl_easy_strerror(code);
    double seconds = (double)timeout_us_of(call->client) / 1e6;
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
        return sl_error_say(error, "no server can be reached at `%s`: %s", call->server,
                            why_unreached(call, reason));
    case CURLE_OPERATION_TIMEDOUT:
        return sl_error_say(error, "no answer from `%s` within %gs%s", call->server, seconds,
                            warn_of_change(call));
    case CURLE_WRITE_ERROR:
        return sl_error_say(error, "the answer of `%s` has more than %d MiB%s", call->server,
                            SL_ANSWER_MAX_BYTES >> 20, warn_of_change(call));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return sl_error_say(error,
                            "the certificate of `%s` is not trusted: %s; name its CA with "
                            "`--ca-file FILE`",
                            call->server, reason);
    default:
        return sl_error_say(error, "no answer from `%s`: %s%s", call->server, reason,
                            warn_of_change(call));
    }
}

static bool is_problem(CURL *curl)
{
    static const char problem[] = "application/problem+json";
    const char *type = NULL;
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    size_t len = sizeof problem - 1;
    return type && strncasecmp(type, problem, len) == 0 && strchr("; \t", type[len]);
}

static bool check_redirect(const struct call *call, int status, struct sluice_error *error)
{
    const char *where = NULL;
    if (status < 300 || status > 399)
        return true;
    curl_easy_getinfo(call->curl, CURLINFO_REDIRECT_URL, &where);
    return sl_error_say(error,
                        "`%s` redirects%s%.200s, which is not followed: is it the right server?",
                        call->server, where ? " to " : "", where ? where : "");
}

static bool perform_call(struct call *call, struct sl_http_response *out,
                         struct sluice_error *error)
{
    call->curl = curl_easy_init();
    if (!call->curl)
        return sl_error_say(error, "out of memory");
    set_connection(call);
    set_message(call, &out->body);
    CURLcode code = curl_easy_perform(call->curl);
    if (code != CURLE_OK)
        return say_unanswered(call, code, error);
    long status = 0;
    curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
    out->status = (int)status;
    out->is_problem = is_problem(call->curl);
    out->was_anonymous = !call->credentials.field;
    return check_redirect(call, out->status, error);
}

bool sl_client_ask(const struct sl_client *client, const struct sl_question *question,
                   struct sl_http_response *out, struct sluice_error *error)
{
    struct call call = { .client = client,
                         .question = question,
                         .server = sl_client_server(client) };
    struct sl_http_response answer = { .body = sl_buffer(SL_ANSWER_MAX_BYTES) };
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return sl_error_say(error, "libcurl cannot be started");
    bool good = prepare_call(&call, error) && perform_call(&call, &answer, error);
    if (good)
        *out = answer;
    else
        sl_answer_release(&answer);
    curl_easy_cleanup(call.curl);
    curl_slist_free_all(call.fields);
    sl_buffer_release(&call.target);
    sl_credentials_release(&call.credentials);
    sl_server_url_release(&call.url);
    curl_global_cleanup();
    return good;
}

void sl_answer_release(struct sl_http_response *answer)
{
    sl_buffer_release(&answer->body);
}
