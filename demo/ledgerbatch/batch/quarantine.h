/*
 * The quarantine of a batch: what is held, because of which failure.
 *
 * The pool does the holding: a task that fails stays in its lanes, which are
 * poisoned, and each later task is called without the poisoned lanes of its. If it
 * must not do without them it fails too, and poisons the lanes that it has: what
 * comes after it must not come before it. Here is decided what must not, noted what
 * has happened, and worked out afterwards what each lane is held for.
 */
#ifndef LEDGERBATCH_BATCH_QUARANTINE_H
#define LEDGERBATCH_BATCH_QUARANTINE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "plan/plan.h"

struct lane_state {
    uint32_t root_seq; /* the failed task that is to blame; 0: the lane is not held */
    uint32_t held_seq; /* the first task of the lane that failed or is held; 0: none */
};

/* An unexpected failure. */
struct failure {
    uint32_t seq;
    uint32_t member; /* whose part of a rollup; NO_INDEX: the whole task */
    char reason[200];
};

/* A task that failed or is held; or one that has gone on without some of its lanes. */
struct held_task {
    const struct task *task;
    struct lane_list holders; /* its lanes that were held before it; none: it has failed itself */
    bool is_listed;           /* it holds all its lanes, and stands in the list of what is held */
};

/* What a rollup does some of whose clients are held, but not all: --on-quarantine. */
enum on_quarantine {
    ON_QUARANTINE_HOLD,    /* it waits, and its other clients with it */
    ON_QUARANTINE_EXCLUDE, /* it goes on without them; its part for them is made up later */
    ON_QUARANTINE_FAIL     /* it fails, and they go on without it; it is done late, for all */
};

struct quarantine {
    const struct plan *plan;
    enum on_quarantine on_quarantine;
    struct lane_state *lanes; /* not while tasks run */
    atomic_bool is_used;      /* something has been held: from then on tasks must look */
    pthread_mutex_t mutex;    /* guards the lists */
    struct failure *failures;
    struct held_task *tasks;
    size_t failure_count, failure_capacity, task_count, task_capacity;
};

bool quarantine_init(struct quarantine *quarantine, const struct plan *plan,
                     struct problem *problem);
void quarantine_fini(struct quarantine *quarantine);

/* Records why a task fails. Any thread. */
void quarantine_explain(struct quarantine *quarantine, const struct task *task, const char *format,
                        va_list arguments);

/* Holds a lane because of a task that failed in an earlier run. Before any task runs. */
void quarantine_hold(struct quarantine *quarantine, uint32_t lane, uint32_t failed_seq,
                     struct slice reason);

enum verdict {
    VERDICT_RUN,
    VERDICT_HOLD, /* it waits, and its other lanes with it */
    VERDICT_PASS, /* it waits, and has no lane for which anything would wait because of it */
    VERDICT_FAIL  /* a rollup: it is done late, and its other lanes go on */
};

/*
 * What is to become of a task some of whose lanes may be held: these are the holders, in order. It
 * is noted, with a copy of them. On the thread that runs it.
 */
enum verdict quarantine_judge(struct quarantine *quarantine, const struct task *task,
                              const struct lane_list *holders);

/* Notes that a task has failed. On the thread that runs it. */
void quarantine_fail(struct quarantine *quarantine, const struct task *task);

/* --- when no task runs any more --- */

/*
 * Works out since when and for what each lane is held. `tasks` are afterwards those that are held,
 * in the planned order.
 */
void quarantine_settle(struct quarantine *quarantine);

/* Why the task failed that a lane is held for. */
const char *quarantine_reason(const struct quarantine *quarantine, uint32_t lane);

#endif
