#include "server/grpc/grpc_call.h"
#include "unit/server/h2_visitor.h"

static const char rules[] = "rules: []\n";

#define CHECK "/grpc.health.v1.Health/Check"
#define WATCH "/grpc.health.v1.Health/Watch"
#define SERVICE                                                                                    \
    "\x0a\x2b"                                                                                     \
    "envoy.service.ratelimit.v3.RateLimitService"

static void set_draining(bool is_draining)
{
    stage.workers[0].is_draining = is_draining;
}

OVER_H2(its_service_is_known_by_three_names, rules)
{
    static const struct {
        struct sluice_text message;
        int status;
    } rows[] = {
        { SL_TEXT(""), 0 },
        { SL_TEXT(SERVICE), 0 },
        { SL_TEXT("\x0a\x09ratelimit"), 0 },
        { SL_TEXT("\x0a\x0aratelimit\0"), 5 },
        { SL_TEXT("\x0a\1x"), 5 },
        { SL_TEXT("\x0a"), 3 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct h2_heard *heard = h2_ask(&(struct h2_call){ CHECK, rows[i].message });
        SAME("row", heard->status, rows[i].status);
        if (heard->status == 0)
            SAME_TEXT("serving", h2_message(heard), "\x08\1");
    }
}

OVER_H2(it_is_not_ready_once_it_drains, rules)
{
    set_draining(true);
    SAME_TEXT("not serving", h2_message(h2_ask(&(struct h2_call){ CHECK })), "\x08\2");
    set_draining(false);
}

OVER_H2(a_watcher_is_told_at_once_and_at_the_end, rules)
{
    struct h2_heard *all = h2_ask(&(struct h2_call){ WATCH });
    struct h2_heard *none = h2_ask(&(struct h2_call){ WATCH, SL_TEXT("\x0a\1x") });
    SAME_TEXT("serving", h2_message(all), "\x08\1");
    SAME_TEXT("unknown", h2_message(none), "\x08\3");
    SAME("open", all->status, -1);
    set_draining(true);
    h2.visitor.conn->front->drain(h2.visitor.conn);
    h2_turn();
    SAME("all of it", all->body.len, 14);
    SAME("not serving", all->body.at[13], 2);
    SAME("nothing more", none->body.len, 7);
    SAME("status", all->status, SL_GRPC_UNAVAILABLE);
    SAME("status", none->status, SL_GRPC_UNAVAILABLE);
    SAME("open", h2.visitor.conn->is_finished, true);
    set_draining(false);
}

OVER_H2(a_watcher_that_stops_is_forgotten, rules)
{
    for (size_t i = 0; i < 100; i++) {
        struct h2_heard *heard = h2_ask(&(struct h2_call){ WATCH });
        SAME("watched", the_h2()->lists[SL_H2_WATCHED].first != NULL, true);
        nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, heard->stream, NGHTTP2_CANCEL);
        h2_turn();
        SAME("watched", the_h2()->lists[SL_H2_WATCHED].first == NULL, true);
    }
    SAME("spare", stage.workers[0].spare_count, 1);
}
