/* sluice top for a server: requests its figures, and shows them. */
#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "cmd/terminal/printable.h"
#include "cmd/top/top.h"
#include "cmd/top/top_picture.h"

/* The result of one look: figures, or why there are none. */
struct server_reading {
    struct sl_board_figures figures;
    struct sl_arena arena;
    const char *failure;
    size_t window;
    int64_t at_us;
};

struct server_view {
    const struct sl_board *board;
    struct sl_live live;
    struct sl_picture picture;
    struct sl_arena arena;
    atomic_size_t window;       /* wanted */
    struct server_reading next; /* the looking thread's, during a look */
    struct server_reading shown;
    bool helps;
};

static int64_t now_us(void)
{
    return sl_monotonic_ns() / 1000;
}

/* ---- looking ---- */

/* Reads an answer. Returns NULL, or why it is none. */
static const char *read_answer(struct server_reading *seen, const struct sl_http_response *answer)
{
    const struct sl_buffer *body = &answer->body;
    if (answer->status >= 400) {
        const char *why = sl_admin_why_not(&seen->arena, answer);
        const char *token =
            answer->was_anonymous && (answer->status == 401 || answer->status == 403)
                ? " (no token was sent)"
                : "";
        return sl_arena_print(&seen->arena, "the server said no (%d)%s: %s", answer->status, token,
                              why ? why : "is it the right one?");
    }
    json_t *json = json_loadb(body->at ? body->at : "", body->len, JSON_ALLOW_NUL, NULL);
    bool good = sl_board_read(&seen->figures, json, sl_window_names[seen->window]);
    json_decref(json);
    return good ? NULL : "the answer is about something else: is it the right server?";
}

/* Requests only the busiest 500 rules: more would make every answer long, and users rarely scroll
 * that far. */
static void look_at_server(void *about)
{
    struct server_view *view = about;
    struct server_reading *seen = &view->next;
    struct sluice_error error = { 0 };
    struct sl_http_response answer = { 0 };
    *seen = (struct server_reading){ .window = atomic_load(&view->window) };
    struct sl_question question = {
        .method = "GET",
        .path = sl_text(sl_arena_print(&seen->arena, "/v1/stats?window=%s&top=10&limit=500",
                                       sl_window_names[seen->window])),
    };
    if (sl_client_ask(&view->board->admin.client, &question, &answer, &error))
        seen->failure = read_answer(seen, &answer);
    else
        seen->failure = sl_printable_copy(&seen->arena, sl_text(error.text));
    sl_answer_release(&answer);
    seen->at_us = now_us();
}

static void release_reading(struct server_reading *seen)
{
    sl_board_release(&seen->figures);
    sl_arena_release(&seen->arena);
}

/* After a failure its reason is shown, with the figures before it. */
static void show_reading(void *about)
{
    struct server_view *view = about;
    struct server_reading before = view->shown;
    view->shown = view->next;
    view->next = (struct server_reading){ 0 };
    view->picture.failure = view->shown.failure;
    if (view->shown.failure) {
        view->shown.figures = before.figures;
        view->shown.window = before.window;
        view->shown.at_us = before.at_us;
        before.figures = (struct sl_board_figures){ 0 };
    } else {
        view->picture.figures = &view->shown.figures;
    }
    release_reading(&before);
    sl_board_sort(&view->shown.figures, view->picture.order, view->picture.reverse);
}

/* ---- drawing and keys ---- */

static void draw_view(void *about, struct sl_canvas *canvas)
{
    struct server_view *view = about;
    struct sl_picture *picture = &view->picture;
    if (view->helps) {
        sl_picture_draw_help(canvas);
        return;
    }
    picture->window = sl_window_names[view->shown.window];
    picture->paused = view->live.paused;
    picture->age_us = picture->figures ? now_us() - view->shown.at_us : 0;
    sl_picture_draw(picture, canvas);
}

static enum sl_pressed sort_by(struct server_view *view, enum sl_board_order order)
{
    view->picture.order = order;
    sl_board_sort(&view->shown.figures, order, view->picture.reverse);
    return SL_PRESSED_DRAW;
}

/* Up by a negative number; never past an end. */
static enum sl_pressed scroll(struct server_view *view, int64_t rules)
{
    int64_t to = (int64_t)view->picture.scrolled + rules;
    view->picture.scrolled = to < 0 ? 0 : (size_t)to; /* drawing knows the other end */
    return SL_PRESSED_DRAW;
}

