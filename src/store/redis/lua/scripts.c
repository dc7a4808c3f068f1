/* Composes scripts out of their parts, and keeps each with its SHA1. */
#include "store/redis/lua/scripts.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/asset.h"
#include "base/buffer.h"
#include "base/check.h"

#define PART(name)                                                                                 \
    static struct sluice_text part_##name(void);                                                   \
    SL_ASSET(part_##name, "src/store/redis/lua/" #name ".lua")

PART(frame)
PART(terms)
PART(foreign)
PART(expire)
PART(one)
PART(all)
PART(hold)
PART(keep)
PART(change)
PART(take)
PART(due)
PART(forget)
PART(lease)
PART(count)
PART(log_look)
PART(log_page)
PART(log_write)
PART(log_found)

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
    SL_CHECK(bit < SL_SCRIPT_GUARD);
    return bit;
}

/* ---- sections ---- */

/* Returns the text between the mark `---- NAME ----` and the next one; "" if there is none. */
static struct sluice_text section_of(struct sluice_text file, struct sluice_text name)
{
    char mark[48];
    int len = snprintf(mark, sizeof mark, "---- %.*s ----\n", (int)name.len, name.at);
    const char *start = memmem(file.at, file.len, mark, (size_t)len);
    if (!start)
        return SL_TEXT("");
    start += len;
    size_t rest = (size_t)(file.at + file.len - start);
    const char *next = memmem(start, rest, "\n---- ", 6);
    return (struct sluice_text){ start, next ? (size_t)(next + 1 - start) : rest };
}

/* What a script is composed for: marks (`--@NAME` on a line of their own) are filled in for it. */
struct frame {
    enum sl_script_kind kind;
    uint32_t set;
};

static void add_filled(struct sl_buffer *out, const struct frame *frame, struct sluice_text text,
                       size_t algo);

static bool has_algo(const struct frame *frame, size_t algo)
{
    return frame->set >> algo & 1;
}

/* Adds an algorithm's section of this name, behind the one that both buckets share. */
static void add_section(struct sl_buffer *out, const struct frame *frame, struct sluice_text name,
                        size_t algo)
{
    SL_CHECK(algo < SL_ALGO_COUNT);
    if (sl_algos[algo]->is_bucket)
        add_filled(out, frame, section_of(twin_bucket(), name), algo);
    add_filled(out, frame, section_of(twins[algo](), name), algo);
}

/* Adds the section of each algorithm in the set; if there are several, Lua's `name` chooses. */
static void add_choice(struct sl_buffer *out, const struct frame *frame, struct sluice_text name)
{
    bool is_one = __builtin_popcount(frame->set & (SL_SCRIPT_GUARD - 1)) == 1;
    bool is_first = true;
    for (size_t i = 0; sl_algos[i]; i++) {
        if (!has_algo(frame, i))
            continue;
        if (!is_one) {
            sl_buffer_add(out, is_first ? SL_TEXT("if name == '") : SL_TEXT("elseif name == '"));
            sl_buffer_add(out, sl_text(sl_algos[i]->name));
            sl_buffer_add(out, SL_TEXT("' then\n"));
        }
        add_section(out, frame, name, i);
        is_first = false;
    }
    if (!is_one)
        sl_buffer_add(out, SL_TEXT("end\n"));
}

static void fill_mark(struct sl_buffer *out, const struct frame *frame, struct sluice_text name,
                      size_t algo)
{
    bool has_guard = frame->set & SL_SCRIPT_GUARD;
    if (sl_text_is(name, "functions"))
        add_filled(out, frame,
                   has_guard ? section_of(twin_guard(), SL_TEXT("function")) : SL_TEXT(""), algo);
    else if (sl_text_is(name, "foreign"))
        sl_buffer_add(out, part_foreign());
    else if (sl_text_is(name, "expire"))
        sl_buffer_add(out, part_expire());
    else if (sl_text_is(name, "converted"))
        sl_buffer_add(out, section_of(twin_bucket(), name));
    else if (sl_text_is(name, "hold"))
        sl_buffer_add(out, frame->kind == SL_SCRIPT_RESERVE ? part_hold() : SL_TEXT(""));
    else if (sl_text_is(name, "terms"))
        sl_buffer_add(out, part_terms());
    else if (sl_text_is(name, "shown") || sl_text_is(name, "weight"))
        sl_buffer_add(out, section_of(twins[algo](), name));
    else
        add_choice(out, frame, name);
}

