/* The guard backlog: accounts of denied requests, found in sets of four by the guard's key. All
 * that changes in an open account is one word of 16 bytes, swapped as a whole:
 *
 *   lo   [ opening: 32 | count: 32 ]      odd: open, even: free; every opening has its own number
 *   hi   start of the guard's window
 *
 * A thread that adds has found the account open under its key, and swaps the word that it saw then.
 * If the account was closed in between, and maybe opened for another key, its opening has another
 * number, and nothing is added. Name and numbers are written while the account is free, by the
 * thread that holds the lock.
 *
 * The lock is the process' id. So a process that was forked while a thread of its parent held the
 * lock finds it free. It also finds accounts of its parent, which it drops. */
#include "store/cache/guard_backlog.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algo/state.h"
#include "base/atomic128.h"
#include "base/check.h"

enum {
    WAYS = 4,
    IDLE_MAX = 20,           /* an account that was found empty so many times is closed */
    WINDOW_MIN_US = 1000000, /* a count comes up to 100 ms late, and must not miss its window */
    EVERY_US = 90000         /* a timer of 100 ms sometimes fires a little early */
};

struct account {
    struct sl_word word;
    _Atomic uint64_t key_low, key_high;
    _Atomic bool is_awake; /* the next request must be asked of Redis */
    uint32_t idle;
    struct sl_guard guard;
    size_t name_len;
    char name[SL_GUARD_BACKLOG_NAME_MAX];
};

struct sl_guard_backlog {
    _Atomic int lock; /* the id of the process that holds it; 0: free */
    int owner;        /* the id of the process whose accounts these are */
    uint32_t next;    /* the account to flush next */
    uint32_t left;    /* and how many are left to look at */
    _Atomic int open; /* how many accounts are open */
    _Atomic int64_t flushed_us;
    struct account accounts[SL_GUARD_BACKLOG_MAX];
};

