/* A row of the registry as text, the way instances share it: a name and a value.
 *
 *   rule::api          3f2a9c0100000001 {"made": 4, "json": "{\"per\": …}"}
 *   user:acme:u1       3f2a9c0100000002 {"tier": "pro"}
 *   tier:old           3f2a9c0100000003                       (it was deleted)
 *
 * The 16 digits are the number of the change that wrote it. The parts of a name are between colons;
 * `:`, `%` and controls in them are %XX. A rule's JSON is a string in the value's, so that every
 * number in it stays as it was written. */
#ifndef SL_REGISTRY_ROW_H
#define SL_REGISTRY_ROW_H

#include "base/arena.h"
#include "base/buffer.h"

enum sl_row_kind {
    SL_ROW_RULE,      /* tenant or "", name */
    SL_ROW_TIER,      /* name */
    SL_ROW_EXEMPTION, /* kind, value */
    SL_ROW_TENANT,    /* name */
    SL_ROW_KEY,       /* SHA-256 in hex */
    SL_ROW_USER,      /* tenant or "", id */
    SL_ROW_KIND_COUNT
};

struct sl_row_name {
    enum sl_row_kind kind;
    const char *first, *second; /* NULL: the kind has one part */
};

/* A number that may be missing. */
struct sl_row_number {
    bool is_there;
    int64_t number;
};

/* Members that its kind does not have are missing or NULL. */
struct sl_row {
    struct sl_row_name name;
    uint64_t change;
    bool is_gone;
    struct sl_row_number
        made;         /* its place among rows of its kind: rules, tiers, exemptions, keys */
    const char *json; /* of a rule or tier; NULL: the file's is hidden */
    struct sl_row_number until_us; /* of an exemption */
    const char *reason;
    const char *tenant; /* of a key */
    const char *label;
    const char *tier; /* of a tenant, a key, a user */
    struct sl_row_number created_at_us;
    struct sl_row_number email_verified;
    const char *limits;
};

enum { SL_CHANGE_DIGITS = 16 };

void sl_change_print(struct sl_buffer *out, uint64_t change);

/* Returns false if those are not 16 digits. */
bool sl_change_parse(struct sluice_text text, uint64_t *out);

void sl_row_name_print(struct sl_buffer *out, const struct sl_row_name *name);

/* Parts are in `arena`. Returns false if no Sluice of this version writes such a name. */
bool sl_row_name_parse(struct sluice_text text, struct sl_arena *arena, struct sl_row_name *out);

/* Prints the row's value. */
void sl_row_print(struct sl_buffer *out, const struct sl_row *row);

/* The size of a row, its name included: printed into `scratch`, whose ceiling is the answer's. */
size_t sl_row_size_bytes(const struct sl_row *row, struct sl_buffer *scratch);

/* The reverse of sl_row_print, all in `arena`. Unknown members are passed over. Returns false with
 * error->text. */
bool sl_row_parse(struct sluice_text name, struct sluice_text value, struct sl_arena *arena,
                  struct sl_row *out, struct sluice_error *error);

#endif
