/* sluice audit, with its commands in two files. */
#ifndef SL_CMD_AUDIT_H
#define SL_CMD_AUDIT_H

#include "cmd/options.h"

extern const struct sl_command sl_command_audit_verify; /* audit_verify.c */

#endif
