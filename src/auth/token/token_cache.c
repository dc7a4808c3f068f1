/* A cache of verified tokens: 512 groups of 8 places.
 *
 * A token has its place in the group that its digest selects: where all are taken, the one
 * longest unused makes room. Nothing is chained, moved or allocated, and a token that is not
 * sent any more costs nothing but its place.
 *
 *   heads   | digest, span, used, era |  64 bytes each, 8 in a row: what is searched
 *   bodies  | len value len value …   |  1 KiB each: touched only when found
 *
 * Only tokens with a good signature come in, so only their issuer can fill a group.
 *
 * To clear the cache is to begin a new era: a head of another era is an empty place, and
 * so is an untouched one, whose era is 0. */
#include "auth/token/token_cache.h"

#include <stdlib.h>

#include "base/check.h"

enum { PLACES = 8, GROUPS = SL_TOKENS_KEPT / PLACES };

/* Stands for the length of a claim that the token does not have. */
#define NO_VALUE UINT16_MAX

struct head {
    struct sl_digest digest;
    struct sl_token_span span;
    uint64_t used; /* the cache's count of uses at its last use */
    uint32_t era;
    uint32_t count; /* of values */
};

struct sl_token_cache {
    uint64_t uses;
    uint32_t era;
    struct sluice_text values[SL_CLAIMS_MAX]; /* of the token that was found last */
    struct head heads[GROUPS][PLACES];
    char bodies[GROUPS][PLACES][SL_KEPT_MAX_BYTES];
};

_Static_assert(sizeof(struct head) == 64, "a head is a cache line");

struct sl_token_cache *sl_token_cache_new(void)
{
    struct sl_token_cache *cache = calloc(1, sizeof *cache);
    if (cache)
        cache->era = 1;
    return cache;
}

void sl_token_cache_free(struct sl_token_cache *cache)
{
    free(cache);
}

void sl_token_cache_clear(struct sl_token_cache *cache)
{
    cache->era++;
    SL_CHECK(cache->era != 0);
}

static size_t find_group(const struct sl_digest *digest)
{
    return ((size_t)digest->byte[0] << 8 | digest->byte[1]) % GROUPS;
}

/* Finds the token's place in its group; PLACES: it has none. */
static size_t find_place(const struct sl_token_cache *cache, const struct sl_digest *digest)
{
    const struct head *heads = cache->heads[find_group(digest)];
    size_t i = 0;
    while (i < PLACES && (heads[i].era != cache->era || !sl_digest_equal(&heads[i].digest, digest)))
        i++;
    return i;
}

/* Returns an empty place, else the one longest unused. */
static size_t make_room(const struct sl_token_cache *cache, const struct sl_digest *digest)
{
    const struct head *heads = cache->heads[find_group(digest)];
    size_t oldest = 0;
    for (size_t i = 0; i < PLACES; i++) {
        if (heads[i].era != cache->era)
            return i;
        if (heads[i].used < heads[oldest].used)
            oldest = i;
    }
    return oldest;
}

static size_t packed_len(const struct sl_claims *claims)
{
    size_t len = 0;
    for (size_t i = 0; i < claims->count; i++)
        len += sizeof(uint16_t) + claims->values[i].len;
    return len;
}

static void pack_values(const struct sl_claims *claims, char *at)
{
    for (size_t i = 0; i < claims->count; i++) {
        struct sluice_text value = claims->values[i];
        uint16_t len = value.at ? (uint16_t)value.len : NO_VALUE;
        memcpy(at, &len, sizeof len);
        if (value.len)
            memcpy(at + sizeof len, value.at, value.len);
        at += sizeof len + value.len;
    }
}

static void unpack_values(const char *at, size_t count, struct sluice_text *values)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t len;
        memcpy(&len, at, sizeof len);
        at += sizeof len;
        values[i] = len == NO_VALUE ? (struct sluice_text){ 0 } : (struct sluice_text){ at, len };
        at += values[i].len;
    }
}

void sl_token_cache_put(struct sl_token_cache *cache, const struct sl_digest *digest,
                        const struct sl_claims *claims)
{
    if (packed_len(claims) > SL_KEPT_MAX_BYTES)
        return;
    size_t group = find_group(digest), place = find_place(cache, digest);
    if (place == PLACES)
        place = make_room(cache, digest);
    cache->heads[group][place] = (struct head){ .digest = *digest,
                                                .span = claims->span,
                                                .used = ++cache->uses,
                                                .era = cache->era,
                                                .count = (uint32_t)claims->count };
    pack_values(claims, cache->bodies[group][place]);
}

bool sl_token_cache_get(struct sl_token_cache *cache, const struct sl_digest *digest,
                        int64_t now_us, struct sl_token *out)
{
    size_t group = find_group(digest), place = find_place(cache, digest);
    if (place == PLACES)
        return false;
    struct head *head = &cache->heads[group][place];
    if (now_us < head->span.from_us || now_us >= head->span.until_us)
        return false;
    head->used = ++cache->uses;
    unpack_values(cache->bodies[group][place], head->count, cache->values);
    *out = (struct sl_token){ cache->values, head->count };
    return true;
}
