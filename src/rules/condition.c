/* Evaluating the conditions of a rule. */
#include "rules/condition.h"

#include <stdlib.h>

#include "rules/wildcard.h"

int sl_condition_order(const void *a, const void *b)
{
    const struct sluice_text *x = a, *y = b;
    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return x->len ? memcmp(x->at, y->at, x->len) : 0;
}

static bool is_one_of(const struct sl_texts *texts, struct sluice_text value)
{
    return texts->count &&
           bsearch(&value, texts->at, texts->count, sizeof value, sl_condition_order);
}

static bool is_like(const struct sl_texts *patterns, struct sluice_text value)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (sl_wildcard_matches(patterns->at[i], value))
            return true;
    return false;
}

bool sl_condition_more_holds(const struct sl_condition *when, struct sluice_text value)
{
    if (sl_text_missing(value))
        return when->like.count == 0;
    return !is_one_of(&when->unequal, value) && !is_like(&when->unlike, value) &&
           (when->like.count == 0 || is_like(&when->like, value));
}
