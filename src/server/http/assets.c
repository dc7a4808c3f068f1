/* The files that are built into the program: see assets.h. */
#include "server/http/assets.h"

#include "base/asset.h"

/* The path of Debian's libjs-chart.js; the Makefile has it too, and checks that the file is there.
 */
#define SL_CHART_JS "/usr/share/javascript/chart.js/chart.min.js"

SL_ASSET(sl_asset_openapi, "src/server/http/openapi.json")
SL_ASSET(sl_asset_default_rules, "examples/default.yaml")
SL_ASSET(sl_asset_services,
         "services.pb") /* made in the build folder, which is on the include path */

#define SL_PAGE(name, below, type, path) SL_ASSET(sl_asset_page_##name, path)
#include "server/http/page.def"
#undef SL_PAGE
