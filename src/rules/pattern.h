/* Resources and the patterns that match them.
 *
 * A resource is a path, "/api/videos" (it starts with a slash), or a dotted
 * name, "api.payment.create". Both are sequences of segments. A pattern is
 * one too, in which `*` stands for one whole segment, or at the end for
 * everything below, itself included: the pattern `/api/` with a star also
 * matches `/api`. */
#ifndef SL_RULES_PATTERN_H
#define SL_RULES_PATTERN_H

#include "base/arena.h"

/* A pattern has fewer segments than this, so a resource cut off here is longer
 * than any pattern. */
enum { SL_SEGMENTS_MAX = 64 };

struct sl_pattern {
    struct sluice_text text; /* as normalised */
    bool dotted;
    bool everything; /* a lone `*`: any resource, path or dotted */
    bool prefix;     /* ended in `*` */
    size_t segment_count;
    struct sluice_text *segments; /* a null `at` is `*` */
};

/* Drops the query, decodes unreserved %XX, folds // and dot segments, ignores
 * a trailing slash. Works in place, never grows; returns the new length. */
size_t sl_resource_normalise(char *at, size_t len);

/* A resource, cut into segments. */
struct sl_segments {
    struct sluice_text at[SL_SEGMENTS_MAX];
    size_t count;
    bool dotted;
};

/* Cuts a normalised resource; drops what lies beyond SL_SEGMENTS_MAX. */
void sl_resource_cut(struct sluice_text resource, struct sl_segments *out);

/* Returns NULL on success, else the pattern's fault. */
const char *sl_pattern_parse(struct sl_arena *arena, struct sluice_text text,
                             struct sl_pattern *out);

bool sl_pattern_matches(const struct sl_pattern *pattern, const struct sl_segments *resource);

/* Returns true if `wide` matches everything that `narrow` matches. */
bool sl_pattern_covers(const struct sl_pattern *wide, const struct sl_pattern *narrow);

#endif
