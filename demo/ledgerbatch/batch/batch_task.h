/*
 * The functions that the pool calls.
 */
#ifndef LEDGERBATCH_BATCH_BATCH_TASK_H
#define LEDGERBATCH_BATCH_BATCH_TASK_H

#include "batch/batch.h"
#include "lanepool/lanepool.h"

/*
 * The function of every task; the context is the struct task. A task with an outcome is its own
 * record in the pool's journal. After BATCH_FAILED or BATCH_HELD the pool parks the task: it stays
 * in its lanes, and later tasks run without these lanes.
 */
int batch_task(lanepool_run *run, void *context);

/*
 * A cut: its `at_lane`, its function, its `cancelled` and its `release`. The context is the struct
 * cut, whose memory the pool owns from the submit on. Each visit is a record in the pool's journal.
 * After BATCH_FAILED the pool parks the cut: it stays in the lanes of the clients that failed.
 */
int batch_visit(lanepool_run *run, void *context, size_t index);
int batch_cut(lanepool_run *run, void *context);
void batch_cut_cancelled(void *context, lanepool_status why);
void batch_cut_release(void *context);

/*
 * The key of a user's step: the parts that make up for it claim this, too, shared; and the part
 * that calls its `group`, alone. The keys below are those of lanes and of groups.
 */
static inline uint64_t batch_step_key(const struct plan *plan, const struct task *task)
{
    return (uint64_t)plan_house_lane(plan) + 1 + plan->clients.group_count + task->seq;
}

/* The function of a task that holds a lane because of a failure in an earlier run. */
int batch_hold(lanepool_run *run, void *context);

#endif
