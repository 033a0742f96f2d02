/*
 * Handing a plan's tasks to a pool.
 */
#ifndef LEDGERBATCH_RUN_SUBMIT_H
#define LEDGERBATCH_RUN_SUBMIT_H

#include "batch/batch.h"
#include "commit/leftovers.h"
#include "watch/progress.h"
#include "watch/watch.h"

struct submitter {
    struct batch *batch;
    struct progress *progress;
    struct watch *watch;
    const uint32_t *last_seqs; /* by lane: what was done before this run */
    const struct leftovers *leftovers;
    unsigned workers;
    size_t skipped; /* tasks that were done before */
};

/*
 * Checks that progress is a consistent cut: a task is done in all its lanes or
 * in none, or in all but those that are left over. Counts the tasks that are done.
 */
bool submit_check(struct submitter *submitter, struct problem *problem);

/* Runs all tasks that are not done; returns when each has run or the queue has stopped. */
bool submit_run(struct submitter *submitter, struct problem *problem);

#endif
