/* Groups the claims of a request by slot. */
#include <stdlib.h>

#include "base/check.h"
#include "store/redis/left_out.h"
#include "store/redis/parts_internal.h"

enum { WORDS_MAX_BYTES = 1 << 22 };

bool sl_bundle_is_scattered(const struct sl_bundle *bundle, const struct sl_cluster *cluster)
{
    uint32_t slot = SL_SLOT_COUNT;
    size_t keyed = 0;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        const struct sl_claim *claim = &bundle->claims[i];
        if (!sl_claim_is_asked(claim))
            continue;
        uint32_t own = sl_slot_of(claim->name->key);
        if (keyed++ && own != slot)
            return true;
        slot = own;
    }
    return keyed > 1 && sl_cluster_is_moving(cluster, slot, sl_link_now_us());
}

static int by_slot(const void *a, const void *b)
{
    const struct sl_slot_place *one = a, *two = b;
    if (one->slot != two->slot)
        return one->slot < two->slot ? -1 : 1;
    return one->claim < two->claim ? -1 : one->claim > two->claim;
}

/* Returns the next piece of one allocation; with `at` NULL it only adds up the length. */
static void *next_piece(char *at, size_t *len, size_t bytes)
{
    char *start = at ? at + *len : NULL;
    *len += (bytes + 15) / 16 * 16;
    return start;
}

static void copy_text(char **at, struct sluice_text *text)
{
    if (text->len)
        memcpy(*at, text->at, text->len);
    text->at = *at;
    *at += text->len;
}

/* Copies claims with their names, ordered by slot. */
static void copy_claims(struct sl_parts *parts, char *texts)
{
    const struct sl_bundle *whole = parts->whole;
    for (size_t i = 0; i < whole->claim_count; i++)
        if (sl_claim_is_asked(&whole->claims[i]))
            parts->places[parts->claim_count++] =
                (struct sl_slot_place){ sl_slot_of(whole->claims[i].name->key), (uint32_t)i };
    qsort(parts->places, parts->claim_count, sizeof *parts->places, by_slot);
    for (size_t i = 0; i < parts->claim_count; i++) {
        parts->claims[i] = whole->claims[parts->places[i].claim];
        parts->names[i] = *parts->claims[i].name;
        parts->claims[i].name = &parts->names[i];
        parts->claims[i].charged = false;
        copy_text(&texts, &parts->names[i].key);
        copy_text(&texts, &parts->names[i].guard);
    }
}

static void cut_into_parts(struct sl_parts *parts, const struct sl_cluster *cluster)
{
    const struct sl_bundle *whole = parts->whole;
    int64_t now_us = sl_link_now_us();
    for (size_t i = 0; i < parts->claim_count; i++) {
        struct sl_slot_part *part = &parts->part[parts->count];
        uint32_t slot = parts->places[i].slot;
        if (i == 0 || slot != parts->places[i - 1].slot ||
            sl_cluster_is_moving(cluster, slot, now_us)) {
            parts->count++;
            *part = (struct sl_slot_part){ .parts = parts, .bundle = *whole };
            part->is_shadow = part->is_optional = true;
            part->bundle.hold_us = 0;
            part->bundle.claims = &parts->claims[i];
            part->bundle.claim_count = 0;
            part->bytes = sl_buffer(WORDS_MAX_BYTES);
        } else {
            part--;
        }
        part->bundle.claim_count++;
        part->is_shadow &= parts->claims[i].shadow;
        part->is_optional &= sl_claim_may_be_left_out(&parts->claims[i]);
    }
}

struct sl_parts *sl_parts_new(struct sl_bundle *whole, const struct sl_cluster *cluster)
{
    size_t claims = 0, text_bytes = 0, len = 0;
    for (size_t i = 0; i < whole->claim_count; i++) {
        if (!sl_claim_is_asked(&whole->claims[i]))
            continue;
        claims++;
        text_bytes += whole->claims[i].name->key.len + whole->claims[i].name->guard.len;
    }
    char *at = NULL, *texts = NULL;
    struct sl_parts *parts = NULL;
    for (int pass = 0; pass < 2; pass++) { /* first measures, then lays out */
        len = 0;
        parts = next_piece(at, &len, sizeof *parts);
        struct sl_slot_place *places = next_piece(at, &len, claims * sizeof *places);
        struct sl_claim *copies = next_piece(at, &len, claims * sizeof *copies);
        struct sl_claim_name *names = next_piece(at, &len, claims * sizeof *names);
        struct sl_slot_part *part = next_piece(at, &len, claims * sizeof *part);
        texts = next_piece(at, &len, text_bytes);
        if (parts)
            *parts = (struct sl_parts){ .whole = whole, .places = places, .claims = copies };
        if (parts)
            parts->names = names, parts->part = part;
        else if (!(at = calloc(1, len)))
            return NULL;
    }
    copy_claims(parts, texts);
    cut_into_parts(parts, cluster);
    SL_CHECK(parts->claim_count == claims && parts->count <= claims);
    return parts;
}

void sl_parts_free(struct sl_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        sl_buffer_release(&parts->part[i].bytes);
    sl_buffer_release(&parts->keep_bytes);
    free(parts);
}
