/* Contexts of keys: the records of a pool's callbacks, and the tasks that use contexts. */
#ifndef TESTS_PROPERTY_WORKLOAD_CONTEXTS_H
#define TESTS_PROPERTY_WORKLOAD_CONTEXTS_H

#include "property/workload_tasks.h"

/* Returns the pool's options for contexts, if the workload has contexts. `user` is the run. */
lanepool_context_options workload_context_options(const struct run *run);

/* Inside a task: acquires the contexts that the workload says. */
void workload_ask(struct task_context *self, lanepool_run *call);
/* Records that the task stops using the context of the key, before it ends or gives up the lane. */
void workload_stop_using(struct task_context *self, uint32_t key);
/* Records that the lane was not given up, and the task continues to use the set `used` of
 * contexts. */
void workload_go_on_using(struct task_context *self, unsigned used);

#endif
