/* AUTH. A password is the secret that HTTP has in a header: a tenant's API key (`X-API-Key`), or
 * the admin's token or a JSON Web Token (`Authorization: Bearer`). The user's name beside it is
 * ignored.
 *
 * The secret is kept while the connection lasts, and every command that counts for a user or tenant
 * checks it again: a key that is revoked, or a token that expires, is refused from then on. */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "rules/whitelist.h"
#include "server/auth/auth_throttle.h"
#include "server/auth/caller.h"
#include "server/resp/resp.h"
#include "server/worker.h"

enum { SECRET_MAX_BYTES = 16 << 10 };

static const struct sluice_text bearer = SL_TEXT("Bearer ");

/* ---- the session's secret ---- */

static struct sluice_text password_of(const struct sl_resp_session *session)
{
    return (struct sluice_text){ session->secret + bearer.len, session->secret_len - bearer.len };
}

/* Writes it as HTTP has it. */
static void write_head(struct sl_resp_ask *ask)
{
    const struct sl_resp_session *session = ask->session;
    struct sl_http_head *head = &ask->head;
    struct sluice_text secret = { session->secret, session->secret_len }, none = { 0 };
    memset(head->known, 0, sizeof head->known);
    if (session->secret && session->is_token)
        head->known[SL_HTTP_AUTHORIZATION] = secret;
    else if (session->secret)
        head->known[SL_HTTP_X_API_KEY] = password_of(session);
    /* As a local client: the parser refuses what browsers send, see wire/resp/resp.c. */
    head->known[SL_HTTP_HOST] = SL_TEXT("127.0.0.1");
    head->repeated = 0;
    head->field_count = 0;
    head->is_1_0 = false;
    head->query = none;
}

void sl_resp_know(struct sl_resp_ask *ask)
{
    write_head(ask);
    ask->message.is_familiar = ask->session->secret;
}

static void wipe_secret(char *secret, size_t len)
{
    if (secret)
        OPENSSL_cleanse(secret, len);
    free(secret);
}

void sl_resp_forget(struct sl_resp_session *session)
{
    wipe_secret(session->secret, session->secret_len);
    session->secret = NULL;
    session->secret_len = 0;
    session->is_token = false;
}

/* ---- which passwords there are ---- */

static const struct sl_edition *edition_of(const struct sl_resp_ask *ask)
{
    return ask->message.conn->worker->edition;
}

static bool has_roles(const struct sl_edition *edition)
{
    return edition->files->tokens.has_admin || edition->files->tokens.has_reader;
}

static bool has_keys(const struct sl_edition *edition)
{
    return sl_keyring_has_tenants(edition->keyring) ||
           edition->files->settings_of->settings.identity.api_keys_required ||
           sl_whitelist_has_api_keys(edition->rules->whitelist);
}

static bool has_passwords(const struct sl_edition *edition)
{
    return has_roles(edition) || edition->files->keyset || has_keys(edition);
}

/* ---- what a password is ---- */

struct password {
    struct sluice_text text;
    enum sl_role role; /* the role; SL_ROLE_TENANT: a known key, exempt ones too */
    bool is_jwt;       /* it looks like one */
};

static bool is_known_key(const struct sl_resp_ask *ask, const struct sl_digest *digest)
{
    char hex[SL_DIGEST_HEX + 1];
    sl_digest_print(digest, hex);
    return sl_keyring_find(edition_of(ask)->keyring, digest) ||
           sl_caller_is_exempt(&ask->message, (struct sluice_text){ hex, SL_DIGEST_HEX });
}

static struct password look_up(const struct sl_resp_ask *ask, struct sluice_text text)
{
    const struct sl_files *files = edition_of(ask)->files;
    struct sl_digest digest;
    sl_sha256_of(ask->message.conn->worker->hasher, text, &digest);
    struct password password = { text, .role = sl_tokens_role(&files->tokens, &digest) };
    if (is_known_key(ask, &digest))
        password.role = SL_ROLE_TENANT;
    password.is_jwt = password.role == SL_ROLE_NOBODY && files->keyset && sl_caller_has_parts(text);
    return password;
}

/* An unknown password counts as a wrong key where there are keys, so that clients with wrong keys
 * do not use up the attempts at the admin's token. */
static bool is_token(const struct sl_resp_ask *ask, const struct password *password)
{
    return password->role == SL_ROLE_ADMIN || password->is_jwt ||
           (password->role == SL_ROLE_NOBODY && !has_keys(edition_of(ask)));
}

