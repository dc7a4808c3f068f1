#include "store/redis_parts.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/number.h"
#include "store/claim.h"
#include "store/near.h"
#include "store/redis_ask.h"

enum { WORDS_MAX_BYTES = 1 << 22 };

/* The claims of one slot. */
struct part {
    struct sl_query query; /* first */
    struct sl_parts *parts;
    struct sl_bundle bundle; /* of copies of those claims */
    struct sl_buffer bytes;
    bool is_shadow; /* all of them are: it cannot deny */
    bool is_known;  /* it was answered */
    bool is_taken;  /* and has charged */
};

struct place {
    uint32_t slot;
    uint32_t claim; /* in the whole bundle */
};

struct sl_parts {
    struct sl_undo_told undone; /* first */
    struct sl_undos *undos;
    struct sl_bundle *whole;
    struct sl_parts_told *told;
    int64_t now_us, due_us;
    struct sl_since since;
    bool teaches; /* who was denied: sl_near_learn */
    uint64_t nonce;
    int status;
    bool takes; /* something, if it is allowed: one part after another */
    bool is_denied;
    size_t waiting; /* for so many answers */
    void (*next)(struct sl_parts *parts);

    struct sl_query keep; /* makes it a reservation */
    struct sl_buffer keep_bytes;
    uint64_t id;

    size_t count, claim_count; /* of parts; of claims with a key */
    struct place *places;      /* by slot; claims[i] is the whole's claims[places[i].claim] */
    struct sl_claim *claims;
    struct sl_claim_name *names;
    struct part *part;
};

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

/* ---- the end ---- */

static void release(struct sl_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        sl_buffer_release(&parts->part[i].bytes);
    sl_buffer_release(&parts->keep_bytes);
    free(parts);
}

/* Of claims that nobody answered for, which the decision does not need: as if nothing was
 * counted. */
static void suppose(struct sl_bundle *bundle, int64_t now_us)
{
    struct sl_state nothing = { 0 };
    bundle->now_us = now_us;
    for (size_t i = 0; i < bundle->claim_count; i++) {
        struct sl_claim *claim = &bundle->claims[i];
        claim->guard_answer = (struct sl_guard_answer){ 0 };
        sl_claim_decide(claim, bundle, &nothing);
        claim->charged = false;
        claim->allowed = true;
        sl_claim_measure(claim, bundle, &nothing);
    }
}

static void take_back_claims(struct sl_parts *parts)
{
    struct sl_claim *claims = parts->whole->claims;
    for (size_t i = 0; i < parts->claim_count; i++) {
        struct sl_claim *to = &claims[parts->places[i].claim];
        const struct sl_claim_name *name = to->name;
        *to = parts->claims[i];
        to->name = name;
    }
}

/* What all parts say, in the whole. Each was decided by its own node's clock. */
static void put_together(struct sl_parts *parts)
{
    struct sl_bundle *whole = parts->whole;
    int64_t now_us = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (parts->part[i].is_known)
            now_us = sl_max_i64(now_us, parts->part[i].bundle.now_us);
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->part[i];
        part->bundle.allowed = !parts->is_denied;
        if (part->is_known)
            sl_answer_finish(&part->bundle);
        else
            suppose(&part->bundle, now_us);
        if (part->is_known && parts->teaches)
            sl_near_learn(parts->undos->shared->near, &part->bundle, parts->since);
    }
    take_back_claims(parts);
    whole->now_us = now_us;
    whole->wall_shift_us = 0;
    sl_bundle_judge(whole);
}

static void finish(struct sl_parts *parts)
{
    struct sl_parts_told *told = parts->told;
    if (parts->status == SLUICE_OK)
        put_together(parts);
    parts->whole->status = parts->status;
    parts->whole->held = parts->id;
    release(parts);
    told->done(told);
}

/* ---- waiting ---- */

/* What `next` is, when so many answers as `waiting` have come. */
static void one_less(struct sl_parts *parts)
{
    if (--parts->waiting == 0)
        parts->next(parts);
}

static void on_undone(struct sl_undo_told *told, int status)
{
    (void)status; /* what is lost is quota */
    one_less((struct sl_parts *)told);
}

static void ask_part(struct part *part,
                     void (*done)(struct sl_query *query, int status, const struct sl_reply *reply))
{
    struct sl_parts *parts = part->parts;
    struct sl_undos *undos = parts->undos;
    part->query.done = done;
    part->query.nonce = parts->nonce + (uint64_t)(part - parts->part);
    if (sl_ask_decide(&undos->shared->scripts, &part->bundle, NULL, &part->bytes, &part->query))
        sl_route_ask_by(undos->route, &part->query, parts->due_us);
    else
        done(&part->query, SLUICE_NO_MEMORY, NULL);
}

static int take_answer(struct part *part, int status, const struct sl_reply *reply)
{
    if (status == SLUICE_OK)
        status = sl_answer_read(&part->bundle, reply);
    part->is_known = status == SLUICE_OK;
    return status;
}

/* ---- looking: all that is left at once ---- */

