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
    _Atomic(lanepool_detached *) detached;       /* for whoever completes it first */
    atomic_uint ends_left; /* of its function and, if it detaches, of who completes it */
    atomic_bool settled;   /* nothing will happen to it any more */
    atomic_uint using;     /* which of the contexts that it asks for: a set */
    uint64_t cell_seen[2]; /* of each of them */
    lanepool_timer *timer; /* of a series' first run; the submit writes it */
};

struct run {
    const struct workload *workload;
    struct oracle_log *log;
    lanepool_pool *pool;
    struct task_context *contexts;
    lanepool_claim *claims; /* as the library takes them, in the order of the claim store */
    lanepool_claim all;     /* of barriers */
    lanepool_lane **lanes;  /* held lanes by key, where there are any */
    lanepool_group **groups;
    lanepool_pump **pumps;
    atomic_uint context_calls;   /* for contexts, of which some fail */
    _Atomic int first_failure;   /* a lanepool_status */
    _Atomic uint32_t unsettled;  /* tasks that are not settled */
    _Atomic uint32_t submitting; /* submitters that have not submitted all: who waits to run his
                                   task waits for its turn, cancelled or not */
};

static inline const struct workload_task *what_of(const struct task_context *context)
{
    return &context->run->workload->tasks[context->task];
}

static inline struct oracle_task *record_of(const struct task_context *context)
{
    return &context->run->log->tasks[context->task];
}

/* Shuts the pool down now, and notes it. */
void run_stop(struct run *run, bool hands_back);

/* A call that must not fail has. */
void run_note_failure(struct run *run, lanepool_status status);

void run_make_contexts(struct run *run);
/* A claim as the library takes it, by handle or by key. */
lanepool_claim run_make_claim(const struct run *run, const struct workload_claim *claim);

/* What the library is given for the task. */
lanepool_task run_describe(struct task_context *context);
/* Submits one task by itself, in its form, and records it. */
void run_submit(struct task_context *context);
/* Stamps of a submit that is about to begin, and of a call. */
void run_begin_submit(struct task_context *context);
void run_record_call(struct task_context *context, enum oracle_call call, uint64_t ticket);
/* One of those who end the task is about to do so: the last of them records its end. */
void run_end_part(struct task_context *context);
/* Nothing will happen to the task any more, nor to those that it would have submitted. */
void run_settle(struct task_context *context);
/* Records the outcome of a submit whose begin was recorded. */
void run_record_submit(struct task_context *context, lanepool_status status);

/* An is_compatible for the workload's rule, an error callback and a hand-back; user is the run. */
bool run_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user);
void run_on_error(void *user, const lanepool_error *error);
void run_hand_back(void *user, const lanepool_task *task, uint64_t ticket);

#endif
