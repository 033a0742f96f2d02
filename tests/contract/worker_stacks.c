/* The stacks of the workers' threads. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include <limits.h>
#include <pthread.h>

#include "support/step.h"
#include "support/test.h"

enum { WORKERS = 2 };

#define MIB      ((size_t)1 << 20)
#define ROUNDING (MIB / 4) /* of a size, and for the system's own data */

/* The size of the stack that a task runs on. */
struct look {
    struct gate *gate;
    size_t size;
};

static int look_body(lanepool_run *run, void *context)
{
    struct look *look = context;
    pthread_attr_t attributes;

    (void)run;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &look->size);
        pthread_attr_destroy(&attributes);
    }
    gate_pass(look->gate);
    return 0;
}

/* The system may reuse a larger stack of a thread that has ended. */
static void workers_have_at_least(size_t wanted, unsigned workers_min)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct look looks[WORKERS];
    struct gate gate;
    lanepool_pool *pool;

    options.workers = WORKERS;
    options.workers_min = workers_min;
    options.worker_stack_size = wanted;
    pool = pool_make_with(&options);
    gate_init(&gate);
    for (int i = 0; i < WORKERS; i++) {
        lanepool_task task = LANEPOOL_TASK_INIT;

        looks[i] = (struct look){ &gate, 0 };
        task.function = look_body;
        task.context = &looks[i];
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect(gate_await(&gate, WORKERS)); /* each worker has one of them */
    gate_open(&gate, WORKERS);
    pool_end(pool);
    gate_fini(&gate);
    for (int i = 0; i < WORKERS; i++) {
        expect(looks[i].size + ROUNDING >= wanted);
    }
}

/* Larger than the default of each system. */
Test(worker_stacks, have_the_size_of_the_option)
{
    workers_have_at_least(24 * MIB, WORKERS);
}

Test(worker_stacks, of_elastic_workers_have_the_size_of_the_option)
{
    workers_have_at_least(48 * MIB, 1);
}

Test(worker_stacks, may_be_smaller_than_the_default)
{
    workers_have_at_least(5 * MIB, WORKERS);
}

Test(worker_stacks, size_below_the_minimum_of_the_system_is_invalid)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool = (lanepool_pool *)&pool;

    options.workers = 1;
    options.worker_stack_size = (size_t)PTHREAD_STACK_MIN - 1;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    expect(pool == NULL);
}

/* More than there are addresses. */
Test(worker_stacks, size_that_the_system_cannot_provide_leaves_no_pool)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool = (lanepool_pool *)&pool;

    options.workers = 1;
    options.worker_stack_size = SIZE_MAX / 8; /* musl refuses more than a quarter */
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_NO_RESOURCE);
    expect(pool == NULL);
}
