/* What a caller of the admin API shows: a token, or a tenant's key. It comes from a file
 * or the environment, never from the command line, where everybody on the machine could
 * read it; and it goes into one header field and into no message. */
#ifndef SL_CMD_ADMIN_CREDENTIALS_H
#define SL_CMD_ADMIN_CREDENTIALS_H

#include "sluice.h"

/* "Authorization: Bearer …", or "X-API-Key: …". NULL in both: there are none. */
struct sl_credentials {
    char *field;
    const char *source; /* where they come from, for messages: "$SLUICE_TOKEN" */
};

/* From the file, else $SLUICE_TOKEN, else $SLUICE_API_KEY; the file may be NULL, and
 * variables that are empty are not there. False: error->text. */
bool sl_credentials_read(const char *token_file, struct sl_credentials *out,
                         struct sluice_error *error);
/* Wipes it. */
void sl_credentials_release(struct sl_credentials *credentials);

#endif
