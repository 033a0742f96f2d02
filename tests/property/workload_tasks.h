/* The tasks of a run: descriptions, bodies and callbacks. Shared by workload_run.c and its
 * parts. */
#ifndef TESTS_PROPERTY_WORKLOAD_TASKS_H
#define TESTS_PROPERTY_WORKLOAD_TASKS_H

#include "property/workload_run.h"
#include "property/world.h"

struct run;

/* The context of one task. */
struct task_context {
    struct run *run;
    uint32_t task;
    uint32_t first_nested; /* a list of the tasks that its body submits */
    uint32_t next_nested;
    lanepool_future *future;                     /* written by the submit */
    _Atomic(lanepool_future *) published_future; /* for other tasks' waits */
    _Atomic(lanepool_detached *) detached;       /* for the thread that completes it */
    atomic_uint ends_left;        /* its function; and if it detaches, the completion */
    atomic_bool settled;          /* nothing will happen to it any more */
    atomic_uint using;            /* the contexts that it uses now, as a set */
    uint64_t cell_seen[2];        /* the value of each context's cell */
    atomic_uint failed_checks;    /* of claims, in its body */
    atomic_uint failed_in_visits; /* the failed checks that its visits expect */
    lanepool_timer *timer;        /* of a periodic task's first run; written by the submit */
};

struct run {
    const struct workload *workload;
    struct oracle_log *log;
    lanepool_pool *pool;
    struct task_context *contexts;
    lanepool_claim *claims; /* as given to the library, in the order of the claim store */
    lanepool_claim all;     /* the claim of barriers */
    lanepool_lane **lanes;  /* handles by key, if there are any */
    lanepool_group **groups;
    lanepool_pump **pumps;
    lanepool_context_options context_options;
    lanepool_allocator allocator;
    lanepool_journal_options journal;
    atomic_uint context_calls;  /* calls of context callbacks, some of which fail */
    atomic_uint contexts_open;  /* contexts that are open, or being opened or closed */
    _Atomic int first_failure;  /* a lanepool_status */
    _Atomic uint32_t unsettled; /* tasks that are not settled */
    _Atomic uint32_t resolved;  /* calls that resolved a parked task */
    /* Submitters that have not submitted everything: a caller waits for its turn even if its task
     * is cancelled. */
    _Atomic uint32_t submitting;
};

static inline const struct workload_task *what_of(const struct task_context *context)
{
    return &context->run->workload->tasks[context->task];
}

static inline struct oracle_task *record_of(const struct task_context *context)
{
    return &context->run->log->tasks[context->task];
}

/* Checks a condition during the run. Stores the first fault. */
static inline void run_expect(const struct task_context *context, bool holds, const char *fault)
{
    oracle_expect(context->run->log, holds, fault);
}

/* Returns true if the current attempt, or the one just made, fails. */
static inline bool run_fails_now(const struct task_context *context)
{
    return atomic_load(&record_of(context)->attempts) <= what_of(context)->fails;
}

/* Returns the code with which the last attempt has failed, if it has. */
static inline int run_code_of(const struct task_context *context)
{
    return oracle_code_of(context->run->log, context->run->workload, context->task,
                          atomic_load(&record_of(context)->attempts));
}

/* Returns true if the status says that the platform has refused a resource on purpose. */
static inline bool run_is_for_want(lanepool_status status)
{
    return world_has_refused() && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

/* Returns true if tasks with this tag have this label. */
bool workload_is_label(const struct workload *workload, uint32_t tag, const char *label);

/* Shuts the pool down now, and records it. */
void run_stop(struct run *run, bool hands_back);

/* Makes the library call back for each cancelled task, so that tasks without a `cancelled` are
 * observed, too. */
void run_watch_cancelled(void);
/* Records a violation if no task can be cancelled for this reason now. */
void workload_check_why(struct run *run, lanepool_status why);

/* Records the failure of a call that must not fail. */
void run_note_failure(struct run *run, lanepool_status status);

void run_make_contexts(struct run *run);
/* Returns a claim as given to the library, by handle or by key. */
lanepool_claim run_make_claim(const struct run *run, const struct workload_claim *claim);

/* Returns the task's description for the library. */
lanepool_task run_describe(struct task_context *context);
/* Submits one task alone, in its form, and records the submit. */
void run_submit(struct task_context *context);
/* Record the stamp of a submit that is about to begin, and of a call. */
void run_begin_submit(struct task_context *context);
void run_record_call(struct task_context *context, enum oracle_call call, uint64_t ticket);
/* Records the end of a part of the task: its function or its completion. The last part's end is the
 * end of the task. */
void run_end_part(struct task_context *context);
/* Records that nothing will happen any more to the task and to those that it would have
 * submitted. */
void run_settle(struct task_context *context);
/* Records the end of a task whose last attempt has ended, unless it may be tried again. */
void run_end_attempt(struct task_context *context);
/* Submits the tasks that are submitted inside this one. */
void run_submit_nested(struct task_context *self, lanepool_run *call);
/* Records the result of a submit whose begin was recorded. */
void run_record_submit(struct task_context *context, lanepool_status status);

/* An is_compatible for the workload's rule, an error callback, and a hand-back callback. `user` is
 * the run. */
bool run_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user);
void run_on_error(void *user, const lanepool_error *error);
void run_hand_back(void *user, const lanepool_task *task, uint64_t ticket);

#endif
