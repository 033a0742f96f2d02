/* Periodic tasks of a run. */
#ifndef TESTS_PROPERTY_WORKLOAD_DELAYS_H
#define TESTS_PROPERTY_WORKLOAD_DELAYS_H

#include "property/workload_tasks.h"

/* Does everything that the thread of a periodic task does, from the submit on. */
void workload_run_series(struct run *run, uint32_t series);
/* Records the hand-back of a periodic task, whose context is that of its first run. */
void workload_series_returns(struct task_context *first);
/* To be called when the pool has been destroyed: runs that were not made do not count as tasks. */
void workload_end_series(struct run *run);

#endif
