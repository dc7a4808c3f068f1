/* Spans of bytes: comparing and cutting, no copies. */
#ifndef SL_BASE_TEXT_H
#define SL_BASE_TEXT_H

#include <string.h>

#include "sluice.h"

/* A span over a string literal. */
#define SL_TEXT(literal) ((struct sluice_text){ "" literal, sizeof(literal) - 1 })

static inline struct sluice_text sl_text(const char *terminated)
{
    return (struct sluice_text){ terminated, terminated ? strlen(terminated) : 0 };
}

static inline bool sl_text_equal(struct sluice_text a, struct sluice_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static inline bool sl_text_is(struct sluice_text a, const char *terminated)
{
    return sl_text_equal(a, sl_text(terminated));
}

/* Not given and empty are the same to every rule. */
static inline bool sl_text_missing(struct sluice_text a)
{
    return a.len == 0;
}

#endif
