#include "support/cut.h"

#include <string.h>

#include "support/test.h"

int cut_visit(lanepool_run *run, void *context, size_t index)
{
    struct cut *cut = context;

    (void)run;
    if (cut->gate != NULL && cut->slow == index)
        gate_pass(cut->gate);
    if (cut->accounts != NULL)
        cut->values[index] = cut->accounts[index];
    atomic_fetch_add(&cut->visits[index], 1);
    atomic_fetch_add(&cut->visited, 1);
    return cut->codes[index];
}

static int sum_up(lanepool_run *run, void *context)
{
    struct cut *cut = context;

    cut->visited_at_call = atomic_load(&cut->visited);
    cut->claims_at_call = lanepool_run_claim_count(run);
    atomic_fetch_add(&cut->calls, 1);
    return cut->code;
}

static void cut_cancelled(void *context, lanepool_status why)
{
    struct cut *cut = context;

    atomic_store(&cut->why, why);
    atomic_fetch_add(&cut->cancels, 1);
}

static void cut_released(void *context)
{
    atomic_fetch_add(&((struct cut *)context)->releases, 1);
}

void cut_init(struct cut *cut, size_t lane_count, lanepool_mode mode)
{
    memset(cut, 0, sizeof *cut);
    cut->claim_count = lane_count;
    for (size_t i = 0; i < lane_count; i++)
        cut->claims[i] = lanepool_claim_of(lanepool_key_id(i), mode);
}

lanepool_task cut_task(struct cut *cut)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = sum_up;
    task.context = cut;
    task.claims = cut->claims;
    task.claim_count = cut->claim_count;
    task.at_lane = cut_visit;
    task.cancelled = cut_cancelled;
    task.release = cut_released;
    return task;
}

lanepool_future *cut_submit(lanepool_pool *pool, struct cut *cut)
{
    lanepool_future *future;
    lanepool_task task = cut_task(cut);

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

lanepool_status cut_end(lanepool_future *future, int *code)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    lanepool_future_release(future);
    if (code != NULL)
        *code = result.code;
    return result.status;
}

int cut_fail_once(lanepool_run *run, void *context, size_t index)
{
    struct cut *cut = context;
    int code = cut_visit(run, context, index);

    cut->codes[index] = 0;
    return code;
}
