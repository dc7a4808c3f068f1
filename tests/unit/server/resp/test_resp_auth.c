/* The caller of a command: passwords that are keys and tokens, unknown keys, and guesses. */
#include "unit/server/on_resp.h"

#define WRONG  "-WRONGPASS invalid username-password pair or user is disabled.|"
#define NOAUTH "-NOAUTH Authentication required.|"
#define READER                                                                                     \
    "-NOPERM That token may only look, over HTTP; here it takes the admin's, or an API key.|"
#define STALE                                                                                      \
    "-NOAUTH This connection's password is not good for this, or not any more. AUTH again.|"

static const char *password_of(const char *claims)
{
    static char line[2100];
    const char *field = jwt(claims); /* "Authorization: Bearer TOKEN\r\n" */
    snprintf(line, sizeof line, "AUTH any %.*s", (int)strcspn(field + 22, "\r"), field + 22);
    return line;
}

/* ---- believing ---- */

static const char all[] = WITH_TOKENS IDENTITY(WITH_JWT(CLAIMS)) SOME_RULES;
static const char required[] = IDENTITY("api_keys: required") SOME_RULES;
static const char keys_and_token[] = WITH_TOKENS IDENTITY("api_keys: required") SOME_RULES;
static const char token[] = IDENTITY(WITH_JWT(", required: true" CLAIMS)) SOME_RULES;

RESP_WITH_TENANTS(keys_and_tokens_are_passwords, all)
{
    static const struct talk rows[] = {
        { "AUTH sk_acme", "+OK|" },
        { "AUTH default sk_bolt", "+OK|" },
        { "AUTH " ADMIN_TOKEN, "+OK|" },
        { "HELLO 2 AUTH default sk_acme SETNAME me",
          "*14|$6|server|$5|redis|$7|version|$6|7.0.15|$5|proto|:2|$2|id|:1|$4|mode|$10|standalone|"
          "$4|role|$6|master|$7|modules|*0|" },
        { "AUTH sk_unknown", WRONG },
        { "AUTH ''", WRONG },
        { "HELLO 3 AUTH default sk_unknown", WRONG },
        { "CLIENT GETNAME", "$2|me|" }, /* in RESP2 still */
        { "AUTH " READER_TOKEN, READER },
    };
    check_talk(rows, COUNT(rows));
    assert_string_equal(told(password_of("{\"sub\":\"u1\",\"exp\":9999999999}")), "+OK|");
    assert_string_equal(told(password_of("{\"sub\":\"u1\",\"exp\":1}")), WRONG);
}

/* A password that is refused changes nothing. */
RESP_WITH_TENANTS(an_authenticated_connection_stays_so, keys_and_token)
{
    assert_string_equal(told("AUTH sk_acme"), "+OK|");
    assert_string_equal(told("AUTH sk_unknown"), WRONG);
    assert_string_equal(told("PING"), "+PONG|");
    assert_string_equal(told("RESET"), "+RESET|");
    assert_string_equal(told("PING"), NOAUTH);
}

/* ---- strangers ---- */

RESP_WITH_TENANTS(strangers_may_say_little, required)
{
    static const struct talk rows[] = {
        { "PING", NOAUTH },
        { "CL.THROTTLE a 1 1 1", NOAUTH },
        { "SLUICE.CHECK user a", NOAUTH },
        { "SLUICE.PEEK user a", NOAUTH },
        { "SLUICE.RESET user a", NOAUTH },
        { "INFO", NOAUTH },
        { "COMMAND", NOAUTH },
        { "CLIENT ID", NOAUTH },
        { "CONFIG GET save", NOAUTH },
        { "HELLO 3", NOAUTH },
        { "RESET", "+RESET|" },
        { "nonsense", "-ERR unknown command 'nonsense', with args beginning with: |" },
        { "ECHO", "-ERR wrong number of arguments for 'echo' command|" },
        { "AUTH sk_acme", "+OK|" },
        { "PING", "+PONG|" },
    };
    check_talk(rows, COUNT(rows));
    speak_resp("192.0.2.1");
    assert_string_equal(said("QUIT\r\n"), "+OK|");
}

