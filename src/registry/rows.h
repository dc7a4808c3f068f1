/* Functions that the rows_*.c files share. */
#ifndef SL_REGISTRY_ROWS_H
#define SL_REGISTRY_ROWS_H

#include "registry/query.h"
#include "registry/row.h"

/* Collects the name of a row that changes, if the transaction collects names. Returns false if
 * there is no memory. */
bool sl_note_row(struct sl_registry *registry, enum sl_row_kind kind, const char *first,
                 const char *second, struct sluice_error *error);

/* The same for all rows of a kind that a tenant has: SL_SQL_KEYS_NAMED or SL_SQL_RULES_NAMED. */
bool sl_note_rows_of(struct sl_registry *registry, enum sl_sql which, const char *tenant,
                     struct sluice_error *error);

/* Marks the tenant as changed. Returns false also where there is no such tenant. */
bool sl_touch_tenant(struct sl_registry *registry, const char *tenant, struct sluice_error *error);

/* As sl_registry_exemptions, between sl_look_begin and sl_look_end. */
bool sl_read_exemptions(struct sl_registry *registry, int64_t now_us, struct sl_arena *arena,
                        struct sl_exemption **out, size_t *count, struct sluice_error *error);

#endif
