/* What the files of rows have of each other. */
#ifndef SL_REGISTRY_ROWS_H
#define SL_REGISTRY_ROWS_H

#include "registry/query.h"

/* Something of that tenant has changed. False: also where there is no such tenant. */
bool sl_touch_tenant(struct sl_registry *registry, const char *tenant, struct sluice_error *error);

/* As sl_registry_exemptions, within a look. */
bool sl_read_exemptions(struct sl_registry *registry, int64_t now_us, struct sl_arena *arena,
                        struct sl_exemption **out, size_t *count, struct sluice_error *error);

#endif
