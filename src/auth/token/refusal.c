/* The text of each refusal of a token. */
#include "auth/token/refusal.h"

#include "base/check.h"

const char *sl_refusal_text(enum sl_refusal refusal)
{
    static const char *const sentences[] = { [SL_ACCEPTED] = "",
#define SL_REFUSAL_ROW(constant, sentence) [constant] = (sentence),
                                             SL_REFUSALS(SL_REFUSAL_ROW)
#undef SL_REFUSAL_ROW
    };
    SL_CHECK(refusal > SL_ACCEPTED && refusal < SL_REFUSAL_COUNT);
    return sentences[refusal];
}
