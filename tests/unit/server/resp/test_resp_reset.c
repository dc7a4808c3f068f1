/* SLUICE.RESET works as POST /v1/reset: the roles it needs, its rules, and when it is answered. */
#include "unit/server/on_resp.h"

#define TWO                                                                                        \
    "rules: [{ name: api, per: user, algorithm: token_bucket, capacity: 1, refill_rate: 1 },\n"    \
    "        { name: all, resource: /x, per: user, limit: 5/h }]\n"

RESP_AT_CONTROL(counts_are_forgotten, TWO)
{
    check_has("SLUICE.CHECK user a resource /x", "$7|allowed|:1|");
    check_has("SLUICE.CHECK user a resource /x", "$7|allowed|:0|");
    assert_string_equal(told("SLUICE.RESET user a resource /x"), "*2|$3|api|$3|all|");
    check_has("SLUICE.CHECK user a resource /x", "$7|allowed|:1|");
    assert_string_equal(told("sluice.reset rule api user a"), "*1|$3|api|");
    check_has("SLUICE.CHECK user a resource /x", "$7|allowed|:1|");
    assert_string_equal(told("SLUICE.RESET ip 192.0.2.1"), "*0|");
}

RESP_AT_CONTROL(what_cannot_be_is_an_error, TWO)
{
    static const struct talk rows[] = {
        { "SLUICE.RESET user", "-ERR wrong number of arguments for 'sluice.reset' command|" },
        { "SLUICE.RESET", "-ERR wrong number of arguments for 'sluice.reset' command|" },
        { "SLUICE.RESET rule none user a", "-ERR There is no rule `none`.|" },
        { "SLUICE.RESET rule api ip 192.0.2.1",
          "-ERR Rule `api` counts by something that is not given.|" },
        { "SLUICE.RESET user a user b", "-ERR `user` is given twice.|" },
        { "SLUICE.RESET user \"\\xff\"",
          "-ERR A name or a value is no UTF-8, or all are too long.|" },
    };
    check_talk(rows, COUNT(rows));
}

RESP_AT_CONTROL(the_connection_waits_for_its_answer, TWO)
{
    desk.is_away = true;
    assert_string_equal(said("SLUICE.RESET user a\r\nPING\r\n"), "");
    assert_non_null(visitor.conn->job);
    desk.is_away = false;
    visitor_turn(&visitor);
    assert_string_equal(got(), "*1|$3|api|+PONG|");
}

/* The main thread may be done before this one's round is. */
RESP_AT_CONTROL(what_was_asked_before_is_forgotten_too, TWO)
{
    char said[1024];
    size_t len = array_text("SLUICE.CHECK user a", said, sizeof said);
    len += array_text("SLUICE.RESET user a", said + len, sizeof said - len);
    visitor_put(&visitor, (struct sluice_text){ said, len });
    visitor_read(&visitor);
    assert_true(desk_work(&stage));
    sl_round_finish(the_round());
    stage_wakes(visitor.conn->worker);
    visitor_turn(&visitor);
    assert_non_null(strstr(got(), "*1|$3|api|"));
    check_has("SLUICE.PEEK user a", "$9|remaining|:1|");
}

RESP_AT_CONTROL(the_form_is_that_of_the_question, TWO)
{
    told("HELLO 3");
    assert_string_equal(told("SLUICE.RESET user a"), "*1|$3|api|");
    assert_string_equal(told("SLUICE.RESET rule none user a"), "-ERR There is no rule `none`.|");
}

/* ---- roles ---- */

RESP_AT_CONTROL(without_a_token_only_this_machine_may, TWO)
{
    speak_resp("192.0.2.1");
    check_has("SLUICE.RESET user a",
              "-NOPERM Without an admin token only this machine is answered");
    speak_resp(NULL);
    assert_string_equal(told("SLUICE.RESET user a"), "*1|$3|api|");
}

/* A page of a browser on this machine chooses a method and a path, no more. */
RESP_AT_CONTROL(a_page_may_not, TWO)
{
    assert_string_equal(said("SLUICE.RESET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "");
    assert_true(visitor.conn->is_finished && !visitor.conn->job);
}

RESP_WITH_TENANTS(with_a_token_the_admin_and_tenants_may, WITH_TOKENS SOME_RULES)
{
    desk.is_away = false;
    speak_resp("127.0.0.1");
    assert_string_equal(told("SLUICE.RESET user a"), "-NOAUTH Authentication required.|");
    assert_string_equal(told("AUTH " ADMIN_TOKEN), "+OK|");
    assert_string_equal(told("SLUICE.RESET user a"), "*1|$3|all|");
    assert_string_equal(told("AUTH sk_acme"), "+OK|");
    assert_string_equal(told("SLUICE.RESET user a"), "*0|"); /* it has no rules of its own */
    assert_string_equal(told("SLUICE.RESET user a tenant bolt"),
                        "-NOPERM This key is another tenant's.|");
    assert_string_equal(told("PING"), "+PONG|");
}
