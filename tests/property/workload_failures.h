/* Tasks that fail: their attempts, and the parked ones. */
#ifndef TESTS_PROPERTY_WORKLOAD_FAILURES_H
#define TESTS_PROPERTY_WORKLOAD_FAILURES_H

#include "property/workload_tasks.h"

static inline const lanepool_failure_policy *run_policy_of(const struct task_context *context)
{
    return workload_policy_of(context->run->workload, context->task);
}

static inline void run_expect(const struct task_context *context, bool holds, const char *fault)
{
    oracle_expect(context->run->log, holds, fault);
}

/* Called first inside a task. Returns true if this is its first attempt. */
bool workload_begin_attempt(struct task_context *self, lanepool_run *call);
/* Returns true if the current attempt, or the one just made, fails. */
bool workload_fails_now(const struct task_context *context);
/* Records the end of an attempt. Returns true if the task may not have ended. */
bool workload_end_attempt(struct task_context *context);
/* Called by the release callback of a task that workload_end_attempt() left open: records its
 * end. */
void workload_close(struct task_context *context);
/* Called by the error callback. */
void workload_note_failure(struct task_context *context, const lanepool_error *error);

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

#endif
