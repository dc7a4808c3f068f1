/* Editions of the rules, and workers that go from one to the next. */
#include "server/edition/edition.h"

#include "unit/server/on_stage.h"

static const char first_rules[] = "deny_status: 403\n"
                                  "rules: [{ name: kept, per: user, limit: 2/m },\n"
                                  "        { name: gone, per: user, limit: 5/m }]\n";
static const char next_rules[] = "deny_status: 418\n"
                                 "rules: [{ name: new, resource: /new, per: user, limit: 1/m },\n"
                                 "        { name: kept, per: user, limit: 2/m }]\n";

static const struct sl_counts *counts_of(size_t worker)
{
    return sl_limiter_counts(stage.workers[worker].edition->limiters[worker]);
}

/* As a reload does it: a worker that has not taken the last edition drops it. */
static struct sl_edition *publish(const char *yaml)
{
    struct sl_server *server = &stage.server;
    struct sl_edition *old = server->edition;
    server->edition = stage_edition(yaml, &model.store, server->worker_count);
    assert_non_null(server->edition);
    for (size_t i = 0; i < server->worker_count; i++) {
        struct sl_edition *unused =
            atomic_exchange(&server->workers[i].next, sl_edition_keep(server->edition));
        sl_edition_drop(unused);
        sl_worker_wake(&server->workers[i]);
    }
    sl_edition_drop(old);
    return server->edition;
}

static void come_round(size_t worker)
{
    visitor_forgets_time(&visitor);
    stage_turn(&stage.workers[worker]);
}

static int64_t total_of(const char *page, const char *line)
{
    const char *at = strstr(page, line);
    return at ? strtoll(at + strlen(line), NULL, 10) : -1;
}

/* The page, terminated. */
static const char *metrics(void)
{
    static char page[65536];
    struct answer *answer = answer_to("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(answer->body.len < sizeof page);
    memcpy(page, answer->body.at, answer->body.len);
    page[answer->body.len] = 0;
    return page;
}

#define KEPT(outcome)                                                                              \
    "sluice_rule_decisions_total{rule=\"kept\",algorithm=\"sliding_window_counter\",outcome="      \
    "\"" outcome "\"} "

/* ---- an edition alone ---- */

ON_STAGE(every_worker_has_a_limiter_of_its_own, first_rules)
{
    struct sl_edition *edition = stage_edition(first_rules, &model.store, 3);
    assert_non_null(edition);
    assert_int_equal(edition->limiter_count, 3 + 1); /* and the main thread */
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = SL_TEXT("u");
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(edition->limiters[i]);
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(edition->limiters[i], edition->limiters[j]);
        sl_limiter_decide(edition->limiters[i], &request, &decision);
        SAME("one store", decision.allowed, i < 2); /* the same counts for every worker */
    }
    sl_edition_drop(edition);
}

ON_STAGE(an_edition_lives_until_its_last_holder_drops_it, first_rules)
{
    struct sl_edition *edition = stage_edition(first_rules, &model.store, 1);
    assert_int_equal(atomic_load(&edition->holders), 1);
    assert_ptr_equal(sl_edition_keep(edition), edition);
    assert_int_equal(atomic_load(&edition->holders), 2);
    sl_edition_drop(edition);
    assert_int_equal(atomic_load(&edition->holders), 1);
    assert_string_equal(edition->rules->rules[0].name, "kept");
    sl_edition_drop(edition);
    sl_edition_drop(NULL);
}

/* ---- going over ---- */

ON_STAGE(a_worker_goes_over_between_two_rounds, first_rules)
{
    struct sl_worker *worker = &stage.workers[0];
    static const char who[] = "GET /v1/authorize/new HTTP/1.1\r\nHost: a\r\nX-User: u\r\n\r\n";
    struct sl_edition *old = sl_edition_keep(worker->edition), *next = publish(next_rules);
    assert_ptr_equal(worker->edition, old); /* not before it comes round */
    assert_int_equal(answer_to(who)->status, 200);
    come_round(0);
    assert_ptr_equal(worker->edition, next);
    assert_null(atomic_load(&worker->next));
    assert_ptr_equal(the_round()->limiter, next->limiters[0]);
    assert_ptr_equal(the_round()->settings, &next->rules->settings);
    assert_int_equal(the_round()->settings->deny_status, 418);
    assert_int_equal(atomic_load(&old->holders), 1); /* this test's */
    assert_int_equal(atomic_load(&next->holders), 2);
    sl_edition_drop(old);
}

ON_STAGE(an_edition_that_no_worker_took_is_dropped, first_rules)
{
    struct sl_edition *skipped = sl_edition_keep(publish(next_rules));
    struct sl_edition *last = publish(first_rules);
    assert_int_equal(atomic_load(&skipped->holders), 1);
    sl_edition_drop(skipped);
    come_round(0);
    assert_ptr_equal(stage.workers[0].edition, last);
}

ON_STAGE(counts_go_on_from_one_edition_to_the_next, first_rules)
{
    for (int i = 0; i < 3; i++)
        answer_to_post("/v1/check", "{\"user\": \"u\"}");
    assert_int_equal(total_of(metrics(), KEPT("allowed")), 2);
    assert_int_equal(total_of(metrics(), KEPT("denied")), 1);
    publish(next_rules);
    come_round(0);
    assert_int_equal(total_of(metrics(), KEPT("allowed")), 2);
    assert_int_equal(total_of(metrics(), KEPT("denied")), 1);
    answer_to_post("/v1/check", "{\"user\": \"u\"}"); /* the store has not forgotten either */
    assert_int_equal(answers[0].status, 429);
    assert_int_equal(total_of(metrics(), KEPT("denied")), 2);
    assert_null(strstr(metrics(), "rule=\"gone\""));
    publish(first_rules);
    come_round(0);
    assert_int_equal(total_of(metrics(), KEPT("denied")), 2); /* none of them twice */
}

/* ---- several workers ---- */

static int open_workers(void **state)
{
    memset(&stage, 0, sizeof stage);
    model_open(&model);
    stage_open_workers(&stage, *state, &model.store, STAGE_WORKERS_MAX);
    visitor = visitor_enter(&stage);
    return 0;
}

TEST_ON(the_page_sums_up_workers_of_different_editions, open_workers, close_stage,
        (void *)first_rules)
{
    struct sluice_request request = sluice_request();
    struct sluice_decision decision;
    request.user = SL_TEXT("u");
    publish(next_rules);
    come_round(1); /* the others are late */
    for (size_t i = 0; i < STAGE_WORKERS_MAX; i++)
        sl_limiter_decide(stage.workers[i].edition->limiters[i], &request, &decision);
    assert_ptr_not_equal(stage.workers[0].edition, stage.workers[1].edition);
    assert_ptr_not_equal(counts_of(0), counts_of(1));
    assert_int_equal(total_of(metrics(), KEPT("allowed")), 2);
    assert_int_equal(total_of(metrics(), KEPT("denied")), 1);
    assert_int_equal(total_of(metrics(), "\nsluice_workers "), 3);
    for (size_t i = 0; i < STAGE_WORKERS_MAX; i++)
        come_round(i);
    assert_ptr_equal(stage.workers[0].edition, stage.workers[2].edition);
    assert_int_equal(total_of(metrics(), KEPT("allowed")), 2);
    assert_int_equal(total_of(metrics(), KEPT("denied")), 1);
}
