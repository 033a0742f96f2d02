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

/* The function of a task that holds a lane because of a failure in an earlier run. */
int batch_hold(lanepool_run *run, void *context);

#endif