/* Adds a text with its marks filled in; `algo` is the one that the text belongs to, if any. */
static void add_filled(struct sl_buffer *out, const struct frame *frame, struct sluice_text text,
                       size_t algo)
{
    while (text.len) {
        const char *mark = memmem(text.at, text.len, "--@", 3);
        size_t plain = mark ? (size_t)(mark - text.at) : text.len;
        sl_buffer_add(out, (struct sluice_text){ text.at, plain });
        text.at += plain;
        text.len -= plain;
        if (!mark)
            return;
        const char *end = memchr(text.at, '\n', text.len);
        SL_CHECK(end);
        fill_mark(out, frame, (struct sluice_text){ mark + 3, (size_t)(end - mark) - 3 }, algo);
        text.len -= (size_t)(end + 1 - text.at);
        text.at = end + 1;
    }
}

static struct sluice_text body_of(enum sl_script_kind kind)
{
    switch (kind) {
    case SL_SCRIPT_ONE:
        return part_one();
    case SL_SCRIPT_ALL:
    case SL_SCRIPT_RESERVE:
        return part_all();
    case SL_SCRIPT_CHANGE:
        return part_change();
    case SL_SCRIPT_KEEP:
        return part_keep();
    case SL_SCRIPT_TAKE:
        return part_take();
    case SL_SCRIPT_DUE:
        return part_due();
    case SL_SCRIPT_LEASE:
        return part_lease();
    case SL_SCRIPT_COUNT:
        return part_count();
    case SL_SCRIPT_LOG_LOOK:
        return part_log_look();
    case SL_SCRIPT_LOG_PAGE:
        return part_log_page();
    case SL_SCRIPT_LOG_WRITE:
        return part_log_write();
    case SL_SCRIPT_LOG_FOUND:
        return part_log_found();
    default:
        return part_forget();
    }
}

static void compose_script(struct sl_buffer *out, enum sl_script_kind kind, uint32_t set)
{
    struct frame frame = { kind, set };
    sl_buffer_add(out, part_frame());
    add_filled(out, &frame, body_of(kind), 0);
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

static void free_script(struct sl_script *script)
{
    if (script)
        free((char *)(uintptr_t)script->text.at);
    free(script);
}

static struct sl_script *make_script(enum sl_script_kind kind, uint32_t set)
{
    struct sl_buffer text = sl_buffer(SCRIPT_MAX_BYTES);
    struct sl_script *script = calloc(1, sizeof *script);
    compose_script(&text, kind, set);
    if (!script || text.failed) {
        sl_buffer_release(&text);
        free(script);
        return NULL;
    }
    SL_CHECK(text.len > 0);
    script->text = (struct sluice_text){ text.at, text.len };
    if (print_sha1(script->text, script->sha1_hex))
        return script;
    free_script(script);
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
    struct sl_script *made = make_script(kind, set);
    if (made && atomic_compare_exchange_strong(place, &script, made))
        return made;
    free_script(made); /* another thread was faster, or there is no memory */
    return script;
}

void sl_scripts_release(struct sl_scripts *scripts)
{
    for (size_t kind = 0; kind < SL_SCRIPT_KINDS; kind++)
        for (size_t set = 0; set < SL_SCRIPT_SETS; set++)
            free_script(atomic_exchange(&scripts->made[kind][set], NULL));
}
