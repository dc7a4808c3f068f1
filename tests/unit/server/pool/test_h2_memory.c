#include "server/pool/h2_memory.h"

#include "unit/base/unit.h"

static struct sl_h2_memory memory;
static nghttp2_mem mem;

static uint32_t kept(void)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < SL_H2_MEMORY_SIZES; i++)
        sum += memory.free_count[i];
    return sum;
}

/* Every byte of it is ours. */
static void *allocate(size_t bytes)
{
    void *at = mem.malloc(bytes, mem.mem_user_data);
    assert_non_null(at);
    assert_true((uintptr_t)at % _Alignof(max_align_t) == 0);
    return memset(at, 0xa5, bytes);
}

static void release(void *at)
{
    mem.free(at, mem.mem_user_data);
}

static int open_memory(void **unused)
{
    (void)unused;
    mem = sl_h2_memory(&memory);
    return 0;
}

static int close_memory(void **unused)
{
    (void)unused;
    sl_h2_memory_release(&memory);
    SAME("kept", kept(), 0);
    return 0;
}

TEST_WITH(pieces_of_every_size_are_whole, open_memory, close_memory)
{
    static const size_t sizes[] = { 0, 1, 63, 64, 65, 1023, 1024, 1025, 100000 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        release(allocate(sizes[i]));
        release(allocate(sizes[i]));
    }
    release(NULL);
    assert_null(mem.malloc(SIZE_MAX, mem.mem_user_data));
    assert_null(mem.calloc(SIZE_MAX / 2, 4, mem.mem_user_data));
}

TEST_WITH(what_is_asked_for_zeroed_is_so_again_and_again, open_memory, close_memory)
{
    for (int i = 0; i < 3; i++) {
        unsigned char *at = mem.calloc(25, 4, mem.mem_user_data);
        for (size_t n = 0; n < 100; n++)
            SAME("byte", at[n], 0);
        memset(at, 0xff, 100);
        release(at);
    }
}

TEST_WITH(a_longer_piece_has_what_the_shorter_had, open_memory, close_memory)
{
    char *at = mem.realloc(NULL, 10, mem.mem_user_data);
    memcpy(at, "0123456789", 10);
    static const size_t sizes[] = { 64, 65, 1024, 5000, 100000, 20 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        at = mem.realloc(at, sizes[i], mem.mem_user_data);
        assert_memory_equal(at, "0123456789", 10);
        memset(at + 10, 0xa5, sizes[i] - 10);
    }
    release(at);
}

TEST_WITH(no_more_are_kept_than_is_said, open_memory, close_memory)
{
    enum { PIECES = 3000 };
    static void *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++)
        pieces[i] = allocate(100);
    for (size_t i = 0; i < PIECES; i++)
        release(pieces[i]);
    assert_true(kept() <= 1024);
    release(allocate(100000)); /* never */
    assert_true(kept() <= 1024);
}
