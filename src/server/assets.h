/* Files that are part of the program. */
#ifndef SL_SERVER_ASSETS_H
#define SL_SERVER_ASSETS_H

#include "base/text.h"

struct sluice_text sl_asset_openapi(void);       /* src/server/openapi.json */
struct sluice_text sl_asset_default_rules(void); /* examples/default.yaml */

#endif
