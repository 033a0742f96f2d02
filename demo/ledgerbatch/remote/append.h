/*
 * Appending the tasks of a plan to the batch of all machines, in the planned order.
 */
#ifndef LEDGERBATCH_REMOTE_APPEND_H
#define LEDGERBATCH_REMOTE_APPEND_H

#include "lanepool/remote.h"
#include "remote/record.h"

/*
 * Appends the tasks behind record->appended, and seals the batch. Stops early if a call takes too
 * long, or after SIGTERM; it is called again then. The caller has the lock. A process may be killed
 * between an append and its record: then the next one appends some tasks twice. The first time
 * counts.
 */
enum answer append_tasks(lanepool_remote *node, struct record *record, const struct plan *plan,
                         struct problem *problem);

#endif
