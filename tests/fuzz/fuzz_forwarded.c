/* Any bytes as the value of `Forwarded`, and of `X-Forwarded-For`.
 *
 *   every element taken makes the list shorter, at its right end, until it ends;
 *   an address that came out, printed and alone in a list, comes out again;
 *   elements that a proxy appended come out first, whatever the bytes before them,
 *   and leave exactly these;
 *   where no quote is out of place, splitting from the left finds the same
 *   elements as we do from the right. */
#include <stdlib.h>

#include "base/check.h"
#include "wire/http/forwarded.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

typedef enum sl_forwarded_kind take_last(struct sluice_text *list, struct sl_address *out);

struct header {
    take_last *last;
    const char *v4, *v6; /* an address alone in a list */
};

static const struct header x_forwarded_for = { sl_x_forwarded_for_last, "%s", "[%s]:80" };
static const struct header forwarded = { sl_forwarded_last, "for=%s", "for=\"[%s]:80\"" };

/* Exactly as long: reading further, on either side, is seen. */
static char *copy_of(const void *bytes, size_t len)
{
    char *copy = malloc(len ? len : 1);
    SL_CHECK(copy != NULL);
    if (len)
        memcpy(copy, bytes, len);
    return copy;
}

static bool same(const struct sl_address *a, const struct sl_address *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* ---- what comes out goes in again -------------------------------------------------- */

static void check_again(const struct header *header, const struct sl_address *address)
{
    char text[SL_ADDRESS_PRINT_MAX], line[SL_ADDRESS_PRINT_MAX + 16];
    sl_address_print(address, text);
    int len =
        snprintf(line, sizeof line, sl_address_is_v4(address) ? header->v4 : header->v6, text);
    char *copy = copy_of(line, (size_t)len);
    struct sluice_text list = { copy, (size_t)len };
    struct sl_address again;
    SL_CHECK(header->last(&list, &again) == SL_FORWARDED_ADDRESS && same(&again, address));
    SL_CHECK(list.len == 0 && header->last(&list, &again) == SL_FORWARDED_END);
    free(copy);
}

static void walk(const struct header *header, const uint8_t *bytes, size_t len)
{
    char *copy = copy_of(bytes, len);
    struct sluice_text list = { copy, len };
    for (;;) {
        struct sl_address address;
        size_t before = list.len;
        enum sl_forwarded_kind kind = header->last(&list, &address);
        SL_CHECK(list.at == copy);
        if (kind == SL_FORWARDED_END)
            break;
        SL_CHECK(list.len < before);
        if (kind == SL_FORWARDED_ADDRESS)
            check_again(header, &address);
    }
    SL_CHECK(list.len == 0);
    free(copy);
}

/* ---- what a proxy appended ---------------------------------------------------------- */

static void check_appended(const struct header *header, const char *appended, const uint8_t *bytes,
                           size_t len)
{
    struct sl_address wanted, address;
    size_t appended_len = strlen(appended);
    char *line = malloc(len + appended_len);
    SL_CHECK(line != NULL && sl_address_parse(SL_TEXT("192.0.2.1"), &wanted));
    if (len)
        memcpy(line, bytes, len);
    memcpy(line + len, appended, appended_len);
    struct sluice_text list = { line, len + appended_len };
    SL_CHECK(header->last(&list, &address) == SL_FORWARDED_ADDRESS && same(&address, &wanted));
    SL_CHECK(list.len == len);
    free(line);
}

static void check_all_appended(const uint8_t *bytes, size_t len)
{
    static const char *const proxies[] = {
        ",for=192.0.2.1",
        ", for=\"192.0.2.1:80\"",
        ", for=\"[::ffff:192.0.2.1]\";host=\"a\"",
        ", host=\"\\\"\\\\\";for=192.0.2.1 ",
        ", x=\",for=9.9.9.9\";for=192.0.2.1;x=\",\\\",;\"",
    };
    check_appended(&x_forwarded_for, ",192.0.2.1", bytes, len);
    check_appended(&x_forwarded_for, ", 192.0.2.1:80 ", bytes, len);
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++)
        check_appended(&forwarded, proxies[i], bytes, len);
}

/* ---- from the left ------------------------------------------------------------------ */

enum { ELEMENTS_MAX = 256 };

/* Splits at the commas outside of strings. Returns how many elements there are;
 * -1: a quote or backslash is out of place, or there are too many. */
static int split(struct sluice_text list, struct sluice_text elements[ELEMENTS_MAX])
{
    int count = 0;
    size_t start = 0;
    bool quoted = false;
    for (size_t i = 0; i < list.len; i++) {
        char c = list.at[i];
        if (c == '\\' && (!quoted || ++i == list.len))
            return -1;
        if (c == '"') {
            if (!quoted && (i == 0 || list.at[i - 1] != '='))
                return -1;
            quoted = !quoted;
        }
        if (c == ',' && !quoted) {
            if (count == ELEMENTS_MAX - 1)
                return -1;
            elements[count++] = (struct sluice_text){ list.at + start, i - start };
            start = i + 1;
        }
    }
    elements[count++] = (struct sluice_text){ list.at + start, list.len - start };
    return quoted ? -1 : count;
}

static void check_from_the_left(const uint8_t *bytes, size_t len)
{
    static struct sluice_text elements[ELEMENTS_MAX];
    char *copy = copy_of(bytes, len);
    struct sluice_text list = { copy, len };
    struct sl_address alone, address;
    int count = split(list, elements);
    for (int i = count - 1; i >= 0; i--) {
        enum sl_forwarded_kind kind = sl_forwarded_last(&elements[i], &alone);
        if (kind == SL_FORWARDED_END)
            continue; /* an empty one is passed over */
        SL_CHECK(elements[i].len == 0);
        SL_CHECK(sl_forwarded_last(&list, &address) == kind);
        SL_CHECK(kind != SL_FORWARDED_ADDRESS || same(&alone, &address));
        if (kind == SL_FORWARDED_OPAQUE && list.len == 0)
            break; /* it was malformed, and the rest is dropped */
    }
    SL_CHECK(count < 0 || sl_forwarded_last(&list, &address) == SL_FORWARDED_END);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    walk(&x_forwarded_for, bytes, len);
    walk(&forwarded, bytes, len);
    check_all_appended(bytes, len);
    check_from_the_left(bytes, len);
    return 0;
}
