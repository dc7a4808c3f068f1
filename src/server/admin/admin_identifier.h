/* The identifier that a call of the admin API is about, written like a request. Implemented in
 * admin_reset.c. */
#ifndef SL_SERVER_ADMIN_ADMIN_IDENTIFIER_H
#define SL_SERVER_ADMIN_ADMIN_IDENTIFIER_H

#include "auth/user_id.h"
#include "server/control/admin_json.h"
#include "wire/json/request.h"

struct sl_identifier {
    struct sluice_request request;
    const char *rule; /* an existing rule; NULL: any */
    struct sl_json_room room;
    char user_id[SL_DIGEST_HEX + 1];
};

/* Reads it out of the job's body. Returns false if it refused the job. */
bool sl_job_read_identifier(struct sl_control *control, struct sl_job *job,
                            struct sl_identifier *out);

/* Returns the main thread's limiter, for the rules in force. */
struct sl_limiter *sl_control_limiter(const struct sl_control *control);

#endif