RESP_WITH_TENANTS(strangers_have_little_room, keys_and_token)
{
    assert_string_equal(said("*11\r\n"), "-ERR Protocol error: unauthenticated multibulk length|");
    assert_true(visitor.conn->is_finished);
    speak_resp("192.0.2.1");
    assert_string_equal(said("*2\r\n$4\r\nECHO\r\n$16385\r\n"),
                        "-ERR Protocol error: unauthenticated bulk length|");
    speak_resp("192.0.2.1");
    assert_string_equal(said("AUTH sk_acme\r\n*11\r\n"), "+OK|");
    assert_false(visitor.conn->is_finished);
}

/* Where no admin's token is, this machine is believed, as over HTTP. */
RESP_WITH_TENANTS(this_machine_is_no_stranger, required)
{
    assert_string_equal(told("PING"), NOAUTH);
    speak_resp("127.0.0.1");
    assert_string_equal(told("PING"), "+PONG|");
    assert_string_equal(said("*11\r\n"), "");
    assert_false(visitor.conn->is_finished);
    speak_resp(NULL);
    assert_string_equal(told("PING"), "+PONG|");
}

RESP_WITH_TENANTS(a_token_that_is_required_is_not_replaced_by_a_key, token)
{
    assert_string_equal(told("AUTH sk_acme"), WRONG);
    assert_string_equal(told("PING"), NOAUTH);
    assert_string_equal(told(password_of("{\"sub\":\"u1\",\"exp\":9999999999}")), "+OK|");
    check_has("SLUICE.CHECK resource /", "$7|allowed|:1|");
}

/* ---- credentials that go ---- */

RESP_WITH_TENANTS(a_key_that_is_taken_back_is_refused_from_then_on, required)
{
    assert_string_equal(told("AUTH sk_acme"), "+OK|");
    check_has("SLUICE.CHECK user a", "$7|allowed|:1|");
    stage_go_over(&stage, stage_edition(*fixture, &model.store, 1));
    assert_string_equal(told("SLUICE.CHECK user a"), STALE);
    assert_string_equal(told("CL.THROTTLE a 1 1 1"), STALE);
    assert_string_equal(told("RESET"), "+RESET|");
    assert_string_equal(told("SLUICE.CHECK user a"), NOAUTH);
}

static uint64_t counted(enum sl_attempt what)
{
    return sl_auth_throttle_counted(stage.workers[0].auth_throttle, what);
}

static void check_many_times(const char *line, const char *answer)
{
    for (int i = 0; i < 40; i++)
        assert_string_equal(told(line), answer);
}

/* A pool that goes on with it bars no client, neither over HTTP. */
RESP_WITH_TENANTS(a_key_that_was_good_is_no_guess, keys_and_token)
{
    assert_string_equal(told("AUTH sk_acme"), "+OK|");
    stage_go_over(&stage, stage_edition(*fixture, &model.store, 1));
    check_many_times("SLUICE.CHECK user a", STALE);
    check_many_times("SLUICE.RESET user a", STALE);
    check_many_times("AUTH sk_acme", WRONG);
    assert_int_equal(counted(SL_ATTEMPT_KEYS) + counted(SL_ATTEMPT_CREDENTIALS), 0);
    assert_string_equal(told("AUTH sk_acme2"), WRONG);
    assert_int_equal(counted(SL_ATTEMPT_KEYS) + counted(SL_ATTEMPT_CREDENTIALS), 1);
    speak_resp("192.0.2.1"); /* the first AUTH of a connection may be a guess */
    assert_string_equal(told("AUTH sk_acme"), WRONG);
    assert_int_equal(counted(SL_ATTEMPT_KEYS) + counted(SL_ATTEMPT_CREDENTIALS), 2);
}

#define REQUIRED_OF(more) IDENTITY(WITH_JWT(", required: true" CLAIMS more)) SOME_RULES

