/*
 * A batch: a plan that is run, and its tables.
 *
 * Only tasks that claim a client access the entries of the client's cells. Tasks do not access the
 * entries of house accounts: the committer sums these up.
 */
#ifndef LEDGERBATCH_BATCH_BATCH_H
#define LEDGERBATCH_BATCH_BATCH_H

#include <stdatomic.h>

#include "batch/deferral.h"
#include "batch/month_tally.h"
#include "batch/quarantine.h"
#include "plan/plan.h"

struct gathering;

struct batch {
    const struct plan *plan;
    int64_t *balances; /* by cell */
    int64_t *before;   /* by cell: scratch memory of post_transaction() */
    int64_t *after;    /* by posting: the balance of its cell after it */
    struct quarantine quarantine;
    struct deferral deferral;
    struct month_tally tally;
    unsigned task_wait_us;        /* how long each task waits first: --task-wait-us */
    bool *broken_cells;           /* by cell: transactions that touch it fail; NULL: none do */
    bool calls_steps_twice;       /* user's steps, to find out whether they are deterministic */
    struct gathering *gatherings; /* by seq; see batch/step_run.h */
    size_t gathering_count, gathering_capacity;
    atomic_size_t done_count;
};

/*
 * Makes a batch of a plan. Its tasks then point to the batch; all balances are zero. `defers` is
 * --on-failure defer.
 */
bool batch_init(struct batch *batch, struct plan *plan, bool defers, struct problem *problem);
void batch_fini(struct batch *batch);

/* Lets all transactions fail that touch an account of the patterns: --fail-on. */
void batch_break(struct batch *batch, const struct patterns *fail_on);

/* Waits as if for a slow service, so that a recording shows how lanes and latches work. */
void batch_wait_first(const struct batch *batch);

/* The codes of tasks that have not done their work. */
#define BATCH_FAILED 1
#define BATCH_HELD   2

/*
 * Records why a task fails, and because of which client (NO_INDEX: because of none). The caller
 * then returns BATCH_FAILED.
 */
void batch_fail(struct batch *batch, const struct task *task, uint32_t client, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

#endif