/* One that fails is of no account where the decision stands without it. */
static void on_looked(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct part *part = (struct part *)query;
    struct sl_parts *parts = part->parts;
    status = take_answer(part, status, reply);
    if (status != SLUICE_OK && !parts->takes && !part->is_shadow)
        parts->status = status;
    one_less(parts);
}

static void give_back(struct sl_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->part[i];
        if (!part->is_taken)
            continue;
        parts->waiting++;
        sl_undo_charges(parts->undos, &part->bundle, parts->now_us, parts->due_us, &parts->undone);
    }
}

/* Denied: what was taken goes back, and what was not asked is looked at; its guards count. */
static void deny(struct sl_parts *parts)
{
    parts->is_denied = true;
    parts->next = finish;
    parts->waiting = 1;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->part[i].is_known)
            continue;
        parts->part[i].bundle.is_denied = true;
        parts->waiting++;
        ask_part(&parts->part[i], on_looked);
    }
    give_back(parts);
    one_less(parts);
}

/* Nothing is taken: a peek, a cost of 0, or somebody whose identity is missing. */
static void look(struct sl_parts *parts)
{
    parts->next = finish;
    parts->waiting = 1 + parts->count;
    for (size_t i = 0; i < parts->count; i++) {
        parts->part[i].bundle.is_denied = parts->is_denied;
        ask_part(&parts->part[i], on_looked);
    }
    one_less(parts);
}

static void fail(struct sl_parts *parts, int status)
{
    parts->status = status;
    parts->next = finish;
    parts->waiting = 1;
    give_back(parts);
    one_less(parts);
}

/* ---- holding ---- */

static void on_kept(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct sl_parts *parts =
        (struct sl_parts *)(void *)((char *)query - offsetof(struct sl_parts, keep));
    bool is_full = status == SLUICE_OK && reply->value_count == 2 && reply->values[1] == -2;
    if (status == SLUICE_OK && !is_full) {
        finish(parts);
    } else if (status != SLUICE_OK && query->may_have_run) {
        parts->status = status; /* if it is held after all, its end gives it back */
        finish(parts);
    } else {
        fail(parts, is_full ? SLUICE_STORE_FULL : status);
    }
}

/* Everything is charged, and becomes a reservation. */
static void keep(struct sl_parts *parts)
{
    struct sl_undos *undos = parts->undos;
    struct sl_bundle held = *parts->whole;
    held.claims = parts->claims;
    held.claim_count = parts->claim_count;
    while (parts->id == 0)
        parts->id = sl_random64();
    struct sl_holding holding = { parts->id, parts->whole->hold_us };
    parts->keep = (struct sl_query){ .done = on_kept, .in_cluster = true };
    parts->keep_bytes = sl_buffer(WORDS_MAX_BYTES);
    if (sl_ask_keep(&undos->shared->scripts, &held, &holding, &parts->keep_bytes, &parts->keep))
        sl_route_ask_by(undos->route, &parts->keep, parts->due_us);
    else
        fail(parts, SLUICE_NO_MEMORY);
}

/* ---- taking: one after another ---- */

static void mark_taken(struct part *part)
{
    part->is_taken = true;
    for (size_t i = 0; i < part->bundle.claim_count; i++) {
        struct sl_claim *claim = &part->bundle.claims[i];
        claim->charged = claim->allowed && sl_claim_takes(&part->bundle, claim);
    }
}

static bool has_charged(const struct part *part)
{
    for (size_t i = 0; i < part->bundle.claim_count; i++)
        if (part->bundle.claims[i].charged)
            return true;
    return false;
}

static void have_all(struct sl_parts *parts)
{
    bool has_any = false;
    for (size_t i = 0; i < parts->count; i++)
        has_any |= parts->part[i].is_taken;
    if (parts->whole->hold_us && has_any)
        keep(parts);
    else
        finish(parts);
}

/* A shadow rule never denies, nor does what becomes of it. */
static void on_shadow(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct part *part = (struct part *)query;
    if (take_answer(part, status, reply) == SLUICE_OK)
        mark_taken(part);
    part->is_taken &= has_charged(part);
    one_less(part->parts);
}

static void take_shadows(struct sl_parts *parts)
{
    parts->next = have_all;
    parts->waiting = 1;
    for (size_t i = 0; i < parts->count; i++) {
        if (!parts->part[i].is_shadow)
            continue;
        parts->waiting++;
        ask_part(&parts->part[i], on_shadow);
    }
    one_less(parts);
}

static void on_taken(struct sl_query *query, int status, const struct sl_reply *reply);

static void take_next(struct sl_parts *parts)
{
    size_t i = 0;
    while (i < parts->count && (parts->part[i].is_known || parts->part[i].is_shadow))
        i++;
    if (i < parts->count)
        ask_part(&parts->part[i], on_taken);
    else
        take_shadows(parts);
}

