/* Prefork workers under one rules file, counting in one table.
 *
 * Four processes share a table, a file that each of them opens. One is killed
 * in the middle of its work with SIGKILL, and another takes its place. Nothing
 * that was counted is lost, nothing hangs, and all of them together are let
 * through exactly as often as the rule says.
 *
 *   cc -o forked_workers forked_workers.c $(pkg-config --cflags --libs sluice) */
#include <signal.h>
#include <sluice.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4, REQUESTS_EACH = 300, KILLED_AFTER = 100 };

/* Only for the sums below: the limiter needs no memory of ours. */
static struct tally {
    atomic_int admitted, denied;
} * tally;

static char rules[1024];

static struct sluice_limiter *open_rules(void)
{
    struct sluice_limiter *limiter;
    struct sluice_error error;
    if (sluice_limiter_parse(NULL, "rules", sluice_text(rules), &limiter, &error) != SLUICE_OK) {
        fprintf(stderr, "forked_workers: %s\n", error.text);
        exit(1);
    }
    return limiter;
}

static void serve(int requests)
{
    struct sluice_limiter *limiter = open_rules();
    for (int i = 0; i < requests; i++) {
        struct sluice_request request = sluice_request();
        struct sluice_decision decision;
        request.resource = sluice_text("/api/videos");
        request.user = sluice_text("u1");
        /* Always answers: if the store fails, as the rules say. */
        if (sluice_decide(limiter, &request, &decision) != SLUICE_OK)
            fprintf(stderr, "forked_workers: the store failed\n");
        atomic_fetch_add(decision.allowed ? &tally->admitted : &tally->denied, 1);
    }
    sluice_limiter_close(limiter);
}

static void start_worker(int killed_after)
{
    pid_t pid = fork();
    if (pid < 0)
        exit(1);
    if (pid > 0)
        return;
    if (killed_after) {
        serve(killed_after);
        raise(SIGKILL); /* as the kernel does when memory runs out */
    }
    serve(REQUESTS_EACH);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *table = argc > 1 ? argv[1] : "/tmp/forked_workers.slu";
    snprintf(rules, sizeof rules,
             "store: \"memory:%s?size=1M\"\n"
             "rules:\n"
             "  - { name: api, resource: /api/*, per: user, algorithm: fixed_window,\n"
             "      limit: 1000/h, align: first_request }\n",
             table);
    unlink(table); /* begin afresh: else the counts of the last run go on */
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED)
        return 1;

    for (int i = 0; i < WORKERS; i++)
        start_worker(i == 0 ? KILLED_AFTER : 0);
    int status;
    while (wait(&status) > 0) {
        if (WIFSIGNALED(status)) {
            printf("a worker died of signal %d: another takes its place\n", WTERMSIG(status));
            fflush(stdout);
            start_worker(0);
        }
    }
    int admitted = atomic_load(&tally->admitted), denied = atomic_load(&tally->denied);
    printf("%d requests: %d admitted, %d denied\n", admitted + denied, admitted, denied);

    unlink(table);
    return admitted == 1000 ? 0 : 1;
}
