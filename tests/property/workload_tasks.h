/* A run's tasks: their descriptions, bodies and callbacks. Between workload_run.c and its parts. */
#ifndef TESTS_PROPERTY_WORKLOAD_TASKS_H
#define TESTS_PROPERTY_WORKLOAD_TASKS_H

#include "property/workload_run.h"

struct run;

/* The context of one task. */
struct task_context {
    struct run *run;
    uint32_t task;
    uint32_t first_nested; /* the tasks that its body submits: a list */
    uint32_t next_nested;
    lanepool_future *future;                     /* the submit writes it */
    _Atomic(lanepool_future *) published_future; /* for other tasks' waits */
};

struct run {
    const struct workload *workload;
    struct oracle_log *log;
    lanepool_pool *pool;
    struct task_context *contexts;
    lanepool_claim *claims;    /* as the library takes them, in the order of the claim store */
    lanepool_claim all;        /* of barriers */
    lanepool_lane **lanes;     /* held lanes by key, where there are any */
    _Atomic int first_failure; /* a lanepool_status */
};

/* A call that must not fail has. */
void run_note_failure(struct run *run, lanepool_status status);

void run_make_contexts(struct run *run);

/* What the library is given for the task. */
lanepool_task run_describe(struct task_context *context);
/* Submits one task by itself, in its form, and records it. */
void run_submit(struct task_context *context);
/* Records the outcome of a submit whose begin was recorded. */
void run_record_submit(struct task_context *context, lanepool_status status);

/* An is_compatible for the workload's rule, an error callback and a hand-back; user is the run. */
bool run_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user);
void run_on_error(void *user, const lanepool_error *error);
void run_hand_back(void *user, const lanepool_task *task, uint64_t ticket);

#endif
