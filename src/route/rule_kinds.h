/*
 * Kinds: tasks of a predicate pool for which the rule's answer is a function of
 * two numbers.
 *
 * The pending tasks of a kind form groups. The newest group is open: it takes
 * new members, until the first task that waits for it seals it. A new task
 * waits for the newest group of each kind that it conflicts with: older groups
 * are implied, since whatever sealed them conflicts with that kind, too, and
 * stands between. (Waiting for the newest *task* of each kind would be wrong:
 * members of a group finish in any order.)
 *
 * Answers are kept as long as both kinds are pending. If memory for a kind or a
 * group is lacking, the task stands in a chain like one without a kind.
 *
 * Role's holder, but for leaving a group.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_KINDS_H
#define LANEPOOL_SRC_ROUTE_RULE_KINDS_H

#include "route/rule_predicate.h"

/* Makes the scanned task wait for the pending tasks with a kind that it conflicts with. */
void lanepool_i_kinds_scan(lanepool_i_scan *scan);
/* Puts the scanned task into its kind's open group; false: it has no kind, or memory is lacking. */
bool lanepool_i_kinds_enter(lanepool_i_scan *scan);
/* Whoever finishes a member; true: the last one, whose caller serves the group's successors. */
bool lanepool_i_kind_batch_leave(lanepool_i_kind_batch *batch);
lanepool_i_successors *lanepool_i_kind_batch_successors(lanepool_i_kind_batch *batch);
/* A finished member goes; with the last, its group and its kind. */
void lanepool_i_kinds_reap(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task);

/* Every unfinished task that stands in a group. */
void lanepool_i_kinds_each(lanepool_pool *pool, void (*found)(lanepool_i_task *task, void *context),
                           void *context);
void lanepool_i_kinds_fini(lanepool_pool *pool);

#endif
