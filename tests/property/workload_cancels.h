/* The cancelling calls of a run. */
#ifndef TESTS_PROPERTY_WORKLOAD_CANCELS_H
#define TESTS_PROPERTY_WORKLOAD_CANCELS_H

#include "property/workload_tasks.h"

/* Makes the cancelling calls of one canceller, one after the other. */
void workload_cancel_all_of_one(struct run *run, uint32_t canceller);
/* Makes the cancelling calls of a task's body that do not wait. */
void workload_cancel_inside(struct run *run, uint32_t task);
/* Cancels the task of a future, and records the call. */
lanepool_status workload_cancel_task(struct run *run, uint32_t cancel, lanepool_future *future);

#endif
