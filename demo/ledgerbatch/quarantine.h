/*
 * The quarantine of a batch: which lanes are held, because of which failure, and
 * which tasks wait for them.
 *
 * A task that fails quarantines its lanes. A later task of a held lane is held
 * too, and holds all its lanes: what comes after it must not come before it.
 */
#ifndef LEDGERBATCH_QUARANTINE_H
#define LEDGERBATCH_QUARANTINE_H

#include <pthread.h>
#include <stdarg.h>

#include "plan.h"

struct lane_state {
    uint32_t root_seq; /* the failed task that is to blame; 0: the lane is not held */
    uint32_t held_seq; /* the first task of the lane that failed or is held; 0: none yet */
};

/* An unexpected failure. */
struct failure {
    uint32_t seq;
    uint32_t member; /* whose part of a rollup; NO_INDEX: the whole task */
    char reason[200];
};

/* A task that failed, or is held. */
struct held_task {
    const struct task *task;
    struct lane_list holders; /* its lanes that were held before it; none: it has failed itself */
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
    struct lane_state *lanes; /* each belongs to the task that has the lane at the moment */
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

/* A task has failed: holds its lanes from it on. On the thread that has the task's lanes. */
void quarantine_fail(struct quarantine *quarantine, const struct task *task);

enum verdict {
    VERDICT_RUN,
    VERDICT_HOLD, /* it waits, because a lane of its is held; so do all its lanes from here on */
    VERDICT_FAIL  /* a rollup: it is done late, and its other lanes go on */
};

/*
 * What is to become of a task that is about to run. If it runs without some of its lanes, or fails
 * because of them, `missing` lists these, in order. On the thread that has the lanes.
 */
enum verdict quarantine_judge(struct quarantine *quarantine, const struct task *task,
                              struct lane_list *missing);

/* --- when no task runs any more --- */

/* Why the task failed that a lane is held for. */
const char *quarantine_reason(const struct quarantine *quarantine, uint32_t lane);

/* Puts the held tasks into the planned order, each once. */
void quarantine_sort(struct quarantine *quarantine);

#endif
