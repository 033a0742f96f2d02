/*
 * If the system refuses some of a pool's threads, the pool is refused, and leaves nothing behind. A
 * child process is allowed few threads, and one more in each attempt. An elastic pool needs only
 * those threads that it always has.
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
    bool limited;                        /* the system counts the threads of this process alone */
    lanepool_status status[WORKERS + 1]; /* with 0, 1, 2... threads allowed */
    bool pool_was_set;
    bool threads_were_left;
    _Atomic unsigned starts; /* calls of worker_start, also for refused pools */
    _Atomic unsigned stops;
    size_t descriptors_before;
    size_t descriptors_after;
    size_t bytes_before;
    size_t bytes_after;
};

/* Makes the limit count only the threads of this process, by a user namespace. Returns false if
 * that is not possible. */
static bool count_threads_alone(void)
{
    uid_t user;

    if (geteuid() != 0) {
        return unshare(CLONE_NEWUSER) == 0;
    }
    /* A user of its own, because the same test may run twice at the same time. */
    user = FIRST_USER + (uid_t)getpid() % USERS;
    return setgid(user) == 0 && setuid(user) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0; /* otherwise it may not read its own /proc */
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

/* Returns true if the limit is exact. Older systems count all threads of a user nevertheless. */
static bool limit_is_exact(void)
{
    bool with_none;

    allow_threads(0);
    with_none = has_a_thread();
    allow_threads(1);
    return !with_none && has_a_thread() && process_has_threads(1);
}

/* Returns the bytes of the heap in use; 0 if the allocator does not report them. */
static size_t heap_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
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
        /* Measured after the first round, because the system keeps some stacks of ended threads. */
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
            expect_status(attempts->status[threads], LANEPOOL_NO_RESOURCE);
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

/* --- elastic pools --- */

enum { ELASTIC_MIN = 2, ELASTIC_THREADS = 4 };

struct elastic {
    bool limited;
    bool good;        /* each call has succeeded */
    unsigned reached; /* tasks that ran at the same time */
    uint64_t threads; /* while all of them ran */
    unsigned runs;
};

/* Each worker with a thread stops in one of the steps; the other steps find no thread. */
static void fill_elastic_pool(struct elastic *elastic, lanepool_pool *pool, struct step *steps,
                              struct gate *gate)
{
    lanepool_stats stats;

    for (int i = 0; i < WORKERS; i++) {
        steps[i] = (struct step){ .gate = gate };
        elastic->good = step_submit(pool, &steps[i]) == LANEPOOL_OK && elastic->good;
    }
    elastic->good = gate_await(gate, ELASTIC_THREADS) && elastic->good;
    elastic->good = process_other_threads_sleep() && elastic->good;
    elastic->reached = ELASTIC_THREADS + gate_has_arrival(gate);
    elastic->good = lanepool_pool_stats(pool, &stats, NULL, 0) == LANEPOOL_OK && elastic->good;
    elastic->threads = stats.threads;
    gate_open(gate, WORKERS);
}

static void work_elastic_with_few_threads(void *context)
{
    struct elastic *elastic = context;
    static struct step steps[WORKERS];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    struct gate gate;

    elastic->limited = count_threads_alone() && limit_is_exact();
    if (!elastic->limited) {
        return;
    }
    gate_init(&gate);
    options.workers = WORKERS;
    options.workers_min = ELASTIC_MIN;
    options.worker_idle_ns = LANEPOOL_FOREVER;
    allow_threads(ELASTIC_THREADS);
    elastic->good = lanepool_pool_create(&options, &pool) == LANEPOOL_OK;
    if (elastic->good) {
        fill_elastic_pool(elastic, pool, steps, &gate);
        elastic->good = lanepool_pool_destroy(pool) == LANEPOOL_OK && elastic->good;
    }
    for (int i = 0; i < WORKERS; i++) {
        elastic->runs += steps[i].runs;
    }
    gate_fini(&gate);
}

Test(thread_limit, elastic_pool_continues_with_the_threads_that_it_has)
{
    struct elastic *elastic;
    int status;

    if (PROCESS_THREADS_AT_REST > 1) {
        printf("the sanitizer has threads of its own: the limit would be met by them\n");
        return;
    }
    elastic = process_shared_memory(sizeof *elastic);
    status = process_run_apart(work_elastic_with_few_threads, elastic);
    expect(WIFEXITED(status));
    expect_eq(WEXITSTATUS(status), 0);
    if (!elastic->limited) {
        printf("the system cannot count the threads of one process alone: not tested\n");
    } else {
        expect(elastic->good);
        expect_eq(elastic->reached, ELASTIC_THREADS);
        expect_eq(elastic->threads, ELASTIC_THREADS);
        expect_eq(elastic->runs, WORKERS);
    }
    process_shared_memory_free(elastic, sizeof *elastic);
}
