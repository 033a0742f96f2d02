/*
 * Kinds: tasks for which the predicate's answer depends on their two kinds only.
 *
 * The pending tasks of a kind form batches. The newest batch is open: it takes new members until
 * the first task that waits for it seals it. A new task waits for the newest batch of each kind
 * that it conflicts with. It need not wait for an older batch of that kind. The task that sealed
 * the older batch conflicts with the kind, so every member of a newer batch waits for that task,
 * and with it for the older batch. To wait for the newest *task* of each kind would be wrong:
 * members of a batch finish in any order.
 *
 * A hash finds the kind of a number. The predicate's answers are stored while both kinds are
 * pending, as bits, 64 kinds a word: a submit reads a word for 64 kinds, and visits only the kinds
 * that conflict or were not asked about. So a submit of a new kind costs O(kinds), and any other
 * one O(kinds / 64 + conflicting kinds). If memory for a kind or a batch
 * cannot be allocated, the task enters a chain like a task without a kind.
 *
 * All functions are the role's holder's, except leaving a batch.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_KINDS_H
#define LANEPOOL_SRC_ROUTE_RULE_KINDS_H

#include "route/rule_predicate.h"

/* Makes the scanned task wait for the pending tasks with a kind that it conflicts with. */
void lanepool_i_kinds_scan(lanepool_i_scan *scan);
/* Puts the scanned task into its kind's open batch. Returns false if the task has no kind or memory
 * cannot be allocated. */
bool lanepool_i_kinds_enter(lanepool_i_scan *scan);
/* Called by the thread that finishes a member. Returns true if all members have finished: then the
 * caller serves the batch's successors. */
bool lanepool_i_kind_batch_leave(lanepool_i_kind_batch *batch);
lanepool_i_successors *lanepool_i_kind_batch_successors(lanepool_i_kind_batch *batch);
/* Removes a finished member. The last member's batch, and the last batch's kind, are freed. */
void lanepool_i_kinds_reap(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task);

/* Calls `found` for every unfinished task in a batch. */
void lanepool_i_kinds_each(lanepool_pool *pool, void (*found)(lanepool_i_task *task, void *context),
                           void *context);
void lanepool_i_kinds_fini(lanepool_pool *pool);

#endif