RESP_WITH_TENANTS(a_token_that_was_good_is_no_guess, REQUIRED_OF(""))
{
    char line[2100];
    strcpy(line, password_of("{\"sub\":\"u1\",\"exp\":9999999999}"));
    assert_string_equal(told(line), "+OK|");
    stage_go_over(&stage,
                  stage_edition(in_this_folder(REQUIRED_OF(", audience: a")), &model.store, 1));
    check_many_times("SLUICE.CHECK resource /",
                     "-NOAUTH The token is refused: the token has no aud. AUTH again.|");
    check_many_times("SLUICE.RESET user a", STALE); /* which takes the admin's */
    check_many_times(line, WRONG);
    assert_int_equal(counted(SL_ATTEMPT_TOKENS) + counted(SL_ATTEMPT_CREDENTIALS), 0);
    assert_string_equal(told(password_of("{\"aud\":\"a\",\"exp\":9999999999}")), "+OK|");
    check_has("SLUICE.CHECK resource /", "$7|allowed|:1|");
}

/* ---- the reader ---- */

/* It is right, and good for nothing here. */
RESP_WITH_TENANTS(the_token_that_may_only_look_is_no_guess, WITH_TOKENS SOME_RULES)
{
    check_many_times("AUTH " READER_TOKEN, READER);
    assert_int_equal(counted(SL_ATTEMPT_KEYS) + counted(SL_ATTEMPT_CREDENTIALS), 0);
    assert_string_equal(told("AUTH " ADMIN_TOKEN), "+OK|");
    assert_string_equal(told("AUTH " READER_TOKEN), READER);
    check_has("SLUICE.CHECK user a", "$7|allowed|:1|");
}

/* Other connections' failed attempts do not concern an authenticated one. */
RESP_WITH_TENANTS(an_authenticated_connection_is_not_barred, keys_and_token)
{
    assert_string_equal(told("AUTH " ADMIN_TOKEN), "+OK|");
    for (int i = 0; i < 10; i++)
        assert_string_equal(told("AUTH guess"), WRONG);
    check_has("AUTH guess", "-ERR Too many wrong tokens or keys came from this address");
    check_has("SLUICE.CHECK user a", "$7|allowed|:1|");
    assert_string_equal(told("AUTH " ADMIN_TOKEN), "+OK|");
    speak_resp("192.0.2.1");
    check_has("AUTH " ADMIN_TOKEN, "-ERR Too many wrong tokens or keys came from this address");
}

/* ---- guessing ---- */

static void check_guesses(const char *wrong, size_t most)
{
    for (size_t i = 0; i < most; i++)
        assert_string_equal(told(wrong), WRONG);
    assert_string_equal(told(wrong), "-ERR Too many wrong tokens or keys came from this address; "
                                     "wait, then send the right one.|");
    speak_resp("192.0.2.1");
    assert_string_equal(told(wrong), "-ERR Too many wrong tokens or keys came from this address; "
                                     "wait, then send the right one.|");
    speak_resp("192.0.2.2");
    assert_string_equal(told(wrong), WRONG);
}

RESP_WITH_TENANTS(a_client_that_guesses_keys_is_limited, SOME_RULES)
{
    check_guesses("AUTH sk_guess", 10);
}

#define TOO_MANY                                                                                   \
    "-ERR Too many wrong tokens or keys came from this address; wait, then send the right one.|"

/* Whatever is sent then; and the admin, over HTTP, is not affected. */
RESP_WITH_TENANTS(wrong_keys_are_no_attempts_at_the_token_of_the_admin, WITH_TOKENS SOME_RULES)
{
    for (int i = 0; i < 10; i++)
        assert_string_equal(told("AUTH sk_guess"), WRONG);
    static const struct talk rows[] = {
        { "AUTH sk_guess", TOO_MANY },
        { "AUTH sk_acme", TOO_MANY },
        { "AUTH " ADMIN_TOKEN, TOO_MANY },
        { "AUTH " READER_TOKEN, TOO_MANY },
    };
    check_talk(rows, COUNT(rows));
    assert_int_equal(counted(SL_ATTEMPT_KEYS), 10);
    assert_int_equal(counted(SL_ATTEMPT_CREDENTIALS), 0);
}

