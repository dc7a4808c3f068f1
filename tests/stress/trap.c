/* Running an act instruction by instruction.
 *
 * The actor is a child with the processor's trap flag set: after every
 * instruction the kernel sends it SIGTRAP. Its handler compares the table's
 * memory with what it was, and where it has changed, asks the parent to look
 * and waits. All that a killed process leaves behind is that memory: so
 * looking at each of its states is looking at a kill between any two
 * instructions, without starting anew for each. The parent restores the memory
 * when it has looked, and the actor goes on.
 *
 *   actor                                parent
 *   trap, trap, trap: changed   --'i'-->  look, restore
 *   trap, …                     <--'g'--
 *   done                        --'d'--> */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "stress/step.h"

#define TRAP_FLAG 0x100

static struct {
    uint8_t *memory, *last;
    int to_parent, from_parent;
    volatile sig_atomic_t stepping;
    uint64_t steps;
} actor;

static void tell_parent(char what)
{
    char answer;
    if (write(actor.to_parent, &what, 1) != 1 || read(actor.from_parent, &answer, 1) != 1)
        _exit(3);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    int saved = errno;
    (void)signal, (void)info;
    *flags = actor.stepping ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
    actor.steps++;
    if (memcmp(actor.memory, actor.last, STAGE_BYTES) != 0) {
        memcpy(actor.last, actor.memory, STAGE_BYTES);
        tell_parent('i');
    }
    errno = saved;
}

static void actor_main(struct stage *stage, const struct act *act)
{
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
    struct sl_store *store = table_join(&stage->table, true);
    actor.memory = stage->memory;
    actor.last = malloc(STAGE_BYTES);
    memcpy(actor.last, actor.memory, STAGE_BYTES);
    sigaction(SIGTRAP, &action, NULL);
    actor.stepping = 1;
    raise(SIGTRAP); /* its handler returns into single steps */
    act->run(stage, store);
    actor.stepping = 0;
    tell_parent('d');
    if (write(actor.to_parent, &actor.steps, sizeof actor.steps) != sizeof actor.steps)
        _exit(3);
    _exit(0);
}

/* False: the actor ended before its act. */
static bool follow(struct stage *stage, const int *pipes, at_image *look, void *about,
                   uint64_t *images)
{
    uint8_t *image = malloc(STAGE_BYTES);
    char what = 0;
    bool good;
    while ((good = read(pipes[0], &what, 1) == 1) && what == 'i') {
        ++*images;
        memcpy(image, stage->memory, STAGE_BYTES);
        look(stage, about);
        memcpy(stage->memory, image, STAGE_BYTES);
        good = write(pipes[1], "g", 1) == 1;
    }
    if (what == 'd')
        good = write(pipes[1], "g", 1) == 1;
    free(image);
    return good;
}

uint64_t act_step(struct stage *stage, const struct act *act, at_image *look, void *about,
                  uint64_t *images)
{
    int to_parent[2], from_parent[2];
    uint64_t steps = 0;
    if (pipe(to_parent) != 0 || pipe(from_parent) != 0) {
        complain("pipe: %s", strerror(errno));
        return 0;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        actor.to_parent = to_parent[1];
        actor.from_parent = from_parent[0];
        close(to_parent[0]);
        close(from_parent[1]);
        actor_main(stage, act);
    }
    close(to_parent[1]);
    close(from_parent[0]);
    int pipes[] = { to_parent[0], from_parent[1] };
    if (!follow(stage, pipes, look, about, images) ||
        read(to_parent[0], &steps, sizeof steps) != sizeof steps)
        complain("%s: the actor died in its act", act->name);
    close(to_parent[0]);
    close(from_parent[1]);
    child_ends(pid, 10);
    return steps;
}
