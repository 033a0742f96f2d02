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

/* The codes of a task that has not done its work. */
#define BATCH_FAILED 1
#define BATCH_HELD   2

/* Records why a task fails; the caller then returns BATCH_FAILED. */
void batch_fail(struct batch *batch, const struct task *task, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
