/* The address of a running server: http://HOST[:PORT][/PREFIX], https://…, or unix:PATH. */
#ifndef SL_CMD_ADMIN_SERVER_URL_H
#define SL_CMD_ADMIN_SERVER_URL_H

#include "base/buffer.h"

struct sl_server_url {
    char *base;         /* paths are appended to it: "http://127.0.0.1:8080" */
    const char *socket; /* the path of a Unix socket, or NULL */
    bool is_private;    /* encrypted, or on this machine: a token may be sent */
};

/* Keeps a pointer into `text` for the socket's path. Returns false if it is no address;
 * error->text says what is right. */
bool sl_server_url_parse(const char *text, struct sl_server_url *out, struct sluice_error *error);
void sl_server_url_release(struct sl_server_url *url);

/* Appends a part of a path or a query: all bytes but letters, digits and - . _ ~ become %XX. */
void sl_url_escape(struct sl_buffer *out, struct sluice_text text);

#endif
