/* Identifying a message's caller. A message may carry a token, an API key, both or neither, and
 * they mean different things on different routes. They are tried in this order:
 *
 *   admin API   the admin's or the reader's token, a tenant's key, this machine
 *   decisions   the admin's token (not on /v1/authorize), a JSON Web Token, a key
 */
#include "server/auth/caller.h"

#include <stdio.h>
#include <strings.h>

#include "base/clock.h"
#include "rules/whitelist.h"
#include "server/auth/auth_throttle.h"
#include "server/auth/local_peer.h"
#include "server/conn.h"
#include "server/worker.h"

static const char twice[] = "`Authorization` or `X-API-Key` is there twice; send one.";

/* ---- refusing ---- */

static bool refuse_caller(struct sl_message *message, uint32_t status, const char *detail)
{
    sl_message_refuse(message, status, detail);
    return false;
}

/* 401: no credentials were sent. */
static bool refuse_unknown(struct sl_message *message, const char *detail)
{
    message->call->authenticate = "Bearer";
    return refuse_caller(message, 401, detail);
}

/* 401: the credentials are wrong. */
static bool refuse_wrong(struct sl_message *message, const char *detail)
{
    message->call->authenticate = "Bearer error=\"invalid_token\"";
    return refuse_caller(message, 401, detail);
}

static bool refuse_token(struct sl_message *message, const char *why)
{
    struct sl_round *round = message->round;
    char text[512];
    snprintf(text, sizeof text, "Bearer error=\"invalid_token\", error_description=\"%s\"", why);
    message->call->authenticate = sl_round_copy(round, sl_text(text));
    snprintf(text, sizeof text, "The token is refused: %s.", why);
    return refuse_caller(message, 401, sl_round_copy(round, sl_text(text)));
}

/* ---- the message's credentials ---- */

static bool is_repeated(const struct sl_http_head *head)
{
    return head->repeated & (1u << SL_HTTP_AUTHORIZATION | 1u << SL_HTTP_X_API_KEY);
}

/* The text after `Bearer `. A null `at`: another scheme, or none. */
static struct sluice_text bearer_token(const struct sl_http_head *head)
{
    struct sluice_text value = head->known[SL_HTTP_AUTHORIZATION];
    if (!value.at || value.len < 6 || strncasecmp(value.at, "Bearer", 6) != 0 ||
        (value.len > 6 && value.at[6] != ' ' && value.at[6] != '\t'))
        return (struct sluice_text){ 0 };
    value.at += 6;
    value.len -= 6;
    while (value.len && (*value.at == ' ' || *value.at == '\t'))
        value.at++, value.len--;
    return value;
}

static enum sl_role role_of(struct sl_message *message, struct sluice_text token)
{
    struct sl_worker *worker = message->conn->worker;
    const struct sl_tokens *tokens = &worker->edition->files->tokens;
    struct sl_digest digest;
    if (!tokens->has_admin && !tokens->has_reader)
        return SL_ROLE_NOBODY;
    sl_sha256_of(worker->hasher, token, &digest);
    return sl_tokens_role(tokens, &digest);
}

/* ---- roles ---- */

static bool role_by_token(struct sl_message *message, enum sl_role *role)
{
    struct sluice_text token = bearer_token(message->head);
    const struct sl_tokens *tokens = &message->conn->worker->edition->files->tokens;
    if (!tokens->has_admin && !tokens->has_reader)
        return refuse_wrong(message, "This server has no admin token; leave `Authorization` out, "
                                     "or set `admin.token_file`.");
    *role = token.at ? role_of(message, token) : SL_ROLE_NOBODY;
    if (*role != SL_ROLE_NOBODY)
        return true;
    return sl_auth_throttle_count(message, SL_ATTEMPT_CREDENTIALS) &&
           refuse_wrong(message, "That is not the admin's token; send `Authorization: Bearer "
                                 "TOKEN`.");
}

static const struct sl_key_owner *owner_of(struct sl_message *message, struct sl_digest *digest)
{
    struct sl_worker *worker = message->conn->worker;
    sl_sha256_of(worker->hasher, message->head->known[SL_HTTP_X_API_KEY], digest);
    return sl_keyring_find(worker->edition->keyring, digest);
}

