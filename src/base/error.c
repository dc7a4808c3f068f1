/* Prints error messages. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

bool sl_error_say(struct sluice_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}
