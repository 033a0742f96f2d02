/*
 * Claims as the scope of the program's rule: a task with claims is compared only with the tasks
 * that name one of its keys in a mode that does not overlap, and with tasks without claims.
 *
 * Each key has a list of its unfinished tasks. A new task is compared with all tasks in the lists
 * of its keys. Such a list is no chain: its tasks do not wait for one another unless the rule says
 * so. So the comparison may stop neither at the first conflict nor at the first finished task. A
 * task that shares several keys with the new one is asked about once: the scan writes its stamp
 * into the task.
 *
 * Tasks without claims are compared with all tasks; one list holds all tasks with claims for that.
 *
 * Edges lead from a ticket to a higher one, so they form no cycle.
 *
 * All functions are the role's holder's.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_SCOPE_H
#define LANEPOOL_SRC_ROUTE_RULE_SCOPE_H

#include "route/rule_predicate.h"

static inline bool lanepool_i_scope_has_claims(const lanepool_i_task *task)
{
    return task->as.wide.count > 0;
}

/* Makes the scanned task wait for the older tasks with claims that it conflicts with. */
void lanepool_i_scope_scan(lanepool_i_scan *scan);
/* Adds a task with claims to the lists of its keys. */
void lanepool_i_scope_enter(lanepool_pool *pool, lanepool_i_task *task);
/* Removes a finished task with claims. */
void lanepool_i_scope_reap(lanepool_pool *pool, lanepool_i_task *task);
/* Calls `found` for every unfinished task with claims. */
void lanepool_i_scope_each(lanepool_pool *pool, void (*found)(lanepool_i_task *task, void *context),
                           void *context);

/* Stamps the keys of a routed task for the following calls. */
void lanepool_i_scope_stamp_keys(lanepool_pool *pool, lanepool_i_task *task);
/* Returns true if the rule may be asked about the other task and the one whose keys were stamped
 * last. */
bool lanepool_i_scope_has(const lanepool_pool *pool, lanepool_i_task *stamped,
                          lanepool_i_task *other);

#endif
