/*
 * A batch that processes of many machines run together: --store.
 */
#ifndef LEDGERBATCH_RUN_MACHINES_H
#define LEDGERBATCH_RUN_MACHINES_H

#include "remote/remote.h"
#include "run/run_command.h"
#include "run/submit.h"

/* Refuses, by name, what such a batch cannot do. */
bool machines_check(const struct run_options *options, const struct plan *plan,
                    struct problem *problem);

/* Takes part until all tasks are done. Then `publishes` says whether this process publishes. */
bool machines_work(struct remote **remote, const struct run_options *options, struct plan *plan,
                   bool *publishes, struct problem *problem);

/* Commits what all processes have done, in the planned order, as submit_run() does. */
bool machines_commit(struct submitter *submitter, struct remote *remote, struct problem *problem);

/* Records that the batch is published; `remote` may be NULL. */
bool machines_end(struct remote *remote, struct store *store, struct problem *problem);

#endif
