/*
 * The quarantine of a batch: which tasks and lanes are held, and because of which failure.
 *
 * The pool does the holding. A task that fails is parked, and its lanes are poisoned. The pool
 * calls each later task without its poisoned lanes. A task that must not run without them fails,
 * too, which poisons its other lanes: so no later task overtakes it. The quarantine decides which
 * tasks must not run, records what happens, and finds out afterwards what each lane is held for.
 */
#ifndef LEDGERBATCH_BATCH_QUARANTINE_H
#define LEDGERBATCH_BATCH_QUARANTINE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "plan/plan.h"

struct lane_state {
    uint32_t root_seq; /* the failed task that is the cause; 0: the lane is not held */
    uint32_t held_seq; /* the first task of the lane that failed or is held; 0: none */
};

/* An unexpected failure. */
struct failure {
    uint32_t seq;
    uint32_t member; /* the client that it failed for; NO_INDEX: the whole task */
    char reason[200];
};

/* A task that failed, is held, or ran without some of its lanes. */
struct held_task {
    struct task task;         /* a copy, without its effect */
    struct lane_list holders; /* its lanes that were held before; empty: the task itself failed */
    bool is_listed;           /* it holds all its lanes, and is listed for the user */
};

/* How a rollup is run if some of its clients are held, but not all: --on-quarantine. */
enum on_quarantine {
    ON_QUARANTINE_EXCLUDE, /* it runs without them; its parts for them are made up later */
    ON_QUARANTINE_HOLD,    /* it is held, and so are its other clients */
    ON_QUARANTINE_FAIL     /* it fails, and its other clients continue; it is run late, for all */
};

struct quarantine {
    const struct plan *plan;
    enum on_quarantine on_quarantine;
    struct lane_state *lanes; /* accessed only while no task runs */
    atomic_bool is_used;      /* something has been held: from then on tasks check their lanes */
    pthread_mutex_t mutex;    /* guards failures and tasks */
    struct failure *failures;
    struct held_task *tasks;
    size_t failure_count, failure_capacity, task_count, task_capacity;
    size_t failed_so_far, held_so_far; /* listed tasks; guarded by the mutex, too */
};

bool quarantine_init(struct quarantine *quarantine, const struct plan *plan,
                     struct problem *problem);
void quarantine_fini(struct quarantine *quarantine);

/* Records why a task fails, and because of which client. Any thread may call this. */
void quarantine_explain(struct quarantine *quarantine, const struct task *task, uint32_t client,
                        const char *format, va_list arguments);

/* Holds a lane because of a task that failed in an earlier run. Called before any task runs. */
void quarantine_hold(struct quarantine *quarantine, uint32_t lane, uint32_t failed_seq,
                     struct slice reason);

enum verdict {
    VERDICT_RUN,
    VERDICT_HOLD, /* it is held, and so are its other lanes */
    VERDICT_PASS, /* it is held, and no later task has to wait for it */
    VERDICT_FAIL  /* a rollup: it is run late, and its other lanes continue */
};

/*
 * Decides what a task does. `holders` are those of its lanes that are held, in the order of
 * plan_lanes(). If there are any, records the task with a copy of the list. Called on the thread
 * that runs the task.
 */
enum verdict quarantine_judge(struct quarantine *quarantine, const struct task *task,
                              const struct lane_list *holders);

/* Returns the client that a task has failed for, or NO_INDEX. Any thread may call this. */
uint32_t quarantine_failed_client(struct quarantine *quarantine, const struct task *task);

/* Copies the reason of the failure of a task. Any thread may call this. */
void quarantine_copy_reason(struct quarantine *quarantine, uint32_t seq, char *reason, size_t size);

/* Records that a task has failed. Called on the thread that runs it. */
void quarantine_fail(struct quarantine *quarantine, const struct task *task);

/* Tells how many tasks have failed so far, and how many others are held. Any thread may call this.
 */
void quarantine_count(struct quarantine *quarantine, size_t *failed, size_t *held);

/* --- when no task runs any more --- */

/*
 * Finds out since which task, and because of which failure, each lane is held. Afterwards `tasks`
 * has only the tasks that are held, in the planned order.
 */
void quarantine_settle(struct quarantine *quarantine);

/* Returns why the task failed that a lane is held for. */
const char *quarantine_reason(const struct quarantine *quarantine, uint32_t lane);

#endif
