/* Tasks that hold their lanes for longer or shorter than their call, or hand them over. */
#ifndef TESTS_PROPERTY_WORKLOAD_HELD_H
#define TESTS_PROPERTY_WORKLOAD_HELD_H

#include "property/workload_tasks.h"

/* Called inside a task: does what the workload says. */
void workload_detach(struct task_context *self, lanepool_run *call);
void workload_give_up(struct task_context *self, lanepool_run *call);
void workload_hand_over(struct task_context *heir, lanepool_run *call);
void workload_complete_another(const struct task_context *self);

/* Completes the task if it is detached and no other thread completes it. */
void workload_complete(struct task_context *context);

/* Completes all detached tasks, until nothing can happen any more. */
void workload_keep(struct run *run);

#endif
