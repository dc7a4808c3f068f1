/* Decoding base64url without padding. */
#include "auth/token/base64url.h"

/* Returns -1 if it is not one of the 64. */
static int value_of_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool sl_base64url_decode(struct sluice_text text, uint8_t *room, struct sluice_text *out)
{
    uint8_t *at = room;
    uint32_t bits = 0, have = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = value_of_digit(text.at[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            *at++ = (uint8_t)(bits >> have);
        }
    }
    /* Six bits left: a character that ends no byte. Other bits left: they must be zero. */
    if (have >= 6 || (bits & ((1u << have) - 1)) != 0)
        return false;
    *out = (struct sluice_text){ (const char *)room, (size_t)(at - room) };
    return true;
}
