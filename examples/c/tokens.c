/* Costs known only afterwards: tokens of a language model.
 *
 * How long an answer gets is known when it is there. So take what it can be at
 * most, run the model, and settle at what it was: the rest comes back. A program
 * that dies in between settles nothing; its reservation then ends by itself.
 *
 *   cc -o tokens tokens.c $(pkg-config --cflags --libs sluice) */
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)

static struct sluice_store *store;
static struct sluice_limit *limit;
static const struct sluice_text tenant = { "acme", 4 };

static void check(int status)
{
    if (status == SLUICE_OK)
        return;
    fprintf(stderr, "tokens: %s\n", sluice_status_text(status));
    exit(1);
}

static long long left(void)
{
    struct sluice_decision decision;
    check(sluice_limit_peek(limit, tenant, 1, &decision));
    return decision.remaining;
}

/* Takes `most` tokens; the model uses `used` of them, or none is heard of it
 * again (0). */
static void ask_model(const char *what, unsigned most, unsigned used, int64_t expiry_us)
{
    struct sluice_decision decision;
    uint64_t id;
    check(sluice_limit_reserve(limit, tenant, most, expiry_us, &decision, &id));
    if (!decision.allowed) {
        printf("%-14s %5u wanted: denied, %lld left\n", what, most, left());
        return;
    }
    long long meanwhile = left();
    if (used)
        check(sluice_commit(store, id, used)); /* in any process that has the store open */
    printf("%-14s %5u reserved: %lld left, then %lld\n", what, most, meanwhile, left());
}

int main(void)
{
    struct sluice_error error;
    struct sluice_limit_config config = {
        .name = "tokens",
        .algorithm = "fixed_window",
        .capacity = 10000,
        .window_us = 3600 * SECOND,
        .first_request = true,
    };
    if (sluice_open("memory:", &store, &error) != SLUICE_OK ||
        sluice_limit_new(store, &config, &limit, &error) != SLUICE_OK) {
        fprintf(stderr, "tokens: %s\n", error.text);
        return 1;
    }
    ask_model("short answer", 4000, 250, 60 * SECOND);
    ask_model("long answer", 4000, 3900, 60 * SECOND);
    ask_model("underestimated", 1000, 1500, 60 * SECOND); /* what was used counts */
    ask_model("crashed", 4000, 0, SECOND / 10);
    ask_model("too much", 4000, 1, 60 * SECOND);
    usleep(200000); /* the crashed one's reservation ends */
    ask_model("again", 4000, 4000, 60 * SECOND);

    sluice_limit_free(limit);
    sluice_close(store);
    return 0;
}
