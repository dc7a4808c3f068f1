#include "server/assets.h"

#include "base/asset.h"

SL_ASSET(sl_asset_openapi, "src/server/openapi.json")
SL_ASSET(sl_asset_default_rules, "examples/default.yaml")
