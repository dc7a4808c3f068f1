/* Limiting wrong credentials, by built-in rules: see auth_throttle.h.
 *
 * Wrong credentials are counted by the address that the connection or a trusted proxy names. Tokens
 * and keys of a check are counted by the address in its body too: else the wrong ones of one user
 * would bar all others of the service that sends the checks. (A client that invents addresses there
 * costs us some signature checks, and bars no other client.)
 *
 * Addresses do not matter for a token that was verified before: a bad neighbour behind a shared
 * address cannot lock out known users. Nor do they matter for a secret that was right before on the
 * same connection, even if it is revoked since: that client has not guessed it. */
#include "server/auth/auth_throttle.h"

#include <stdio.h>

#include "server/auth/caller.h"
#include "server/conn.h"
#include "server/worker.h"

static const char too_many[] = "Too many wrong tokens or keys came from this address; wait, then "
                               "send the right one.";

/* Their rules, in the order of enum sl_attempt. */
struct sl_ruleset *sl_auth_throttle_rules(const struct sl_identity *identity)
{
    char text[1024];
    struct sl_report report = { .file = "wrong credentials" };
    int len = snprintf(text, sizeof text,
                       "identity: { ipv4_prefix: %u, ipv6_prefix: %u }\n"
                       "rules:\n"
                       "  - { name: sluice.wrong-credentials, resource: /credentials, per: ip,\n"
                       "      algorithm: fixed_window, align: first_request, limit: 10/1m }\n"
                       "  - { name: sluice.wrong-tokens, resource: /tokens, per: [ip, client],\n"
                       "      algorithm: fixed_window, align: first_request, limit: 30/1m }\n"
                       "  - { name: sluice.wrong-keys, resource: /keys, per: [ip, client],\n"
                       "      algorithm: fixed_window, align: first_request, limit: 10/1m }\n",
                       identity->ipv4_prefix, identity->ipv6_prefix);
    struct sl_ruleset *rules =
        sl_ruleset_parse(report.file, (struct sluice_text){ text, (size_t)len }, &report);
    sl_report_release(&report);
    return rules;
}

/* Without an address in the body, all tokens of a peer count together. */
static bool decide_attempt(struct sl_message *message, enum sl_attempt what,
                           struct sluice_request *request)
{
    static const struct sluice_text resources[] = {
        [SL_ATTEMPT_CREDENTIALS] = { "/credentials", 12 },
        [SL_ATTEMPT_TOKENS] = { "/tokens", 7 },
        [SL_ATTEMPT_KEYS] = { "/keys", 5 },
    };
    request->resource = resources[what];
    request->client = sl_text_missing(message->told_ip) ? SL_TEXT("-") : message->told_ip;
    return sl_message_address(message, &request->ip);
}

bool sl_auth_throttle_bar(struct sl_message *message, enum sl_attempt what)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.peek = true;
    if (message->is_familiar)
        return false;
    if (!decide_attempt(message, what, &request))
        return true;
    sl_limiter_decide(message->conn->worker->auth_throttle, &request, &decision);
    if (decision.allowed)
        return false;
    int64_t wait_us = decision.retry_after_us;
    message->call->retry_after_s = wait_us > 0 ? (uint32_t)((wait_us + 999999) / 1000000) : 1;
    sl_message_refuse(message, 429, too_many);
    return true;
}

bool sl_auth_throttle_count(struct sl_message *message, enum sl_attempt what)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    if (message->is_familiar)
        return true;
    if (!decide_attempt(message, what, &request))
        return false;
    sl_limiter_decide(message->conn->worker->auth_throttle, &request, &decision);
    return true;
}

uint64_t sl_auth_throttle_counted(const struct sl_limiter *auth_throttle, enum sl_attempt what)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SL_OUTCOME_COUNT; i++)
        sum += sl_count_read(&sl_limiter_counts(auth_throttle)->by_rule[what][i]);
    return sum;
}
