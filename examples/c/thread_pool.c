/* A pool of threads under one limit.
 *
 * Eight workers ask 1,000 times each for one of 500 places, first come, first
 * served. Together they get exactly 500: one limit, no lock.
 *
 *   cc -o thread_pool thread_pool.c $(pkg-config --cflags --libs sluice) -pthread */
#include <pthread.h>
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 8, TASKS_EACH = 1000, LIMIT = 500 };

struct worker {
    pthread_t thread;
    struct sluice_limit *limit; /* the same for all: any thread may ask it */
    int admitted;
    int denied;
};

static void *work(void *argument)
{
    struct worker *self = argument;
    for (int task = 0; task < TASKS_EACH; task++) {
        struct sluice_decision decision;
        int status = sluice_limit_decide(self->limit, sluice_text("customer-7"), 1, &decision);
        if (status != SLUICE_OK) {
            /* Not a denial: something does not work. Here we let nothing pass. */
            fprintf(stderr, "thread_pool: %s\n", sluice_status_text(status));
            exit(1);
        }
        if (decision.allowed)
            self->admitted++; /* the task's real work would be here */
        else
            self->denied++; /* decision.retry_after_us says when to come back */
    }
    return NULL;
}

int main(void)
{
    struct sluice_store *store;
    struct sluice_limit *limit;
    struct sluice_error error;

    /* Private to this process; "memory:FILE" would share it with others. */
    if (sluice_open("memory:", &store, &error) != SLUICE_OK) {
        fprintf(stderr, "thread_pool: %s\n", error.text);
        return 1;
    }

    /* 500 in an hour that starts with the first of them. */
    struct sluice_limit_config config = {
        .name = "tasks",
        .algorithm = "fixed_window",
        .capacity = LIMIT,
        .window_us = INT64_C(3600) * 1000000,
        .first_request = true,
    };
    if (sluice_limit_new(store, &config, &limit, &error) != SLUICE_OK) {
        fprintf(stderr, "thread_pool: %s\n", error.text);
        return 1;
    }

    struct worker workers[WORKERS] = { 0 };
    for (int i = 0; i < WORKERS; i++) {
        workers[i].limit = limit;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    int admitted = 0, denied = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        admitted += workers[i].admitted;
        denied += workers[i].denied;
    }
    printf("%d workers asked %d times: %d admitted, %d denied\n", WORKERS, WORKERS * TASKS_EACH,
           admitted, denied);

    sluice_limit_free(limit);
    sluice_close(store);
    return admitted == LIMIT ? 0 : 1;
}
