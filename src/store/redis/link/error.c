/* Reads Redis' error replies. The first word says what it is. Inside a script an error is wrapped:
 * Redis 7 keeps the word in front, Redis 5 and 6 write "ERR Error running script (…): … -OOM …". */
#include "store/redis/link/error.h"

#include <stdio.h>

const struct sl_redis_meaning sl_redis_meanings[] = {
#define SL_ROW(code, name, status, cure, words) { SL_REDIS_##name, code, status, cure, words },
    SL_REDIS_ERRORS(SL_ROW)
#undef SL_ROW
};

static bool begins_with(struct sluice_text sentence, const char *code)
{
    size_t len = strlen(code);
    return sentence.len >= len && memcmp(sentence.at, code, len) == 0 &&
           (sentence.len == len || sentence.at[len] == ' ');
}

static bool contains(struct sluice_text sentence, const char *text)
{
    return memmem(sentence.at, sentence.len, text, strlen(text)) != NULL;
}

/* Is "-OOM " anywhere in the sentence? */
static bool contains_wrapped(struct sluice_text sentence, const char *code)
{
    char wrapped[32];
    snprintf(wrapped, sizeof wrapped, "-%s ", code);
    return contains(sentence, wrapped);
}

/* Before Redis had users, a wrong password was an ERR. */
static bool is_wrong_password(struct sluice_text sentence)
{
    static const char text[] = "ERR invalid password";
    return sentence.len >= sizeof text - 1 && memcmp(sentence.at, text, sizeof text - 1) == 0;
}

const struct sl_redis_meaning *sl_redis_meaning(struct sluice_text sentence)
{
    bool is_script = begins_with(sentence, "ERR");
    for (size_t i = 0; i < SL_REDIS_OTHER; i++) {
        const char *code = sl_redis_meanings[i].code;
        if (begins_with(sentence, code) || (is_script && contains_wrapped(sentence, code)))
            return &sl_redis_meanings[i];
    }
    if (is_script && contains(sentence, "can't run this command"))
        return &sl_redis_meanings[SL_REDIS_NOPERM]; /* Redis 7, of a command inside a script */
    return &sl_redis_meanings[is_wrong_password(sentence) ? SL_REDIS_WRONGPASS : SL_REDIS_OTHER];
}

const char *sl_redis_words(struct sluice_text sentence)
{
    if (contains(sentence, "cluster support disabled"))
        return "this Redis is not a node of a cluster; write `redis://` in the store's URL";
    return sl_redis_meaning(sentence)->words;
}
