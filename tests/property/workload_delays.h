/* Periodic tasks of a run. */
#ifndef TESTS_PROPERTY_WORKLOAD_DELAYS_H
#define TESTS_PROPERTY_WORKLOAD_DELAYS_H

#include "property/workload_tasks.h"

/* What a thread does with one of them, from its submit on. */
void workload_run_series(struct run *run, uint32_t series);
/* A periodic task is handed back; its context is its first run's. */
void workload_series_returns(struct task_context *first);
/* When the pool is gone: runs that did not come were no tasks. */
void workload_end_series(struct run *run);

#endif
