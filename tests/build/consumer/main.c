/* A small program that uses the library: one task, one result. */
#include <stdio.h>

#include <lanepool/lanepool.h>

static int say(lanepool_run *run, void *context)
{
    lanepool_run_set_result(run, context);
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_future *future;
    lanepool_claim claim = lanepool_claim_of(lanepool_key_string("greeting"), LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_result result = { LANEPOOL_INVALID, 0, NULL };

    if (lanepool_pool_create(NULL, &pool)) {
        return 1;
    }
    task.function = say;
    task.context = "done";
    task.claims = &claim;
    task.claim_count = 1;
    task.future = &future;
    if (lanepool_pool_submit(pool, &task) ||
        lanepool_future_wait(future, LANEPOOL_FOREVER, &result)) {
        return 1;
    }
    lanepool_future_release(future);
    lanepool_pool_destroy(pool);
    puts((const char *)result.value);
    return 0;
}
