/* Checks of addresses to listen on. */
#ifndef SL_RULES_READING_LISTEN_H
#define SL_RULES_READING_LISTEN_H

#include "base/text.h"

/* Returns true for the forms address:port, [v6]:port and unix:PATH. */
bool sl_listen_address_is_good(struct sluice_text text);

#endif