static bool role_by_key(struct sl_message *message, enum sl_role *role,
                        const struct sl_key_owner **owner)
{
    struct sl_digest digest;
    *owner = owner_of(message, &digest);
    *role = SL_ROLE_TENANT;
    if (*owner)
        return true;
    return sl_auth_throttle_count(message, SL_ATTEMPT_CREDENTIALS) &&
           refuse_unknown(message, "No tenant has that API key.");
}

bool sl_caller_role(struct sl_message *message, enum sl_role *role,
                    const struct sl_key_owner **owner)
{
    const struct sl_http_head *head = message->head;
    *owner = NULL;
    if (is_repeated(head))
        return refuse_caller(message, 400, twice);
    bool has_token = head->known[SL_HTTP_AUTHORIZATION].at;
    bool has_key = head->known[SL_HTTP_X_API_KEY].at;
    if (has_token || has_key) {
        if (sl_auth_throttle_bar(message, SL_ATTEMPT_CREDENTIALS))
            return false;
        return has_token ? role_by_token(message, role) : role_by_key(message, role, owner);
    }
    if (message->conn->worker->edition->files->tokens.has_admin)
        return refuse_unknown(message, "This needs the admin's token (`Authorization: Bearer "
                                       "TOKEN`) or a tenant's key (`X-API-Key`).");
    const char *why = sl_message_not_local(message);
    if (why)
        return refuse_caller(message, 403, why);
    *role = SL_ROLE_ADMIN;
    return true;
}

/* ---- identity ---- */

/* Copies the verifier's values, which last until its next token, into the round's memory. */
static bool keep_values(struct sl_message *message, struct sl_token *token)
{
    size_t bytes = 0;
    for (size_t i = 0; i < token->count; i++)
        bytes += token->values[i].len;
    struct sluice_text *values =
        sl_round_take(message->round, token->count * sizeof *values + bytes + 1);
    if (!values)
        return refuse_caller(message, 500, NULL);
    char *at = (char *)(values + token->count);
    for (size_t i = 0; i < token->count; i++) {
        struct sluice_text value = token->values[i];
        values[i] = (struct sluice_text){ value.at ? at : NULL, value.len };
        if (value.len)
            memcpy(at, value.at, value.len);
        at += value.len;
    }
    token->values = values;
    return true;
}

static bool verify_token(struct sl_message *message, struct sluice_text text, struct sl_caller *out)
{
    struct sl_worker *worker = message->conn->worker;
    int64_t now_us = sl_walltime_us();
    const char *why;
    out->has_token = sl_verifier_known(worker->verifier, text, now_us, &out->token);
    if (!out->has_token) {
        if (sl_auth_throttle_bar(message, SL_ATTEMPT_TOKENS))
            return false;
        out->has_token = sl_verifier_check(worker->verifier, text, now_us, &out->token, &why);
    }
    if (out->has_token)
        return keep_values(message, &out->token);
    return sl_auth_throttle_count(message, SL_ATTEMPT_TOKENS) && refuse_token(message, why);
}

bool sl_caller_is_exempt(const struct sl_message *message, struct sluice_text digest)
{
    int64_t until_us = sl_whitelist_api_key_us(message->round->rules->whitelist, digest);
    return until_us == SL_EXEMPT_ALWAYS || sl_walltime_us() < until_us;
}

/* The key's digest is an attribute, of any key; a tenant's key makes the tenant known. An unknown
 * key may be meant for the service behind us, unless there are tenants here. */
static bool find_key_owner(struct sl_message *message, struct sl_caller *out)
{
    const struct sl_keyring *ring = message->conn->worker->edition->keyring;
    struct sl_digest digest;
    char *hex = sl_round_take(message->round, SL_DIGEST_HEX + 1);
    if (!hex)
        return refuse_caller(message, 500, NULL);
    out->owner = owner_of(message, &digest);
    sl_digest_print(&digest, hex);
    out->api_key = (struct sluice_text){ hex, SL_DIGEST_HEX };
    bool knows_keys = sl_keyring_has_tenants(ring) || out->mapping->api_keys_required;
    if (out->owner || out->is_admin || !knows_keys || sl_caller_is_exempt(message, out->api_key))
        return true;
    if (sl_auth_throttle_bar(message, SL_ATTEMPT_KEYS))
        return false;
    return sl_auth_throttle_count(message, SL_ATTEMPT_KEYS) &&
           refuse_unknown(message, "No tenant has that API key.");
}

