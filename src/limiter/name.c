/* Prints the names of claims. They are made of untrusted values, which must not run into each
 * other: characters with a meaning in a name (`:` `{` `}`), `%` itself and controls are written as
 * %XX, and values that are too long as `%sha256=…`, which no value can spell. */
#include "limiter/name.h"

#include "base/buffer.h"

enum { VALUE_MAX_BYTES = 256, BLOCK_BYTES = 16 << 10 };

bool sl_namer_init(struct sl_namer *namer, const struct sl_settings *settings)
{
    *namer = (struct sl_namer){ .settings = settings, .memory = sl_scratch(BLOCK_BYTES) };
    namer->hasher = sl_sha256_new();
    return namer->hasher;
}

void sl_namer_release(struct sl_namer *namer)
{
    sl_sha256_free(namer->hasher);
    sl_scratch_release(&namer->memory);
}

/* A name being printed; `at` NULL: only measured. */
struct name_printer {
    struct sl_namer *namer;
    bool is_lone; /* one value alone: no character has a meaning but `%` */
    char *at;
    size_t len;
};

static void add_text(struct name_printer *print, struct sluice_text text)
{
    if (print->at && text.len)
        memcpy(print->at + print->len, text.at, text.len);
    print->len += text.len;
}

static void add_encoded(struct name_printer *print, struct sluice_text text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool has_meaning = !print->is_lone && (c == ':' || c == '{' || c == '}');
        bool is_plain = c >= ' ' && c != 127 && c != '%' && !has_meaning;
        char coded[3] = { '%', hex[c >> 4], hex[c & 15] };
        if (is_plain)
            add_text(print, (struct sluice_text){ text.at + i, 1 });
        else
            add_text(print, (struct sluice_text){ coded, sizeof coded });
    }
}

static void add_digest(struct name_printer *print, struct sluice_text text)
{
    struct sl_digest digest;
    char printed[SL_DIGEST_HEX + 1];
    sl_sha256_of(print->namer->hasher, text, &digest);
    sl_digest_print(&digest, printed);
    add_text(print, (struct sluice_text){ printed, SL_DIGEST_HEX });
}

static void add_value(struct name_printer *print, struct sluice_text text)
{
    if (text.len <= VALUE_MAX_BYTES) {
        add_encoded(print, text);
        return;
    }
    add_text(print, SL_TEXT("%sha256="));
    add_digest(print, text);
}

/* A tenant is not a person, and a digest is not hashed again. With `identity.user_id` an id mostly
 * is one, but not if the request had no email. */
static bool is_hidden(const struct sl_settings *settings, const struct sl_part *part,
                      struct sluice_text value)
{
    struct sl_digest digest;
    if (!settings->hash_identifiers || part->attribute == SL_ATTR_TENANT)
        return false;
    return part->attribute != SL_ATTR_USER || !settings->identity.user_id_sha256_email_ip ||
           !sl_digest_parse(value, &digest);
}

static void add_identifier(struct name_printer *print, const struct sl_caller_keys *caller,
                           const struct sl_rule *rule)
{
    bool is_global = rule->per_count == 1 && rule->per[0].attribute == SL_ATTR_GLOBAL;
    if (is_global || rule->per_count == 0)
        add_text(print, SL_TEXT("-"));
    for (size_t i = 0; !is_global && i < rule->per_count; i++) {
        if (i > 0)
            add_text(print, SL_TEXT(":"));
        struct sluice_text value = sl_caller_keys_value(caller, &rule->per[i]);
        if (is_hidden(print->namer->settings, &rule->per[i], value))
            add_digest(print, value);
        else
            add_value(print, value);
    }
}

/* No tenant is `-`; a tenant of that name is written otherwise. */
static void add_tenant(struct name_printer *print, struct sluice_text tenant)
{
    if (sl_text_missing(tenant))
        add_text(print, SL_TEXT("-"));
    else if (sl_text_is(tenant, "-"))
        add_text(print, SL_TEXT("%2D"));
    else
        add_value(print, tenant);
}

