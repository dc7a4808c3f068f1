/* Queues of jobs between threads, and what a refusal says. */
#include "server/job.h"

#include <pthread.h>

#include "unit/base/unit.h"

static struct sl_jobs jobs;

static int open_jobs(void **unused)
{
    (void)unused;
    sl_jobs_init(&jobs);
    return 0;
}

static int close_jobs(void **unused)
{
    (void)unused;
    sl_jobs_release(&jobs);
    return 0;
}

#define WITH_JOBS(name) TEST_WITH(name, open_jobs, close_jobs)

/* Its number is its status. */
static struct sl_job *job_of(uint32_t number)
{
    struct sl_job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->out = sl_buffer(1 << 16);
    job->status = number;
    sl_arena_take(&job->arena, 100); /* what has to be given back */
    sl_buffer_add(&job->out, SL_TEXT("and this"));
    return job;
}

/* How many there were, each of the number after the one before it. */
static uint32_t drop_all(struct sl_job *job, uint32_t first)
{
    uint32_t count = 0;
    for (struct sl_job *next; job; job = next, count++) {
        next = job->next;
        SAME("order", job->status, first + count);
        sl_job_free(job);
    }
    return count;
}

/* ---- queues ---- */

WITH_JOBS(they_come_out_all_at_once_and_oldest_first)
{
    assert_null(sl_jobs_take(&jobs));
    for (uint32_t i = 0; i < 5; i++)
        assert_true(sl_jobs_add(&jobs, job_of(i), SL_JOBS_MAX));
    assert_int_equal(jobs.count, 5);
    assert_int_equal(drop_all(sl_jobs_take(&jobs), 0), 5);
    assert_int_equal(jobs.count, 0);
    assert_null(sl_jobs_take(&jobs));
}

WITH_JOBS(what_is_added_later_is_not_behind_what_was_taken)
{
    assert_true(sl_jobs_add(&jobs, job_of(0), SL_JOBS_MAX));
    struct sl_job *first = sl_jobs_take(&jobs);
    assert_true(sl_jobs_add(&jobs, job_of(1), SL_JOBS_MAX));
    assert_null(first->next);
    assert_int_equal(drop_all(first, 0), 1);
    assert_int_equal(drop_all(sl_jobs_take(&jobs), 1), 1);
}

/* Another's list is no part of it. */
WITH_JOBS(a_job_comes_out_alone_wherever_it_was_before)
{
    struct sl_job *job = job_of(0), *other = job_of(1);
    job->next = other;
    assert_true(sl_jobs_add(&jobs, job, SL_JOBS_MAX));
    assert_int_equal(drop_all(sl_jobs_take(&jobs), 0), 1);
    sl_job_free(other);
}

static struct sl_job *job_of_tenant(uint32_t number, const char *tenant)
{
    struct sl_job *job = job_of(number);
    job->tenant = tenant;
    return job;
}

/* A tenant that floods the queue must not keep the admin from removing its key. */
WITH_JOBS(tenants_have_a_part_of_the_queue_and_each_a_part_of_that)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
    uint32_t count = 0;
    for (size_t tenant = 0; tenant < 8; tenant++) {
        for (int i = 0; i < SL_JOBS_TENANT_MAX; i++, count++)
            assert_true(sl_jobs_add(&jobs, job_of_tenant(count, names[tenant]), SL_JOBS_MAX));
        struct sl_job *more = job_of_tenant(count, names[tenant]);
        assert_false(sl_jobs_add(&jobs, more, SL_JOBS_MAX));
        sl_job_free(more);
    }
    assert_int_equal(count, SL_JOBS_TENANTS_MAX);
    struct sl_job *ninth = job_of_tenant(count, names[8]);
    assert_false(sl_jobs_add(&jobs, ninth, SL_JOBS_MAX));
    sl_job_free(ninth);
    assert_true(sl_jobs_add(&jobs, job_of(count), SL_JOBS_MAX)); /* the admin's */
    assert_int_equal(drop_all(sl_jobs_take(&jobs), 0), SL_JOBS_TENANTS_MAX + 1);
}

