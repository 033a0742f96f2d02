/* Tasks that fail, and the parked ones; and the oracle's part. */
#ifndef TESTS_FEATURE_FAILURE_WORKLOAD_H
#define TESTS_FEATURE_FAILURE_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"

static inline const lanepool_failure_policy *run_policy_of(const struct task_context *context)
{
    return workload_policy_of(context->run->workload, context->task);
}

/* Records that the task is parked, or is just being parked, from this stamp on. Returns NULL if
 * there is no room for the record. If a task was parked without a report, its resolver calls this,
 * possibly at the same time as the task's next failure does. */
struct oracle_keep *workload_add_keep(struct oracle_task *record, uint64_t from);

/* workload_resolve.c: lists the parked tasks a few times, and resolves them. */
void workload_resolve_all_of_one(struct run *run, uint32_t resolver);
/* Resolves parked tasks inside a task, once. */
void workload_resolve_inside(const struct task_context *self);
/* Resolves the parked tasks that block the pool, until nothing can happen any more. */
void workload_relieve(struct run *run);
/* To be called when the pool's end answered PARKED and no other thread is left. `resolved` is
 * run->resolved from before that call: a task that ran later may have resolved what was parked. */
void workload_relieve_at_end(struct run *run, uint32_t resolved);

/* Judges attempts, parked tasks, their resolution, and tasks that avoid their lanes. */
void judge_failures(struct judge *judge);

#endif
