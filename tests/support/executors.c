/* Executors that need only the library and threads; see executors.h. */
#include "support/executors.h"

#include <pthread.h>

#include "support/step.h"
#include "support/test.h"

static lanepool_executor *executor_make(lanepool_status (*execute)(void *, lanepool_work *),
                                        void *context)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    lanepool_executor *executor = NULL;

    functions.execute = execute;
    expect_ok(lanepool_executor_create(&functions, context, &executor));
    expect(executor != NULL);
    return executor;
}

/* --- a pool --- */

static lanepool_pool *pool_behind;

static lanepool_executor *pool_executor_make(void)
{
    lanepool_executor *executor = NULL;

    pool_behind = pool_make(3, LANEPOOL_PER_KEY);
    expect_ok(lanepool_pool_executor(pool_behind, &executor));
    return executor;
}

static void pool_executor_end(lanepool_executor *executor)
{
    expect_ok(lanepool_executor_destroy(executor));
    pool_end(pool_behind);
}

/* --- runs works inside `execute` --- */

static lanepool_status run_inline(void *context, lanepool_work *work)
{
    (void)context;
    lanepool_work_run(work);
    return LANEPOOL_OK;
}

static lanepool_executor *inline_make(void)
{
    return executor_make(run_inline, NULL);
}

static void inline_end(lanepool_executor *executor)
{
    expect_ok(lanepool_executor_destroy(executor));
}

/* --- threads --- */

enum { THREADS = 3, WORKS_MAX = 1 << 12 };

static struct threads {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    lanepool_work *works[WORKS_MAX]; /* a ring */
    size_t first, count;
    bool ends;
    pthread_t threads[THREADS];
} threads = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static lanepool_status threads_execute(void *context, lanepool_work *work)
{
    bool room;

    (void)context;
    pthread_mutex_lock(&threads.lock);
    room = threads.count < WORKS_MAX;
    if (room) {
        threads.works[(threads.first + threads.count++) % WORKS_MAX] = work;
        pthread_cond_signal(&threads.changed);
    }
    pthread_mutex_unlock(&threads.lock);
    return room ? LANEPOOL_OK : LANEPOOL_FULL;
}

static void *threads_main(void *argument)
{
    pthread_mutex_lock(&threads.lock);
    for (;;) {
        while (threads.count == 0 && !threads.ends) {
            pthread_cond_wait(&threads.changed, &threads.lock);
        }
        if (threads.count == 0) {
            break;
        }
        lanepool_work *work = threads.works[threads.first];
        threads.first = (threads.first + 1) % WORKS_MAX;
        threads.count--;
        pthread_mutex_unlock(&threads.lock);
        lanepool_work_run(work);
        pthread_mutex_lock(&threads.lock);
    }
    pthread_mutex_unlock(&threads.lock);
    return argument;
}

static lanepool_executor *threads_make(void)
{
    threads.ends = false;
    for (int i = 0; i < THREADS; i++) {
        expect_eq(pthread_create(&threads.threads[i], NULL, threads_main, NULL), 0);
    }
    return executor_make(threads_execute, NULL);
}

/* Works that are still in the ring run after the executor's end, and find no task. */
static void threads_end(lanepool_executor *executor)
{
    expect_ok(lanepool_executor_destroy(executor));
    pthread_mutex_lock(&threads.lock);
    threads.ends = true;
    pthread_cond_broadcast(&threads.changed);
    pthread_mutex_unlock(&threads.lock);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads.threads[i], NULL);
    }
}

const struct executor_under_test executors_under_test[] = {
    { "a pool", pool_executor_make, pool_executor_end, true },
    { "an executor that runs inside", inline_make, inline_end, true },
    { "threads", threads_make, threads_end, true },
    { NULL, NULL, NULL, false },
};
