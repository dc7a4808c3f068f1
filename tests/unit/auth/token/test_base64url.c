#include "auth/token/base64url.h"

#include "unit/auth/token/minting.h"

/* Out of blocks of exactly the sizes that were promised. */
static bool decode(struct sluice_text text, struct bytes *out)
{
    char *from = malloc(text.len + 1);
    uint8_t *room = malloc(sl_base64url_room(text.len) + 1);
    assert_true(from && room);
    memcpy(from + 1, text.at, text.len);
    room[0] = 0xa5;
    struct sluice_text got = { 0 };
    bool good = sl_base64url_decode((struct sluice_text){ from + 1, text.len }, room + 1, &got);
    if (good) {
        assert_true(got.at == (const char *)room + 1 && got.len <= sizeof out->at);
        out->len = got.len;
        memcpy(out->at, got.at, got.len);
    }
    assert_int_equal(room[0], 0xa5);
    free(from);
    free(room);
    return good;
}

TEST(what_another_encodes_is_decoded)
{
    uint64_t seed = 1;
    for (size_t len = 0; len <= 300; len++) {
        uint8_t bytes[300];
        char text[500];
        struct bytes got;
        for (size_t i = 0; i < len; i++)
            bytes[i] = (uint8_t)unit_random(&seed);
        size_t characters = mint_base64url(bytes, len, text);
        assert_true(decode((struct sluice_text){ text, characters }, &got));
        assert_int_equal(got.len, len);
        assert_memory_equal(got.at, bytes, len);
    }
}

/* Of all pairs and triples of characters exactly those without stray bits. */
TEST(every_text_of_up_to_three_characters_is_strict)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    struct bytes out;
    for (int c = 0; c < 256; c++) {
        char text[4] = { (char)c, 'A', 'A', 'A' };
        bool is_good = c && strchr(good, c);
        assert_false(decode((struct sluice_text){ text, 1 }, &out));
        SAME("first", decode((struct sluice_text){ text, 2 }, &out), is_good);
        SAME("first of 4", decode((struct sluice_text){ text, 4 }, &out), is_good);
        text[0] = 'A', text[1] = (char)c;
        bool no_stray = is_good && (strchr(good, c) - good) % 16 == 0;
        SAME("second of 2", decode((struct sluice_text){ text, 2 }, &out), no_stray);
        SAME("second of 3", decode((struct sluice_text){ text, 3 }, &out), is_good);
        text[1] = 'A', text[2] = (char)c;
        no_stray = is_good && (strchr(good, c) - good) % 4 == 0;
        SAME("third of 3", decode((struct sluice_text){ text, 3 }, &out), no_stray);
        SAME("third of 4", decode((struct sluice_text){ text, 4 }, &out), is_good);
    }
}

TEST(nothing_is_ignored)
{
    static const char *const bad[] = {
        "Zg==",  "Zg=",  "Zm8=", "Zm9v=", "Zm9v\n", "Zm9v\r\n", " Zm9v", "Zm 9v",
        "Zm9v.", "Zm+v", "Zm/v", "Zm9vY", "Zh",     "Zm9",      "=",     "\xc3\xa9\xc3\xa9",
    };
    struct bytes out;
    for (size_t i = 0; i < COUNT(bad); i++)
        SAME(bad[i], decode(sl_text(bad[i]), &out), false);
    assert_false(decode(SL_TEXT("Zm9v\0"), &out));
    assert_true(decode(SL_TEXT("Zm9v"), &out) && out.len == 3 && memcmp(out.at, "foo", 3) == 0);
}
