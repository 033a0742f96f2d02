/*
 * The check of accesses: ThreadSanitizer reports a task that touches what it does not claim,
 * also if the tasks did not overlap, and with one worker.
 *
 * By itself ThreadSanitizer finds few such accesses. A worker runs its tasks one after the other,
 * and the inbox, the role and the ready rings put those of different workers in an order, too. So
 * each function of a task is called on a fiber (platform/fiber.h). It has no order with other tasks
 * but the following. Notes (platform/notes.h) name these orders by objects:
 *
 * - The task's room: from the submit to each call, and from a call to the next one (retry, period).
 * - A cut's object of visits: from the end of a visit to the function and to later rounds.
 * - The key's two objects: from the end of a call, or an early release, to a conflicting call.
 * - The receiver's room: from the end of a call that hands over to the receiver's call.
 * - notes.ends: from the end of a call, visit, callback or thread to barriers, callbacks and waits.
 * - notes.controls: from creation, barriers, cancels, resumes and resolves to each later call.
 * - notes.submits: from a submit to the rule, and to callbacks of a task.
 * - notes.asked: from the rule to callbacks of a task, a quiesce and an await.
 * - The call's record: from the completion of a detached task to its end.
 * - The worker: from a call that has asked for its worker, and from `worker_start`, to later calls
 *   that ask for it.
 * - The future and the group: from completion to a wait, `then` and lanepool_group_next().
 * - A context, and a sequence's work: from one use to the next.
 *
 * The end of a future and of a detached task is noted on the worker's thread, which has all earlier
 * calls of the worker behind it. So these notes hide some accesses.
 *
 * Under a rule, the end of any call comes before each later call: only accesses of tasks that run
 * at the same time are reported.
 *
 * A key has an object for each mode. A call acquires those of the modes that its own does not
 * overlap with, and releases its own. So two shared calls have no order, nor have two commuting
 * ones.
 */
#ifndef LANEPOOL_SRC_FEATURE_CHECK_ACCESSES_H
#define LANEPOOL_SRC_FEATURE_CHECK_ACCESSES_H

#include "lanepool/pool.h"

/* Returns false if memory cannot be allocated. The thread that creates the pool calls it before any
 * worker starts, since what that thread has done comes before all that fibers do. */
bool lanepool_i_accesses_init(lanepool_pool *pool);
void lanepool_i_accesses_fini(lanepool_pool *pool);

#endif
