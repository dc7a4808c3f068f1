/* Opening rules: the problems reported, and the owner of the store. */
#include <sys/stat.h>
#include <unistd.h>

#include "rules/tree/tree.h"
#include "unit/lib/on_model.h"

static struct model model;
static struct sluice_store store = { &model.store };

static const char good[] = "rules: [{ name: a, per: user, limit: 9/m }]\n";

/* Under a name of its own; the caller removes it. */
static const char *write_file(const char *text, size_t len)
{
    static char path[] = "/tmp/sluice-test-XXXXXX";
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
    return path;
}

TEST(rules_are_read_from_a_file_or_a_text)
{
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    struct sluice_decision decision;
    struct sluice_request request = sluice_request();
    const char *path = write_file(good, strlen(good));
    model_open(&model);
    request.user = sluice_text("u");
    assert_int_equal(sluice_limiter_open(&store, path, &limiter, &error), SLUICE_OK);
    assert_string_equal(error.text, "");
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    assert_string_equal(decision.rule, "a");
    assert_ptr_equal(sluice_limiter_store(limiter), &store);
    sluice_limiter_close(limiter);
    assert_int_equal(sluice_limiter_open(&store, path, &limiter, NULL), SLUICE_OK);
    sluice_limiter_close(limiter);
    limiter = limiter_of(&store, good); /* and counts go on in the same store */
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(decision.remaining, 7);
    sluice_limiter_close(limiter);
    assert_false(model.closed);
    model_close(&model.store);
    unlink(path);
}

TEST(without_a_store_the_rules_name_one)
{
    struct sluice_limiter *limiter = limiter_of(NULL, good);
    struct sluice_decision decision;
    struct sluice_request request = sluice_request();
    request.user = sluice_text("u");
    struct sluice_store *own = sluice_limiter_store(limiter);
    assert_non_null(own);
    assert_int_equal(sluice_decide(limiter, &request, &decision), SLUICE_OK);
    assert_int_equal(decision.remaining, 8);
    struct sluice_limiter *second = limiter_of(own, good); /* which others may use */
    assert_int_equal(sluice_decide(second, &request, &decision), SLUICE_OK);
    assert_int_equal(decision.remaining, 7);
    sluice_limiter_close(second);
    sluice_limiter_close(limiter);
}

TEST(rules_with_a_log_get_more_room_for_it)
{
    static const char *const rows[] = {
        "store: memory:?size=4M\nrules: [{ name: a, per: user, limit: 9/m }]\n",
        "store: memory:?size=4M\n"
        "rules: [{ name: a, per: user, limit: 9/m },\n"
        "        { name: b, per: user, algorithm: sliding_window_log, limit: 9/m }]\n",
    };
    uint64_t log_bytes[2];
    for (size_t i = 0; i < 2; i++) {
        struct sluice_limiter *limiter = limiter_of(NULL, rows[i]);
        struct sluice_stats stats;
        assert_int_equal(sluice_store_stats(sluice_limiter_store(limiter), &stats), SLUICE_OK);
        log_bytes[i] = stats.log_bytes;
        sluice_limiter_close(limiter);
    }
    assert_true(log_bytes[1] > 5 * log_bytes[0]);
}

TEST(every_problem_is_told_with_its_place)
{
    static const char bad[] = "rules:\n"
                              "  - { name: a, per: user, limit: 9 }\n"
                              "  - { name: b, pre: user, limit: 9/m }\n";
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    assert_int_equal(sluice_limiter_parse(&store, "my.yaml", sluice_text(bad), &limiter, &error),
                     SLUICE_BAD_RULES);
    assert_string_equal(error.text,
                        "my.yaml:2:34: `limit` cannot be `9`; write N/D, such as 100/m, 5/15m or "
                        "1000/24h\n"
                        "my.yaml:3:16: unknown key `pre`; did you mean `per`?");
    assert_int_equal(sluice_limiter_parse(&store, NULL, sluice_text("{"), &limiter, &error),
                     SLUICE_BAD_RULES);
    assert_memory_equal(error.text, "rules:", 6);
    assert_int_equal(sluice_limiter_parse(&store, NULL, sluice_text("{"), &limiter, NULL),
                     SLUICE_BAD_RULES);
    assert_null(limiter);
}

