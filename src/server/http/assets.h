/* Files that are built into the program. */
#ifndef SL_SERVER_HTTP_ASSETS_H
#define SL_SERVER_HTTP_ASSETS_H

#include "base/text.h"

struct sluice_text sl_asset_openapi(void);       /* src/server/http/openapi.json */
struct sluice_text sl_asset_default_rules(void); /* examples/default.yaml */
struct sluice_text sl_asset_services(void);      /* proto/, as a FileDescriptorSet */

/* The dashboard's, see page.def. */
#define SL_PAGE(name, below, type, path) struct sluice_text sl_asset_page_##name(void);
#include "server/http/page.def"
#undef SL_PAGE

#endif
