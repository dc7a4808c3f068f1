/* Two threads for a live picture: one looks, the other draws and reads keys. */
#include "cmd/terminal/live.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/number.h"
#include "base/thread.h"
#include "cmd/terminal/screen.h"

/* ---- the looking thread ---- */

enum looker_state { IDLE, ASKED, LOOKING, DONE, ENDED };

struct looker {
    struct sl_live *live;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    enum looker_state state;
};

static void *look_when_asked(void *argument)
{
    struct looker *looker = argument;
    pthread_mutex_lock(&looker->lock);
    while (looker->state != ENDED) {
        if (looker->state != ASKED) {
            pthread_cond_wait(&looker->asked, &looker->lock);
            continue;
        }
        looker->state = LOOKING;
        pthread_mutex_unlock(&looker->lock);
        looker->live->look(looker->live->about);
        pthread_mutex_lock(&looker->lock);
        looker->state = DONE;
        sl_terminal_wake();
    }
    pthread_mutex_unlock(&looker->lock);
    return NULL;
}

static enum looker_state state_of(struct looker *looker)
{
    pthread_mutex_lock(&looker->lock);
    enum looker_state state = looker->state;
    pthread_mutex_unlock(&looker->lock);
    return state;
}

static void set_state(struct looker *looker, enum looker_state state)
{
    pthread_mutex_lock(&looker->lock);
    looker->state = state;
    pthread_cond_signal(&looker->asked);
    pthread_mutex_unlock(&looker->lock);
}

static bool start_looker(struct looker *looker, struct sl_live *live, struct sluice_error *error)
{
    *looker = (struct looker){ .live = live };
    pthread_mutex_init(&looker->lock, NULL);
    pthread_cond_init(&looker->asked, NULL);
    int wrong = sl_thread_start(&looker->thread, look_when_asked, looker);
    return wrong == 0 || sl_error_say(error, "no thread can be started: %s", strerror(wrong));
}

/* ---- the drawing thread ---- */

struct session {
    struct looker looker;
    struct sl_canvas canvas;
    int64_t asked_us, due_us; /* the last and the next time to look */
    bool at_once;             /* look now: a key changed what is shown */
};

static const int64_t redraw_us = INT64_C(1000000); /* the age of the figures is shown */

static int64_t now_us(void)
{
    return sl_monotonic_ns() / 1000;
}

static bool draw_picture(struct session *session)
{
    struct sl_live *live = session->looker.live;
    struct sl_canvas *canvas = &session->canvas;
    struct sl_terminal_size size = sl_terminal_size();
    canvas->columns = size.columns;
    canvas->rows = size.rows;
    sl_canvas_begin(canvas);
    live->draw(live->about, canvas);
    sl_canvas_end(canvas);
    return sl_terminal_write((struct sluice_text){ canvas->out.at, canvas->out.len });
}

/* Shows the result of a finished look, and starts the next one when it is due. */
static void keep_up(struct session *session)
{
    struct sl_live *live = session->looker.live;
    enum looker_state state = state_of(&session->looker);
    int64_t now = now_us();
    if (state == DONE) {
        live->show(live->about);
        session->due_us =
            sl_max_i64(session->asked_us + live->every_us, 2 * now - session->asked_us);
        set_state(&session->looker, state = IDLE);
    }
    if (state != IDLE || (!session->at_once && (live->paused || now < session->due_us)))
        return;
    session->at_once = false;
    session->asked_us = now;
    set_state(&session->looker, ASKED);
}

static void press_key(struct session *session, int key)
{
    struct sl_live *live = session->looker.live;
    if (key == ' ')
        live->paused = !live->paused;
    else if (live->press(live->about, key) == SL_PRESSED_LOOK)
        session->at_once = true;
}

static bool is_end(enum sl_event event, int number)
{
    return event == SL_EVENT_END ||
           (event == SL_EVENT_KEY && (number == 'q' || number == 'Q' || number == 3));
}

/* Draws until a key or a signal ends it. Returns the signal, or 0. */
static int watch_until_end(struct session *session)
{
    int number = 0;
    for (;;) {
        keep_up(session);
        if (!draw_picture(session))
            return 0;
        int64_t left_us = sl_max_i64(session->due_us - now_us(), 0);
        bool waits = session->looker.live->paused || state_of(&session->looker) != IDLE;
        enum sl_event event =
            sl_terminal_wait(waits ? redraw_us : sl_min_i64(left_us, redraw_us), &number);
        if (is_end(event, number))
            return event == SL_EVENT_END ? number : 0;
        if (event == SL_EVENT_KEY)
            press_key(session, number);
    }
}

static void end_now(int number)
{
    fflush(NULL);
    if (number)
        raise(number);
    _exit(0);
}

int sl_live_run(struct sl_live *live, struct sluice_error *error)
{
    struct session session = {
        .canvas = { .out = sl_buffer(SIZE_MAX), .live = true, .colour = sl_screen_colour(stdout) },
    };
    if (!sl_terminal_open(error))
        return -1;
    if (!start_looker(&session.looker, live, error)) {
        sl_terminal_close();
        return -1;
    }
    session.at_once = true;
    int number = watch_until_end(&session);
    sl_terminal_close();
    enum looker_state state = state_of(&session.looker);
    if (state == ASKED || state == LOOKING)
        end_now(number);
    set_state(&session.looker, ENDED);
    pthread_join(session.looker.thread, NULL);
    sl_buffer_release(&session.canvas.out);
    return number;
}

void sl_live_print(const struct sl_live *live)
{
    struct sl_canvas canvas = {
        .out = sl_buffer(SIZE_MAX),
        .columns = isatty(STDOUT_FILENO) ? sl_terminal_size().columns : 0,
    };
    sl_canvas_begin(&canvas);
    live->draw(live->about, &canvas);
    sl_canvas_end(&canvas);
    fwrite(canvas.out.at, 1, canvas.out.len, stdout);
    sl_buffer_release(&canvas.out);
}
