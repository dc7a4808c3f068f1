/* Any bytes as the start of a connection with a PROXY header.
 *
 *   as bytes arrive one by one, the header is not complete, not complete … and
 *   then accepted or wrong, once and for all: what follows changes nothing;
 *   an accepted header ends with the byte that completed it;
 *   one that is not complete after SL_PROXY_HEADER_MAX_BYTES there is not;
 *   wrong comes with a sentence, and only then;
 *   a source that came out, printed into a line, comes out again. */
#include <stdlib.h>

#include "base/check.h"
#include "wire/http/proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* All of the bytes matter only up to here. */
enum { LOOKED_AT = SL_PROXY_HEADER_MAX_BYTES + 8 };

struct result {
    ptrdiff_t len;
    struct sl_proxy_header header;
};

/* The bytes stand at the end of a block: reading one further is seen. */
static struct result read_bytes(const void *bytes, size_t len)
{
    static char *block;
    if (!block)
        block = malloc(LOOKED_AT);
    SL_CHECK(block != NULL && len <= LOOKED_AT);
    char *at = block + LOOKED_AT - len;
    if (len)
        memcpy(at, bytes, len);
    struct result result = { 0 };
    const char *wrong = NULL;
    result.len = sl_proxy_header_read((struct sluice_text){ at, len }, &result.header, &wrong);
    SL_CHECK(result.len >= -1 && result.len <= (ptrdiff_t)len);
    SL_CHECK((result.len == -1) == (wrong != NULL && wrong[0] != 0));
    SL_CHECK(result.len != 0 || len < SL_PROXY_HEADER_MAX_BYTES);
    return result;
}

static bool same(const struct result *a, const struct result *b)
{
    return a->len == b->len && a->header.has_source == b->header.has_source &&
           memcmp(&a->header.source, &b->header.source, sizeof a->header.source) == 0;
}

static void check_again(const struct sl_address *source)
{
    char text[SL_ADDRESS_PRINT_MAX], line[2 * SL_ADDRESS_PRINT_MAX + 32];
    sl_address_print(source, text);
    int len = snprintf(line, sizeof line, "PROXY TCP%c %s %s 0 65535\r\n",
                       sl_address_is_v4(source) ? '4' : '6', text, text);
    struct result again = read_bytes(line, (size_t)len);
    SL_CHECK(again.len == len && again.header.has_source);
    SL_CHECK(memcmp(&again.header.source, source, sizeof *source) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len > LOOKED_AT)
        len = LOOKED_AT;
    struct result first = { 0 };
    for (size_t arrived = 0; arrived <= len; arrived++) {
        struct result result = read_bytes(bytes, arrived);
        if (first.len != 0)
            SL_CHECK(same(&result, &first));
        else if (result.len > 0)
            SL_CHECK((size_t)result.len == arrived);
        first = result;
    }
    if (first.header.has_source)
        check_again(&first.header.source);
    return 0;
}
