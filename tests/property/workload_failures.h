/* Tasks that fail: their attempts, and what becomes of those that are kept. */
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

/* Inside a task, first of all: whether this is the first attempt at it. */
bool workload_begin_attempt(struct task_context *self, lanepool_run *call);
/* Whether the attempt that is made, or was just made, fails. */
bool workload_fails_now(const struct task_context *context);
/* The attempt has ended; true: the task may not have. */
bool workload_end_attempt(struct task_context *context);
/* Of one that was left open by that, when its release is called: it has ended. */
void workload_close(struct task_context *context);
/* The error callback's part. */
void workload_note_failure(struct task_context *context, const lanepool_error *error);

/* From this stamp on the task is, or is just being, kept. NULL: there is no room for it. Whoever
 * resolves what was kept in silence notes it at the same time as its next failure. */
struct oracle_keep *workload_add_keep(struct oracle_task *record, uint64_t from);

/* workload_resolve.c. A resolver: looks a few times. */
void workload_resolve_all_of_one(struct run *run, uint32_t resolver);
/* The same inside a task, once. */
void workload_resolve_inside(const struct task_context *self);
/* Resolves whatever the pool is held up by, until nothing can happen any more. */
void workload_relieve(struct run *run);
/* The pool's end was told that it is held up, and nobody else is left. */
void workload_relieve_at_end(struct run *run);

#endif
