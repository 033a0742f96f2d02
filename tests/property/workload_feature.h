/*
 * What a feature adds to random workloads: how it is drawn and printed, what a run does with it,
 * and how the oracle judges it. It is one table in tests/feature/NAME/workload.c.
 *
 * Of the functions that return bool, the first that returns true has done the work, and no other is
 * called. Of all others, each is called, in the order of the list. A function that a feature does
 * not need is NULL.
 */
#ifndef TESTS_PROPERTY_WORKLOAD_FEATURE_H
#define TESTS_PROPERTY_WORKLOAD_FEATURE_H

#include "property/workload.h"

struct event_judge;
struct judge;
struct oracle_log;
struct run;
struct task_context;

struct workload_feature {
    /* --- the workload --- */

    /* Draws the feature, for a share of the seeds. */
    void (*draw)(struct workload *workload, struct choices *choices);
    void (*fini)(struct workload *workload);
    /* Print a part of the line about the parameters or about a task; or lines about other calls. */
    void (*print_params)(const struct workload *workload, FILE *out);
    void (*print_task)(const struct workload_task *task, FILE *out);
    void (*print_calls)(const struct workload *workload, FILE *out);

    /* --- a run, by its first thread unless it says otherwise --- */

    void (*fill_options)(struct run *run, lanepool_options *options);
    /* The pool exists; nothing has been submitted. */
    void (*begin)(struct run *run);
    /* The threads that the feature needs, and what each of them does. */
    uint32_t (*count_threads)(const struct workload *workload);
    void (*act)(struct run *run, uint32_t thread);
    /* Any thread: nothing will happen to any task any more. */
    void (*note_settled)(struct run *run);
    /* The pool's end answered PARKED: makes it possible. `resolved` is run->resolved from before
     * that call. */
    bool (*unblock)(struct run *run, uint32_t resolved);
    /* Returns true if the pool must have ended before the handles are released. */
    bool (*must_end)(const struct workload *workload);
    /* The pool has ended. Called only if the pool had to. */
    void (*note_ended)(struct run *run);
    void (*note_destroyed)(struct run *run);
    void (*expect_events)(const struct workload *workload, struct event_judge *judge);

    /* --- the tasks of a run, by any thread --- */

    void (*describe)(const struct task_context *context, lanepool_task *task);
    /* Submits the task in a form of its own. */
    bool (*submit)(struct task_context *context, const lanepool_task *task,
                   lanepool_status *status);
    /* As `submit`, inside its parent, whose call this is. */
    bool (*submit_inside)(struct task_context *context, lanepool_run *call);
    /* In each attempt, one after the other: before it is recorded, and twice in the body. */
    void (*begin_attempt)(struct task_context *self, lanepool_run *call, bool is_first);
    void (*prepare_body)(struct task_context *self, lanepool_run *call);
    void (*begin_body)(struct task_context *self, lanepool_run *call);
    /* In the first attempt only: calls that do not wait, and those that do. */
    void (*do_inside)(struct task_context *self, lanepool_run *call);
    void (*wait_inside)(struct task_context *self);
    /* Waits in a way of its own for the task that this one awaits. */
    bool (*wait_for)(struct task_context *self, lanepool_future *future, lanepool_status *waited);
    /* In each attempt, when its body ends. */
    void (*end_body)(struct task_context *self);
    /* The attempt's last part has ended. Returns true if the task may not have ended. */
    bool (*end_attempt)(struct task_context *self);
    /* Returns true if an error is the end of a task that is recorded otherwise. */
    bool (*expects_error)(struct task_context *context, const lanepool_error *error);
    void (*note_error)(struct task_context *context, const lanepool_error *error);
    void (*note_released)(struct task_context *context);
    /* The task is handed back, and is not one that has a record of its call. */
    bool (*take_back)(struct task_context *context);

    /* --- the oracle --- */

    void (*init_log)(struct oracle_log *log, const struct workload *workload);
    void (*fini_log)(struct oracle_log *log);
    /* Before anything is judged; and when calls and order are right. */
    void (*prepare_judge)(struct judge *judge);
    void (*judge)(struct judge *judge);
};

/* All features in the order in which they are drawn; the last one is NULL. */
extern const struct workload_feature *const workload_features[];

/* Calls a function of each feature. */
#define EACH_FEATURE(function, ...)                                                       \
    for (const struct workload_feature *const *each_ = workload_features; *each_ != NULL; \
         each_++) {                                                                       \
        if ((*each_)->function != NULL) {                                                 \
            (*each_)->function(__VA_ARGS__);                                              \
        }                                                                                 \
    }

/* Calls a function of each feature until one returns true. Sets `done`, which must be false, to
 * whether one has. */
#define FIRST_FEATURE(done, function, ...)                                \
    for (const struct workload_feature *const *each_ = workload_features; \
         *each_ != NULL && !(done); each_++) {                            \
        if ((*each_)->function != NULL) {                                 \
            (done) = (*each_)->function(__VA_ARGS__);                     \
        }                                                                 \
    }

#endif
