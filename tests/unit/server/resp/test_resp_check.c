/* SLUICE.CHECK and SLUICE.PEEK: what becomes of the words, and of the decision. */
#include "unit/server/on_resp.h"

#define BUCKET "{ name: api, per: user, algorithm: token_bucket, capacity: 3, refill_rate: 1 }"
#define RULES  "tiers: { pro: { scale: 10 } }\nrules: [" BUCKET "]\n"
#define QUEUE                                                                                      \
    "rules: [{ name: queue, per: user, algorithm: leaky_bucket, capacity: 4, refill_rate: 1 }]\n"

/* The value behind a name, in RESP2. */
static const char *value(const char *answer, const char *name)
{
    static char text[128];
    char wanted[64];
    snprintf(wanted, sizeof wanted, "$%zu|%s|", strlen(name), name);
    const char *at = strstr(answer, wanted);
    if (!at)
        fail_msg("no %s in %s", name, answer);
    at += strlen(wanted);
    if (*at == '$' && at[1] != '-')
        at = strchr(at, '|') + 1;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "|"), at);
    return text;
}

static void check_value(const char *line, const char *name, const char *wanted)
{
    const char *found = value(told(line), name);
    if (strcmp(found, wanted) != 0)
        fail_msg("%s: %s is %s, not %s", line, name, found, wanted);
}

IN_RESP(a_check_takes_and_a_peek_does_not, RULES)
{
    check_value("SLUICE.CHECK user a", "remaining", ":2");
    check_value("SLUICE.PEEK user a", "remaining", ":2");
    check_value("SLUICE.CHECK user a peek 1", "remaining", ":2");
    check_value("sluice.check peek true user a", "remaining", ":2");
    check_value("SLUICE.CHECK user a cost 2", "remaining", ":0");
    check_value("SLUICE.CHECK user a", "allowed", ":0");
    check_value("SLUICE.CHECK user a", "reason", "rate_limit_exceeded");
    check_value("SLUICE.CHECK user a", "retry_after_us", ":1000000");
    check_value("SLUICE.CHECK user a cost 4", "retry_after", ":-1");
    check_value("SLUICE.CHECK user b", "allowed", ":1");
    check_value("SLUICE.CHECK user b peek 0", "remaining", ":1");
}

IN_RESP(attributes_are_those_of_the_json, RULES)
{
    check_value("SLUICE.CHECK user a tier pro", "limit", ":30");
    check_value("SLUICE.CHECK ip 192.0.2.1", "reason", "no_rule");
    check_value("SLUICE.CHECK ip 192.0.2.1", "rule", "$-1");
    check_value("SLUICE.CHECK ip 192.0.2.1", "limit", "$-1");
    check_value("SLUICE.CHECK user ''", "reason", "no_rule");
}

IN_RESP(words_that_are_no_request_are_refused, RULES)
{
    static const struct talk rows[] = {
        { "SLUICE.CHECK", "-ERR wrong number of arguments for 'sluice.check' command|" },
        { "SLUICE.CHECK user", "-ERR wrong number of arguments for 'sluice.check' command|" },
        { "SLUICE.PEEK user a ip", "-ERR wrong number of arguments for 'sluice.peek' command|" },
        { "SLUICE.CHECK user a user b", "-ERR `user` is given twice|" },
        { "SLUICE.CHECK plan a plan a", "-ERR `plan` is given twice|" },
        { "SLUICE.CHECK user a cost x",
          "-ERR `cost` must be a whole number from 0 to 4294967295|" },
        { "SLUICE.CHECK user a at_us 1", "-ERR `at_us` is for `sluice replay`: a server decides by "
                                         "its own clock. Leave it out.|" },
    };
    check_talk(rows, COUNT(rows));
    assert_int_equal(model.decide_calls, 0);
}

IN_RESP(many_attributes_have_room, RULES)
{
    char line[2048] = "SLUICE.CHECK user a";
    for (int i = 0; i < 64; i++)
        sprintf(line + strlen(line), " name%d value%d", i, i);
    check_value(line, "allowed", ":1");
    strcat(line, " more x");
    check_has(line, "-ERR `more` is one attribute too many; at most 64");
}

IN_RESP(an_explanation_lists_the_rules, RULES)
{
    check_has(
        "SLUICE.CHECK user a explain 1",
        "$5|rules|*1|*16|$4|rule|$3|api|$9|algorithm|$12|token_bucket|$6|shadow|:0|$7|allowed|"
        ":1|$5|limit|:3|$9|remaining|:2|");
    told("HELLO 3");
    check_has("SLUICE.PEEK user a explain 1", "$5|rules|*1|%8|$4|rule|$3|api|");
    check_has("SLUICE.PEEK ip 192.0.2.1 explain 1", "$5|rules|*0|");
}

/* What stands behind an answer that is held is not asked before it is given. */
IN_RESP(an_answer_may_be_held, QUEUE)
{
    const char *answer =
        said("SLUICE.CHECK user a wait 1\r\nSLUICE.CHECK user a wait 1\r\nPING\r\n");
    assert_string_equal(value(answer, "delay_us"), ":0");
    assert_null(strstr(answer, "PONG"));
    visitor_hold_ends(&visitor);
    answer = got();
    assert_string_equal(value(answer, "delay_us"), ":1000000");
    assert_non_null(strstr(answer, "+PONG|"));
}

RESP_WITH_TENANTS(the_caller_goes_into_the_request, WITH_TOKENS SOME_RULES)
{
    struct sl_round *round = the_round();
    static const struct {
        const char *auth, *line, *asked;
    } rows[] = {
        { "RESET", "SLUICE.CHECK user u\r\n", "user=u" },
        { "AUTH sk_acme", "SLUICE.CHECK user u\r\n",
          "tenant=acme tier=pro user=u api_key=sha256(sk_acme)" },
        { "AUTH sk_acme", "CL.THROTTLE k 1 1 1\r\n",
          "tenant=acme tier=pro @key=k api_key=sha256(sk_acme)" },
        { "AUTH sk_acme", "SLUICE.CHECK user u tenant acme\r\n",
          "tenant=acme tier=pro user=u api_key=sha256(sk_acme)" },
        { "AUTH " ADMIN_TOKEN, "SLUICE.CHECK user u tenant bolt\r\n", "tenant=bolt user=u" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        told(rows[i].auth);
        visitor_put(&visitor, sl_text(rows[i].line));
        visitor_read(&visitor);
        SAME(rows[i].line, round->request_count, 1);
        assert_string_equal(request_text(&round->requests[0]), rows[i].asked);
        visitor_turn(&visitor);
        got();
    }
    told("AUTH sk_acme");
    check_has("SLUICE.CHECK user u tenant bolt",
              "-NOPERM The request contradicts its credentials: a token's claims");
    check_has("SLUICE.CHECK user u trust_score 1", "-NOPERM ");
}
