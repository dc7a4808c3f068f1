/* Credentials for the admin API: a token, or a tenant's key. They come from a file or the
 * environment, never from the command line, which every user of the machine can read; and
 * they go into one header field and into no message. */
#ifndef SL_CMD_ADMIN_CREDENTIALS_H
#define SL_CMD_ADMIN_CREDENTIALS_H

#include "sluice.h"

/* "Authorization: Bearer …", or "X-API-Key: …". NULL in both: there are none. */
struct sl_credentials {
    char *field;
    const char *source; /* where they come from, for messages: "$SLUICE_TOKEN" */
};

/* Reads the file, else $SLUICE_TOKEN, else $SLUICE_API_KEY. The file may be NULL; an empty
 * variable counts as unset. Returns false with error->text set. */
bool sl_credentials_read(const char *token_file, struct sl_credentials *out,
                         struct sluice_error *error);
/* Overwrites and frees them. */
void sl_credentials_release(struct sl_credentials *credentials);

#endif
