/* The calls of a run that cancel. */
#ifndef TESTS_PROPERTY_WORKLOAD_CANCELS_H
#define TESTS_PROPERTY_WORKLOAD_CANCELS_H

#include "property/workload_tasks.h"

/* What the canceller of this index cancels, one after the other. */
void workload_cancel_all_of_one(struct run *run, uint32_t canceller);
/* What the body of the task cancels without waiting. */
void workload_cancel_inside(struct run *run, uint32_t task);
/* One call with a future, recorded. */
lanepool_status workload_cancel_task(struct run *run, uint32_t cancel, lanepool_future *future);

#endif
