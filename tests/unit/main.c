/* The runner of the unit tests: every file's tests, by the name of the file.
 *
 *     unit                              all files, one after the other, each in a process of its
 * own unit --list                       the files there are unit store/table/test_table       the
 * tests of one file, here
 *
 * Tests print TAP where CMOCKA_MESSAGE_OUTPUT asks for it. A file has a process to itself, because
 * tests leave things behind: signal handlers, threads, limits. */
#include <sys/wait.h>
#include <unistd.h>

#include "unit/base/unit.h"

enum { TESTS_MAX = 4096, FILES_MAX = 512 };

struct registered {
    const char *file;
    int line;
    struct CMUnitTest test;
};

struct group {
    const char *file;
    CMFixtureFunction setup, teardown;
};

static struct registered registered[TESTS_MAX];
static size_t registered_count;
static struct group groups[FILES_MAX];
static size_t group_count;

void unit_register(const char *file, int line, struct CMUnitTest test)
{
    if (registered_count == TESTS_MAX)
        abort();
    registered[registered_count++] = (struct registered){ file, line, test };
}

void unit_register_group(const char *file, CMFixtureFunction setup, CMFixtureFunction teardown)
{
    if (group_count == FILES_MAX)
        abort();
    groups[group_count++] = (struct group){ file, setup, teardown };
}

/* The order in which constructors run is the compiler's. */
static int by_file_and_line(const void *a, const void *b)
{
    const struct registered *x = a, *y = b;
    int order = strcmp(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* "tests/unit/store/test_x.c" is called "store/test_x". */
static bool is_called(const char *file, const char *name)
{
    const char *start = strstr(file, "tests/unit/");
    size_t len = strlen(name);
    start = start ? start + strlen("tests/unit/") : file;
    return strncmp(start, name, len) == 0 && strcmp(start + len, ".c") == 0;
}

static int run_file(const char *file, size_t first, size_t count)
{
    static struct CMUnitTest tests[TESTS_MAX];
    CMFixtureFunction setup = NULL, teardown = NULL;
    for (size_t i = 0; i < count; i++)
        tests[i] = registered[first + i].test;
    for (size_t i = 0; i < group_count; i++)
        if (strcmp(groups[i].file, file) == 0) {
            setup = groups[i].setup;
            teardown = groups[i].teardown;
        }
    return _cmocka_run_group_tests(file, tests, count, setup, teardown);
}

static bool run_apart(const char *file, size_t first, size_t count)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit(run_file(file, first, count) ? 1 : 0);
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        printf("%s failed\n", file);
        return false;
    }
    return true;
}

static void print_name(const char *file)
{
    const char *start = strstr(file, "tests/unit/");
    start = start ? start + strlen("tests/unit/") : file;
    printf("%.*s\n", (int)(strlen(start) - strlen(".c")), start);
}

int main(int argc, char **argv)
{
    bool lists = argc == 2 && strcmp(argv[1], "--list") == 0, good = true, found = false;
    qsort(registered, registered_count, sizeof *registered, by_file_and_line);
    for (size_t first = 0, end; first < registered_count; first = end) {
        const char *file = registered[first].file;
        for (end = first; end < registered_count && strcmp(registered[end].file, file) == 0;)
            end++;
        if (lists)
            print_name(file);
        else if (argc == 1)
            good = run_apart(file, first, end - first) && good;
        else if (is_called(file, argv[1]))
            return run_file(file, first, end - first) ? 1 : 0;
        found = found || lists || argc == 1;
    }
    if (!found)
        fprintf(stderr, "unit: there is no file %s; see --list\n", argc > 1 ? argv[1] : "at all");
    return good && found ? 0 : 1;
}