/* Where there are no keys it is the admin's token that is guessed, */
RESP_WITH_TENANTS(wrong_tokens_are_attempts_at_the_token_of_the_admin, SOME_RULES)
{
    stage_go_over(&stage, stage_edition(in_this_folder(WITH_TOKENS SOME_RULES), &model.store, 1));
    check_guesses("AUTH guess", 10);
    assert_int_equal(counted(SL_ATTEMPT_CREDENTIALS), 11);
    speak_resp("192.0.2.1");
    assert_string_equal(told("AUTH " ADMIN_TOKEN), TOO_MANY);
    assert_string_equal(told("AUTH " READER_TOKEN), TOO_MANY);
}

/* and where the only keys are exempt, these. */
RESP_WITH_TENANTS(keys_that_are_exempt_are_guessed_too, SOME_RULES)
{
    char yaml[512], hex[SL_DIGEST_HEX + 1];
    struct sl_digest digest = digest_of("sk_free");
    sl_digest_print(&digest, hex);
    snprintf(yaml, sizeof yaml, "exempt: { api_keys: [%s] }\n" SOME_RULES, hex);
    stage_go_over(&stage, stage_edition(yaml, &model.store, 1));
    assert_string_equal(told("AUTH sk_free"), "+OK|");
    check_has("SLUICE.CHECK user a", "$6|reason|$6|exempt|");
    check_guesses("AUTH sk_guess", 10);
    assert_int_equal(counted(SL_ATTEMPT_KEYS), 11);
    speak_resp("192.0.2.1");
    assert_string_equal(told("AUTH sk_free"), TOO_MANY);
}

RESP_WITH_TENANTS(a_client_that_guesses_tokens_is_limited, token)
{
    check_guesses("AUTH a.b.c", 30);
}

/* ---- without keys and tokens ---- */

IN_RESP(a_password_where_none_is_configured_is_refused, SOME_RULES)
{
    check_has("AUTH sk_acme", "-ERR AUTH <password> called without any password configured");
    check_has("HELLO 3 AUTH a b", "-ERR AUTH <password> called without any password configured");
    check_has("AUTH Default b", "-ERR AUTH <password> called without any password configured");
    assert_string_equal(told("PING"), "+PONG|");
}

/* As Redis does: a client that was configured with one works. */
IN_RESP(the_default_user_needs_no_password, SOME_RULES)
{
    assert_string_equal(told("AUTH default anything"), "+OK|");
    assert_string_equal(told("AUTH default ''"), "+OK|");
    check_has("HELLO 3 AUTH default anything", "%7|$6|server|");
    assert_string_equal(told("PING"), "+PONG|");
}

/* Where there are passwords it is a user like any other. */
RESP_WITH_TENANTS(the_default_user_needs_the_password_there_is, SOME_RULES)
{
    assert_string_equal(told("AUTH default anything"), WRONG);
    assert_string_equal(told("AUTH default sk_acme"), "+OK|");
    stage_go_over(&stage, stage_edition(*fixture, &model.store, 1)); /* no tenants: no passwords */
    check_has("AUTH sk_acme", "-ERR AUTH <password> called without any password configured");
    assert_string_equal(told("AUTH default anything"), "+OK|");
    check_has("SLUICE.CHECK user a tenant bolt", "$7|allowed|:1|");
}

RESP_WITH_TENANTS(the_token_that_may_only_look_is_no_guess_also_so, keys_and_token)
{
    the_token_that_may_only_look_is_no_guess(fixture);
}

RESP_WITH_TENANTS(a_client_that_guesses_keys_beside_tokens_is_limited, keys_and_token)
{
    a_client_that_guesses_keys_is_limited(fixture);
}
