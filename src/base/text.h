/* Texts: spans of bytes, compared and cut without copies. */
#ifndef SL_BASE_TEXT_H
#define SL_BASE_TEXT_H

#include <stdlib.h>
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

/* Returns true if a text is not given or empty: to every rule these are the same. */
static inline bool sl_text_missing(struct sluice_text a)
{
    return a.len == 0;
}

/* Returns the value of a hex digit of either case, or -1. */
static inline int sl_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns a terminated copy on the heap; NULL if there is no memory. Not strndup, which may read
 * behind the text. */
static inline char *sl_text_copy(struct sluice_text text)
{
    char *terminated = malloc(text.len + 1);
    if (!terminated)
        return NULL;
    if (text.len)
        memcpy(terminated, text.at, text.len);
    terminated[text.len] = 0;
    return terminated;
}

/* Returns true for a byte of UTF-8 that is not the first of its character. */
static inline bool sl_utf8_continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

#endif
