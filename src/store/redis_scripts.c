#include "store/redis_scripts.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "base/asset.h"
#include "base/buffer.h"
#include "base/check.h"

#define PART(name)                                                                                 \
    static struct sluice_text part_##name(void);                                                   \
    SL_ASSET(part_##name, "src/store/redis_" #name ".lua")

PART(frame)
PART(ask)
PART(decide)
PART(hold)
PART(charge)
PART(change)
PART(take)
PART(due)
PART(forget)

static struct sluice_text twin_guard(void);
SL_ASSET(twin_guard, "src/algo/guard.lua")

static struct sluice_text twin_bucket(void);
SL_ASSET(twin_bucket, "src/algo/bucket.lua")

#define SL_ALGO(name)                                                                              \
    static struct sluice_text twin_##name(void);                                                   \
    SL_ASSET(twin_##name, "src/algo/" #name ".lua")
#include "algo/list.def"
#undef SL_ALGO

/* In the order of sl_algos. */
static struct sluice_text (*const twins[])(void) = {
#define SL_ALGO(name) twin_##name,
#include "algo/list.def"
#undef SL_ALGO
};

enum { SCRIPT_MAX_BYTES = 1 << 18 };

uint32_t sl_script_bit(const struct sl_algo *algo)
{
    uint32_t bit = 1;
    for (size_t i = 0; sl_algos[i] != algo; i++) {
        SL_CHECK(sl_algos[i]);
        bit <<= 1;
    }
    return bit;
}

/* Refunds and the like are of no use to a decision, which would make their functions for
 * nothing: they stand between two marks. */
static void add_twin(struct sl_buffer *out, struct sluice_text twin, bool changes)
{
    static const char from[] = "---- changing ----", to[] = "---- changing ends ----";
    const char *cut = changes ? NULL : memmem(twin.at, twin.len, from, sizeof from - 1);
    const char *end = cut ? memmem(twin.at, twin.len, to, sizeof to - 1) : NULL;
    if (!end) {
        sl_buffer_add(out, twin);
        return;
    }
    sl_buffer_add(out, (struct sluice_text){ twin.at, (size_t)(cut - twin.at) });
    sl_buffer_add(out, (struct sluice_text){ end, (size_t)(twin.at + twin.len - end) });
}

static void add_twins(struct sl_buffer *out, uint32_t set, bool changes)
{
    bool buckets = false;
    for (size_t i = 0; sl_algos[i]; i++)
        buckets |= set >> i & 1 && sl_algos[i]->is_bucket;
    if (set & SL_SCRIPT_GUARD)
        sl_buffer_add(out, twin_guard());
    if (buckets)
        add_twin(out, twin_bucket(), changes);
    for (size_t i = 0; sl_algos[i]; i++)
        if (set >> i & 1)
            add_twin(out, twins[i](), changes);
}

static void compose(struct sl_buffer *out, enum sl_script_kind kind, uint32_t set)
{
    sl_buffer_add(out, part_frame());
    switch (kind) {
    case SL_SCRIPT_DECIDE:
    case SL_SCRIPT_RESERVE:
        sl_buffer_add(out, part_ask());
        add_twins(out, set, false);
        sl_buffer_add(out, part_decide());
        if (kind == SL_SCRIPT_RESERVE)
            sl_buffer_add(out, part_hold());
        sl_buffer_add(out, part_charge());
        break;
    case SL_SCRIPT_CHANGE:
        add_twins(out, set, true);
        sl_buffer_add(out, part_change());
        break;
    case SL_SCRIPT_TAKE:
        sl_buffer_add(out, part_take());
        break;
    case SL_SCRIPT_DUE:
        sl_buffer_add(out, part_due());
        break;
    default:
        sl_buffer_add(out, part_forget());
    }
}

static bool print_sha1(struct sluice_text text, char out[41])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(text.at, text.len, digest, &len, EVP_sha1(), NULL) != 1 || len != 20)
        return false;
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = hex[digest[i] >> 4];
        out[2 * i + 1] = hex[digest[i] & 15];
    }
    out[40] = 0;
    return true;
}

static void drop(struct sl_script *script)
{
    if (script)
        free((char *)(uintptr_t)script->text.at);
    free(script);
}

static struct sl_script *make(enum sl_script_kind kind, uint32_t set)
{
    struct sl_buffer text = sl_buffer(SCRIPT_MAX_BYTES);
    struct sl_script *script = calloc(1, sizeof *script);
    compose(&text, kind, set);
    if (!script || text.failed) {
        sl_buffer_release(&text);
        free(script);
        return NULL;
    }
    script->text = (struct sluice_text){ text.at, text.len };
    if (print_sha1(script->text, script->sha1_hex))
        return script;
    drop(script);
    return NULL;
}

const struct sl_script *sl_script_get(struct sl_scripts *scripts, enum sl_script_kind kind,
                                      uint32_t set)
{
    SL_CHECK(kind < SL_SCRIPT_KINDS && set < SL_SCRIPT_SETS);
    _Atomic(struct sl_script *) *place = &scripts->made[kind][set];
    struct sl_script *script = atomic_load(place);
    if (script)
        return script;
    struct sl_script *made = make(kind, set);
    if (made && atomic_compare_exchange_strong(place, &script, made))
        return made;
    drop(made); /* another thread was faster, or there is no memory */
    return script;
}

void sl_scripts_release(struct sl_scripts *scripts)
{
    for (size_t kind = 0; kind < SL_SCRIPT_KINDS; kind++)
        for (size_t set = 0; set < SL_SCRIPT_SETS; set++)
            drop(atomic_exchange(&scripts->made[kind][set], NULL));
}
