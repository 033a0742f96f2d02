#include "property/workload_cancels.h"

#include "property/world.h"

static struct oracle_cancel *begin(struct run *run, uint32_t cancel)
{
    struct oracle_cancel *record = &run->log->cancels[cancel];

    record->thread = world_thread();
    oracle_stamp_at(run->log, &record->begin);
    return record;
}

static lanepool_status end(struct run *run, struct oracle_cancel *record, lanepool_status status)
{
    record->status = status;
    oracle_stamp_at(run->log, &record->end);
    return status;
}

lanepool_status workload_cancel_task(struct run *run, uint32_t cancel, lanepool_future *future)
{
    const struct workload_cancel *what = &run->workload->cancels[cancel];
    struct oracle_cancel *record = begin(run, cancel);

    return end(run, record,
               what->kind == CANCEL_TASK ? lanepool_future_cancel(future)
                                         : lanepool_future_cancel_wait(future, what->patience));
}

static void cancel_lane(struct run *run, uint32_t cancel)
{
    lanepool_key key = lanepool_key_id(run->workload->cancels[cancel].target);
    lanepool_lane *lane;

    if (lanepool_lane_acquire(run->pool, key, &lane) != LANEPOOL_OK) {
        if (!world_has_refused()) {
            run_note_failure(run, LANEPOOL_INVALID);
        }
        return;
    }
    struct oracle_cancel *record = begin(run, cancel);

    end(run, record, lanepool_lane_cancel(lane, &record->count));
    lanepool_lane_release(lane);
}

static void cancel_pool(struct run *run, uint32_t cancel)
{
    struct oracle_cancel *record = begin(run, cancel);

    end(run, record, lanepool_pool_cancel(run->pool, &record->count));
}

static void cancel_group(struct run *run, uint32_t cancel)
{
    lanepool_group *group = run->groups[run->workload->cancels[cancel].target];
    struct oracle_cancel *record = begin(run, cancel);

    end(run, record, lanepool_group_cancel(group, &record->count));
}

/* Cancels the target, unless it has not been submitted yet. */
static void cancel_target(struct run *run, uint32_t cancel)
{
    uint32_t target = run->workload->cancels[cancel].target;
    lanepool_future *future = atomic_load(&run->contexts[target].published_future);

    if (future) {
        workload_cancel_task(run, cancel, future);
    }
}

static void cancel_one(struct run *run, uint32_t cancel)
{
    switch (run->workload->cancels[cancel].kind) {
    case CANCEL_LANE:
        cancel_lane(run, cancel);
        break;
    case CANCEL_GROUP:
        cancel_group(run, cancel);
        break;
    case CANCEL_POOL:
        cancel_pool(run, cancel);
        break;
    default:
        cancel_target(run, cancel);
        break;
    }
}

void workload_cancel_all_of_one(struct run *run, uint32_t canceller)
{
    for (uint32_t i = 0; i < run->workload->cancel_count; i++) {
        const struct workload_cancel *what = &run->workload->cancels[i];

        if (what->inside == WORKLOAD_NONE && what->canceller == canceller) {
            world_sleep(what->after);
            cancel_one(run, i);
        }
    }
}

void workload_cancel_inside(struct run *run, uint32_t task)
{
    for (uint32_t i = 0; i < run->workload->cancel_count; i++) {
        const struct workload_cancel *what = &run->workload->cancels[i];

        if (what->inside == task && what->kind != CANCEL_TASK_AND_WAIT) {
            cancel_one(run, i);
        }
    }
}