static void add_claim(struct name_printer *print, const struct sl_caller_keys *caller,
                      const struct sl_rule *rule, struct sluice_text suffix)
{
    struct sluice_text tenant = caller->request.tenant;
    bool has_none = rule->spans_tenants || sl_text_missing(tenant);
    bool tags_tenant = !has_none && !print->namer->settings->hash_tag_identifier;
    add_text(print, tags_tenant ? SL_TEXT("rl:{") : SL_TEXT("rl:"));
    add_tenant(print, has_none ? SL_TEXT("") : tenant);
    add_text(print, tags_tenant ? SL_TEXT("}:") : SL_TEXT(":"));
    add_text(print, sl_text(rule->name));
    add_text(print, suffix);
    add_text(print, tags_tenant ? SL_TEXT(":") : SL_TEXT(":{"));
    add_identifier(print, caller, rule);
    if (!tags_tenant)
        add_text(print, SL_TEXT("}"));
}

/* Measures the name, then prints it. */
static bool print_claim(struct sl_namer *namer, const struct sl_caller_keys *caller,
                        const struct sl_rule *rule, struct sluice_text suffix,
                        struct sluice_text *out)
{
    struct name_printer print = { .namer = namer };
    add_claim(&print, caller, rule, suffix);
    print.at = sl_scratch_take(&namer->memory, print.len);
    if (!print.at)
        return false;
    *out = (struct sluice_text){ print.at, print.len };
    print.len = 0;
    add_claim(&print, caller, rule, suffix);
    return true;
}

const struct sl_claim_name *sl_name_claim(struct sl_namer *namer,
                                          const struct sl_caller_keys *caller,
                                          const struct sl_rule *rule)
{
    struct sl_claim_name *name = sl_scratch_take(&namer->memory, sizeof *name);
    if (!name)
        return NULL;
    *name = (struct sl_claim_name){ 0 };
    if (!print_claim(namer, caller, rule, SL_TEXT(""), &name->key))
        return NULL;
    if (rule->guard.window_us && !print_claim(namer, caller, rule, SL_TEXT("~guard"), &name->guard))
        return NULL;
    return name;
}

const struct sl_claim_name *sl_name_window(struct sl_namer *namer,
                                           const struct sl_caller_keys *caller,
                                           const struct sl_rule *rule, int64_t window_us)
{
    char room[24];
    struct sl_buffer suffix = { .at = room, .room = sizeof room, .most = sizeof room };
    sl_buffer_add(&suffix, SL_TEXT("~"));
    sl_buffer_add_i64(&suffix, window_us);
    struct sl_claim_name *name = sl_scratch_take(&namer->memory, sizeof *name);
    if (!name)
        return NULL;
    *name = (struct sl_claim_name){ 0 };
    struct sluice_text text = { suffix.at, suffix.len };
    return print_claim(namer, caller, rule, text, &name->key) ? name : NULL;
}

struct sluice_text sl_name_identifier(struct sl_namer *namer, const struct sl_caller_keys *caller,
                                      const struct sl_rule *rule)
{
    struct name_printer print = { .namer = namer, .is_lone = rule->per_count == 1 };
    add_identifier(&print, caller, rule);
    print.at = sl_scratch_take(&namer->memory, print.len);
    if (!print.at)
        return (struct sluice_text){ 0 };
    print.len = 0;
    add_identifier(&print, caller, rule);
    return (struct sluice_text){ print.at, print.len };
}

static void add_key(struct name_printer *print, const char *rule, struct sluice_text key)
{
    add_text(print, SL_TEXT("rl:-:"));
    add_text(print, sl_text(rule));
    add_text(print, SL_TEXT(":{"));
    add_value(print, key);
    add_text(print, SL_TEXT("}"));
}

const struct sl_claim_name *sl_name_key(struct sl_namer *namer, const char *rule,
                                        struct sluice_text key)
{
    struct sl_claim_name *name = sl_scratch_take(&namer->memory, sizeof *name);
    struct name_printer print = { .namer = namer };
    add_key(&print, rule, key);
    print.at = name ? sl_scratch_take(&namer->memory, print.len) : NULL;
    if (!print.at)
        return NULL;
    *name = (struct sl_claim_name){ .key = { print.at, print.len } };
    print.len = 0;
    add_key(&print, rule, key);
    return name;
}
