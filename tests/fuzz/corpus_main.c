/* A fuzz target without a fuzzer: every file under the given paths, once.
 *
 *   build/corpus/rules tests/fuzz/corpus/rules tests/rules     rules: 123 files
 *
 * What a fuzzer ever found stays in the corpus and runs in every `make test`,
 * with gcc, with and without sanitizers. Exits 0 if every file went through.
 *
 * The files run in a child: however it dies (signal, assertion, sanitizer),
 * the parent can still say which file it was.
 *
 * libFuzzer brings its own main; tools/fuzz defines SL_LIBFUZZER then. */
#ifndef SL_LIBFUZZER

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* What the child has done, in memory that outlives it. */
struct progress {
    unsigned files;
    char path[4096];
};

/* Exactly as large as the file, so that reading one byte further is seen. */
static bool feed(const char *path, size_t len)
{
    if (len > FILE_MAX_BYTES) {
        fprintf(stderr, "%s: larger than %zu bytes\n", path, FILE_MAX_BYTES);
        return false;
    }
    uint8_t *bytes = malloc(len);
    FILE *file = fopen(path, "rb");
    bool whole = file && (bytes || len == 0) && fread(bytes, 1, len, file) == len;
    if (whole) {
        LLVMFuzzerTestOneInput(bytes, len);
    } else {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    if (file) {
        fclose(file);
    }
    free(bytes);
    return whole;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int feed_all(char *const *paths, struct progress *progress)
{
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (!tree) {
        perror("fts_open");
        return 1;
    }
    int status = 0;
    for (FTSENT *entry; (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_F) {
            snprintf(progress->path, sizeof progress->path, "%s", entry->fts_path);
            progress->files++;
            status |= !feed(entry->fts_path, (size_t)entry->fts_statp->st_size);
        } else if (entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR) {
            fprintf(stderr, "%s: %s\n", entry->fts_path, strerror(entry->fts_errno));
            status = 1;
        }
    }
    fts_close(tree);
    progress->path[0] = '\0';
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s PATH...\n", argv[0]);
        return 2;
    }
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) {
        perror("mmap");
        return 1;
    }

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        exit(feed_all(argv + 1, progress));
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
    }
    if (progress->path[0]) {
        fprintf(stderr, "died on %s\n", progress->path);
    }
    printf("%s: %u files\n", program_invocation_short_name, progress->files);
    return status == 0 && progress->files > 0 ? 0 : 1; /* no file proves nothing */
}

#endif