static bool is_known(const struct sl_caller *caller)
{
    return caller->is_admin || caller->owner || caller->has_token;
}

/* Without credentials: why the message must be refused. NULL: it need not be. */
static const char *why_not_anonymous(const struct sl_message *message,
                                     const struct sl_identity *identity,
                                     const struct sl_caller *caller)
{
    if (identity->jwt.on && identity->jwt.required && !caller->has_token && !caller->is_admin)
        return "This needs a token: `Authorization: Bearer TOKEN`.";
    if (!identity->api_keys_required || message->is_authorize || is_known(caller))
        return NULL;
    bool has_tokens = message->conn->worker->edition->files->tokens.has_admin;
    if (!has_tokens && !sl_message_not_local(message))
        return NULL;
    return "This needs an API key (`X-API-Key`) or a token (`Authorization: Bearer TOKEN`).";
}

static bool check_required(struct sl_message *message, const struct sl_identity *identity,
                           struct sl_caller *out)
{
    const char *detail = why_not_anonymous(message, identity, out);
    return !detail || refuse_unknown(message, detail);
}

bool sl_caller_must_say(const struct sl_message *message)
{
    const struct sl_files *files = message->conn->worker->edition->files;
    return why_not_anonymous(message, &files->settings_of->settings.identity,
                             &(struct sl_caller){ 0 });
}

bool sl_caller_has_parts(struct sluice_text token)
{
    size_t dots = 0;
    for (size_t i = 0; i < token.len; i++)
        dots += token.at[i] == '.';
    return dots == 2;
}

/* With the admin's token on a check, the admin speaks. Wrong tokens here are counted as on the
 * admin API; where no token is configured, there is nothing to guess. */
static bool check_admin_token(struct sl_message *message, struct sluice_text token,
                              struct sl_caller *out)
{
    const struct sl_files *files = message->conn->worker->edition->files;
    if (sl_auth_throttle_bar(message, SL_ATTEMPT_CREDENTIALS))
        return false;
    enum sl_role role = role_of(message, token);
    out->is_admin = role == SL_ROLE_ADMIN;
    if (out->is_admin || (!files->keyset && !out->mapping->api_keys_required))
        return true;
    if (role == SL_ROLE_READER)
        return refuse_caller(message, 403, "That token may only look; this call takes something.");
    return sl_auth_throttle_count(message, SL_ATTEMPT_CREDENTIALS) &&
           refuse_wrong(message, "That token is neither the admin's nor a JSON Web Token.");
}

static bool check_authorization(struct sl_message *message, struct sl_caller *out)
{
    const struct sl_files *files = message->conn->worker->edition->files;
    struct sluice_text token = bearer_token(message->head);
    if (!token.at)
        return true; /* another scheme than Bearer */
    bool has_tokens = files->tokens.has_admin || files->tokens.has_reader;
    if (has_tokens && !message->is_authorize && !(files->keyset && sl_caller_has_parts(token)))
        return check_admin_token(message, token, out);
    return !files->keyset || verify_token(message, token, out);
}

bool sl_caller_identify(struct sl_message *message, struct sl_caller *out)
{
    const struct sl_http_head *head = message->head;
    const struct sl_files *files = message->conn->worker->edition->files;
    const struct sl_identity *identity = &files->settings_of->settings.identity;
    bool has_token = head->known[SL_HTTP_AUTHORIZATION].at;
    bool has_key = head->known[SL_HTTP_X_API_KEY].at;
    out->is_anybody = !has_token && !has_key; /* as most: nothing else is read then */
    out->is_admin = out->has_token = false;
    out->owner = NULL;
    out->api_key.at = NULL;
    out->mapping = identity;
    if (out->is_anybody && !identity->jwt.required && !identity->api_keys_required)
        return true;
    *out = (struct sl_caller){ .mapping = identity, .is_anybody = out->is_anybody };
    if (is_repeated(head))
        return refuse_caller(message, 400, twice);
    if (has_token && !check_authorization(message, out))
        return false;
    if (has_key && !find_key_owner(message, out))
        return false;
    out->is_anybody = !out->api_key.at && !out->has_token;
    return check_required(message, identity, out);
}
