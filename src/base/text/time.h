/* Moments as text: RFC 3339, seconds since 1970, and the short form for people. All in UTC and of
 * the Gregorian calendar. */
#ifndef SL_BASE_TEXT_TIME_H
#define SL_BASE_TEXT_TIME_H

#include "base/buffer.h"

/* Reads seconds since 1970 (decimals allowed) or RFC 3339, as µs since 1970, finer parts cut
 * off. Returns false, and leaves *out_us alone, if the whole text is neither, or names a year
 * after 9999. */
bool sl_time_parse(struct sluice_text text, int64_t *out_us);

/* Appends RFC 3339: "2026-11-16T12:00:00.123456Z". */
void sl_time_print(struct sl_buffer *out, int64_t at_us);

enum { SL_TIME_SHORT_MAX = 40 };

/* Writes "2026-12-01 00:00:00 UTC". Returns false, and leaves `out` undefined, if the calendar
 * does not reach that far. */
bool sl_time_print_short(char out[SL_TIME_SHORT_MAX], int64_t at_s);

#endif
