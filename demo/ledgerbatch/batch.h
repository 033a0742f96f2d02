/*
 * A batch: a plan while it is being run.
 *
 * What belongs to a client's cells is touched only by tasks that claim the
 * client. House accounts are not touched by tasks at all: the committer sums them.
 */
#ifndef LEDGERBATCH_BATCH_H
#define LEDGERBATCH_BATCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "commit_queue.h"
#include "lanepool/lanepool.h"
#include "plan.h"

/* Whether a lane is held, and since which task. */
struct lane_state {
    uint32_t held_seq; /* the first task that was held or failed; 0: none */
    uint32_t root_seq; /* the failed task that is to blame */
};

/* An unexpected failure, which quarantines the task's lanes. */
struct failure {
    uint32_t seq;
    char reason[200];
};

struct batch {
    const struct plan *plan;
    int64_t *balances;        /* by cell */
    int64_t *before;          /* by cell: before the transaction that is being posted */
    int64_t *after;           /* by posting: the balance after it */
    struct lane_state *lanes; /* by lane */
    struct commit_queue queue;
    unsigned task_wait_us; /* each task waits so long first: --task-wait-us */
    pthread_mutex_t failures_mutex;
    struct failure *failures; /* guarded by failures_mutex, as are the counts */
    size_t failure_count, failure_capacity;
    atomic_size_t held_count;
    atomic_size_t done_count;
};

/* Makes a batch of a plan whose tasks then belong to it; all balances are zero. */
bool batch_init(struct batch *batch, struct plan *plan, size_t commit_size,
                struct problem *problem);
void batch_fini(struct batch *batch);

/* The function of every task; the context is the struct task. Its code is 0 or BATCH_FAILED. */
#define BATCH_FAILED 1
int batch_task(lanepool_run *run, void *context, lanepool_call call);

/* The pool's error callback (`user` is the batch): quarantines the lanes of a failed task. */
void batch_on_error(void *user, const lanepool_error *error);

/* Records why a task fails; the caller then returns BATCH_FAILED. */
void batch_fail(struct batch *batch, const struct task *task, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The bodies of the kinds of task: each appends its effect, or fails. */
int post_transaction(struct batch *batch, const struct task *task);
int month_end_statement(struct batch *batch, const struct task *task);
int month_end_accrual(struct batch *batch, const struct task *task);
int month_end_close(struct batch *batch, const struct task *task);

/* The failure of a task, or NULL. */
const struct failure *batch_failure(const struct batch *batch, uint32_t seq);

#endif