/* ---- checking ---- */

static bool refuse_password(struct sl_resp_ask *ask, uint32_t status, const char *detail)
{
    sl_message_refuse(&ask->message, status, detail);
    return false;
}

/* After too many wrong passwords the right one is refused too, or it would be found by going on.
 * Over HTTP every request has a key, and right ones must pass; here a key is sent once. JSON Web
 * Tokens cannot be guessed, and cost us only signature checks: verify_token in caller.c limits
 * them. */
static bool is_barred(struct sl_resp_ask *ask, const struct password *password)
{
    if (password->is_jwt)
        return false;
    bool may_be_admins = password->role != SL_ROLE_TENANT && has_roles(edition_of(ask));
    return sl_auth_throttle_bar(&ask->message, SL_ATTEMPT_KEYS) ||
           (may_be_admins && sl_auth_throttle_bar(&ask->message, SL_ATTEMPT_CREDENTIALS));
}

static bool is_the_same(const struct sl_resp_session *session, struct sluice_text password)
{
    return session->secret && session->secret_len == bearer.len + password.len &&
           CRYPTO_memcmp(password_of(session).at, password.at, password.len) == 0;
}

/* Replaces the session's secret; the caller keeps the old one. Returns false without memory. */
static bool replace_secret(struct sl_resp_ask *ask, const struct password *password)
{
    struct sl_resp_session *session = ask->session;
    struct sluice_text text = password->text;
    char *secret = malloc(bearer.len + text.len);
    if (!secret)
        return false;
    memcpy(mempcpy(secret, bearer.at, bearer.len), text.at, text.len);
    session->secret = secret;
    session->secret_len = bearer.len + text.len;
    session->is_token = is_token(ask, password);
    write_head(ask);
    return true;
}

/* HTTP lets a token or key pass where none is configured; AUTH must not, as it claims to be one. */
static bool is_right(struct sl_resp_ask *ask, const struct password *password)
{
    struct sl_caller caller;
    if (!sl_caller_identify(&ask->message, &caller))
        return false;
    if (password->role == SL_ROLE_TENANT || caller.is_admin || caller.has_token)
        return true;
    bool was_token = ask->session->is_token;
    return sl_auth_throttle_count(&ask->message,
                                  was_token ? SL_ATTEMPT_CREDENTIALS : SL_ATTEMPT_KEYS) &&
           refuse_password(ask, 401, NULL);
}

static bool try_password(struct sl_resp_ask *ask, const struct password *password)
{
    struct sl_resp_session *session = ask->session, old = *session;
    if (is_barred(ask, password))
        return false;
    if (password->role == SL_ROLE_READER)
        return refuse_password(ask, 403,
                               "That token may only look, over HTTP; here it takes the admin's, "
                               "or an API key.");
    if (!replace_secret(ask, password))
        return refuse_password(ask, 500, NULL);
    if (!is_right(ask, password)) { /* a failed AUTH leaves the session as it was */
        wipe_secret(session->secret, session->secret_len);
        session->secret = old.secret;
        session->secret_len = old.secret_len;
        session->is_token = old.is_token;
        return false;
    }
    wipe_secret(old.secret, old.secret_len);
    return true;
}

/* Where there are no passwords, Redis accepts any for the user `default`, if it is named; and
 * clients are often configured so. */
static bool believe_default(struct sl_resp_ask *ask, struct sluice_text user)
{
    if (!sl_text_is(user, "default")) {
        sl_resp_fail(ask, "ERR",
                     "AUTH <password> called without any password configured for the default "
                     "user. Are you sure your configuration is correct?");
        return false;
    }
    sl_resp_forget(ask->session);
    sl_resp_know(ask);
    return true;
}

bool sl_resp_believe(struct sl_resp_ask *ask, struct sluice_text user, struct sluice_text text)
{
    ask->message.call->form |= SL_RESP_AUTH;
    if (!has_passwords(edition_of(ask)))
        return believe_default(ask, user);
    if (text.len == 0 || text.len > SECRET_MAX_BYTES)
        return refuse_password(ask, 401, NULL);
    struct password password = look_up(ask, text);
    ask->message.is_familiar = is_the_same(ask->session, text);
    bool is_believed = try_password(ask, &password);
    sl_resp_know(ask);
    return is_believed;
}
