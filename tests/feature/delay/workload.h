/* The oracle's part. */
#ifndef TESTS_FEATURE_DELAY_WORKLOAD_H
#define TESTS_FEATURE_DELAY_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"

/* Returns the run of a periodic task that is being made; any other task itself. */
struct task_context *workload_current_run(struct task_context *first);

/* Judges due times, the order of delayed tasks, and periodic tasks. */
void judge_delays(struct judge *judge);

#endif
