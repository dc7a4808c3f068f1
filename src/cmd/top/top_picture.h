/* The picture of `sluice top` for a server: head, rules, and the callers they limit most.
 *
 *   http://127.0.0.1:8080  up 2h 13m  last minute  167 checks/s  20.0% denied  …
 *
 *   RULE   ALGORITHM     CHECKS/S  ALLOWED  DENIED↓    HIT  …  MOST LIMITED
 *   api    token_bucket       167     8000     2000  20.0%  …  acme/u1
 *
 *   LIMITED MOST                   DENIED  RULE    IDENTIFIER
 *
 * If the line is too short, columns are left out; if the screen is, rules are scrolled. */
#ifndef SL_CMD_TOP_TOP_PICTURE_H
#define SL_CMD_TOP_TOP_PICTURE_H

#include "cmd/terminal/canvas.h"
#include "cmd/top/top_figures.h"

struct sl_picture {
    const char *server;                     /* printable */
    const char *window;                     /* minute, hour or day */
    const struct sl_board_figures *figures; /* NULL: nothing was seen yet */
    const char *failure; /* why the last look failed, printable; NULL: it succeeded */
    int64_t age_us;      /* of the figures */
    int64_t every_us;
    enum sl_board_order order;
    bool reverse, paused;
    size_t scrolled; /* how many rules are above the screen; drawing lowers it if it is too many */
    size_t page;     /* how many are on it; drawing sets it */
};

/* As in --sort: "hit_rate". */
extern const char *const sl_order_names[];

void sl_picture_draw(struct sl_picture *picture, struct sl_canvas *canvas);

/* What the keys do. */
void sl_picture_draw_help(struct sl_canvas *canvas);

#endif
