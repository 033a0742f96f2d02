/* Owns the functions that the pool calls. The pool says which lanes a task must run without. */
#include "batch/batch_task.h"

#include <stdlib.h>

#include "batch/batch_run.h"
#include "batch/cut.h"
#include "batch/effect.h"
#include "batch/step_run.h"

/* Finds the lanes that this call does not have. Before the first failure there are none. */
static void find_missing(const struct batch *batch, const struct task *task,
                         const lanepool_run *run, struct lane_list *missing)
{
    struct lane_list lanes = { 0 };
    if (!atomic_load_explicit(&batch->quarantine.is_used, memory_order_relaxed)) {
        return;
    }
    plan_lanes(batch->plan, task, &lanes);
    for (size_t i = 0; i < lanes.count; i++) {
        lanepool_key key = lanepool_key_id(lanes.items[i]);
        if (!lanepool_run_holds(run, key)) {
            lane_list_add(missing, lanes.items[i]);
        }
    }
    free(lanes.items);
}

static void count_done(struct batch *batch)
{
    atomic_fetch_add_explicit(&batch->done_count, 1, memory_order_relaxed);
}

/*
 * Calls the `group` of a step that an earlier run has left undone in part. The key of the step is
 * shared by its other parts. This part has it after them, or not at all if one has failed. A part
 * that is held for another reason leaves its client without a contribution.
 */
static int run_group_part(struct batch *batch, lanepool_run *run, struct task *part)
{
    lanepool_key key = lanepool_key_id(batch_step_key(batch->plan, part));
    if (!lanepool_run_holds(run, key) || !step_gathering_is_whole(batch, part->seq)) {
        return 0;
    }
    if (step_run(batch, part) != 0) {
        quarantine_fail(&batch->quarantine, part);
        return 0; /* no lane waits for it, so none is held */
    }
    lanepool_run_set_record(run, part);
    return 0;
}

int batch_task(lanepool_run *run, void *context)
{
    struct task *task = context;
    struct batch *batch = task->batch;
    struct lane_list missing = { 0 };
    batch_wait_first(batch);
    if (plan_is_group_part(batch->plan, task)) {
        return run_group_part(batch, run, task);
    }
    find_missing(batch, task, run, &missing);
    int code = batch_run(batch, task, &missing);
    free(missing.items);
    if (task->member == NO_INDEX) { /* a part belongs to a task that is counted already */
        count_done(batch);
    }
    if (task->outcome != OUTCOME_NONE) {
        lanepool_run_set_record(run, task);
    }
    return code;
}

int batch_visit(lanepool_run *run, void *context, size_t index)
{
    struct cut *cut = context;
    batch_wait_first(cut->task->batch);
    int code = cut_visit(cut, index);
    if (code == 0) {
        lanepool_run_set_record(run, &cut->visits[index].part);
    }
    return code;
}

int batch_cut(lanepool_run *run, void *context)
{
    struct cut *cut = context;
    struct task *group_part = cut_end(cut);
    if (group_part) {
        lanepool_run_set_record(run, group_part);
    }
    count_done(cut->task->batch);
    return 0;
}

void batch_cut_cancelled(void *context, lanepool_status why)
{
    const struct cut *cut = context;
    if (why == LANEPOOL_IN_PARTS) {
        count_done(cut->task->batch);
    }
}

void batch_cut_release(void *context)
{
    cut_destroy(context);
}

int batch_hold(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return BATCH_HELD;
}