static enum sl_pressed press_scroll(struct server_view *view, int key)
{
    int64_t page = view->picture.page > 0 ? (int64_t)view->picture.page : 1;
    switch (key) {
    case SL_KEY_UP:
        return scroll(view, -1);
    case SL_KEY_DOWN:
        return scroll(view, 1);
    case SL_KEY_PAGE_UP:
        return scroll(view, -page);
    case SL_KEY_PAGE_DOWN:
        return scroll(view, page);
    case SL_KEY_HOME:
        return scroll(view, -(int64_t)view->picture.scrolled);
    case SL_KEY_END:
        return scroll(view, (int64_t)view->shown.figures.rule_count);
    default:
        return SL_PRESSED_NOTHING;
    }
}

static enum sl_pressed press_sort(struct server_view *view, int key)
{
    static const char keys[] = {
        [SL_BY_NAME] = 'n',   [SL_BY_CHECKS] = 'c',   [SL_BY_ALLOWED] = 'a',
        [SL_BY_DENIED] = 'd', [SL_BY_HIT_RATE] = 'h', [SL_BY_P99] = 'p'
    };
    enum sl_board_order order = view->picture.order;
    if (key == '>' || key == SL_KEY_RIGHT)
        return sort_by(view, (order + 1) % SL_ORDERS);
    if (key == '<' || key == SL_KEY_LEFT)
        return sort_by(view, (order + SL_ORDERS - 1) % SL_ORDERS);
    for (enum sl_board_order i = SL_BY_NAME; i < SL_ORDERS; i++) {
        if (key == keys[i])
            return sort_by(view, i);
    }
    return press_scroll(view, key);
}

static enum sl_pressed press_key(void *about, int key)
{
    struct server_view *view = about;
    if (view->helps || key == '?') {
        view->helps = !view->helps;
        return SL_PRESSED_DRAW;
    }
    if (key == 'w') {
        atomic_store(&view->window, (atomic_load(&view->window) + 1) % 3);
        return SL_PRESSED_LOOK;
    }
    if (key == 'r') {
        view->picture.reverse = !view->picture.reverse;
        return sort_by(view, view->picture.order);
    }
    return press_sort(view, key);
}

/* ---- the command ---- */

static void init_view(struct server_view *view, const struct sl_board *board)
{
    size_t window = 0;
    while (strcmp(sl_window_names[window], board->window) != 0)
        window++;
    *view = (struct server_view){ .board = board, .window = window, .shown.window = window };
    view->live = (struct sl_live){
        .about = view,
        .every_us = board->every_us,
        .look = look_at_server,
        .show = show_reading,
        .draw = draw_view,
        .press = press_key,
    };
    view->picture = (struct sl_picture){
        .server = sl_printable_copy(&view->arena, sl_text(sl_client_server(&board->admin.client))),
        .every_us = board->every_us,
        .order = board->order,
        .reverse = board->reverse,
    };
}

static bool show_once(const struct sl_admin_reply *reply)
{
    const struct sl_board *board = (const struct sl_board *)(const void *)reply->args;
    struct server_view view;
    init_view(&view, board);
    bool good = sl_board_read(&view.next.figures, reply->json, board->window);
    if (good) {
        view.next.window = view.shown.window;
        view.next.at_us = now_us();
        show_reading(&view);
        sl_live_print(&view.live);
    }
    release_reading(&view.shown);
    sl_arena_release(&view.arena);
    return good;
}

int sl_board_server(const struct sl_command *command, const struct sl_board *board)
{
    if (board->once) {
        struct sl_admin args = board->admin;
        struct sl_board told = *board;
        struct sl_admin_call call = {
            .command = *command,
            .method = "GET",
            .path =
                args.json ? "/v1/stats?window={name}" : "/v1/stats?window={name}&top=10&limit=500",
            .show = show_once,
        };
        told.admin.name = board->window;
        return sl_admin_ask(&call, &told.admin);
    }
    struct server_view view;
    init_view(&view, board);
    int code = sl_board_watch(command, &view.live);
    release_reading(&view.next);
    release_reading(&view.shown);
    sl_arena_release(&view.arena);
    return code;
}
