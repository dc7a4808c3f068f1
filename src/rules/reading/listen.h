/* Addresses to listen on. */
#ifndef SL_RULES_READING_LISTEN_H
#define SL_RULES_READING_LISTEN_H

#include "base/text.h"

/* address:port, [v6]:port or unix:PATH, by its form. */
bool sl_listen_address_is_good(struct sluice_text text);

#endif
