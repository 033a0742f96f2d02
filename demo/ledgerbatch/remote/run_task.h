/*
 * The functions of tasks that run on one of many machines. They need no store.
 */
#ifndef LEDGERBATCH_REMOTE_RUN_TASK_H
#define LEDGERBATCH_REMOTE_RUN_TASK_H

#include <pthread.h>

#include "batch/batch.h"
#include "lanepool/remote.h"

/*
 * The kinds of tasks: a posting or a rollup that posts; and a statement, which only reads. So the
 * clients of a statement do not wait for one another.
 */
enum run_task_kind { RUN_TASK_WRITES, RUN_TASK_READS, RUN_TASK_KINDS };

/* The tables of calls. Each call has its own, since the state of its lanes comes with the call. */
struct run_tables {
    struct batch *items; /* one for each worker */
    size_t *unused;      /* their numbers */
    size_t count, unused_count;
    pthread_mutex_t mutex;
    pthread_cond_t is_given_back;
};

bool run_tables_init(struct run_tables *tables, struct plan *plan, size_t workers,
                     unsigned task_wait_us, struct problem *problem);
/* No call runs any more. */
void run_tables_fini(struct run_tables *tables);

/*
 * The function of all tasks; `user` is the struct run_tables. Its effect says why a task has
 * failed: then nothing is published. A task that a crash has appended twice does nothing the second
 * time.
 */
int run_task(lanepool_remote_run *run, const lanepool_remote_task *task, void *user);

#endif
