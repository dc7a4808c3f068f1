/* Importing configurations of Envoy's reference rate limit server, as a rules file.
 *
 *   files → sl_envoy_read: domains of descriptors, a tree each (envoy_read.c)
 *         → sl_envoy_print: a rule for every limit in them (envoy_rules.c, envoy_path.c)
 *
 * There, a request is a domain and a list of key/value entries, and walks down its domain's tree:
 * at each level to the descriptor with its key and value, else to the first pattern that its value
 * matches, else to the one with its key alone. The limit at the node of the last entry is the one
 * that counts, and there is no way back from a descriptor without one.
 *
 * Here, a request has attributes, and every rule that matches counts. So a limit becomes a rule
 * with conditions: for each entry on its path, its value, and the values that descriptors beside
 * it take. docs/import.md describes the attributes of requests of Envoy's protocol. */
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
    bool is_told_metrics; /* the warning about its settings of metrics was given */
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
    struct sl_texts replaces; /* names of other limits */
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
    struct sl_envoy_limit *limit; /* NULL: none */
    struct sl_envoy_node *parent; /* of a top-level one: the domain's root, which has no key */
    struct sl_envoy_node *first, *last; /* below it, in the order of the file */
    struct sl_envoy_node *next;         /* beside it */
    uint32_t number;                    /* of all, from 1 */

    bool knows_others;       /* `unequal` and `unlike` are filled in */
    struct sl_texts unequal; /* values that descriptors beside it take */
    struct sl_texts unlike;  /* and their patterns */

    const char *rule;                 /* the name of its rule; NULL: it has none */
    struct sl_envoy_node *next_named; /* with the same rate_limit.name, in the same domain */
    uint32_t named_by; /* number of the last node that named its rule in `replaces` */
};

struct sl_envoy_domain {
    struct sluice_text name;
    struct sl_envoy_file *file; /* in which it stood first */
    struct sl_mark mark;
    struct sl_envoy_node root; /* its descriptors are below */
    struct sl_envoy_domain *next;
};

/* Zeroed: nothing was read. */
struct sl_envoy {
    bool merges_domains; /* a domain may be in several files */
    const char *listen;  /* the address for Envoy's requests */
    struct sl_arena arena;
    struct sl_envoy_domain *first, *last;
    struct sl_textmap composites; /* (parent's number, key_value) → number */
    uint32_t node_count;
    uint32_t domain_count;
    size_t limits;    /* all limits, unlimited ones too */
    size_t unlimited; /* of these, those that are unlimited */
    size_t dead;      /* and those that no request can reach */
    size_t rules;     /* printed rules */
    size_t lost;      /* differences to Envoy's meaning */
};

/* Descriptors cannot be deeper than a tree of the file can be. */
enum { SL_ENVOY_DEPTH_MAX = 16 };

/* Reads a file, which outlives the struct. Returns false with every problem in file->report. */
bool sl_envoy_read(struct sl_envoy *envoy, struct sl_envoy_file *file, struct sluice_text yaml);

/* Prints the rules file. Parts without a translation are in the reports of the files, as errors;
 * parts without effect here as warnings. out->failed: it is larger than a rules file can be. */
void sl_envoy_print(struct sl_envoy *envoy, struct sl_envoy_file *const *files, size_t count,
                    struct sl_buffer *out);

void sl_envoy_release(struct sl_envoy *envoy);

#endif