static void on_taken(struct sl_query *query, int status, const struct sl_reply *reply)
{
    struct part *part = (struct part *)query;
    struct sl_parts *parts = part->parts;
    status = take_answer(part, status, reply);
    if (status != SLUICE_OK) {
        fail(parts, status);
    } else if (!part->bundle.allowed) {
        deny(parts);
    } else {
        mark_taken(part);
        part->is_taken = has_charged(part);
        take_next(parts);
    }
}

/* ---- the beginning ---- */

static int by_slot(const void *a, const void *b)
{
    const struct place *one = a, *two = b;
    if (one->slot != two->slot)
        return one->slot < two->slot ? -1 : 1;
    return one->claim < two->claim ? -1 : one->claim > two->claim;
}

/* Where the next of an allocation's pieces begins; `at` NULL: how long it is. */
static void *piece(char *at, size_t *len, size_t bytes)
{
    char *start = at ? at + *len : NULL;
    *len += (bytes + 15) / 16 * 16;
    return start;
}

static void keep_text(char **at, struct sluice_text *text)
{
    if (text->len)
        memcpy(*at, text->at, text->len);
    text->at = *at;
    *at += text->len;
}

/* Claims by slot, copied with their names. */
static void copy_claims(struct sl_parts *parts, char *texts)
{
    const struct sl_bundle *whole = parts->whole;
    for (size_t i = 0; i < whole->claim_count; i++)
        if (sl_claim_is_asked(&whole->claims[i]))
            parts->places[parts->claim_count++] =
                (struct place){ sl_slot_of(whole->claims[i].name->key), (uint32_t)i };
    qsort(parts->places, parts->claim_count, sizeof *parts->places, by_slot);
    for (size_t i = 0; i < parts->claim_count; i++) {
        parts->claims[i] = whole->claims[parts->places[i].claim];
        parts->names[i] = *parts->claims[i].name;
        parts->claims[i].name = &parts->names[i];
        parts->claims[i].charged = false;
        keep_text(&texts, &parts->names[i].key);
        keep_text(&texts, &parts->names[i].guard);
    }
}

static void cut(struct sl_parts *parts, const struct sl_cluster *cluster)
{
    const struct sl_bundle *whole = parts->whole;
    int64_t now_us = sl_link_now_us();
    for (size_t i = 0; i < parts->claim_count; i++) {
        struct part *part = &parts->part[parts->count];
        uint32_t slot = parts->places[i].slot;
        if (i == 0 || slot != parts->places[i - 1].slot ||
            sl_cluster_is_moving(cluster, slot, now_us)) {
            parts->count++;
            *part = (struct part){ .parts = parts, .bundle = *whole, .is_shadow = true };
            part->bundle.hold_us = 0;
            part->bundle.claims = &parts->claims[i];
            part->bundle.claim_count = 0;
            part->bytes = sl_buffer(WORDS_MAX_BYTES);
        } else {
            part--;
        }
        part->bundle.claim_count++;
        part->is_shadow &= parts->claims[i].shadow;
    }
}

static struct sl_parts *new_parts(struct sl_bundle *whole, const struct sl_cluster *cluster)
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
    for (int pass = 0; pass < 2; pass++) { /* measured, then laid out */
        len = 0;
        parts = piece(at, &len, sizeof *parts);
        struct place *places = piece(at, &len, claims * sizeof *places);
        struct sl_claim *copies = piece(at, &len, claims * sizeof *copies);
        struct sl_claim_name *names = piece(at, &len, claims * sizeof *names);
        struct part *part = piece(at, &len, claims * sizeof *part);
        texts = piece(at, &len, text_bytes);
        if (parts)
            *parts = (struct sl_parts){ .whole = whole, .places = places, .claims = copies };
        if (parts)
            parts->names = names, parts->part = part;
        else if (!(at = calloc(1, len)))
            return NULL;
    }
    copy_claims(parts, texts);
    cut(parts, cluster);
    return parts;
}

/* Does it take anything, if it is allowed; and can it be? */
static void judge_whole(struct sl_parts *parts)
{
    const struct sl_bundle *whole = parts->whole;
    for (size_t i = 0; i < whole->claim_count; i++) {
        const struct sl_claim *claim = &whole->claims[i];
        parts->takes |= !claim->no_key && sl_claim_takes(whole, claim);
        parts->is_denied |= claim->no_key && !claim->shadow;
    }
    parts->takes &= !parts->is_denied;
}

void sl_parts_decide(struct sl_undos *undos, struct sl_bundle *bundle, uint64_t nonce,
                     struct sl_parts_told *told)
{
    struct sl_parts *parts = new_parts(bundle, undos->shared->cluster);
    bundle->held = 0;
    if (!parts) {
        bundle->status = SLUICE_NO_MEMORY;
        told->done(told);
        return;
    }
    parts->undone.tried = on_undone;
    parts->undos = undos;
    parts->told = told;
    parts->nonce = nonce;
    parts->now_us = bundle->now_us;
    parts->since = sl_near_since(undos->shared->near);
    parts->teaches = sl_near_may_learn(bundle);
    parts->due_us = sl_link_now_us() + undos->shared->deadline_us;
    judge_whole(parts);
    if (parts->takes)
        take_next(parts);
    else
        look(parts);
}