TEST(a_long_list_of_problems_ends_with_how_many_more)
{
    char *yaml = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&yaml, &len);
    fprintf(out, "rules:\n");
    for (int i = 0; i < 200; i++)
        fprintf(out, "  - { name: r%d, per: user, limit: x }\n", i);
    fclose(out);
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    struct sluice_text text = { yaml, len };
    assert_int_equal(sluice_limiter_parse(&store, "f", text, &limiter, &error), SLUICE_BAD_RULES);
    const char *last = strrchr(error.text, '\n');
    size_t lines = 0;
    for (const char *at = error.text; (at = strchr(at, '\n')); at++)
        lines++;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\nand %d more", 200 - (int)lines);
    assert_string_equal(last, wanted);
    assert_true(lines >= 8);
    free(yaml);
}

TEST(a_file_that_cannot_be_read_is_said_to_be)
{
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    assert_int_equal(sluice_limiter_open(&store, "/no/such", &limiter, &error), SLUICE_BAD_RULES);
    assert_string_equal(error.text,
                        "cannot read the rules file `/no/such`: No such file or directory");
    assert_int_equal(sluice_limiter_open(&store, "/tmp", &limiter, &error), SLUICE_BAD_RULES);
    assert_string_equal(error.text, "cannot read the rules file `/tmp`: Is a directory");
    assert_null(limiter);
}

TEST(rules_that_are_too_large_are_not_read_in_part)
{
    size_t len = SL_RULES_FILE_MAX_BYTES + 1;
    char *text = malloc(len);
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    static const char wanted[] =
        ": the rules are too large: they can have at most 16777216 bytes (16 MiB)";
    memset(text, '\n', len);
    memcpy(text, good, strlen(good));
    const char *path = write_file(text, len);
    assert_int_equal(sluice_limiter_open(&store, path, &limiter, &error), SLUICE_BAD_RULES);
    assert_string_equal(error.text + strlen(path), wanted);
    assert_int_equal(
        sluice_limiter_parse(&store, "f", (struct sluice_text){ text, len }, &limiter, &error),
        SLUICE_BAD_RULES);
    assert_string_equal(error.text + 1, wanted);
    assert_null(limiter);
    unlink(path);
    free(text);
}

TEST(a_store_that_is_none_is_refused_without_its_password)
{
    static const char yaml[] = "store: redis-sentinel://:hunter2@cache\nrules: []\n";
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    assert_int_equal(sluice_limiter_parse(NULL, "f", sluice_text(yaml), &limiter, &error),
                     SLUICE_BAD_RULES);
    assert_non_null(strstr(error.text, "master's name"));
    assert_null(strstr(error.text, "hunter2"));
    assert_null(limiter);
    static const char other[] = "store: memory:/no/such/folder/x.slu\nrules: []\n";
    model_open(&model); /* with a store given, the rules' own is not opened */
    assert_int_equal(sluice_limiter_parse(&store, "f", sluice_text(other), &limiter, &error),
                     SLUICE_OK);
    sluice_limiter_close(limiter);
    model_close(&model.store);
}

TEST(what_a_later_version_will_heed_is_noted)
{
    static const char yaml[] = "identity: { user_id: sha256(email_ip) }\nrules: []\n";
    struct sluice_limiter *limiter = NULL;
    struct sluice_error error;
    model_open(&model);
    assert_int_equal(sluice_limiter_parse(&store, "f", sluice_text(yaml), &limiter, &error),
                     SLUICE_OK);
    assert_string_equal(error.text,
                        "`identity.user_id` is for the server; give the id as `user` here");
    sluice_limiter_close(limiter);
    model_close(&model.store);
}
