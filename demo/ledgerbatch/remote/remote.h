/*
 * This process's part in a batch that processes of many machines run together. The batch is in
 * PostgreSQL; all processes read the same input, and so have the same plan.
 *
 * A task's function gets the state of its clients, and gives back a new one and the effect of the
 * task. When all tasks are done, one of the processes reads the effects in the planned order, and
 * publishes: it writes them to a database of its own, as a run on one machine does.
 */
#ifndef LEDGERBATCH_REMOTE_REMOTE_H
#define LEDGERBATCH_REMOTE_REMOTE_H

#include "batch/batch.h"
#include "watch/progress.h"

struct remote;

struct remote_options {
    const char *store; /* the URI of a PostgreSQL database */
    bool must_exist;   /* take part only in a batch that is there */
    unsigned workers;  /* 0: one for each CPU */
    unsigned task_wait_us;
};

/*
 * Takes part in the batch until all its tasks are done. Makes the batch if there is none. Then
 * `publishes` says whether this process publishes; it prints who else has done so. After SIGTERM,
 * leaves the batch to the others. The caller closes the part, also after a problem.
 */
bool remote_work(struct remote **remote, struct plan *plan, const struct remote_options *options,
                 bool *publishes, struct problem *problem);

/*
 * Reads the outcome and the effect of a task, whose balances go to batch->after. Called for tasks
 * in the planned order, some of which may be left out.
 */
bool remote_read(struct remote *remote, struct batch *batch, struct task *task,
                 struct problem *problem);

/* Records that the batch is published, with the head of its database. */
bool remote_end(struct remote *remote, const char *head, struct problem *problem);

/* Ends the part; may be NULL. */
void remote_close(struct remote *remote);

#endif
