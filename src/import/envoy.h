/* Configurations of Envoy's reference rate limit server, as a rules file.
 *
 *   files → sl_envoy_read: domains of descriptors, a tree each (envoy_read.c)
 *         → sl_envoy_print: a rule for every limit in them (envoy_rules.c, envoy_path.c)
 *
 * There, a request is a domain and a list of key/value entries, and walks down its domain's tree:
 * at each level to the descriptor with its key and value, else to the first pattern that its value
 * matches, else to the one with its key alone. The limit of where the last entry leads is the one
 * that counts, and there is no way back from a descriptor without one.
 *
 * Here, a request has attributes, and every rule that matches counts. So a limit becomes a rule
 * that says of each entry on its path what its value is, and which descriptors beside did not take
 * it. What requests of Envoy's protocol look like here is told by docs/import.md. */
#ifndef SL_IMPORT_ENVOY_H
#define SL_IMPORT_ENVOY_H

#include "base/buffer.h"
#include "base/text/textmap.h"
#include "rules/ruleset.h"
#include "rules/tree/report.h"

struct sl_envoy_file {
    const char *name;
    struct sl_report report;
    size_t limits;
    bool is_told_metrics; /* that what it asks of metrics is not done here */
};

enum sl_envoy_unit {
    SL_ENVOY_SECOND,
    SL_ENVOY_MINUTE,
    SL_ENVOY_HOUR,
    SL_ENVOY_DAY,
    SL_ENVOY_WEEK,
    SL_ENVOY_MONTH,
    SL_ENVOY_YEAR,
};

struct sl_envoy_limit {
    bool is_unlimited;
    enum sl_envoy_unit unit;
    uint32_t requests_per_unit;
    struct sluice_text name;  /* missing: it has none */
    struct sl_texts replaces; /* names of others */
};

enum sl_envoy_kind { SL_ENVOY_OPEN, SL_ENVOY_EXACT, SL_ENVOY_PATTERN };

/* A descriptor. */
struct sl_envoy_node {
    struct sl_envoy_file *file;
    struct sl_mark mark;
    struct sluice_text key;
    struct sluice_text value; /* missing: any */
    enum sl_envoy_kind kind;
    bool is_shadow, is_quota, is_shared, asks_metrics, has_metadata;
    struct sl_envoy_limit *limit;       /* NULL: none */
    struct sl_envoy_node *parent;       /* of the first: the domain's root, which has no key */
    struct sl_envoy_node *first, *last; /* below it, in the order of the file */
    struct sl_envoy_node *next;         /* beside it */
    uint32_t number;                    /* of all, from 1 */

    bool knows_others;       /* the following are found */
    struct sl_texts unequal; /* values that descriptors beside it take */
    struct sl_texts unlike;  /* and their patterns */

    const char *rule;                 /* what its rule is called; NULL: it has none */
    struct sl_envoy_node *next_named; /* with the same rate_limit.name, in the same domain */
    uint32_t named_by;                /* the last that has named its rule in `replaces` */
};

struct sl_envoy_domain {
    struct sluice_text name;
    struct sl_envoy_file *file; /* that it was in first */
    struct sl_mark mark;
    struct sl_envoy_node root; /* its descriptors are below */
    struct sl_envoy_domain *next;
};

/* Zeroed, it has read nothing. */
struct sl_envoy {
    bool merges_domains; /* one may be in several files */
    const char *listen;  /* where Envoy is to ask */
    struct sl_arena arena;
    struct sl_envoy_domain *first, *last;
    struct sl_textmap composites; /* (parent's number, key_value) → number */
    uint32_t node_count;
    uint32_t domain_count;
    size_t limits;    /* all that were read, unlimited ones too */
    size_t unlimited; /* of these */
    size_t dead;      /* and of those that no request can reach */
    size_t rules;     /* that were printed */
    size_t lost;      /* what could not be said exactly */
};

/* Deeper ones than a tree of the file can be. */
enum { SL_ENVOY_DEPTH_MAX = 16 };

/* Reads a file, which outlives the struct. False: file->report has every problem. */
bool sl_envoy_read(struct sl_envoy *envoy, struct sl_envoy_file *file, struct sluice_text yaml);

/* Prints the rules file. What could not be translated is in the reports of the files, as errors;
 * what does nothing here as warnings. out->failed: there is more than a rules file can be. */
void sl_envoy_print(struct sl_envoy *envoy, struct sl_envoy_file *const *files, size_t count,
                    struct sl_buffer *out);

void sl_envoy_release(struct sl_envoy *envoy);

#endif