struct sl_guard_backlog *sl_guard_backlog_new(void)
{
    void *memory = sl_word_supported()
                       ? mmap(NULL, sizeof(struct sl_guard_backlog), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : MAP_FAILED;
    return memory == MAP_FAILED ? NULL : memory;
}

void sl_guard_backlog_free(struct sl_guard_backlog *backlog)
{
    if (backlog)
        munmap(backlog, sizeof *backlog);
}

size_t sl_guard_backlog_held(const struct sl_guard_backlog *backlog)
{
    return (size_t)atomic_load_explicit(&backlog->open, memory_order_relaxed);
}

/* ---- words ---- */

static uint32_t opening_of(struct sl_word word)
{
    return (uint32_t)(word.lo >> 32);
}

static uint32_t count_of(struct sl_word word)
{
    return (uint32_t)word.lo;
}

static bool is_open(struct sl_word word)
{
    return opening_of(word) & 1;
}

static struct sl_word make_word(uint32_t opening, uint32_t count, int64_t start_us)
{
    return (struct sl_word){ .lo = (uint64_t)opening << 32 | count, .hi = (uint64_t)start_us };
}

/* ---- locking ---- */

/* Closes it with its count; with `if_empty` only if that is 0. */
static void close_account(struct sl_guard_backlog *backlog, struct account *account, bool if_empty)
{
    struct sl_word word = sl_word_load(&account->word);
    do {
        if (if_empty && count_of(word) > 0)
            return;
    } while (!sl_word_swap(&account->word, &word, make_word(opening_of(word) + 1, 0, 0)));
    atomic_fetch_sub_explicit(&backlog->open, 1, memory_order_relaxed);
}

static void close_all_accounts(struct sl_guard_backlog *backlog)
{
    for (size_t i = 0; i < SL_GUARD_BACKLOG_MAX; i++)
        if (is_open(sl_word_load(&backlog->accounts[i].word)))
            close_account(backlog, &backlog->accounts[i], false);
}

static bool try_lock(struct sl_guard_backlog *backlog)
{
    int self = getpid(), held_by = atomic_load(&backlog->lock);
    if (held_by == self || !atomic_compare_exchange_strong(&backlog->lock, &held_by, self))
        return false;
    if (backlog->owner && backlog->owner != self)
        close_all_accounts(backlog);
    backlog->owner = self;
    return true;
}

static void unlock(struct sl_guard_backlog *backlog)
{
    SL_CHECK(atomic_load(&backlog->lock));
    atomic_store(&backlog->lock, 0);
}

/* ---- finding ---- */

/* The guard's key and numbers: with other numbers it is another guard. */
static struct sl_hash128 key_of(const struct sl_claim *claim)
{
    const struct sl_guard *guard = claim->guard;
    uint64_t numbers = (uint64_t)guard->window_us * UINT64_C(0x9e3779b97f4a7c15);
    numbers = (numbers ^ (uint64_t)guard->penalty_us) * UINT64_C(0xbf58476d1ce4e5b9);
    numbers = (numbers ^ guard->threshold) * UINT64_C(0x94d049bb133111eb);
    return (struct sl_hash128){ claim->guard_key.low ^ numbers ^ numbers >> 29,
                                claim->guard_key.high };
}

static struct account *set_of(struct sl_guard_backlog *backlog, struct sl_hash128 key)
{
    return &backlog->accounts[key.low % (SL_GUARD_BACKLOG_MAX / WAYS) * WAYS];
}

/* Fills in the word that it saw. Returns NULL if there is no account. */
static struct account *find_account(struct sl_guard_backlog *backlog, struct sl_hash128 key,
                                    struct sl_word *word)
{
    struct account *set = set_of(backlog, key);
    for (size_t i = 0; i < WAYS; i++) {
        *word = sl_word_load(&set[i].word);
        if (is_open(*word) &&
            atomic_load_explicit(&set[i].key_low, memory_order_acquire) == key.low &&
            atomic_load_explicit(&set[i].key_high, memory_order_acquire) == key.high)
            return &set[i];
    }
    return NULL;
}

/* We hold the lock, so no other thread writes to a free account. */
static bool open_account(struct sl_guard_backlog *backlog, const struct sl_claim *claim)
{
    struct sl_hash128 key = key_of(claim);
    struct account *account = NULL, *set = set_of(backlog, key);
    struct sl_word word;
    SL_CHECK(atomic_load(&backlog->lock) && claim->name->guard.len <= SL_GUARD_BACKLOG_NAME_MAX);
    if (find_account(backlog, key, &word))
        return true; /* another thread was faster */
    for (size_t i = 0; !account && i < WAYS; i++)
        if (!is_open(sl_word_load(&set[i].word)))
            account = &set[i];
    if (!account)
        return false;
    atomic_store_explicit(&account->key_low, key.low, memory_order_release);
    atomic_store_explicit(&account->key_high, key.high, memory_order_release);
    atomic_store(&account->is_awake, false);
    account->idle = 0;
    account->guard = *claim->guard;
    account->name_len = claim->name->guard.len;
    memcpy(account->name, claim->name->guard.at, account->name_len);
    word = sl_word_load(&account->word);
    while (!sl_word_swap(&account->word, &word, make_word(opening_of(word) + 1, 0, 0)))
        ;
    atomic_fetch_add_explicit(&backlog->open, 1, memory_order_relaxed);
    return true;
}

bool sl_guard_backlog_open(struct sl_guard_backlog *backlog, const struct sl_claim *claim)
{
    struct sl_word word;
    SL_CHECK(claim->guard);
    if (claim->guard->window_us < WINDOW_MIN_US || !claim->name ||
        claim->name->guard.len > SL_GUARD_BACKLOG_NAME_MAX)
        return false;
    struct account *account = find_account(backlog, key_of(claim), &word);
    if (account)
        return !atomic_load_explicit(&account->is_awake, memory_order_relaxed) ||
               !atomic_exchange(&account->is_awake, false);
    if (!try_lock(backlog))
        return false;
    bool opened = open_account(backlog, claim);
    unlock(backlog);
    return opened;
}

/* ---- counting ---- */

void sl_guard_backlog_add(struct sl_guard_backlog *backlog, const struct sl_claim *claim,
                          int64_t now_us)
{
    struct sl_word word;
    SL_CHECK(claim->guard && claim->guard->window_us > 0);
    struct account *account = find_account(backlog, key_of(claim), &word);
    int64_t start_us = sl_aligned_start_us(now_us, claim->guard->window_us);
    uint32_t opening = opening_of(word);
    while (account && opening_of(word) == opening) {
        uint32_t count = word.hi == (uint64_t)start_us ? count_of(word) : 0;
        if (sl_word_swap(&account->word, &word,
                         make_word(opening, count + (count < UINT32_MAX), start_us)))
            return;
    }
}

/* Takes the count out of an open account. Returns false if it is 0. */
static bool take_sum(struct account *account, struct sl_guard_backlog_sum *out)
{
    struct sl_word word = sl_word_load(&account->word);
    while (is_open(word) && count_of(word) > 0) {
        struct sl_word to = make_word(opening_of(word), 0, (int64_t)word.hi);
        if (!sl_word_swap(&account->word, &word, to))
            continue;
        out->opening = opening_of(word);
        out->start_us = (int64_t)word.hi;
        out->count = count_of(word);
        return true;
    }
    return false;
}

static bool take_next_sum(struct sl_guard_backlog *backlog, struct sl_guard_backlog_sum *out)
{
    for (; backlog->left > 0; backlog->left--) {
        uint32_t number = backlog->next++ % SL_GUARD_BACKLOG_MAX;
        struct account *account = &backlog->accounts[number];
        if (!is_open(sl_word_load(&account->word)))
            continue;
        if (take_sum(account, out)) {
            account->idle = 0;
            backlog->left--;
            out->account = number;
            out->guard = account->guard;
            out->name_len = account->name_len;
            memcpy(out->name, account->name, account->name_len);
            return true;
        }
        if (++account->idle >= IDLE_MAX)
            close_account(backlog, account, true);
    }
    return false;
}

bool sl_guard_backlog_take(struct sl_guard_backlog *backlog, struct sl_guard_backlog_sum *out)
{
    if (sl_guard_backlog_held(backlog) == 0 || !try_lock(backlog))
        return false;
    bool took = take_next_sum(backlog, out);
    unlock(backlog);
    SL_CHECK(!took || (out->count > 0 && out->account < SL_GUARD_BACKLOG_MAX));
    return took;
}

void sl_guard_backlog_wake(struct sl_guard_backlog *backlog, const struct sl_guard_backlog_sum *sum)
{
    SL_CHECK(sum->account < SL_GUARD_BACKLOG_MAX && sum->opening & 1);
    struct account *account = &backlog->accounts[sum->account];
    if (opening_of(sl_word_load(&account->word)) == sum->opening)
        atomic_store(&account->is_awake, true);
}

bool sl_guard_backlog_is_due(const struct sl_guard_backlog *backlog, int64_t now_us)
{
    return sl_guard_backlog_held(backlog) > 0 &&
           now_us - atomic_load_explicit(&backlog->flushed_us, memory_order_relaxed) >= EVERY_US;
}

bool sl_guard_backlog_begin(struct sl_guard_backlog *backlog, int64_t now_us)
{
    int64_t last_us = atomic_load_explicit(&backlog->flushed_us, memory_order_relaxed);
    if (!sl_guard_backlog_is_due(backlog, now_us) ||
        !atomic_compare_exchange_strong(&backlog->flushed_us, &last_us, now_us) ||
        !try_lock(backlog))
        return false;
    backlog->left = SL_GUARD_BACKLOG_MAX;
    unlock(backlog);
    return true;
}