WITH_JOBS(there_are_as_many_as_are_asked_for_and_then_room_again)
{
    for (uint32_t i = 0; i < 5; i++)
        assert_true(sl_jobs_add(&jobs, job_of(i), 5));
    struct sl_job *one_more = job_of(5);
    assert_false(sl_jobs_add(&jobs, one_more, 5));
    assert_false(sl_jobs_add(&jobs, one_more, 5)); /* and it is still the caller's */
    assert_false(sl_jobs_add(&jobs, one_more, 0));
    assert_true(sl_jobs_add(&jobs, one_more, SIZE_MAX));
    assert_int_equal(drop_all(sl_jobs_take(&jobs), 0), 6);
    assert_true(sl_jobs_add(&jobs, job_of(6), 1));
    assert_int_equal(drop_all(sl_jobs_take(&jobs), 6), 1);
}

/* The sanitizer sees what is not. */
WITH_JOBS(what_is_left_is_given_back_with_the_queue)
{
    for (uint32_t i = 0; i < 3; i++)
        assert_true(sl_jobs_add(&jobs, job_of(i), SL_JOBS_MAX));
}

enum { THREADS = 4, EACH = 20000 };

static void *add_many(void *about)
{
    uint32_t thread = *(uint32_t *)about;
    for (uint32_t i = 0; i < EACH;) {
        struct sl_job *job = calloc(1, sizeof *job);
        if (!job)
            return NULL;
        job->status = thread * EACH + i;
        while (!sl_jobs_add(&jobs, job, SL_JOBS_MAX))
            sched_yield();
        i++;
    }
    return NULL;
}

WITH_JOBS(from_several_threads_none_is_lost_and_each_threads_stay_in_order)
{
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS], next[THREADS] = { 0 }, total = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &numbers[i]), 0);
    }
    while (total < THREADS * EACH) {
        struct sl_job *following;
        for (struct sl_job *job = sl_jobs_take(&jobs); job; job = following, total++) {
            following = job->next;
            uint32_t thread = job->status / EACH;
            SAME("order", job->status % EACH, next[thread]++);
            sl_job_free(job);
        }
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_null(sl_jobs_take(&jobs));
}

/* ---- refusing ---- */

TEST(a_refusal_is_a_sentence_whatever_it_was_made_of)
{
    static const struct {
        const char *said, *detail;
    } rows[] = {
        { "there is no rule `a`", "There is no rule `a`." },
        { "There is no rule.", "There is no rule." },
        { "`name` is wrong", "`name` is wrong." },
        { "really?", "Really?" },
        { "no!", "No!" },
        { "1 of them is wrong:", "1 of them is wrong:." },
        { "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9." },
        { "", "." },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sl_job *job = job_of(200);
        char wanted[256];
        assert_false(sl_job_refuse(job, 422, "%s", rows[i].said));
        snprintf(wanted, sizeof wanted,
                 "{\"type\": \"about:blank\", \"title\": \"Unprocessable Content\", "
                 "\"status\": 422, \"detail\": \"%s\"}",
                 rows[i].detail);
        SAME_TEXT(rows[i].said, ((struct sluice_text){ job->out.at, job->out.len }), wanted);
        sl_job_free(job);
    }
}

/* What was said before is not said any more. */
TEST(a_refusal_takes_the_answers_place_and_the_last_one_counts)
{
    struct sl_job *job = job_of(201);
    job->etag = "\"r1\"";
    assert_false(job->is_problem);
    sl_job_refuse(job, 404, "there is no %s of %d", "rule", 7);
    sl_job_refuse(job, 409, "it is in use");
    assert_int_equal(job->status, 409);
    assert_true(job->is_problem);
    assert_null(job->etag);
    SAME_TEXT("body", ((struct sluice_text){ job->out.at, job->out.len }),
              "{\"type\": \"about:blank\", \"title\": \"Conflict\", \"status\": 409, "
              "\"detail\": \"It is in use.\"}");
    sl_job_free(job);
}

TEST(a_method_is_told_apart_by_case)
{
    struct sl_job job = { .method = SL_TEXT("PUT") };
    assert_true(sl_job_is(&job, "PUT"));
    assert_false(sl_job_is(&job, "put"));
    assert_false(sl_job_is(&job, "PU"));
    assert_false(sl_job_is(&job, "PUTT"));
}
