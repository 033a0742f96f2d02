/*
 * Submits the tasks of a plan to a pool.
 */
#ifndef LEDGERBATCH_RUN_SUBMIT_H
#define LEDGERBATCH_RUN_SUBMIT_H

#include "batch/batch.h"
#include "commit/committer.h"
#include "commit/leftovers.h"
#include "watch/progress.h"
#include "watch/watch.h"

struct submitter {
    struct batch *batch;
    struct committer *committer;
    struct progress *progress;
    struct watch *watch;
    const uint32_t *last_seqs; /* by lane: the last task that was done before this run */
    const struct leftovers *leftovers;
    unsigned workers;
    size_t commit_size; /* about how many tasks share a commit */
    size_t skipped;     /* tasks that were done before */
    size_t undone;      /* tasks of the plan that are left, other than late ones */
};

/*
 * Checks that the progress is consistent: each task is done in all of its lanes or in none; of a
 * rollup, the leftovers say which parts are not done. Counts the tasks that are done.
 */
bool submit_check(struct submitter *submitter, struct problem *problem);

/* Returns true if a task was done before this run. `lanes` receives its lanes. */
bool submit_is_done(const struct submitter *submitter, const struct task *task,
                    struct lane_list *lanes);

/* Runs all tasks that are not done, and commits what they do. Ends early after a problem. */
bool submit_run(struct submitter *submitter, struct problem *problem);

#endif
