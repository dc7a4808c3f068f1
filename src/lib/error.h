/* Error sentences for people, in the room that the caller gave. */
#ifndef SL_LIB_ERROR_H
#define SL_LIB_ERROR_H

#include "lib/handles.h"

/* Returns an empty text to write to: the caller's, or `own` if it gave none. */
static inline struct sluice_error *sl_error_start(struct sluice_error *given,
                                                  struct sluice_error *own)
{
    struct sluice_error *error = given ? given : own;
    error->text[0] = '\0';
    return error;
}

/* Adds a line, cut if it does not fit. Returns `status`. */
__attribute__((format(printf, 3, 4))) int sl_error_add(struct sluice_error *error, int status,
                                                       const char *format, ...);

/* Writes the problems of a report into an empty text, a line each: as many as fit, and then how
 * many more there are. Returns `status`. */
int sl_error_report(struct sluice_error *error, int status, struct sl_report *report);

#endif
