/* Error messages: what went wrong, in a sentence for people. */
#ifndef SL_BASE_ERROR_H
#define SL_BASE_ERROR_H

#include "sluice.h"

/* Writes the sentence. Always returns false, so that a caller can return its result. */
__attribute__((format(printf, 2, 3))) bool sl_error_say(struct sluice_error *error,
                                                        const char *format, ...);

#endif
