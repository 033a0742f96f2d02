/* Contexts that a task uses; and the oracle's part. */
#ifndef TESTS_FEATURE_CONTEXT_WORKLOAD_H
#define TESTS_FEATURE_CONTEXT_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"

/* In a visit of a cut: uses the context of this lane, if the task asks for it. The lane is that of
 * the merged claim with this number. */
void workload_use_in_visit(struct task_context *self, lanepool_run *call, uint32_t lane);
/* Records that the task stops using the context of the key, before it ends or gives up the lane. */
void workload_stop_using(struct task_context *self, uint32_t key);
/* Records that the lane was not given up, and the task continues to use the set `used` of
 * contexts. */
void workload_go_on_using(struct task_context *self, unsigned used);

/* Judges the calls for contexts. */
void judge_contexts(struct judge *judge);

#endif
