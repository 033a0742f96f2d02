/*
 * A batch: a plan while it is being run.
 *
 * What belongs to a client's cells is touched only by tasks that claim the
 * client. House accounts are not touched by tasks at all: the committer sums them.
 */
#ifndef LEDGERBATCH_BATCH_BATCH_H
#define LEDGERBATCH_BATCH_BATCH_H

#include <stdatomic.h>

#include "batch/commit_queue.h"
#include "batch/quarantine.h"
#include "lanepool/lanepool.h"
#include "plan/plan.h"

struct batch {
    const struct plan *plan;
    int64_t *balances; /* by cell */
    int64_t *before;   /* by cell: before the transaction that is being posted */
    int64_t *after;    /* by posting: the balance after it */
    struct quarantine quarantine;
    struct commit_queue queue;
    unsigned task_wait_us; /* each task waits so long first: --task-wait-us */
    bool *broken_cells;    /* by cell: transactions that touch it fail; NULL: none */
    atomic_size_t done_count;
};

/* Makes a batch of a plan whose tasks then belong to it; all balances are zero. */
bool batch_init(struct batch *batch, struct plan *plan, size_t commit_size,
                struct problem *problem);
void batch_fini(struct batch *batch);

/* Lets transactions fail that touch an account of the patterns: --fail-on. */
void batch_break(struct batch *batch, const struct patterns *fail_on);

/*
 * The function of every task; the context is the struct task. Its code is 0, or one of those: then
 * it keeps its lanes, by the pool's policy, and what comes after it goes without them.
 */
#define BATCH_FAILED 1
#define BATCH_HELD   2
int batch_task(lanepool_run *run, void *context, lanepool_call call);

/* What every task does, without those of its lanes that are held: `missing`, in order. */
int batch_run(struct batch *batch, const struct task *task, struct lane_list *missing);

/* The function of a task that holds a lane because of a failure in an earlier run. */
int batch_hold(lanepool_run *run, void *context, lanepool_call call);

/* Records why a task fails; the caller then returns BATCH_FAILED. */
void batch_fail(struct batch *batch, const struct task *task, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The bodies of the kinds of task: each appends its effect, or fails. A rollup goes without the
 * missing clients, whose list it takes.
 */
int post_transaction(struct batch *batch, const struct task *task);
int month_end_statement(struct batch *batch, const struct task *task, struct lane_list *missing);
int month_end_accrual(struct batch *batch, const struct task *task, struct lane_list *missing);
int month_end_close(struct batch *batch, const struct task *task, struct lane_list *missing);

/* Says that a rollup fails because clients are missing, whose list it takes. */
void month_end_fail(struct batch *batch, const struct task *task, struct lane_list *missing);

#endif
