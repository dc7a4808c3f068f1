/* Where a running server is: http://HOST[:PORT][/PREFIX], https://…, or unix:PATH. */
#ifndef SL_CMD_ADMIN_SERVER_URL_H
#define SL_CMD_ADMIN_SERVER_URL_H

#include "base/buffer.h"

struct sl_server_url {
    char *base;         /* what paths are put behind: "http://127.0.0.1:8080" */
    const char *socket; /* the path of a Unix socket, or NULL */
    bool is_private;    /* nobody between here and there can read along */
};

/* Keeps `text`, whose end the socket's path is. False: error->text says what is right. */
bool sl_server_url_parse(const char *text, struct sl_server_url *out, struct sluice_error *error);
void sl_server_url_release(struct sl_server_url *url);

/* A piece of a path or a query: every byte but letters, digits and - . _ ~ as %XX. */
void sl_url_escape(struct sl_buffer *out, struct sluice_text text);

#endif
