/* Contexts of keys: what a pool's callbacks note, and the tasks that use them. */
#ifndef TESTS_PROPERTY_WORKLOAD_CONTEXTS_H
#define TESTS_PROPERTY_WORKLOAD_CONTEXTS_H

#include "property/workload_tasks.h"

/* What the pool is made with, if the workload has contexts; `user` is the run. */
lanepool_context_options workload_context_options(const struct run *run);

/* Inside a task: asks for what the workload has it ask for. */
void workload_ask(struct task_context *self, lanepool_run *call);
/* The task is about to end, or to give up the lane of one key. */
void workload_stop_using(struct task_context *self, uint32_t key);
/* The lane was not given up: the task goes on using what it used before, a set. */
void workload_go_on_using(struct task_context *self, unsigned used);

#endif
