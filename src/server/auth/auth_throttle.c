/* By rules of our own, on the store of everybody's counts, so that guessing on several
 * servers is guessing once. They are counted by the address that the connection or a
 * trusted proxy names; tokens and keys in a check also by the address in its body, or
 * the bad ones of one user would bar all others of the service that asks. (Whoever makes addresses
 * up there gains signatures to compute, and can bar nobody else.) A token that was verified before
 * is not asked about addresses at all, so that one rude neighbour behind a shared one locks out
 * nobody who is known; nor is a secret that was good on the same connection before, whatever has
 * become of it: who has it has not guessed it. */
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

/* Without a body's address all of a peer's tokens count together. */
static bool ask(struct sl_message *message, enum sl_attempt what, struct sluice_request *request)
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
    if (!ask(message, what, &request))
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
    if (!ask(message, what, &request))
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
