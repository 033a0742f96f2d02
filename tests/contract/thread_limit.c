/*
 * A pool that can have only some of its threads is refused, and leaves nothing behind. The system
 * itself refuses here: a child process is allowed few threads, and one more each time.
 */
#define _GNU_SOURCE /* unshare, setgroups */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { WORKERS = 12, ROUNDS = 10, FIRST_USER = 20000, USERS = 40000 };

struct attempts {
    bool limited;                        /* the system counts this process's threads alone */
    lanepool_status status[WORKERS + 1]; /* with 0, 1, 2... threads to be had */
    bool pool_was_set;
    bool threads_were_left;
    _Atomic unsigned starts; /* calls of worker_start, those in pools that were refused too */
    _Atomic unsigned stops;
    size_t descriptors_before;
    size_t descriptors_after;
    size_t bytes_before;
    size_t bytes_after;
};

/* From here on the limit counts the threads of this process and of no other. */
static bool count_threads_alone(void)
{
    uid_t user;

    if (geteuid() != 0) {
        return unshare(CLONE_NEWUSER) == 0;
    }
    /* A user of its own, since the same test may run a second time at once. */
    user = FIRST_USER + (uid_t)getpid() % USERS;
    return setgid(user) == 0 && setuid(user) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0; /* or it may not look at itself in /proc */
}

static void allow_threads(rlim_t threads)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NPROC, &limit);
    limit.rlim_cur = 1 + threads;
    setrlimit(RLIMIT_NPROC, &limit);
}

static void *do_nothing(void *argument)
{
    return argument;
}

static bool has_a_thread(void)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

/* Older systems count all threads of a user even then. */
static bool limit_is_exact(void)
{
    bool with_none;

    allow_threads(0);
    with_none = has_a_thread();
    allow_threads(1);
    return !with_none && has_a_thread() && process_has_threads(1);
}

/* Bytes of the heap in use; 0 where the system's allocator does not tell. */
static size_t heap_bytes(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    return PROCESS_IS_SANITIZED ? 0 : mallinfo2().uordblks;
#else
    return 0;
#endif
}

static void *count_start(void *user, size_t worker_index)
{
    struct attempts *attempts = user;

    (void)worker_index;
    atomic_fetch_add(&attempts->starts, 1);
    return user;
}

static void count_stop(void *user, size_t worker_index, void *context)
{
    struct attempts *attempts = user;

    (void)worker_index;
    atomic_fetch_add(&attempts->stops, context == user);
}

static lanepool_status create_with_threads(struct attempts *attempts, rlim_t threads)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool = (lanepool_pool *)&pool;
    lanepool_status status;

    options.workers = WORKERS;
    options.user = attempts;
    options.worker_start = count_start;
    options.worker_stop = count_stop;
    allow_threads(threads);
    status = lanepool_pool_create(&options, &pool);
    if (status == LANEPOOL_OK) {
        status = lanepool_pool_destroy(pool);
    } else {
        attempts->pool_was_set |= pool != NULL;
    }
    attempts->threads_were_left |= !process_has_threads(1);
    return status;
}

static void create_with_ever_more_threads(void *context)
{
    struct attempts *attempts = context;

    attempts->limited = count_threads_alone() && limit_is_exact();
    for (int round = 0; attempts->limited && round < ROUNDS; round++) {
        for (rlim_t threads = 0; threads <= WORKERS; threads++) {
            attempts->status[threads] = create_with_threads(attempts, threads);
        }
        /* After the first round, since the system keeps some stacks of threads that have ended. */
        if (round == 0) {
            attempts->descriptors_before = process_descriptor_count();
            attempts->bytes_before = heap_bytes();
        }
    }
    attempts->descriptors_after = process_descriptor_count();
    attempts->bytes_after = heap_bytes();
}

Test(thread_limit, pool_with_too_few_threads_is_refused_and_leaves_nothing)
{
    struct attempts *attempts;
    int status;

    if (PROCESS_THREADS_AT_REST > 1) {
        printf("the sanitizer has threads of its own: the limit would be met by them\n");
        return;
    }
    attempts = process_shared_memory(sizeof *attempts);
    status = process_run_apart(create_with_ever_more_threads, attempts);
    expect(WIFEXITED(status));
    expect_eq(WEXITSTATUS(status), 0);
    if (!attempts->limited) {
        printf("the system cannot count the threads of one process alone: not tested\n");
    } else {
        for (int threads = 0; threads < WORKERS; threads++) {
            expect_status(attempts->status[threads], LANEPOOL_NO_THREAD);
        }
        expect_ok(attempts->status[WORKERS]);
        expect_eq(attempts->starts, ROUNDS * WORKERS * (WORKERS + 1) / 2);
        expect_eq(attempts->stops, attempts->starts);
        expect(!attempts->pool_was_set);
        expect(!attempts->threads_were_left);
        expect_eq(attempts->descriptors_after, attempts->descriptors_before);
        expect_eq(attempts->bytes_after, attempts->bytes_before);
    }
    process_shared_memory_free(attempts, sizeof *attempts);
}
