/* Asks the processor for 16-byte loads and swaps. */
#include "base/atomic128.h"

#include <cpuid.h>

bool sl_word_loads;

bool sl_word_supported(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return false;
    __atomic_store_n(&sl_word_loads, (c & bit_AVX) != 0, __ATOMIC_RELAXED);
    return (c & bit_CMPXCHG16B) != 0;
}
